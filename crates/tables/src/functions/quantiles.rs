//! Exact quantiles with linear interpolation, as in NumPy and pandas: any number of them from one copy
//! of the values.

use std::sync::Arc;

use datafusion::{
    arrow::{
        array::{
            Array, ArrayRef, AsArray, BooleanArray, Float64Array, Float64Builder, LargeListArray,
            StructArray,
        },
        buffer::{NullBuffer, OffsetBuffer, ScalarBuffer},
        datatypes::{DataType, Field, FieldRef, Fields, Float64Type},
    },
    common::exec_err,
    error::Result,
    logical_expr::{
        Accumulator, AggregateUDF, AggregateUDFImpl, EmitTo, Expr, GroupsAccumulator, Signature,
        Volatility,
        function::{AccumulatorArgs, StateFieldsArgs},
        utils::format_state_name,
    },
};

use super::{Single, part};

/// Returns an aggregate with the quantiles at these fractions from 0 to 1; [`quantile`] takes one of
/// them.
pub fn quantiles(value: Expr, fractions: &[f64]) -> Expr {
    AggregateUDF::from(Quantiles::new(fractions)).call(vec![value])
}

/// Returns one of several quantiles, by the index of its fraction.
pub fn quantile(quantiles: Expr, index: usize) -> Expr {
    part(quantiles, &index.to_string())
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct Quantiles {
    name: String,
    signature: Signature,
    /// The bits of the fractions, because floats cannot be hashed.
    fractions: Vec<u64>,
}

impl Quantiles {
    fn new(fractions: &[f64]) -> Self {
        Self {
            name: format!("quantiles{fractions:?}"),
            signature: Signature::exact(vec![DataType::Float64], Volatility::Immutable),
            fractions: fractions.iter().map(|fraction| fraction.to_bits()).collect(),
        }
    }

    fn groups(&self, count: usize) -> QuantileGroups {
        let fractions = self.fractions.iter().map(|bits| f64::from_bits(*bits)).collect();
        QuantileGroups { fractions, count, ..QuantileGroups::default() }
    }
}

fn list_field() -> FieldRef {
    Arc::new(Field::new_list_field(DataType::Float64, false))
}

fn result_fields(count: usize) -> Fields {
    (0..count).map(|index| Field::new(index.to_string(), DataType::Float64, true)).collect()
}

impl AggregateUDFImpl for Quantiles {
    fn name(&self) -> &str {
        &self.name
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _: &[DataType]) -> Result<DataType> {
        Ok(DataType::Struct(result_fields(self.fractions.len())))
    }

    fn accumulator(&self, _: AccumulatorArgs) -> Result<Box<dyn Accumulator>> {
        Ok(Box::new(Single(self.groups(1))))
    }

    fn state_fields(&self, args: StateFieldsArgs) -> Result<Vec<FieldRef>> {
        let name = format_state_name(args.name, "values");
        Ok(vec![Arc::new(Field::new(name, DataType::LargeList(list_field()), true))])
    }

    fn groups_accumulator_supported(&self, _: AccumulatorArgs) -> bool {
        true
    }

    fn create_groups_accumulator(&self, _: AccumulatorArgs) -> Result<Box<dyn GroupsAccumulator>> {
        Ok(Box::new(self.groups(0)))
    }
}

/// The values of all groups in the order in which they came, each with its group. Nothing is sorted
/// until the end.
#[derive(Debug, Default)]
struct QuantileGroups {
    fractions: Vec<f64>,
    /// The number of groups.
    count: usize,
    owners: Vec<u32>,
    values: Vec<f64>,
}

impl QuantileGroups {
    fn grow(&mut self, count: usize) -> Result<()> {
        if u32::try_from(count).is_err() {
            return exec_err!("quantiles of more than {} groups", u32::MAX);
        }
        self.count = self.count.max(count);
        Ok(())
    }

    /// Takes the values of the groups that are asked for, ordered by group, and returns where each group
    /// begins.
    fn take(&mut self, emit_to: EmitTo) -> (Vec<f64>, Vec<usize>) {
        let (count, rest) = match emit_to {
            EmitTo::All => (self.count, 0),
            EmitTo::First(count) => (count, self.count.saturating_sub(count)),
        };
        let owners = std::mem::take(&mut self.owners);
        let values = std::mem::take(&mut self.values);
        self.count = rest;
        if count == 1 && rest == 0 {
            let begins = vec![0, values.len()];
            return (values, begins);
        }
        let mut begins = vec![0; count + 1];
        for owner in &owners {
            if let Some(begin) = begins.get_mut(*owner as usize + 1) {
                *begin += 1;
            }
        }
        for group in 0..count {
            begins[group + 1] += begins[group];
        }
        let mut next = begins.clone();
        let mut sorted = vec![0.0; begins[count]];
        for (owner, value) in owners.into_iter().zip(values) {
            match next.get_mut(owner as usize).filter(|_| (owner as usize) < count) {
                Some(place) => {
                    sorted[*place] = value;
                    *place += 1;
                }
                None => {
                    self.owners.push(owner - count as u32);
                    self.values.push(value);
                }
            }
        }
        (sorted, begins)
    }
}

impl GroupsAccumulator for QuantileGroups {
    fn update_batch(
        &mut self,
        values: &[ArrayRef],
        group_indices: &[usize],
        filter: Option<&BooleanArray>,
        total_num_groups: usize,
    ) -> Result<()> {
        self.grow(total_num_groups)?;
        let array = values[0].as_primitive::<Float64Type>();
        let nulls = kept(array, filter);
        self.owners.reserve(array.len());
        self.values.reserve(array.len());
        for (index, (group, value)) in group_indices.iter().zip(array.values()).enumerate() {
            if nulls.as_ref().is_none_or(|nulls| nulls.is_valid(index)) {
                self.owners.push(*group as u32);
                self.values.push(*value);
            }
        }
        Ok(())
    }

    fn evaluate(&mut self, emit_to: EmitTo) -> Result<ArrayRef> {
        let (mut values, begins) = self.take(emit_to);
        let count = begins.len() - 1;
        let builder = || Float64Builder::with_capacity(count);
        let mut columns: Vec<Float64Builder> = self.fractions.iter().map(|_| builder()).collect();
        for bounds in begins.windows(2) {
            let group = &mut values[bounds[0]..bounds[1]];
            put_in_place(group, &ranks(group.len(), &self.fractions));
            for (fraction, column) in self.fractions.iter().zip(&mut columns) {
                column.append_option(of_placed(group, *fraction));
            }
        }
        let columns = columns.iter_mut().map(|column| Arc::new(column.finish()) as ArrayRef);
        let fields = result_fields(self.fractions.len());
        Ok(Arc::new(StructArray::try_new(fields, columns.collect(), None)?))
    }

    fn state(&mut self, emit_to: EmitTo) -> Result<Vec<ArrayRef>> {
        let (values, begins) = self.take(emit_to);
        let offsets: Vec<i64> = begins.into_iter().map(|begin| begin as i64).collect();
        let offsets = OffsetBuffer::new(ScalarBuffer::from(offsets));
        let values = Arc::new(Float64Array::from(values));
        Ok(vec![Arc::new(LargeListArray::try_new(list_field(), offsets, values, None)?)])
    }

    fn merge_batch(
        &mut self,
        values: &[ArrayRef],
        group_indices: &[usize],
        total_num_groups: usize,
    ) -> Result<()> {
        self.grow(total_num_groups)?;
        let lists = values[0].as_list::<i64>();
        let numbers = lists.values().as_primitive::<Float64Type>().values();
        for (index, group) in group_indices.iter().enumerate() {
            if lists.is_valid(index) {
                let bounds = &lists.offsets()[index..index + 2];
                let list = &numbers[bounds[0] as usize..bounds[1] as usize];
                self.owners.resize(self.owners.len() + list.len(), *group as u32);
                self.values.extend_from_slice(list);
            }
        }
        Ok(())
    }

    fn convert_to_state(
        &self,
        values: &[ArrayRef],
        filter: Option<&BooleanArray>,
    ) -> Result<Vec<ArrayRef>> {
        let array = values[0].as_primitive::<Float64Type>();
        let offsets: Vec<i64> = (0..=array.len() as i64).collect();
        let offsets = OffsetBuffer::new(ScalarBuffer::from(offsets));
        let plain = Arc::new(Float64Array::new(array.values().clone(), None));
        let lists = LargeListArray::try_new(list_field(), offsets, plain, kept(array, filter))?;
        Ok(vec![Arc::new(lists)])
    }

    fn size(&self) -> usize {
        self.owners.capacity() * size_of::<u32>() + self.values.capacity() * size_of::<f64>()
    }
}

/// Returns a quantile of values, of which those next to it are in their sorted places.
fn of_placed(values: &[f64], fraction: f64) -> Option<f64> {
    let (below, weight) = place(values.len(), fraction)?;
    Some(between(values[below], *values.get(below + 1).unwrap_or(&values[below]), weight))
}

/// Returns the ranks next to these quantiles.
fn ranks(count: usize, fractions: &[f64]) -> Vec<usize> {
    let places = fractions.iter().filter_map(|fraction| Some(place(count, *fraction)?.0));
    let mut ranks: Vec<usize> =
        places.flat_map(|below| [below, below + 1]).filter(|rank| *rank < count).collect();
    ranks.sort_unstable();
    ranks.dedup();
    ranks
}

/// Moves the values of these ranks, which are ascending, to their sorted places. This is quicker than
/// sorting all values.
fn put_in_place(values: &mut [f64], ranks: &[usize]) {
    const FEW: usize = 64;
    if values.len() <= FEW {
        values.sort_unstable_by(f64::total_cmp);
        return;
    }
    let Some(middle) = ranks.get(ranks.len() / 2).copied() else { return };
    let (lower, _, upper) = values.select_nth_unstable_by(middle, f64::total_cmp);
    put_in_place(lower, &ranks[..ranks.len() / 2]);
    let above: Vec<usize> =
        ranks[ranks.len() / 2 + 1..].iter().map(|rank| rank - middle - 1).collect();
    put_in_place(upper, &above);
}

/// Returns the rank just below a quantile, and how far the quantile is towards the next rank.
pub(super) fn place(count: usize, fraction: f64) -> Option<(usize, f64)> {
    let last = count.checked_sub(1)?;
    let place = last as f64 * fraction;
    let below = (place.floor() as usize).min(last);
    Some((below, place - below as f64))
}

/// Interpolates between two values. Equal ones are returned unchanged, because the difference of two
/// infinities is NaN.
pub(super) fn between(lower: f64, upper: f64, weight: f64) -> f64 {
    if weight == 0.0 || lower == upper { lower } else { lower + (upper - lower) * weight }
}

/// Returns which values are neither null nor excluded by a filter; none means all.
fn kept(array: &Float64Array, filter: Option<&BooleanArray>) -> Option<NullBuffer> {
    let filter = filter.map(|filter| match filter.nulls() {
        Some(nulls) => NullBuffer::new(filter.values() & nulls.inner()),
        None => NullBuffer::new(filter.values().clone()),
    });
    NullBuffer::union(array.nulls(), filter.as_ref())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_in_their_places_are_those_of_a_sort() {
        let values: Vec<f64> = (0..5_000).map(|index| f64::from(index * 7919 % 2_503)).collect();
        let fractions = [0.999, 0.0, 0.5, 0.500_1, 1.0, 0.05];
        for count in [0, 1, 2, 3, 64, 65, 5_000] {
            let mut placed = values[..count].to_vec();
            let mut sorted = placed.clone();
            sorted.sort_unstable_by(f64::total_cmp);
            put_in_place(&mut placed, &ranks(count, &fractions));
            for fraction in fractions {
                assert_eq!(of_placed(&placed, fraction), of_placed(&sorted, fraction), "{count}");
            }
        }
    }
}
