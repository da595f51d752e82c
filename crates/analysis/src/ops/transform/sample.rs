//! Takes a random sample of rows, the same for the same seed.

use datafusion::prelude::ident;
use serde_json::Value;

use crate::{
    aliases::parameters::SAMPLE,
    error::Result,
    functions::scatter,
    ops::{
        params::{self, Params},
        row_order::OrderedRows,
    },
};

/// Applies a sample: a number, or `{"n": 100, "seed": 7}`.
pub(super) fn apply(
    rows: OrderedRows,
    path: &str,
    value: &Value,
    step: &Params<'_>,
) -> Result<OrderedRows> {
    let seed = step.count("seed")?;
    let (count, own_seed) = match value {
        Value::Object(_) => {
            let given = Params::object(path, value, &SAMPLE)?;
            let count = given.count("n")?.ok_or_else(|| given.missing("n"))?;
            (count, given.count("seed")?)
        }
        number => (params::count(path, number)?, None),
    };
    let seed = own_seed.or(seed).unwrap_or(0) as u64;
    let (rows, row) = rows.numbered()?;
    let by_chance = vec![scatter(ident(&row), seed).sort(true, false)];
    let frame = rows.into_frame().sort(by_chance)?.limit(0, Some(count))?;
    Ok(OrderedRows::by(frame, [row]))
}
