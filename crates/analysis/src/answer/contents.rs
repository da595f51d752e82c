//! The answer itself: facts, rows and what was done to come to them.

use datafusion::arrow::{array::RecordBatch, datatypes::SchemaRef};
use narrows_tables::Input;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::{RedactedAnswer, cells};
use crate::kind::AnalysisType;

/// What an analysis found.
#[derive(Clone, Debug)]
pub struct Answer {
    pub kind: AnalysisType,
    /// Figures of the whole, such as how many rows were looked at; p-values of a test.
    pub facts: Map<String, Value>,
    pub table: Option<ResultTable>,
    /// What was done to the data that the caller might not expect.
    pub notes: Vec<String>,
    /// What the data would have cost a model, if that is known.
    pub cost: Option<Cost>,
}

/// Rows, as many as may come back.
#[derive(Clone, Debug)]
pub struct ResultTable {
    pub schema: SchemaRef,
    pub batches: Vec<RecordBatch>,
    /// How many there are in all.
    pub total_rows: usize,
    /// Where all of them are, if not all came back.
    pub kept: Option<SpillFile>,
}

/// A file with all rows of an answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct SpillFile {
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

impl ResultTable {
    /// The rows as a list of dictionaries, for Python's `marshal.loads`.
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
    /// The answer for a reader who is not to see all values: what is replaced in one of them is
    /// replaced in every form of the answer.
    pub fn shown(&self, mut replace: impl FnMut(&mut Value)) -> RedactedAnswer {
        RedactedAnswer::new(self, &mut replace)
    }

    /// For whoever may see everything.
    pub fn plain(&self) -> RedactedAnswer {
        self.shown(|_| ())
    }
}

impl ResultTable {
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
