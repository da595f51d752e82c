//! Adapts an aggregate over groups to all rows.

use datafusion::{
    arrow::array::ArrayRef,
    error::Result,
    logical_expr::{Accumulator, EmitTo, GroupsAccumulator},
    scalar::ScalarValue,
};

/// An aggregate over groups that is used without any: all rows are in one group, which exists from the
/// beginning.
#[derive(Debug)]
pub(super) struct Single<G>(pub(super) G);

impl<G: GroupsAccumulator + std::fmt::Debug + Sync> Accumulator for Single<G> {
    fn update_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        self.0.update_batch(values, &same_group(values), None, 1)
    }

    fn evaluate(&mut self) -> Result<ScalarValue> {
        ScalarValue::try_from_array(&self.0.evaluate(EmitTo::All)?, 0)
    }

    fn size(&self) -> usize {
        self.0.size()
    }

    fn state(&mut self) -> Result<Vec<ScalarValue>> {
        let state = self.0.state(EmitTo::All)?;
        state.iter().map(|array| ScalarValue::try_from_array(array, 0)).collect()
    }

    fn merge_batch(&mut self, states: &[ArrayRef]) -> Result<()> {
        self.0.merge_batch(states, &same_group(states), 1)
    }
}

fn same_group(values: &[ArrayRef]) -> Vec<usize> {
    vec![0; values.first().map_or(0, |array| array.len())]
}
