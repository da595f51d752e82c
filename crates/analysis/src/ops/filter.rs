//! The analysis `filter`: the rows for which conditions hold.

use datafusion::{
    arrow::datatypes::DataType,
    functions_aggregate::expr_fn::{count, sum},
    logical_expr::{cast, lit},
};
use serde_json::{Map, Value, json};

use super::{
    columns,
    conditions::{Logic, predicate},
    order::Rows,
    reading::Given,
    sorting,
};
use crate::{
    error::Result,
    work::{Outcome, Work},
};

const KNOWN: &[&str] = &[
    "conditions",
    "logic",
    "select",
    "fields",
    "output_fields",
    "sort",
    "sort_by",
    "order_by",
    "descending",
    "ascending",
    "limit",
    "offset",
];

pub(crate) async fn run(work: &Work, parameters: &Map<String, Value>) -> Result<Outcome> {
    let given = Given::parameters(parameters, KNOWN)?;
    let (path, conditions) =
        given.value(&["conditions"]).ok_or_else(|| given.missing(&["conditions"]))?;
    let frame = work.main().await?;
    let holds = predicate(work, &frame, &path, conditions, Logic::of(&given)?).await?;

    let holds_as_number = cast(holds.clone().is_true(), DataType::Int64);
    let counts = vec![count(lit(1)), sum(holds_as_number)];
    let counts = columns::figures(work, frame.clone(), counts).await?;

    let keys = sorting::sort_keys(work, &frame, &given)?;
    let mut rows = Rows::of(frame.clone()).filter(holds)?;
    if let Some(keys) = keys {
        rows = rows.sort(keys)?;
    }
    if let Some((offset, limit)) = sorting::page(&given)? {
        rows = rows.page(offset, limit)?;
    }
    if let Some(names) = given.names(&["select", "fields", "output_fields"])? {
        columns::check(work, &frame, &names)?;
        rows = rows.only(&names.into_iter().map(|column| column.name).collect::<Vec<_>>())?;
    }
    Ok(Outcome { facts: facts(counts[0], counts[1]), frame: Some(rows.finish()?) })
}

fn facts(total: usize, filtered: usize) -> Map<String, Value> {
    let share = if total == 0 { 0.0 } else { filtered as f64 * 100.0 / total as f64 };
    let mut facts = Map::new();
    facts.insert("filtered_count".to_owned(), json!(filtered));
    facts.insert("total_count".to_owned(), json!(total));
    facts.insert("filtered_percentage".to_owned(), json!((share * 100.0).round() / 100.0));
    facts
}
