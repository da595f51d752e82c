//! Writes rows as a list of dictionaries for Python.

use std::sync::Arc;

use datafusion::arrow::{
    array::{
        Array, ArrayRef, AsArray, BooleanArray, Float64Array, Int64Array, ListArray, MapArray,
        RecordBatch, StringArray, StructArray, UInt64Array,
    },
    compute::cast,
    datatypes::{DataType, Field, Fields, Float64Type, Int64Type, Schema, UInt64Type},
    util::display::{ArrayFormatter, FormatOptions},
};

use super::{DIGIT_BITS, FLAG_REF};

pub fn marshal(schema: &Schema, batches: &[RecordBatch]) -> Vec<u8> {
    let rows: usize = batches.iter().map(RecordBatch::num_rows).sum();
    let rows = i32::try_from(rows).unwrap_or(i32::MAX);
    let mut out = Vec::with_capacity(rows as usize * schema.fields().len() * 16);
    out.push(b'[');
    out.extend_from_slice(&rows.to_le_bytes());
    let mut left = rows as usize;
    let mut keys = new_keys(schema.fields());
    for batch in batches {
        let columns: Vec<Cells> = batch.columns().iter().map(cells).collect();
        for row in 0..batch.num_rows().min(left) {
            out.push(b'{');
            for (key, column) in keys.iter().zip(&columns) {
                out.extend_from_slice(key);
                column.write(row, &mut out);
            }
            out.push(b'0');
            // The keys have been written once; from now on they are referred to.
            if left == rows as usize && row == 0 {
                keys = (0..keys.len() as u32).map(reference).collect();
            }
        }
        left -= batch.num_rows().min(left);
    }
    out
}

/// Writes the keys so that they can be referred to.
fn new_keys(fields: &Fields) -> Vec<Vec<u8>> {
    let key = |field: &Arc<Field>| {
        let mut key = Vec::new();
        let name = field.name();
        let kind = if name.is_ascii() { b'A' } else { b't' };
        key.push(kind | FLAG_REF);
        write_bytes(name, &mut key);
        key
    };
    fields.iter().map(key).collect()
}

fn reference(number: u32) -> Vec<u8> {
    [&[b'r'][..], &number.to_le_bytes()].concat()
}

/// The values of a column, in a type that Python has too.
enum Cells {
    Nothing,
    Bool(BooleanArray),
    Int(Int64Array),
    Unsigned(UInt64Array),
    Float(Float64Array),
    Text(StringArray),
    List(ListArray, Box<Cells>),
    Struct(StructArray, Vec<(Vec<u8>, Cells)>),
    Map(MapArray, Box<(Cells, Cells)>),
}

fn cells(array: &ArrayRef) -> Cells {
    let as_type = |kind: DataType| cast(array, &kind).ok();
    let found = match array.data_type() {
        DataType::Null => Some(Cells::Nothing),
        DataType::Boolean => array.as_boolean_opt().cloned().map(Cells::Bool),
        DataType::UInt64 => array.as_primitive_opt::<UInt64Type>().cloned().map(Cells::Unsigned),
        kind if kind.is_integer() => as_type(DataType::Int64)
            .and_then(|array| array.as_primitive_opt::<Int64Type>().cloned())
            .map(Cells::Int),
        kind if kind.is_floating() || kind.is_decimal() => as_type(DataType::Float64)
            .and_then(|array| array.as_primitive_opt::<Float64Type>().cloned())
            .map(Cells::Float),
        DataType::Dictionary(_, kind) => as_type((**kind).clone()).map(|array| cells(&array)),
        DataType::RunEndEncoded(_, values) => {
            as_type(values.data_type().clone()).map(|array| cells(&array))
        }
        DataType::List(item)
        | DataType::LargeList(item)
        | DataType::FixedSizeList(item, _)
        | DataType::ListView(item)
        | DataType::LargeListView(item) => as_type(DataType::List(Arc::clone(item)))
            .and_then(|array| array.as_list_opt::<i32>().cloned())
            .map(|lists| {
                let items = cells(lists.values());
                Cells::List(lists, Box::new(items))
            }),
        DataType::Struct(fields) => array.as_struct_opt().cloned().map(|structs| {
            let columns = structs.columns().iter().map(cells);
            let fields = fields.iter().map(|field| text(field.name())).zip(columns).collect();
            Cells::Struct(structs, fields)
        }),
        DataType::Map(..) => array.as_map_opt().cloned().map(|maps| {
            let (keys, values) = (shown(maps.keys()), cells(maps.values()));
            Cells::Map(maps, Box::new((keys, values)))
        }),
        _ => None,
    };
    found.unwrap_or_else(|| shown(array))
}

