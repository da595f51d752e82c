//! The figures of a column of numbers that need its values sorted: how many are different, which is the
//! most frequent, and the quantiles.

use std::sync::Arc;

use datafusion::{
    arrow::{
        array::{
            Array, ArrayRef, AsArray, Float64Array, Int64Array, StructArray, UInt64Array,
            new_null_array,
        },
        datatypes::{DataType, Field, FieldRef, Fields, Float64Type, Int64Type, UInt64Type},
    },
    common::utils::SingleRowListArrayBuilder,
    error::Result,
    logical_expr::{
        Accumulator, AggregateUDF, AggregateUDFImpl, Expr, Signature, TypeSignature, Volatility,
        function::{AccumulatorArgs, StateFieldsArgs},
        utils::format_state_name,
    },
    scalar::ScalarValue,
};

use super::{
    TallyOutput,
    quantiles::{between, place},
};

/// Returns an aggregate with the figures of a [`tally`](super::tally), and the quantiles at these
/// fractions under their indices. All of them are null if it would need more memory than `max_bytes`.
pub fn distribution(value: Expr, fractions: &[f64], max_bytes: usize) -> Expr {
    let types = [DataType::Int64, DataType::Float64];
    let types = types.map(|data_type| TypeSignature::Exact(vec![data_type])).to_vec();
    let distribution = Distribution {
        signature: Signature::one_of(types, Volatility::Immutable),
        fractions: fractions.iter().map(|fraction| fraction.to_bits()).collect(),
        max_bytes,
    };
    AggregateUDF::from(distribution).call(vec![value])
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct Distribution {
    signature: Signature,
    /// The bits of the fractions, because floats cannot be hashed.
    fractions: Vec<u64>,
    max_bytes: usize,
}

impl AggregateUDFImpl for Distribution {
    fn name(&self) -> &str {
        "distribution"
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, types: &[DataType]) -> Result<DataType> {
        Ok(DataType::Struct(result_fields(&types[0], self.fractions.len())))
    }

    fn accumulator(&self, args: AccumulatorArgs) -> Result<Box<dyn Accumulator>> {
        Ok(Box::new(DistributionValues {
            data_type: args.expr_fields[0].data_type().clone(),
            fractions: self.fractions.iter().map(|bits| f64::from_bits(*bits)).collect(),
            max_bytes: self.max_bytes,
            runs: Some(Runs::default()),
        }))
    }

    fn state_fields(&self, args: StateFieldsArgs) -> Result<Vec<FieldRef>> {
        let list = |part, data_type| {
            let name = format_state_name(args.name, part);
            let items = Arc::new(Field::new_list_field(data_type, true));
            Arc::new(Field::new(name, DataType::LargeList(items), true))
        };
        Ok(vec![list("keys", DataType::Int64), list("counts", DataType::UInt64)])
    }
}

fn result_fields(data_type: &DataType, fractions: usize) -> Fields {
    let tallied = [
        Field::new(TallyOutput::Distinct.name(), DataType::UInt64, true),
        Field::new(TallyOutput::Value.name(), data_type.clone(), true),
        Field::new(TallyOutput::Count.name(), DataType::UInt64, true),
    ];
    let quantile = |index: usize| Field::new(index.to_string(), DataType::Float64, true);
    tallied.into_iter().chain((0..fractions).map(quantile)).collect()
}

#[derive(Debug)]
struct DistributionValues {
    data_type: DataType,
    fractions: Vec<f64>,
    max_bytes: usize,
    /// None if there were too many values.
    runs: Option<Runs>,
}

/// Sorted integers with their counts, and new ones that are not sorted yet.
#[derive(Debug, Default)]
struct Runs {
    sorted: Vec<(i64, u64)>,
    new: Vec<i64>,
}

/// How many values are sorted at once: as many as fit into a near cache.
const AT_ONCE: usize = 1 << 15;

impl Runs {
    fn add(&mut self, keys: impl Iterator<Item = i64>) {
        self.new.extend(keys);
        if self.new.len() >= AT_ONCE.max(self.sorted.len()) {
            self.settle();
        }
    }

    fn settle(&mut self) {
        self.new.sort_unstable();
        let new = std::mem::take(&mut self.new);
        let mut runs: Vec<(i64, u64)> = Vec::new();
        for run in new.chunk_by(|a, b| a == b) {
            runs.push((run[0], run.len() as u64));
        }
        self.merge(runs);
    }

    /// Merges two sorted lists.
    fn merge(&mut self, other: Vec<(i64, u64)>) {
        if self.sorted.is_empty() {
            self.sorted = other;
            return;
        }
        let mut merged = Vec::with_capacity(self.sorted.len() + other.len());
        let mut here = std::mem::take(&mut self.sorted).into_iter().peekable();
        for (key, count) in other {
            while let Some(smaller) = here.next_if(|(known, _)| *known < key) {
                merged.push(smaller);
            }
            let known = here.next_if(|(known, _)| *known == key);
            merged.push((key, count + known.map_or(0, |(_, count)| count)));
        }
        merged.extend(here);
        self.sorted = merged;
    }

    fn bytes(&self) -> usize {
        self.sorted.capacity() * size_of::<(i64, u64)>() + self.new.capacity() * size_of::<i64>()
    }

    /// Returns the most frequent value; of several, the smallest.
    fn top(&self) -> Option<(i64, u64)> {
        self.sorted.iter().copied().reduce(|best, next| if next.1 > best.1 { next } else { best })
    }

    /// Returns the values at these ranks, which must be ascending.
    fn at(&self, ranks: &[u64]) -> Vec<i64> {
        let mut found = Vec::with_capacity(ranks.len());
        let mut seen = 0;
        for (key, count) in &self.sorted {
            seen += count;
            while ranks.get(found.len()).is_some_and(|rank| *rank < seen) {
                found.push(*key);
            }
        }
        found
    }
}

impl DistributionValues {
    fn give_up_on_too_many(&mut self) {
        if self.runs.as_ref().is_some_and(|runs| runs.bytes() > self.max_bytes) {
            self.runs = None;
        }
    }

    fn is_float(&self) -> bool {
        self.data_type == DataType::Float64
    }

    fn number(&self, key: i64) -> f64 {
        if self.is_float() { float_of(key) } else { key as f64 }
    }

    fn quantile(&self, runs: &Runs, count: u64, fraction: f64) -> Option<f64> {
        let (below, weight) = place(usize::try_from(count).ok()?, fraction)?;
        let above = (below as u64 + 1).min(count - 1);
        let [lower, upper] = runs.at(&[below as u64, above]).try_into().ok()?;
        Some(between(self.number(lower), self.number(upper), weight))
    }
}

impl Accumulator for DistributionValues {
    fn update_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        let Some(runs) = &mut self.runs else { return Ok(()) };
        match values[0].data_type() {
            DataType::Float64 => {
                runs.add(values[0].as_primitive::<Float64Type>().iter().flatten().map(key_of));
            }
            _ => runs.add(values[0].as_primitive::<Int64Type>().iter().flatten()),
        }
        self.give_up_on_too_many();
        Ok(())
    }

    fn evaluate(&mut self) -> Result<ScalarValue> {
        let fields = result_fields(&self.data_type, self.fractions.len());
        if let Some(runs) = &mut self.runs {
            runs.settle();
        }
        let Some(runs) = &self.runs else {
            let nothing = new_null_array(&DataType::Struct(fields), 1);
            return ScalarValue::try_from_array(&nothing, 0);
        };
        let (top, top_count) = runs.top().unzip();
        let top: ArrayRef = match self.is_float() {
            true => Arc::new(Float64Array::from(vec![top.map(float_of)])),
            false => Arc::new(Int64Array::from(vec![top])),
        };
        let count: u64 = runs.sorted.iter().map(|(_, count)| count).sum();
        let mut columns: Vec<ArrayRef> = vec![
            Arc::new(UInt64Array::from(vec![runs.sorted.len() as u64])),
            top,
            Arc::new(UInt64Array::from(vec![top_count])),
        ];
        for fraction in &self.fractions {
            let quantile = self.quantile(runs, count, *fraction);
            columns.push(Arc::new(Float64Array::from(vec![quantile])));
        }
        Ok(ScalarValue::Struct(Arc::new(StructArray::try_new(fields, columns, None)?)))
    }

    fn size(&self) -> usize {
        self.runs.as_ref().map_or(0, Runs::bytes)
    }

    fn state(&mut self) -> Result<Vec<ScalarValue>> {
        let list = |array: ArrayRef| {
            SingleRowListArrayBuilder::new(array).with_nullable(true).build_large_list_scalar()
        };
        let Some(mut runs) = self.runs.take() else {
            let nothing = |data_type| {
                let items = Arc::new(Field::new_list_field(data_type, true));
                ScalarValue::try_from(DataType::LargeList(items))
            };
            return Ok(vec![nothing(DataType::Int64)?, nothing(DataType::UInt64)?]);
        };
        runs.settle();
        let (keys, counts): (Vec<i64>, Vec<u64>) = runs.sorted.into_iter().unzip();
        Ok(vec![list(Arc::new(Int64Array::from(keys))), list(Arc::new(UInt64Array::from(counts)))])
    }

    fn merge_batch(&mut self, states: &[ArrayRef]) -> Result<()> {
        let (keys, counts) = (states[0].as_list::<i64>(), states[1].as_list::<i64>());
        for row in 0..keys.len() {
            let Some(runs) = &mut self.runs else { return Ok(()) };
            if keys.is_null(row) {
                self.runs = None;
                return Ok(());
            }
            let (keys, counts) = (keys.value(row), counts.value(row));
            let keys = keys.as_primitive::<Int64Type>().values().iter().copied();
            let counts = counts.as_primitive::<UInt64Type>().values().iter().copied();
            runs.merge(keys.zip(counts).collect());
            self.give_up_on_too_many();
        }
        Ok(())
    }
}

