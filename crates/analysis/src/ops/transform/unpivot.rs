//! Turns columns into rows: for each row, one row for each of the columns.

use datafusion::{
    arrow::datatypes::DataType,
    common::NullHandling,
    functions_nested::expr_fn::make_array,
    logical_expr::{cast, lit},
    prelude::{DataFrame, ident},
};
use serde_json::Value;

use crate::{
    aliases::parameters::UNPIVOT,
    error::{AnalysisError, Result},
    ops::{
        columns,
        params::{ParamName, Params},
        row_order::OrderedRows,
    },
    work::AnalysisContext,
};

pub(super) fn apply(
    work: &AnalysisContext,
    rows: OrderedRows,
    path: &str,
    value: &Value,
) -> Result<OrderedRows> {
    let frame = rows.table()?;
    let given = Params::object(path, value, &UNPIVOT)?;
    let ids = given.names("id")?.unwrap_or_default();
    columns::check(work, &frame, &ids)?;
    let values = match given.names("values")? {
        Some(values) => values,
        None => rest(&frame, &ids, path),
    };
    columns::check(work, &frame, &values)?;
    if values.is_empty() {
        return Err(AnalysisError::parameter(given.path("values"), "there is no column for it"));
    }
    let variable = given.text("variable_name")?.unwrap_or("variable");
    let value = given.text("value_name")?.unwrap_or("value");
    let names = ids.iter().map(|column| column.name.as_str());
    columns::check_unique(path, names.chain([variable, value]))?;

    let common = common_type(work, &frame, &values);
    let cells = values.iter().map(|column| cast(ident(&column.name), common.clone()));
    let labels = values.iter().map(|column| lit(&column.name));
    let id_values = || ids.iter().map(|column| ident(&column.name));
    let hidden = ["variable", "value"].map(|name| columns::unused(&frame, name));
    let lists = vec![
        (hidden[0].clone(), make_array(labels.collect())),
        (hidden[1].clone(), make_array(cells.collect())),
    ];
    let places = make_array((0..values.len()).map(|place| lit(place as u64)).collect());
    let rows = rows.unnested(id_values().collect(), lists, places, NullHandling::Preserve)?;
    let results = [ident(&hidden[0]).alias(variable), ident(&hidden[1]).alias(value)];
    rows.select(id_values().chain(results).collect())
}

fn rest(frame: &DataFrame, ids: &[ParamName], path: &str) -> Vec<ParamName> {
    let is_id = |name: &String| ids.iter().any(|id| id.name == *name);
    let names = columns::names(frame).into_iter().filter(|name| !is_id(name));
    names.map(|name| ParamName { path: path.to_owned(), name }).collect()
}

/// Returns a type that all these columns can have: integers, floats, the type that they share, or text.
fn common_type(work: &AnalysisContext, frame: &DataFrame, values: &[ParamName]) -> DataType {
    let types: Vec<DataType> =
        values.iter().map(|column| columns::data_type(frame, &column.name)).collect();
    match types.first() {
        Some(first) if types.iter().all(|other| other == first) => first.clone(),
        _ if types.iter().all(DataType::is_integer) => DataType::Int64,
        _ if types.iter().all(DataType::is_numeric) => DataType::Float64,
        _ => {
            work.note("the columns that became rows have different types: their values are text");
            DataType::Utf8
        }
    }
}
