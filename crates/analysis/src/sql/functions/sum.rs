//! `sum` of whole numbers that says so when the result has no room, instead of a wrong number.

use std::sync::Arc;

use datafusion::{
    arrow::{
        array::{ArrayRef, BooleanArray},
        compute::{CastOptions, cast, cast_with_options},
        datatypes::{DECIMAL128_MAX_PRECISION, DataType, FieldRef},
    },
    common::{ScalarValue, exec_datafusion_err},
    error::Result,
    functions_aggregate::sum::sum_udaf,
    logical_expr::{
        Accumulator, AggregateUDF, AggregateUDFImpl, EmitTo, GroupsAccumulator, ReversedUDAF,
        Signature,
        function::{AccumulatorArgs, StateFieldsArgs},
        utils::AggregateOrderSensitivity,
    },
};

/// Wide enough for the sum of any number of whole numbers.
const WIDE: DataType = DataType::Decimal128(DECIMAL128_MAX_PRECISION, 0);

#[derive(Debug, PartialEq, Eq, Hash)]
pub(super) struct Sum {
    inner: Arc<AggregateUDF>,
}

impl Sum {
    pub(super) fn new() -> Self {
        Self { inner: sum_udaf() }
    }

    /// Other numbers are summed as ever.
    fn is_whole(kind: &DataType) -> bool {
        matches!(kind, DataType::Int64 | DataType::UInt64)
    }
}

fn widened(field: &FieldRef) -> FieldRef {
    Arc::new(field.as_ref().clone().with_data_type(WIDE))
}

fn wide_args(args: AccumulatorArgs) -> AccumulatorArgs {
    AccumulatorArgs { return_field: widened(&args.return_field), ..args }
}

fn wide(values: &[ArrayRef]) -> Result<Vec<ArrayRef>> {
    values.iter().map(|values| Ok(cast(values, &WIDE)?)).collect()
}

fn narrow(sums: &ArrayRef, kind: &DataType) -> Result<ArrayRef> {
    let checked = CastOptions { safe: false, ..CastOptions::default() };
    cast_with_options(sums, kind, &checked)
        .map_err(|_| exec_datafusion_err!("sum: the result is too large for a whole number"))
}

impl AggregateUDFImpl for Sum {
    fn name(&self) -> &str {
        self.inner.name()
    }

    fn signature(&self) -> &Signature {
        self.inner.signature()
    }

    fn return_type(&self, types: &[DataType]) -> Result<DataType> {
        self.inner.return_type(types)
    }

    fn accumulator(&self, args: AccumulatorArgs) -> Result<Box<dyn Accumulator>> {
        let kind = args.return_type().clone();
        if !Self::is_whole(&kind) {
            return self.inner.accumulator(args);
        }
        Ok(Box::new(One { inner: self.inner.accumulator(wide_args(args))?, kind }))
    }

    fn create_sliding_accumulator(&self, args: AccumulatorArgs) -> Result<Box<dyn Accumulator>> {
        let kind = args.return_type().clone();
        if !Self::is_whole(&kind) {
            return self.inner.create_sliding_accumulator(args);
        }
        Ok(Box::new(One { inner: self.inner.create_sliding_accumulator(wide_args(args))?, kind }))
    }

    fn state_fields(&self, args: StateFieldsArgs) -> Result<Vec<FieldRef>> {
        match Self::is_whole(args.return_field.data_type()) {
            true => {
                let return_field = widened(&args.return_field);
                self.inner.state_fields(StateFieldsArgs { return_field, ..args })
            }
            false => self.inner.state_fields(args),
        }
    }

    fn groups_accumulator_supported(&self, args: AccumulatorArgs) -> bool {
        self.inner.groups_accumulator_supported(args)
    }

    fn create_groups_accumulator(
        &self,
        args: AccumulatorArgs,
    ) -> Result<Box<dyn GroupsAccumulator>> {
        let kind = args.return_type().clone();
        if !Self::is_whole(&kind) {
            return self.inner.create_groups_accumulator(args);
        }
        Ok(Box::new(Groups { inner: self.inner.create_groups_accumulator(wide_args(args))?, kind }))
    }

    fn reverse_expr(&self) -> ReversedUDAF {
        ReversedUDAF::Identical
    }

    fn order_sensitivity(&self) -> AggregateOrderSensitivity {
        AggregateOrderSensitivity::Insensitive
    }
}

#[derive(Debug)]
struct One {
    inner: Box<dyn Accumulator>,
    kind: DataType,
}

impl Accumulator for One {
    fn update_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        self.inner.update_batch(&wide(values)?)
    }

    fn retract_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        self.inner.retract_batch(&wide(values)?)
    }

    fn supports_retract_batch(&self) -> bool {
        self.inner.supports_retract_batch()
    }

    fn merge_batch(&mut self, states: &[ArrayRef]) -> Result<()> {
        self.inner.merge_batch(states)
    }

    fn state(&mut self) -> Result<Vec<ScalarValue>> {
        self.inner.state()
    }

    fn evaluate(&mut self) -> Result<ScalarValue> {
        let sum = self.inner.evaluate()?.to_array()?;
        ScalarValue::try_from_array(&narrow(&sum, &self.kind)?, 0)
    }

    fn size(&self) -> usize {
        self.inner.size()
    }
}

struct Groups {
    inner: Box<dyn GroupsAccumulator>,
    kind: DataType,
}

impl GroupsAccumulator for Groups {
    fn update_batch(
        &mut self,
        values: &[ArrayRef],
        groups: &[usize],
        filter: Option<&BooleanArray>,
        count: usize,
    ) -> Result<()> {
        self.inner.update_batch(&wide(values)?, groups, filter, count)
    }

    fn evaluate(&mut self, emit: EmitTo) -> Result<ArrayRef> {
        narrow(&self.inner.evaluate(emit)?, &self.kind)
    }

    fn state(&mut self, emit: EmitTo) -> Result<Vec<ArrayRef>> {
        self.inner.state(emit)
    }

    fn merge_batch(&mut self, values: &[ArrayRef], groups: &[usize], count: usize) -> Result<()> {
        self.inner.merge_batch(values, groups, count)
    }

    fn convert_to_state(
        &self,
        values: &[ArrayRef],
        filter: Option<&BooleanArray>,
    ) -> Result<Vec<ArrayRef>> {
        self.inner.convert_to_state(&wide(values)?, filter)
    }

    fn size(&self) -> usize {
        self.inner.size()
    }
}
