//! The node of a logical plan that counts rows.

use std::{cmp, fmt, sync::Arc};

use datafusion::{
    arrow::datatypes::{DataType, Field},
    common::{DFSchema, DFSchemaRef, plan_err},
    error::Result,
    logical_expr::{Expr, LogicalPlan, UserDefinedLogicalNodeCore},
};

use super::Counter;

/// A node that counts the rows of its input. Limits and conditions of nodes above are not pushed below
/// it, because fewer rows would be counted.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Counting {
    input: LogicalPlan,
    pub(super) counter: Counter,
    /// The name of the column that says which rows come first.
    pub(super) place: Option<String>,
    schema: DFSchemaRef,
}

impl Counting {
    pub(super) fn new(input: LogicalPlan, counter: Counter, place: Option<String>) -> Result<Self> {
        let schema = match &place {
            None => input.schema().clone(),
            Some(name) => {
                let given =
                    input.schema().iter().map(|(table, field)| (table.cloned(), field.clone()));
                let fields = given.chain([(None, Arc::new(place_field(name)))]).collect();
                let metadata = input.schema().metadata().clone();
                Arc::new(DFSchema::new_with_metadata(fields, metadata)?)
            }
        };
        Ok(Self { input, counter, place, schema })
    }
}

pub(super) fn place_field(name: &str) -> Field {
    Field::new(name, DataType::Int64, false)
}

/// Nodes have no order; DataFusion requires this trait.
impl PartialOrd for Counting {
    fn partial_cmp(&self, other: &Self) -> Option<cmp::Ordering> {
        (self == other).then_some(cmp::Ordering::Equal)
    }
}

impl UserDefinedLogicalNodeCore for Counting {
    fn name(&self) -> &str {
        "Counting"
    }

    fn inputs(&self) -> Vec<&LogicalPlan> {
        vec![&self.input]
    }

    fn schema(&self) -> &DFSchemaRef {
        &self.schema
    }

    fn expressions(&self) -> Vec<Expr> {
        Vec::new()
    }

    fn fmt_for_explain(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Counting: {:?}", self.place)
    }

    fn with_exprs_and_inputs(&self, _: Vec<Expr>, inputs: Vec<LogicalPlan>) -> Result<Self> {
        match <[LogicalPlan; 1]>::try_from(inputs) {
            Ok([input]) => Self::new(input, self.counter.clone(), self.place.clone()),
            Err(_) => plan_err!("rows are counted of one input"),
        }
    }

    /// Lets unused columns of the input be left out.
    fn necessary_children_exprs(&self, columns: &[usize]) -> Option<Vec<Vec<usize>>> {
        let given = self.input.schema().fields().len();
        Some(vec![columns.iter().copied().filter(|column| *column < given).collect()])
    }
}
