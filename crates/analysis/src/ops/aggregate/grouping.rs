//! Groups rows, computes their figures, and selects and sorts the groups.

use datafusion::{
    logical_expr::Expr,
    prelude::{DataFrame, ident},
};
use serde_json::{Map, Value};

use super::{
    expressions::Aggregates,
    metrics::{self, Figure, FigureFunction},
    top,
};
use crate::{
    error::{AnalysisError, Result},
    kind::AnalysisType,
    ops::{
        columns,
        conditions::{Logic, predicate},
        params::{ParamName, Params},
        row_order::OrderedRows,
        sorting::{Sorted, by_keys, page, sort_keys},
    },
    work::{AnalysisContext, OpOutput},
};

pub(crate) async fn run(
    work: &AnalysisContext,
    parameters: &Map<String, Value>,
) -> Result<OpOutput> {
    let given = Params::parameters(AnalysisType::Aggregate, parameters)?;
    let keys = given.names("group_by")?.unwrap_or_default();
    let frame = work.main().await?;
    columns::check(work, &frame, &keys)?;
    let figures = asked_figures(work, &frame, &keys, &given)?;
    if figures.is_empty() && keys.is_empty() {
        let reason = "there is none, and nothing to group by; one is {\"amount\": \"sum\"}";
        return Err(AnalysisError::parameter("aggregations", reason));
    }
    let rows = match figures.iter().find(|figure| matches!(figure.function, FigureFunction::Top(_)))
    {
        Some(top) if figures.len() == 1 => top::rows(work, frame.clone(), &keys, top).await?,
        Some(top) => {
            let reason = "gives rows, not one value for each group: ask for it alone";
            return Err(AnalysisError::parameter(&top.path, reason));
        }
        None => {
            let needs_rows = figures.iter().any(|figure| figure.function.is_ordered());
            let (frame, row) = match needs_rows {
                true => with_rows(OrderedRows::of(frame.clone()))?,
                false => (frame.clone(), None),
            };
            let groups = grouped(work, frame, row.as_deref(), &keys, &figures).await?;
            let sort = by_keys(&groups, &keys);
            OrderedRows::sorted(groups, sort)?
        }
    };
    finish(work, rows, (&frame, &keys), &given).await.map(OpOutput::from)
}

/// Reads the figures: of the columns that they name, of those in `fields`, or, as in pandas, of all
/// numbers.
fn asked_figures(
    work: &AnalysisContext,
    frame: &DataFrame,
    keys: &[ParamName],
    given: &Params<'_>,
) -> Result<Vec<Figure>> {
    let fields = given.names("fields")?;
    columns::check(work, frame, fields.as_deref().unwrap_or_default())?;
    let Some((path, value)) = given.value("aggregations") else {
        return Ok(default_figures(work, frame, keys, fields));
    };
    let counts_rows = value.as_str().is_some_and(|name| matches!(name, "count" | "size"));
    if counts_rows && fields.is_none() {
        return metrics::read(&path, value);
    }
    let columns = fields.clone().unwrap_or_else(|| numbers_of(frame, keys));
    match metrics::read_bare(&path, value, &columns) {
        Some(_) if columns.is_empty() => {
            let reason = "there is no column with numbers; `fields` names others";
            Err(AnalysisError::parameter(path, reason))
        }
        Some(figures) => figures,
        None if fields.is_some() => {
            let reason = "has columns of its own, so that those of `fields` have no figure; write \
                          functions only, such as [\"sum\", \"mean\"]";
            Err(AnalysisError::parameter(path, reason))
        }
        None => metrics::read(&path, value),
    }
}

/// Returns the columns of numbers that are not grouped by.
fn numbers_of(frame: &DataFrame, keys: &[ParamName]) -> Vec<ParamName> {
    let is_key = |name: &str| keys.iter().any(|key| key.name == name);
    let fields = frame.schema().fields().iter();
    fields
        .filter(|field| field.data_type().is_numeric() && !is_key(field.name()))
        .map(|field| ParamName { path: "aggregations".to_owned(), name: field.name().clone() })
        .collect()
}

