//! `FROM generate_series(1, 10)`: the only functions that can be used as tables.

use std::sync::Arc;

use datafusion::{
    catalog::{TableFunction, TableFunctionArgs, TableFunctionImpl, TableProvider},
    common::{ScalarValue, plan_err},
    error::Result,
    execution::SessionStateDefaults,
    logical_expr::Expr,
};

/// The most rows of a series.
const MAX_ROWS: u64 = 10_000_000;

pub(super) fn table_functions() -> Vec<Arc<TableFunction>> {
    let plain = SessionStateDefaults::default_table_functions().into_iter();
    let bounded = plain.map(|function| {
        let name = function.name().to_owned();
        Arc::new(TableFunction::new(name, Arc::new(BoundedSeries(function))))
    });
    bounded.collect()
}

#[derive(Debug)]
struct BoundedSeries(Arc<TableFunction>);

impl TableFunctionImpl for BoundedSeries {
    fn call_with_args(&self, args: TableFunctionArgs) -> Result<Arc<dyn TableProvider>> {
        if rows(args.exprs()) > MAX_ROWS {
            return plan_err!("{} gives at most {MAX_ROWS} rows", self.0.name());
        }
        self.0.create_table_provider_with_args(args)
    }
}

/// Returns how many rows a series of numbers has; 0 for series of dates and times, which are not
/// counted.
fn rows(args: &[Expr]) -> u64 {
    let number = |index: usize| match args.get(index) {
        Some(Expr::Literal(value, _)) => {
            match value.cast_to(&datafusion::arrow::datatypes::DataType::Int64) {
                Ok(ScalarValue::Int64(number)) => number,
                _ => None,
            }
        }
        _ => None,
    };
    let (start, stop, step) = match args.len() {
        1 => (Some(0), number(0), Some(1)),
        2 => (number(0), number(1), Some(1)),
        _ => (number(0), number(1), number(2)),
    };
    match (start, stop, step) {
        (Some(start), Some(stop), Some(step)) if step != 0 => {
            stop.abs_diff(start) / step.unsigned_abs()
        }
        _ => 0,
    }
}
