//! What comes back: facts, a table and notes, as text for a model or as values for a program.

mod cells;
mod number;
mod render;
mod tokens;

use datafusion::arrow::{array::RecordBatch, datatypes::SchemaRef};
use narrows_model::grouped;
use narrows_tables::Input;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

pub(crate) use tokens::cost;

use crate::request::Kind;

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
    /// For a model: facts, the table, and what else there is to know of it.
    pub fn text(&self, format: Option<Format>) -> String {
        let mut lines: Vec<String> =
            self.facts.iter().map(|(name, value)| render::fact(name, value)).collect();
        if let Some(table) = &self.table {
            if table.shown_rows() > 0 {
                let (_, mut rows) = table.text(format);
                if rows.ends_with('\n') {
                    rows.pop();
                }
                lines.push(rows);
            }
            lines.extend(table.remark());
        }
        lines.extend(self.notes.iter().map(|note| format!("note: {note}")));
        lines.join("\n")
    }

    /// For a program: nothing is rounded.
    pub fn structured(&self) -> Value {
        let mut all = Map::new();
        all.insert("analysis_type".into(), self.kind.name().into());
        all.extend(self.facts.clone());
        if let Some(table) = &self.table {
            all.insert("data".into(), table.rows().into());
            all.insert("total_rows".into(), table.total_rows.into());
            if let Some(kept) = &table.kept {
                all.insert("path".into(), kept.path.clone().into());
            }
        }
        if !self.notes.is_empty() {
            all.insert("notes".into(), self.notes.clone().into());
        }
        if let Some(Cost { rows, data_tokens }) = self.cost {
            all.insert("tokens".into(), serde_json::json!({ "rows": rows, "data": data_tokens }));
        }
        all.into()
    }

    /// What a text of this answer costs, beside what the data would have cost.
    pub fn cost_line(&self, text: &str) -> Option<String> {
        self.cost.map(|cost| cost.beside(tokens::tokens(text)))
    }
}

impl Table {
    /// The rows as objects, in the order of the columns.
    pub fn rows(&self) -> Vec<Value> {
        let names = cells::names(self.schema.fields());
        self.batches.iter().flat_map(|batch| cells::rows(&names, batch)).collect()
    }

    /// The rows for a model, where fractions have six digits; in the form with the fewest tokens
    /// if none is given.
    pub fn text(&self, format: Option<Format>) -> (Format, String) {
        let grid = render::Grid { names: cells::names(self.schema.fields()), rows: self.rows() };
        match format {
            Some(format) => (format, grid.write(format)),
            None => grid.write_shortest(),
        }
    }

    /// How many rows came back.
    pub fn shown_rows(&self) -> usize {
        self.batches.iter().map(RecordBatch::num_rows).sum()
    }

    /// What the rows that are shown do not tell.
    fn remark(&self) -> Option<String> {
        let (shown, total) = (self.shown_rows(), self.total_rows);
        if total == 0 {
            return Some("no rows".to_owned());
        }
        if shown >= total {
            return None;
        }
        let (shown, total) = (grouped(shown as u64), grouped(total as u64));
        Some(match &self.kept {
            Some(Kept { path, bytes }) => {
                let bytes = grouped(*bytes);
                let form = if path.ends_with(".csv") { "CSV" } else { "Parquet" };
                format!(
                    "shown are {shown} of {total} rows; all of them are in {path} ({form}, \
                     {bytes} bytes)"
                )
            }
            None => {
                format!("shown are {shown} of {total} rows; ask for fewer with a filter or a limit")
            }
        })
    }
}

#[cfg(test)]
mod tests;
