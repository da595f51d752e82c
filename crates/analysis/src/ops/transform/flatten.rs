//! One row for each element of a list.

use std::fmt::Write as _;

use datafusion::{
    arrow::{
        array::{AsArray, StringArray},
        compute::cast as cast_array,
        datatypes::{DataType, UInt64Type},
    },
    common::NullHandling,
    execution::memory_pool::MemoryConsumer,
    functions_nested::expr_fn::{array_length, range},
    logical_expr::{Expr, JoinType, cast, lit},
    prelude::{DataFrame, ident},
    scalar::ScalarValue,
};
use futures::TryStreamExt;
use narrows_tables::Input;
use serde_json::{Value, value::RawValue};

use crate::{
    aliases::parameters::FLATTENED,
    error::{AnalysisError, Result},
    functions::fields_of,
    load::load,
    ops::{
        columns,
        numbers::is_text,
        params::{self, ParamName, Params},
        row_order::OrderedRows,
    },
    work::AnalysisContext,
};

/// Applies a field, or `{"field": "orders", "drop_empty": true}`. Objects in the list become columns
/// with dotted names. A row without elements stays, with null in these columns, unless `drop_empty`.
pub(super) async fn apply(
    work: &AnalysisContext,
    rows: OrderedRows,
    path: &str,
    value: &Value,
    drop_empty: bool,
) -> Result<OrderedRows> {
    let (field, drop_empty) = match value {
        Value::Object(_) => {
            let given = Params::object(path, value, &FLATTENED)?;
            let own = given.flag("drop_empty")?;
            (given.required_name("field")?, own.unwrap_or(drop_empty))
        }
        name => {
            let name = params::text(path, name)?.to_owned();
            (ParamName { path: path.to_owned(), name }, drop_empty)
        }
    };
    let frame = rows.table()?;
    work.column(&frame, &field.path, &field.name)?;
    match columns::data_type(&frame, &field.name) {
        data_type if is_text(&data_type) => of_text(work, rows, &field, drop_empty).await,
        DataType::List(_) | DataType::LargeList(_) | DataType::FixedSizeList(_, _) => {
            of_lists(rows, &field, drop_empty)
        }
        other => {
            let reason = format!("column {:?} holds {other}, not lists", field.name);
            Err(AnalysisError::parameter(&field.path, reason))
        }
    }
}

/// Lists as JSON text: their elements are read as any other data.
async fn of_text(
    work: &AnalysisContext,
    rows: OrderedRows,
    field: &ParamName,
    drop_empty: bool,
) -> Result<OrderedRows> {
    let names = rows.names();
    let (rows, row) = rows.numbered()?;
    let frame = rows.into_frame();
    let mut elements = Elements::new(&frame, field);
    let lists = frame.clone().select(vec![ident(&row), ident(&field.name)])?;
    let pool = work.context().runtime_env().memory_pool.clone();
    let reservation = MemoryConsumer::new("flatten").register(&pool);
    let mut batches = lists.execute_stream().await?;
    while let Some(batch) = batches.try_next().await? {
        let rows = batch.column(0).as_primitive::<UInt64Type>();
        let texts = cast_array(batch.column(1), &DataType::Utf8)
            .map_err(|error| AnalysisError::Internal(error.to_string()))?;
        elements.add(rows.values(), texts.as_string::<i32>());
        reservation.try_resize(elements.text.capacity())?;
    }
    let Parts { frame: parts, row: part_row, place, columns: parts_columns } =
        elements.into_parts(work).await?;
    let mut outputs: Vec<(String, Expr)> = Vec::new();
    for name in names {
        if name == field.name {
            outputs
                .extend(parts_columns.iter().map(|(hidden, name)| (name.clone(), ident(hidden))));
        } else {
            outputs.push((name.clone(), ident(name)));
        }
    }
    columns::check_unique(&field.path, outputs.iter().map(|(name, _)| name.as_str()))?;
    let order = [row.clone(), place];
    let mut outputs: Vec<Expr> =
        outputs.into_iter().map(|(name, value)| value.alias(name)).collect();
    outputs.extend(order.iter().map(ident));
    let join_type = if drop_empty { JoinType::Inner } else { JoinType::Left };
    let belongs = ident(row).eq(ident(part_row));
    let joined = frame.join_on(parts, join_type, [belongs])?;
    Ok(OrderedRows::by(joined.select(outputs)?, order))
}

