//! `sum` of integers and decimals that fails when the result overflows, instead of returning a wrong
//! number.

use std::sync::Arc;

use datafusion::{
    arrow::{
        array::{ArrayRef, BooleanArray},
        compute::{CastOptions, cast, cast_with_options},
        datatypes::{DECIMAL128_MAX_PRECISION, DECIMAL256_MAX_PRECISION, DataType, FieldRef},
    },
    common::{ScalarValue, exec_datafusion_err},
    error::Result,
    functions_aggregate::sum::sum_udaf,
    logical_expr::{
        Accumulator, AggregateUDF, AggregateUDFImpl, EmitTo, GroupsAccumulator, ReversedUDAF,
        Signature,
        expr::AggregateFunctionParams,
        function::{AccumulatorArgs, StateFieldsArgs},
        utils::AggregateOrderSensitivity,
    },
};

use super::registry::named_apart;

#[derive(Debug, PartialEq, Eq, Hash)]
pub(super) struct Sum {
    inner: Arc<AggregateUDF>,
}

impl Sum {
    pub(super) fn new() -> Self {
        Self { inner: sum_udaf() }
    }
}

/// The type in which values are added up, and that of the sum.
#[derive(Debug)]
struct Room {
    /// Wide enough for the sum of any number of values.
    wide: DataType,
    kind: DataType,
}

impl Room {
    /// Returns none for numbers that the engine's own sum handles: floats, and decimals with digits to
    /// spare.
    fn of(kind: &DataType) -> Option<Self> {
        let wide = match kind {
            DataType::Int64 | DataType::UInt64 => DataType::Decimal128(DECIMAL128_MAX_PRECISION, 0),
            DataType::Decimal32(_, scale) | DataType::Decimal64(_, scale) => {
                DataType::Decimal128(DECIMAL128_MAX_PRECISION, *scale)
            }
            DataType::Decimal128(DECIMAL128_MAX_PRECISION, scale) => {
                DataType::Decimal256(DECIMAL256_MAX_PRECISION, *scale)
            }
            _ => return None,
        };
        Some(Self { wide, kind: kind.clone() })
    }

    fn widened(&self, field: &FieldRef) -> FieldRef {
        Arc::new(field.as_ref().clone().with_data_type(self.wide.clone()))
    }

    fn args<'a>(&self, args: AccumulatorArgs<'a>) -> AccumulatorArgs<'a> {
        AccumulatorArgs { return_field: self.widened(&args.return_field), ..args }
    }

    fn widen(&self, values: &[ArrayRef]) -> Result<Vec<ArrayRef>> {
        values.iter().map(|values| Ok(cast(values, &self.wide)?)).collect()
    }

    fn narrow(&self, sums: &ArrayRef) -> Result<ArrayRef> {
        let checked = CastOptions { safe: false, ..CastOptions::default() };
        cast_with_options(sums, &self.kind, &checked).map_err(|_| {
            let what = if self.kind.is_integer() { "whole number" } else { "decimal number" };
            exec_datafusion_err!("sum: the result is too large for a {what}")
        })
    }
}

impl AggregateUDFImpl for Sum {
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

    fn accumulator(&self, args: AccumulatorArgs) -> Result<Box<dyn Accumulator>> {
        let Some(room) = Room::of(args.return_type()) else {
            return self.inner.accumulator(args);
        };
        Ok(Box::new(DecimalSum { inner: self.inner.accumulator(room.args(args))?, room }))
    }

    fn create_sliding_accumulator(&self, args: AccumulatorArgs) -> Result<Box<dyn Accumulator>> {
        let Some(room) = Room::of(args.return_type()) else {
            return self.inner.create_sliding_accumulator(args);
        };
        Ok(Box::new(DecimalSum {
            inner: self.inner.create_sliding_accumulator(room.args(args))?,
            room,
        }))
    }

    fn state_fields(&self, args: StateFieldsArgs) -> Result<Vec<FieldRef>> {
        match Room::of(args.return_field.data_type()) {
            Some(room) => {
                let return_field = room.widened(&args.return_field);
                self.inner.state_fields(StateFieldsArgs { return_field, ..args })
            }
            None => self.inner.state_fields(args),
        }
    }

    fn groups_accumulator_supported(&self, args: AccumulatorArgs) -> bool {
        self.inner.groups_accumulator_supported(args)
    }

    fn create_groups_accumulator(
        &self,
        args: AccumulatorArgs,
    ) -> Result<Box<dyn GroupsAccumulator>> {
        let Some(room) = Room::of(args.return_type()) else {
            return self.inner.create_groups_accumulator(args);
        };
        Ok(Box::new(SumGroups {
            inner: self.inner.create_groups_accumulator(room.args(args))?,
            room,
        }))
    }

    fn reverse_expr(&self) -> ReversedUDAF {
        ReversedUDAF::Identical
    }

    fn order_sensitivity(&self) -> AggregateOrderSensitivity {
        AggregateOrderSensitivity::Insensitive
    }
}

#[derive(Debug)]
struct DecimalSum {
    inner: Box<dyn Accumulator>,
    room: Room,
}

impl Accumulator for DecimalSum {
    fn update_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        self.inner.update_batch(&self.room.widen(values)?)
    }

    fn retract_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        self.inner.retract_batch(&self.room.widen(values)?)
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
        ScalarValue::try_from_array(&self.room.narrow(&sum)?, 0)
    }

    fn size(&self) -> usize {
        self.inner.size()
    }
}

struct SumGroups {
    inner: Box<dyn GroupsAccumulator>,
    room: Room,
}

impl GroupsAccumulator for SumGroups {
    fn update_batch(
        &mut self,
        values: &[ArrayRef],
        groups: &[usize],
        filter: Option<&BooleanArray>,
        count: usize,
    ) -> Result<()> {
        self.inner.update_batch(&self.room.widen(values)?, groups, filter, count)
    }

    fn evaluate(&mut self, emit: EmitTo) -> Result<ArrayRef> {
        self.room.narrow(&self.inner.evaluate(emit)?)
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
        self.inner.convert_to_state(&self.room.widen(values)?, filter)
    }

    fn size(&self) -> usize {
        self.inner.size()
    }
}