/// Converts values of all other types to text: ISO 8601 for times.
fn shown(array: &ArrayRef) -> Cells {
    let utc = match array.data_type() {
        // Names of zones are not known here.
        DataType::Timestamp(unit, Some(_)) => {
            cast(array, &DataType::Timestamp(*unit, Some("+00:00".into()))).ok()
        }
        _ => None,
    };
    let array = utc.as_ref().unwrap_or(array);
    // Bytes are rarely text.
    let texts =
        if array.data_type().is_binary() { None } else { cast(array, &DataType::Utf8).ok() };
    if let Some(texts) = texts.and_then(|texts| texts.as_string_opt().cloned()) {
        return Cells::Text(texts);
    }
    let Ok(formatter) = ArrayFormatter::try_new(array, &FormatOptions::new()) else {
        return Cells::Nothing;
    };
    let text = |row| formatter.value(row).try_to_string().ok().filter(|_| array.is_valid(row));
    Cells::Text((0..array.len()).map(text).collect())
}

impl Cells {
    #[inline]
    fn write(&self, row: usize, out: &mut Vec<u8>) {
        match self {
            Self::Int(array) if array.is_valid(row) => write_int(array.value(row), out),
            Self::Text(array) if array.is_valid(row) => write_text(array.value(row), out),
            Self::Float(array) if array.is_valid(row) => {
                out.push(b'g');
                out.extend_from_slice(&array.value(row).to_le_bytes());
            }
            Self::Bool(array) if array.is_valid(row) => {
                out.push(if array.value(row) { b'T' } else { b'F' });
            }
            Self::Unsigned(array) if array.is_valid(row) => match i64::try_from(array.value(row)) {
                Ok(value) => write_int(value, out),
                Err(_) => write_long(array.value(row), false, out),
            },
            Self::List(lists, items) if lists.is_valid(row) => {
                let (start, end) = ends(lists.value_offsets(), row);
                out.push(b'[');
                out.extend_from_slice(&(end.saturating_sub(start) as u32).to_le_bytes());
                (start..end).for_each(|item| items.write(item, out));
            }
            Self::Struct(structs, fields) if structs.is_valid(row) => {
                out.push(b'{');
                for (key, values) in fields {
                    out.extend_from_slice(key);
                    values.write(row, out);
                }
                out.push(b'0');
            }
            Self::Map(maps, entries) if maps.is_valid(row) => {
                let (start, end) = ends(maps.value_offsets(), row);
                out.push(b'{');
                for entry in start..end {
                    entries.0.write(entry, out);
                    entries.1.write(entry, out);
                }
                out.push(b'0');
            }
            _ => out.push(b'N'),
        }
    }
}

fn ends(offsets: &[i32], row: usize) -> (usize, usize) {
    (offsets[row] as usize, offsets[row + 1] as usize)
}

fn text(text: &str) -> Vec<u8> {
    let mut out = Vec::new();
    write_text(text, &mut out);
    out
}

#[inline]
fn write_text(text: &str, out: &mut Vec<u8>) {
    if !text.is_ascii() {
        out.push(b'u');
        write_bytes(text, out);
    } else if let Ok(length) = u8::try_from(text.len()) {
        out.extend_from_slice(&[b'z', length]);
        out.extend_from_slice(text.as_bytes());
    } else {
        out.push(b'a');
        write_bytes(text, out);
    }
}

/// Texts of an array have at most 2 GB.
fn write_bytes(text: &str, out: &mut Vec<u8>) {
    out.extend_from_slice(&(text.len() as u32).to_le_bytes());
    out.extend_from_slice(text.as_bytes());
}

#[inline]
fn write_int(value: i64, out: &mut Vec<u8>) {
    match i32::try_from(value) {
        Ok(value) => {
            out.push(b'i');
            out.extend_from_slice(&value.to_le_bytes());
        }
        Err(_) => write_long(value.unsigned_abs(), value < 0, out),
    }
}

fn write_long(mut size: u64, negative: bool, out: &mut Vec<u8>) {
    let count = (u64::BITS - size.leading_zeros()).div_ceil(DIGIT_BITS) as i32;
    out.push(b'l');
    out.extend_from_slice(&(if negative { -count } else { count }).to_le_bytes());
    while size > 0 {
        let digit = (size & ((1 << DIGIT_BITS) - 1)) as u16;
        out.extend_from_slice(&digit.to_le_bytes());
        size >>= DIGIT_BITS;
    }
}
