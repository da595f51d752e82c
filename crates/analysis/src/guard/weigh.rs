//! Measures how many bytes values take.

use std::sync::Arc;

use datafusion::{
    arrow::{
        array::{Array, ArrayRef, AsArray, RecordBatch, RecordBatchOptions, UInt32Array},
        compute::take,
        datatypes::DataType,
    },
    common::{ScalarValue, utils::memory::get_record_batch_memory_size},
};

/// Tells whether values of a type can be of any size.
pub(crate) fn is_wide(kind: &DataType) -> bool {
    !kind.is_primitive() && !matches!(kind, DataType::Boolean | DataType::Null)
}

/// Returns the bytes of the values of an array, as if every row had its own.
pub(crate) fn weigh(array: &dyn Array) -> usize {
    let rows = array.len();
    let spread = |first: usize, last: usize| last.saturating_sub(first);
    match array.data_type() {
        DataType::Null => 0,
        DataType::Boolean => rows / 8 + 1,
        DataType::Utf8 => {
            let offsets = array.as_string::<i32>().value_offsets();
            spread(offsets[0] as usize, offsets[rows] as usize)
        }
        DataType::LargeUtf8 => {
            let offsets = array.as_string::<i64>().value_offsets();
            spread(offsets[0] as usize, offsets[rows] as usize)
        }
        DataType::Binary => {
            let offsets = array.as_binary::<i32>().value_offsets();
            spread(offsets[0] as usize, offsets[rows] as usize)
        }
        DataType::LargeBinary => {
            let offsets = array.as_binary::<i64>().value_offsets();
            spread(offsets[0] as usize, offsets[rows] as usize)
        }
        DataType::Utf8View => views(array.as_string_view().views()),
        DataType::BinaryView => views(array.as_binary_view().views()),
        DataType::List(_) => {
            let list = array.as_list::<i32>();
            let (first, last) = (list.value_offsets()[0], list.value_offsets()[rows]);
            4 * rows + weigh(&list.values().slice(first as usize, (last - first) as usize))
        }
        DataType::LargeList(_) => {
            let list = array.as_list::<i64>();
            let (first, last) = (list.value_offsets()[0], list.value_offsets()[rows]);
            8 * rows + weigh(&list.values().slice(first as usize, (last - first) as usize))
        }
        DataType::FixedSizeList(_, _) => weigh(array.as_fixed_size_list().values()),
        DataType::Struct(_) => array.as_struct().columns().iter().map(|column| weigh(column)).sum(),
        DataType::Dictionary(_, _) => {
            rows.saturating_mul(widest(array.as_any_dictionary().values()))
        }
        kind => match kind.primitive_width() {
            Some(width) => rows * width,
            None => array.get_array_memory_size(),
        },
    }
}

/// Adds up the lengths of values from their views, which have them in their low halves.
fn views(views: &[u128]) -> usize {
    views.iter().map(|view| *view as u32 as usize).sum()
}

/// Returns the bytes of the largest value of an array that an operator would copy; values that are only
/// pointed to are not copied.
pub(crate) fn widest(array: &dyn Array) -> usize {
    match array.data_type() {
        DataType::Utf8View | DataType::BinaryView => size_of::<u128>(),
        DataType::Utf8 => longest(array.as_string::<i32>().value_offsets()),
        DataType::LargeUtf8 => longest(array.as_string::<i64>().value_offsets()),
        DataType::Binary => longest(array.as_binary::<i32>().value_offsets()),
        DataType::LargeBinary => longest(array.as_binary::<i64>().value_offsets()),
        kind => match kind.primitive_width() {
            Some(width) => width,
            None => {
                let each = (0..array.len()).map(|row| weigh(&array.slice(row, 1)));
                each.max().unwrap_or_default()
            }
        },
    }
}

/// Returns the length of the longest value between these offsets.
pub(super) fn longest<T: Copy + std::ops::Sub<Output = T> + TryInto<usize>>(
    offsets: &[T],
) -> usize {
    let lengths = offsets.windows(2).map(|pair| (pair[1] - pair[0]).try_into().unwrap_or_default());
    lengths.max().unwrap_or_default()
}

/// Returns the bytes of a constant that stands beside every row.
pub(super) fn constant(value: &ScalarValue) -> usize {
    match is_wide(&value.data_type()) {
        true => value.size().saturating_sub(size_of::<ScalarValue>()),
        false => 0,
    }
}

/// How many bytes a batch may hold beside its values without being copied.
const SLACK: usize = 64 << 10;

/// Returns the batch, or a compact copy if its values are a small part of the memory that it holds.
pub(super) fn owned(batch: RecordBatch) -> RecordBatch {
    let values: usize = batch.columns().iter().map(|column| weigh(column)).sum();
    match get_record_batch_memory_size(&batch) > 2 * values + SLACK {
        true => compact(&batch, 0, batch.num_rows()),
        false => batch,
    }
}

/// Copies some rows of a batch, without the memory of the others.
pub(crate) fn compact(batch: &RecordBatch, start: usize, rows: usize) -> RecordBatch {
    let slice = batch.slice(start, rows);
    let indices = UInt32Array::from_iter_values(0..rows as u32);
    let columns = slice.columns().iter().map(|column| copied(column, &indices));
    let options = RecordBatchOptions::new().with_row_count(Some(rows));
    RecordBatch::try_new_with_options(batch.schema(), columns.collect(), &options).unwrap_or(slice)
}

fn copied(column: &ArrayRef, indices: &UInt32Array) -> ArrayRef {
    match column.data_type() {
        DataType::Utf8View => Arc::new(column.as_string_view().gc()),
        DataType::BinaryView => Arc::new(column.as_binary_view().gc()),
        _ => match take(column, indices, None) {
            Ok(mut copy) => {
                // Of lists it makes room for all there were.
                copy.shrink_to_fit();
                copy
            }
            Err(_) => column.clone(),
        },
    }
}
