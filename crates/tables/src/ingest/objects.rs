//! Splits objects in tables that are used unchanged, such as Parquet files: their fields become columns
//! with dotted names, as those of JSON do.

use std::{collections::HashSet, sync::Arc};

use datafusion::{
    arrow::datatypes::DataType,
    catalog::TableProvider,
    datasource::{ViewTable, provider_as_source},
    logical_expr::LogicalPlanBuilder,
    prelude::ident,
};

use crate::{flaw::Result, functions::fields_of};

/// Returns the table with its objects split into columns. A table in which two columns would have the
/// same name stays unchanged.
pub(super) fn spread(table: Arc<dyn TableProvider>) -> Result<Arc<dyn TableProvider>> {
    let schema = table.schema();
    let is_object = |data_type: &DataType| matches!(data_type, DataType::Struct(_));
    if !schema.fields().iter().any(|field| is_object(field.data_type())) {
        return Ok(table);
    }
    let mut columns = Vec::new();
    for field in schema.fields() {
        fields_of(ident(field.name()), field.data_type(), field.name(), &mut columns);
    }
    let mut seen = HashSet::new();
    if columns.is_empty() || !columns.iter().all(|(name, _)| seen.insert(name)) {
        return Ok(table);
    }
    let values = columns.into_iter().map(|(name, value)| value.alias(name));
    let objects = LogicalPlanBuilder::scan("objects", provider_as_source(table), None)?;
    Ok(Arc::new(ViewTable::new(objects.project(values)?.build()?, None)))
}
