//! What comes back: facts, a table and notes, as text for a model or as values for a program.

mod cells;
mod number;
mod render;
mod shown;
mod token_table;
mod tokens;

use datafusion::arrow::{array::RecordBatch, datatypes::SchemaRef};
use narrows_tables::Input;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

pub use shown::Shown;
pub use token_table::count_tokens;
pub(crate) use tokens::cost;

use crate::kind::Kind;

/// What an analysis found.
#[derive(Clone, Debug)]
pub struct Answer {
    pub kind: Kind,
    /// Figures of the whole, such as how many rows were looked at; p-values of a test.
    pub facts: Map<String, Value>,
    pub table: Option<Table>,
    /// What was done to the data that the caller might not expect.
    pub notes: Vec<String>,
    /// What the data would have cost a model, if that is known.
    pub cost: Option<Cost>,
}

/// Rows, as many as may come back.
#[derive(Clone, Debug)]
pub struct Table {
    pub schema: SchemaRef,
    pub batches: Vec<RecordBatch>,
    /// How many there are in all.
    pub total_rows: usize,
    /// Where all of them are, if not all came back.
    pub kept: Option<Kept>,
}

/// A file with all rows of an answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Kept {
    pub path: String,
    pub bytes: u64,
}

/// What the rows that an analysis looked at cost a model that reads them as JSON; an estimate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Cost {
    pub rows: usize,
    pub data_tokens: usize,
}

/// How a table is written for a model.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Format {
    Json,
    Csv,
    Markdown,
}

impl Table {
    /// The rows as a list of dictionaries, for Python's `marshal.loads`.
    pub fn marshal(&self) -> Vec<u8> {
        narrows_tables::marshal(&self.schema, &self.batches)
    }
}

impl From<Table> for Input {
    fn from(Table { schema, batches, .. }: Table) -> Self {
        Self::Batches { schema, batches }
    }
}

impl Answer {
    /// The answer for a reader who is not to see all values: what is replaced in one of them is
    /// replaced in every form of the answer.
    pub fn shown(&self, mut replace: impl FnMut(&mut Value)) -> Shown {
        Shown::new(self, &mut replace)
    }

    /// For whoever may see everything.
    pub fn plain(&self) -> Shown {
        self.shown(|_| ())
    }
}

impl Table {
    /// The rows as objects, in the order of the columns.
    pub fn rows(&self) -> Vec<Value> {
        let names = cells::names(self.schema.fields());
        self.batches.iter().flat_map(|batch| cells::rows(&names, batch)).collect()
    }

    /// How many rows came back.
    pub fn shown_rows(&self) -> usize {
        self.batches.iter().map(RecordBatch::num_rows).sum()
    }
}

#[cfg(test)]
mod tests;