/// All elements as the JSON text of a table.
struct Elements {
    text: String,
    /// The columns for the number of the row and the place in its list.
    row: String,
    place: String,
    name: String,
}

/// Elements as a table.
struct Parts {
    frame: DataFrame,
    row: String,
    place: String,
    /// The names of columns, as they are now and as they shall be.
    columns: Vec<(String, String)>,
}

impl Elements {
    /// Chooses names for temporary columns that no column begins with.
    fn new(frame: &DataFrame, field: &ParamName) -> Self {
        let names = columns::names(frame);
        let mut prefix = "__element".to_owned();
        while names.iter().any(|name| name.starts_with(&prefix)) {
            prefix.push('_');
        }
        Self {
            text: "[".to_owned(),
            row: format!("{prefix}_row"),
            place: format!("{prefix}_place"),
            name: field.name.clone(),
        }
    }

    fn add(&mut self, rows: &[u64], texts: &StringArray) {
        let given = rows.iter().zip(texts).filter_map(|(row, text)| Some((row, text?)));
        for (row, text) in given {
            if let Ok(elements) = serde_json::from_str::<Vec<&RawValue>>(text) {
                for (place, element) in elements.iter().enumerate() {
                    self.push(*row, place, element.get());
                }
            } else if serde_json::from_str::<&RawValue>(text).is_ok() {
                // What is no list is the only element, as for pandas.
                self.push(*row, 0, text);
            } else {
                self.push(*row, 0, &Value::String(text.to_owned()).to_string());
            }
        }
    }

    fn push(&mut self, row: u64, place: usize, element: &str) {
        let Self { text, row: row_name, place: place_name, name } = self;
        if text.len() > 1 {
            text.push(',');
        }
        // Writing to a text cannot fail.
        let _ = write!(text, "{{\"{row_name}\":{row},\"{place_name}\":{place}");
        if element != "null" {
            let _ = write!(text, ",{}:{element}", Value::String(name.clone()));
        }
        text.push('}');
    }

    async fn into_parts(mut self, work: &AnalysisContext) -> Result<Parts> {
        let is_empty = self.text.len() == 1;
        if is_empty {
            // A row that belongs to none.
            self.push(0, 0, "null");
        }
        self.text.push(']');
        let loaded = load(work.context(), &self.name, Input::Text(self.text)).await?;
        loaded.notes.into_iter().for_each(|note| work.note(note));
        let frame = work.context().read_table(loaded.provider)?;
        let own = [self.row.clone(), self.place.clone()];
        let mut values: Vec<Expr> = own.iter().map(ident).collect();
        let mut columns: Vec<(String, String)> = Vec::new();
        let mut add = |name: String, value: Expr| {
            let hidden = format!("{}_{}", self.row, columns.len());
            values.push(value.alias(&hidden));
            columns.push((hidden, name));
        };
        for name in columns::names(&frame).into_iter().filter(|name| !own.contains(name)) {
            add(name.clone(), ident(name));
        }
        if frame.schema().fields().len() == own.len() {
            add(self.name, lit(ScalarValue::Utf8(None)));
        }
        Ok(Parts { frame: frame.select(values)?, row: self.row, place: self.place, columns })
    }
}

/// Lists that the query engine knows as such.
fn of_lists(rows: OrderedRows, field: &ParamName, drop_empty: bool) -> Result<OrderedRows> {
    let names = rows.names();
    let hidden = columns::unused(&rows.table()?, "element");
    let null_handling = match drop_empty {
        true => NullHandling::Drop,
        false => NullHandling::PreserveAndExpandEmpty,
    };
    let list = ident(&field.name);
    let length = cast(array_length(list.clone()), DataType::Int64);
    let places = range(lit(0_i64), length, lit(1_i64));
    let kept = names.iter().filter(|name| **name != field.name).map(ident).collect();
    let rows = rows.unnested(kept, vec![(hidden.clone(), list)], places, null_handling)?;
    let element_type = columns::data_type(&rows.table()?, &hidden);
    let mut outputs: Vec<(String, Expr)> = Vec::new();
    for name in names {
        if name == field.name {
            fields_of(ident(&hidden), &element_type, &name, &mut outputs);
        } else {
            outputs.push((name.clone(), ident(name)));
        }
    }
    columns::check_unique(&field.path, outputs.iter().map(|(name, _)| name.as_str()))?;
    rows.select(outputs.into_iter().map(|(name, value)| value.alias(name)).collect())
}