/// Returns a frame with the number of the row in a column, and the name of that column.
pub(crate) fn with_rows(rows: OrderedRows) -> Result<(DataFrame, Option<String>)> {
    let (rows, row) = rows.numbered()?;
    Ok((rows.into_frame(), Some(row)))
}

/// Computes the figures of each group, in columns after those of the keys. If the order matters to them,
/// `row` is the column with the number of the row.
pub(crate) async fn grouped(
    work: &AnalysisContext,
    frame: DataFrame,
    row: Option<&str>,
    keys: &[ParamName],
    figures: &[Figure],
) -> Result<DataFrame> {
    let key_names = keys.iter().map(|key| key.name.as_str());
    let names = key_names.chain(figures.iter().map(|figure| figure.name.as_str()));
    columns::check_unique("aggregations", names)?;
    let mut aggregates = Aggregates::new(work, &frame, row);
    let mut values: Vec<Expr> = keys.iter().map(|key| ident(&key.name)).collect();
    for figure in figures {
        values.push(aggregates.value(figure).await?.alias(&figure.name));
    }
    let groups = keys.iter().map(|key| columns::value(&frame, &key.name).alias(&key.name));
    let groups: Vec<Expr> = groups.collect();
    let aggregates = aggregates.into_expressions();
    Ok(frame.aggregate(groups, aggregates)?.select(values)?)
}

/// Selects and sorts the groups. `of` is the ungrouped frame and its keys.
async fn finish(
    work: &AnalysisContext,
    mut rows: OrderedRows,
    of: (&DataFrame, &[ParamName]),
    given: &Params<'_>,
) -> Result<DataFrame> {
    let having = given.value("having");
    // Where groups are left out, what is left may be numbers though not all of the text is.
    let groups = having.is_none().then_some(of);
    if let Some((path, value)) = having {
        let holds = predicate(work, &rows.table()?, &path, value, Logic::And).await?;
        rows = rows.filter(holds)?;
    }
    let sorted = Sorted { frame: &rows.table()?, groups };
    if let Some(keys) = sort_keys(work, &sorted, given).await? {
        rows = rows.sort(keys)?;
    }
    if let Some((offset, limit)) = page(given)? {
        rows = rows.page(offset, limit)?;
    }
    rows.finish()
}

/// From how many columns on a note says that nobody asked for their figures.
const FEW_COLUMNS: usize = 5;

/// Returns the figures if none are asked for: the number of rows, and figures of these columns or of all
/// numbers.
fn default_figures(
    work: &AnalysisContext,
    frame: &DataFrame,
    keys: &[ParamName],
    fields: Option<Vec<ParamName>>,
) -> Vec<Figure> {
    let is_key = |name: &str| keys.iter().any(|key| key.name == name);
    let are_asked = fields.is_some();
    let numbers = fields.unwrap_or_else(|| numbers_of(frame, keys));
    if numbers.len() > FEW_COLUMNS && !are_asked {
        work.note(format!(
            "no aggregations were given: these are sum, mean, min and max of all {} columns with \
             numbers",
            numbers.len()
        ));
    }
    let figure = |field: Option<&ParamName>, name: String, function| Figure {
        path: "aggregations".to_owned(),
        field: field.cloned(),
        function,
        name,
    };
    let count = if is_key("count") { "row_count" } else { "count" };
    let mut figures = vec![figure(None, count.to_owned(), FigureFunction::Count)];
    for number in &numbers {
        for (suffix, function) in [
            ("sum", FigureFunction::Sum),
            ("mean", FigureFunction::Mean),
            ("min", FigureFunction::Min),
            ("max", FigureFunction::Max),
        ] {
            figures.push(figure(Some(number), format!("{}_{suffix}", number.name), function));
        }
    }
    figures
}
