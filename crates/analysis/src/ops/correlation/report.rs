//! Reports correlations as facts and tables.

use std::sync::Arc;

use datafusion::arrow::{
    array::{ArrayRef, Float64Array, Int64Array, RecordBatch, StringArray},
    datatypes::{Field, Schema},
};
use serde_json::{Map, Value, json};

use super::{
    method::CorrelationMethod,
    pairs::{Matrix, Pair},
};
use crate::{
    error::{AnalysisError, Result},
    ops::{groups::Groups, names::free_name},
    work::{AnalysisContext, OpOutput},
};

/// How many of the strongest pairs are facts.
const STRONGEST: usize = 10;

pub(super) struct Report<'a> {
    pub(super) work: &'a AnalysisContext,
    pub(super) names: &'a [String],
    pub(super) group_by: &'a [String],
    pub(super) method: CorrelationMethod,
    pub(super) groups: &'a Groups,
    /// The matrices by the number of the group.
    pub(super) matrices: &'a [Matrix],
}

impl Report<'_> {
    pub(super) fn outcome(&self) -> Result<OpOutput> {
        let mut facts = Map::new();
        if self.method != CorrelationMethod::Covariance {
            facts.insert("method".to_owned(), self.method.name().into());
        }
        self.note_missing();
        let matrix = match self.matrices {
            [matrix] if self.group_by.is_empty() => matrix,
            _ => {
                facts.insert("group_count".to_owned(), self.matrices.len().into());
                return Ok(OpOutput { facts, frame: Some(self.frame()?), later: None });
            }
        };
        if self.names.len() == 2 {
            facts.extend(self.facts_of_two(matrix));
            return Ok(OpOutput { facts, frame: None, later: None });
        }
        if self.method != CorrelationMethod::Covariance {
            facts.insert("strongest".to_owned(), self.strongest(matrix).into());
        }
        Ok(OpOutput { facts, frame: Some(self.frame()?), later: None })
    }

    fn value_name(&self) -> &'static str {
        if self.method == CorrelationMethod::Covariance { "covariance" } else { "correlation" }
    }

    fn facts_of_two(&self, matrix: &Matrix) -> Map<String, Value> {
        let pair = matrix.get(0, 1);
        if pair.value.is_none() {
            self.work.note(self.why_none(matrix, pair));
        }
        let mut facts = self.pair_facts(pair);
        if self.method == CorrelationMethod::Covariance {
            let variances = [matrix.get(0, 0).value, matrix.get(1, 1).value];
            facts.insert("variances".to_owned(), json!(variances));
        }
        facts
    }

    fn pair_facts(&self, pair: Pair) -> Map<String, Value> {
        let mut facts = Map::from_iter([(self.value_name().to_owned(), json!(pair.value))]);
        if self.method != CorrelationMethod::Covariance {
            facts.insert("p_value".to_owned(), json!(pair.p_value));
        }
        facts.insert("n".to_owned(), pair.n.into());
        facts
    }

    fn why_none(&self, matrix: &Matrix, pair: Pair) -> String {
        let name = self.value_name();
        if pair.n < 2 {
            return format!("there is no {name}: fewer than two rows have both values");
        }
        let is_constant = |at: &usize| matrix.get(*at, *at).value.is_none();
        let constant = (0..2).find(is_constant).map_or("one of the two", |at| &self.names[at]);
        format!("there is no {name}: {constant} is the same in all rows that count")
    }

    fn strongest(&self, matrix: &Matrix) -> Vec<Value> {
        let size = self.names.len();
        let others = |a: usize| (a + 1..size).map(move |b| (a, b));
        let mut pairs: Vec<(usize, usize, f64)> = (0..size)
            .flat_map(others)
            .filter_map(|(a, b)| Some((a, b, matrix.get(a, b).value?)))
            .collect();
        pairs.sort_by(|a, b| b.2.abs().total_cmp(&a.2.abs()));
        let fact = |&(a, b, _): &(usize, usize, f64)| {
            let mut fact =
                Map::from_iter([("fields".to_owned(), json!([self.names[a], self.names[b]]))]);
            fact.extend(self.pair_facts(matrix.get(a, b)));
            fact.into()
        };
        pairs.iter().take(STRONGEST).map(fact).collect()
    }

    /// Notes that pairs may be of different rows, which is easily overlooked.
    fn note_missing(&self) {
        let size = self.names.len();
        let counts = self.matrices.iter().flat_map(|matrix| {
            (0..size).flat_map(move |a| (a + 1..size).map(move |b| matrix.get(a, b).n))
        });
        let rows = self.matrices.iter().flat_map(|matrix| (0..size).map(|at| matrix.get(at, at).n));
        let (min, max) = (counts.clone().min(), rows.max());
        if self.group_by.is_empty()
            && let (Some(min), Some(max)) = (min, max)
            && min < max
        {
            self.work.note(format!(
                "missing values are left out pair by pair: pairs have from {min} to {} of up to \
                 {max} rows",
                counts.max().unwrap_or_default()
            ));
        }
    }

    fn frame(&self) -> Result<datafusion::prelude::DataFrame> {
        let order = self.groups.sorted();
        let columns = if self.names.len() == 2 {
            self.pair_columns(&order)?
        } else {
            self.matrix_columns(&order)?
        };
        let fields: Vec<Field> = columns
            .iter()
            .map(|(name, column)| Field::new(name, column.data_type().clone(), true))
            .collect();
        let arrays = columns.into_iter().map(|(_, column)| column).collect();
        let batch = RecordBatch::try_new(Arc::new(Schema::new(fields)), arrays)
            .map_err(|error| AnalysisError::Internal(error.to_string()))?;
        Ok(self.work.context().read_batch(batch)?)
    }

    /// Makes the columns of a table with one row for each group.
    fn pair_columns(&self, order: &[usize]) -> Result<Vec<(String, ArrayRef)>> {
        let pairs: Vec<Pair> = order.iter().map(|&group| self.matrices[group].get(0, 1)).collect();
        let floats = |part: fn(&Pair) -> Option<f64>| -> ArrayRef {
            Arc::new(pairs.iter().map(part).collect::<Float64Array>())
        };
        let n = pairs.iter().map(|pair| i64::try_from(pair.n).unwrap_or(i64::MAX));
        let mut columns = self.group_columns(order)?;
        let name = |wanted: &str| free_name(wanted, self.group_by);
        columns.push((name(self.value_name()), floats(|pair| pair.value)));
        if self.method != CorrelationMethod::Covariance {
            columns.push((name("p_value"), floats(|pair| pair.p_value)));
        }
        columns.push((name("n"), Arc::new(Int64Array::from_iter_values(n))));
        Ok(columns)
    }

    /// Makes the columns of a table with one row for each column in each group.
    fn matrix_columns(&self, order: &[usize]) -> Result<Vec<(String, ArrayRef)>> {
        let size = self.names.len();
        let each = |group: usize| (0..size).map(move |row| (group, row));
        let rows: Vec<(usize, usize)> = order.iter().flat_map(|&group| each(group)).collect();
        let mut columns =
            self.group_columns(&rows.iter().map(|&(group, _)| group).collect::<Vec<_>>())?;
        let names = rows.iter().map(|&(_, row)| self.names[row].as_str());
        let field = free_name("field", &[self.names, self.group_by].concat());
        columns.push((field, Arc::new(StringArray::from_iter_values(names))));
        for (at, name) in self.names.iter().enumerate() {
            let values = rows.iter().map(|&(group, row)| self.matrices[group].get(row, at).value);
            columns.push((name.clone(), Arc::new(values.collect::<Float64Array>())));
        }
        Ok(columns)
    }

    fn group_columns(&self, groups: &[usize]) -> Result<Vec<(String, ArrayRef)>> {
        Ok(self.group_by.iter().cloned().zip(self.groups.columns(groups)?).collect())
    }
}
