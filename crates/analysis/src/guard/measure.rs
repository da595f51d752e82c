//! Measures: what [`Measured`](super::node::Measured) checks of batches, and into which parts it cuts
//! them.

use datafusion::{
    arrow::{
        array::{ArrayRef, AsArray, RecordBatch},
        datatypes::DataType,
    },
    common::resources_err,
    error::Result,
};

use super::{
    BATCH_ROWS,
    weigh::{compact, is_wide, longest, owned, weigh, widest},
};

#[derive(Clone, Debug)]
pub(super) enum Measure {
    /// An operator will make `values` values of any size from each row, beside constants: batches are
    /// cut so that what is made of each part fits into one step.
    Computed { step_bytes: usize, values: usize, constant_bytes: usize },
    /// An operator will make a row of each element of a list: batches are cut so that the result of each
    /// part fits into one step.
    Unnested { step_bytes: usize },
    /// An operator will repeat rows: fails for a row with more bytes than this.
    Rows { max_bytes: usize },
    /// An operator may give any number of rows at once: batches are cut into the usual steps.
    Steps,
    /// An operator will hold rows: batches are copied out of larger buffers, whose memory would
    /// otherwise stay and be counted.
    Held,
}

impl Measure {
    /// Cuts a batch into parts, in reverse order.
    pub(super) fn parts(&self, batch: RecordBatch) -> Result<Vec<RecordBatch>> {
        let mut parts = Vec::new();
        match *self {
            Self::Rows { max_bytes } => {
                let width: usize = wide(&batch).map(|column| widest(column)).sum();
                if width > max_bytes {
                    return resources_err!("a row of {width} bytes is too wide to be repeated");
                }
                parts.push(owned(batch));
            }
            Self::Held => parts.push(owned(batch)),
            Self::Steps => parts.extend(steps(batch).collect::<Vec<_>>().into_iter().rev()),
            Self::Computed { step_bytes, values, constant_bytes } => {
                let cost = |part: &RecordBatch| {
                    let bytes: usize = wide(part).map(|column| weigh(column)).sum();
                    let constants = constant_bytes.saturating_mul(part.num_rows());
                    bytes.saturating_mul(values).saturating_add(constants)
                };
                divide(batch, step_bytes, &cost, &mut parts)?;
            }
            Self::Unnested { step_bytes } => {
                divide(batch, step_bytes, &unnested_bytes, &mut parts)?;
            }
        }
        Ok(parts)
    }
}

/// Cuts a batch into steps, each of which is a copy that does not keep the whole batch in memory.
pub(super) fn steps(batch: RecordBatch) -> impl Iterator<Item = RecordBatch> {
    let rows = batch.num_rows();
    (0..rows).step_by(BATCH_ROWS).map(move |start| match rows <= BATCH_ROWS {
        true => batch.clone(),
        false => compact(&batch, start, BATCH_ROWS.min(rows - start)),
    })
}

fn wide(batch: &RecordBatch) -> impl Iterator<Item = &ArrayRef> {
    batch.columns().iter().filter(|column| is_wide(column.data_type()))
}

/// Halves a batch until each part costs at most `max`, and appends the parts in reverse order. Fails if
/// a single row costs more.
fn divide(
    batch: RecordBatch,
    max: usize,
    cost: &dyn Fn(&RecordBatch) -> usize,
    parts: &mut Vec<RecordBatch>,
) -> Result<()> {
    let rows = batch.num_rows();
    if rows == 0 || cost(&batch) <= max {
        parts.push(batch);
        return Ok(());
    }
    if rows == 1 {
        return resources_err!("one row takes more than {max} bytes");
    }
    let half = rows / 2;
    divide(batch.slice(half, rows - half), max, cost, parts)?;
    divide(batch.slice(0, half), max, cost, parts)
}

/// Returns an upper bound of the bytes after one list of a batch is unnested: the other columns once for
/// each element of the longest list.
fn unnested_bytes(batch: &RecordBatch) -> usize {
    let weights: Vec<usize> = batch.columns().iter().map(|column| weigh(column)).collect();
    let all: usize = weights.iter().sum();
    let unnested = |(column, own): (&ArrayRef, &usize)| {
        (all - own).saturating_mul(max_elements(column)).saturating_add(*own)
    };
    batch.columns().iter().zip(&weights).map(unnested).max().unwrap_or_default()
}

/// Returns an upper bound of the elements in one list of a column, including those of lists within it.
fn max_elements(array: &ArrayRef) -> usize {
    let (longest, values) = match array.data_type() {
        DataType::List(_) => {
            let list = array.as_list::<i32>();
            (longest(list.value_offsets()), list.values())
        }
        DataType::LargeList(_) => {
            let list = array.as_list::<i64>();
            (longest(list.value_offsets()), list.values())
        }
        DataType::FixedSizeList(_, length) => {
            (*length as usize, array.as_fixed_size_list().values())
        }
        _ => return 1,
    };
    longest.max(1).saturating_mul(max_elements(values))
}