/// Maps a float to an integer in the same order; -0 is 0.
fn key_of(number: f64) -> i64 {
    let bits = (number + 0.0).to_bits() as i64;
    bits ^ (((bits >> 63) as u64) >> 1) as i64
}

fn float_of(key: i64) -> f64 {
    f64::from_bits((key ^ (((key >> 63) as u64) >> 1) as i64) as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_in_the_order_of_numbers() {
        let numbers = [f64::NEG_INFINITY, -2.5, -1e-300, 0.0, 1e-300, 1.0, 3.5e300, f64::INFINITY];
        let keys = numbers.map(key_of);
        assert!(keys.is_sorted());
        assert_eq!(keys.map(float_of), numbers);
        assert_eq!(key_of(-0.0), key_of(0.0));
    }

    #[test]
    fn runs_count_everything_however_it_comes() {
        let mut runs = Runs::default();
        let value = |index: i64| index * 7919 % 1000;
        for start in 0..300 {
            runs.add((start * 1000..(start + 1) * 1000).map(value));
        }
        runs.settle();
        assert_eq!(runs.sorted.len(), 1000);
        assert!(runs.sorted.iter().enumerate().all(|(key, run)| *run == (key as i64, 300)));
        assert_eq!(runs.top(), Some((0, 300)));
        assert_eq!(runs.at(&[0, 299, 300, 299_999]), [0, 0, 1, 999]);
    }
}
