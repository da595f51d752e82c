//! The analysis `filter`: the rows for which conditions hold.

use datafusion::{functions_aggregate::expr_fn::count, logical_expr::lit, prelude::DataFrame};
use serde_json::{Map, Value, json};

use super::{
    columns,
    conditions::{Logic, predicate},
    params::Params,
    row_order::OrderedRows,
    sorting::{Sorted, page, sort_keys},
};
use crate::{
    counting::{self, Counter},
    error::Result,
    kind::AnalysisType,
    work::{AnalysisContext, OpOutput},
};

/// The most rows that are sorted in memory to keep the order of the table when the caller asks for no
/// order.
const MAX_GATHERED: usize = 1 << 16;

pub(crate) async fn run(
    work: &AnalysisContext,
    parameters: &Map<String, Value>,
) -> Result<OpOutput> {
    let given = Params::parameters(AnalysisType::Filter, parameters)?;
    let (path, conditions) =
        given.value("conditions").ok_or_else(|| given.missing("conditions"))?;
    let frame = work.main().await?;
    let holds = predicate(work, &frame, &path, conditions, Logic::of(&given)?).await?;
    let frame = frame.filter(holds)?;
    let sorted = Sorted { frame: &frame, groups: None };
    let keys = sort_keys(work, &sorted, &given).await?;
    let page = page(&given)?;
    let selected = given.names("select")?;
    columns::check(work, &frame, selected.as_deref().unwrap_or_default())?;

    let counter = Counter::default();
    let mut rows = chosen(work, frame, &counter, keys.is_some(), page).await?;
    if let Some(keys) = keys {
        rows = rows.sort(keys)?;
    }
    if let Some((offset, limit)) = page {
        rows = rows.page(offset, limit)?;
    }
    if let Some(names) = selected {
        rows = rows.only(&names.into_iter().map(|column| column.name).collect::<Vec<_>>())?;
    }
    let total = work.main_rows().await?;
    let later = Box::new(move || facts(total, counter.count()));
    Ok(OpOutput { frame: Some(rows.finish()?), later: Some(later), ..OpOutput::default() })
}

/// Returns the chosen rows. They are counted while the answer is read, if the answer reads all of them,
/// and otherwise by a query of their own.
async fn chosen(
    work: &AnalysisContext,
    frame: DataFrame,
    counter: &Counter,
    is_sorted: bool,
    page: Option<(usize, Option<usize>)>,
) -> Result<OrderedRows> {
    let wanted = page.and_then(|(offset, limit)| Some(limit?.saturating_add(offset)));
    let is_nothing = page.is_some_and(|(_, limit)| limit == Some(0));
    match (is_sorted, wanted) {
        _ if is_nothing => {}
        (true, _) => return OrderedRows::placed(frame, counter),
        // The first rows are found as by a sort, which looks at all rows.
        (false, Some(wanted)) if wanted <= MAX_GATHERED => {
            return OrderedRows::placed(frame, counter);
        }
        (false, None) if page.is_none() => {
            return Ok(OrderedRows::by(counting::counted(frame, counter)?, []));
        }
        (false, _) => {}
    }
    let counts = columns::figures(work, frame.clone(), vec![count(lit(1))]).await?;
    counter.add(counts[0]);
    Ok(OrderedRows::of(frame))
}

fn facts(total: usize, filtered: usize) -> Map<String, Value> {
    let share = if total == 0 { 0.0 } else { filtered as f64 * 100.0 / total as f64 };
    let mut facts = Map::new();
    facts.insert("filtered_count".to_owned(), json!(filtered));
    facts.insert("total_count".to_owned(), json!(total));
    facts.insert("filtered_percentage".to_owned(), json!((share * 100.0).round() / 100.0));
    facts
}
