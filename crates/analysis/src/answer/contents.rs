//! The contents of an answer: facts, rows and notes.

use datafusion::arrow::{array::RecordBatch, datatypes::SchemaRef};
use narrows_tables::Input;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::{RedactedAnswer, cells};
use crate::kind::AnalysisType;

/// The answer of an analysis.
#[derive(Clone, Debug)]
pub struct Answer {
    pub kind: AnalysisType,
    /// Figures of the whole, such as how many rows were looked at; p-values of a test.
    pub facts: Map<String, Value>,
    pub table: Option<ResultTable>,
    /// Notes on what was done to the data that the caller might not expect.
    pub notes: Vec<String>,
    /// The tokens that the data would have cost a model, if that is known.
    pub cost: Option<Cost>,
}

/// The rows of an answer, as many as may come back.
#[derive(Clone, Debug)]
pub struct ResultTable {
    pub schema: SchemaRef,
    pub batches: Vec<RecordBatch>,
    /// The number of all rows.
    pub total_rows: usize,
    /// The file with all rows, if it was written.
    pub kept: Option<SpillFile>,
}

/// A file with all rows of an answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct SpillFile {
    pub path: String,
    pub bytes: u64,
}

/// An estimate of the tokens that a model would read if it were given the analysed rows as JSON.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Cost {
    pub rows: usize,
    pub data_tokens: usize,
}

/// The form in which a table is written for a model.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Format {
    Json,
    Csv,
    Markdown,
}

impl ResultTable {
    /// Writes the rows as a list of dictionaries, for Python's `marshal.loads`.
    pub fn marshal(&self) -> Vec<u8> {
        narrows_tables::marshal(&self.schema, &self.batches)
    }
}

impl From<ResultTable> for Input {
    fn from(ResultTable { schema, batches, .. }: ResultTable) -> Self {
        Self::Batches { schema, batches }
    }
}

impl Answer {
    /// Returns the answer for a reader who must not see all values. A value that `replace` changes is
    /// changed in every form of the answer.
    pub fn shown(&self, mut replace: impl FnMut(&mut Value)) -> RedactedAnswer {
        RedactedAnswer::new(self, &mut replace)
    }

    /// Returns the answer for a reader who may see everything.
    pub fn plain(&self) -> RedactedAnswer {
        self.shown(|_| ())
    }
}

impl ResultTable {
    /// Returns the rows as objects with their columns in order.
    pub fn rows(&self) -> Vec<Value> {
        let names = cells::names(self.schema.fields());
        self.batches.iter().flat_map(|batch| cells::rows(&names, batch)).collect()
    }

    /// Returns how many rows came back.
    pub fn shown_rows(&self) -> usize {
        self.batches.iter().map(RecordBatch::num_rows).sum()
    }
}
