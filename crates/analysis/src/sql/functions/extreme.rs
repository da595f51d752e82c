//! `min` and `max` that find infinity among the values of a group.
//!
//! The query engine looks for the smallest number of a group from the largest finite one downwards.
//! Numbers with a point are looked for by whole numbers in the same order here, which have no such
//! end.

use std::sync::Arc;

use datafusion::{
    arrow::{
        array::{ArrayRef, AsArray, BooleanArray},
        compute::cast,
        datatypes::{DataType, FieldRef, Float64Type, Int64Type},
    },
    common::ScalarValue,
    error::Result,
    functions_aggregate::min_max::{max_udaf, min_udaf},
    logical_expr::{
        Accumulator, AggregateUDF, AggregateUDFImpl, EmitTo, GroupsAccumulator, ReversedUDAF,
        SetMonotonicity, Signature, StatisticsArgs,
        expr::AggregateFunctionParams,
        function::{AccumulatorArgs, StateFieldsArgs},
        utils::AggregateOrderSensitivity,
    },
};

use super::registry::named_apart;
use crate::float_keys::{key, number};

#[derive(Debug, PartialEq, Eq, Hash)]
pub(super) struct Extreme {
    inner: Arc<AggregateUDF>,
}

impl Extreme {
    /// Returns `min` and `max`.
    pub(super) fn both() -> [Self; 2] {
        [min_udaf(), max_udaf()].map(|inner| Self { inner })
    }
}

impl AggregateUDFImpl for Extreme {
    fn name(&self) -> &str {
        self.inner.name()
    }

    fn schema_name(&self, params: &AggregateFunctionParams) -> Result<String> {
        Ok(named_apart(self.inner.schema_name(params)?, params))
    }

    fn signature(&self) -> &Signature {
        self.inner.signature()
    }

    fn return_type(&self, types: &[DataType]) -> Result<DataType> {
        self.inner.return_type(types)
    }

    fn coerce_types(&self, types: &[DataType]) -> Result<Vec<DataType>> {
        self.inner.coerce_types(types)
    }

    fn accumulator(&self, args: AccumulatorArgs) -> Result<Box<dyn Accumulator>> {
        self.inner.accumulator(args)
    }

    fn create_sliding_accumulator(&self, args: AccumulatorArgs) -> Result<Box<dyn Accumulator>> {
        self.inner.create_sliding_accumulator(args)
    }

    fn state_fields(&self, args: StateFieldsArgs) -> Result<Vec<FieldRef>> {
        self.inner.state_fields(args)
    }

    fn groups_accumulator_supported(&self, args: AccumulatorArgs) -> bool {
        self.inner.groups_accumulator_supported(args)
    }

    fn create_groups_accumulator(
        &self,
        args: AccumulatorArgs,
    ) -> Result<Box<dyn GroupsAccumulator>> {
        let kind = args.return_type().clone();
        if !kind.is_floating() {
            return self.inner.create_groups_accumulator(args);
        }
        let field = args.return_field.as_ref().clone().with_data_type(DataType::Int64);
        let inner = AccumulatorArgs { return_field: Arc::new(field), ..args };
        Ok(Box::new(Keyed { inner: self.inner.create_groups_accumulator(inner)?, kind }))
    }

    fn is_descending(&self) -> Option<bool> {
        self.inner.is_descending()
    }

    fn order_sensitivity(&self) -> AggregateOrderSensitivity {
        AggregateOrderSensitivity::Insensitive
    }

    fn reverse_expr(&self) -> ReversedUDAF {
        ReversedUDAF::Identical
    }

    fn value_from_stats(&self, args: &StatisticsArgs) -> Option<ScalarValue> {
        self.inner.value_from_stats(args)
    }

    fn set_monotonicity(&self, data_type: &DataType) -> SetMonotonicity {
        self.inner.inner().set_monotonicity(data_type)
    }
}

/// Numbers with a point, looked for by their keys.
struct Keyed {
    inner: Box<dyn GroupsAccumulator>,
    /// The type of the numbers.
    kind: DataType,
}

impl Keyed {
    fn keys(values: &[ArrayRef]) -> Result<Vec<ArrayRef>> {
        let keys = values.iter().map(|values| {
            let numbers = cast(values, &DataType::Float64)?;
            let keys = numbers.as_primitive::<Float64Type>().unary::<_, Int64Type>(key);
            Ok(Arc::new(keys) as ArrayRef)
        });
        keys.collect()
    }

    fn numbers(&self, keys: &ArrayRef) -> Result<ArrayRef> {
        let numbers = keys.as_primitive::<Int64Type>().unary::<_, Float64Type>(number);
        Ok(cast(&(Arc::new(numbers) as ArrayRef), &self.kind)?)
    }
}

impl GroupsAccumulator for Keyed {
    fn update_batch(
        &mut self,
        values: &[ArrayRef],
        groups: &[usize],
        filter: Option<&BooleanArray>,
        count: usize,
    ) -> Result<()> {
        self.inner.update_batch(&Self::keys(values)?, groups, filter, count)
    }

    fn evaluate(&mut self, emit: EmitTo) -> Result<ArrayRef> {
        let keys = self.inner.evaluate(emit)?;
        self.numbers(&keys)
    }

    fn state(&mut self, emit: EmitTo) -> Result<Vec<ArrayRef>> {
        let keys = self.inner.state(emit)?;
        keys.iter().map(|keys| self.numbers(keys)).collect()
    }

    fn merge_batch(&mut self, values: &[ArrayRef], groups: &[usize], count: usize) -> Result<()> {
        self.inner.merge_batch(&Self::keys(values)?, groups, count)
    }

    fn convert_to_state(
        &self,
        values: &[ArrayRef],
        filter: Option<&BooleanArray>,
    ) -> Result<Vec<ArrayRef>> {
        let keys = self.inner.convert_to_state(&Self::keys(values)?, filter)?;
        keys.iter().map(|keys| self.numbers(keys)).collect()
    }

    fn size(&self) -> usize {
        self.inner.size()
    }
}
