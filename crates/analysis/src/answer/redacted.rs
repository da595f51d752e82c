//! An answer in the form that its reader may see.

use datafusion::arrow::array::RecordBatch;
use narrows_model::grouped;
use serde_json::{Map, Value};

use super::{
    Answer, Cost, Format, ResultTable, SpillFile, cells,
    render::{self, Grid},
    tokens,
};
use crate::kind::AnalysisType;

/// An answer as JSON values, some of which may have been replaced for its reader.
#[derive(Debug)]
pub struct RedactedAnswer {
    kind: AnalysisType,
    facts: Map<String, Value>,
    table: Option<ShownTable>,
    notes: Vec<String>,
    cost: Option<Cost>,
}

#[derive(Debug)]
struct ShownTable {
    grid: Grid,
    total_rows: usize,
    path: Option<String>,
    /// A note on the rows that are not shown.
    remark: Option<String>,
}

impl RedactedAnswer {
    /// Replaces values one by one, before they stand beside others in a text.
    pub(super) fn new(answer: &Answer, replace: &mut dyn FnMut(&mut Value)) -> Self {
        let mut texts = |texts: Vec<String>| {
            let mut value = Value::from(texts);
            replace(&mut value);
            strings(value)
        };
        let infinite = answer.table.as_ref().filter(|table| has_infinite(table));
        let infinite = infinite.map(|_| "infinite numbers are written as inf and -inf".to_owned());
        let notes = texts(answer.notes.iter().cloned().chain(infinite).collect());
        let names = answer.table.as_ref().map(|table| texts(cells::names(table.schema.fields())));
        let mut facts = Value::Object(answer.facts.clone());
        replace(&mut facts);
        let table = answer.table.as_ref().map(|table| {
            let mut rows = Value::from(table.rows());
            replace(&mut rows);
            ShownTable {
                grid: Grid { names: names.unwrap_or_default(), rows: items(rows) },
                total_rows: table.total_rows,
                path: table.kept.as_ref().map(|kept| kept.path.clone()),
                remark: remark(table),
            }
        });
        let facts = if let Value::Object(facts) = facts { facts } else { Map::new() };
        Self { kind: answer.kind, facts, table, notes, cost: answer.cost }
    }

    /// Writes the answer for a model: facts, the table (in the form with the fewest tokens if none is
    /// given), and notes.
    pub fn text(&self, format: Option<Format>) -> String {
        let mut lines: Vec<String> =
            self.facts.iter().map(|(name, value)| render::fact(name, value)).collect();
        if let Some(ShownTable { grid, remark, .. }) = &self.table {
            if !grid.rows.is_empty() {
                let mut rows = match format {
                    Some(format) => grid.write(format),
                    None => grid.write_shortest().1,
                };
                if rows.ends_with('\n') {
                    rows.pop();
                }
                lines.push(rows);
            }
            lines.extend(remark.clone());
        }
        lines.extend(self.notes.iter().map(|note| format!("note: {note}")));
        lines.join("\n")
    }

    /// Returns the answer for a program, without rounding.
    pub fn structured(self) -> Value {
        let mut all = Map::new();
        all.insert("analysis_type".into(), self.kind.name().into());
        all.extend(self.facts);
        if let Some(table) = self.table {
            all.insert("data".into(), table.grid.rows.into());
            all.insert("total_rows".into(), table.total_rows.into());
            if let Some(path) = table.path {
                all.insert("path".into(), path.into());
            }
        }
        if !self.notes.is_empty() {
            all.insert("notes".into(), self.notes.into());
        }
        if let Some(Cost { rows, data_tokens }) = self.cost {
            all.insert("tokens".into(), serde_json::json!({ "rows": rows, "data": data_tokens }));
        }
        all.into()
    }

    /// Writes a line that compares the tokens of a text of this answer with those of the data, if these
    /// are known.
    pub fn cost_line(&self, text: &str) -> Option<String> {
        self.cost.map(|cost| cost.beside(tokens::tokens(text)))
    }
}

fn items(value: Value) -> Vec<Value> {
    if let Value::Array(items) = value { items } else { Vec::new() }
}

fn strings(value: Value) -> Vec<String> {
    let text = |item| if let Value::String(text) = item { text } else { String::new() };
    items(value).into_iter().map(text).collect()
}

fn has_infinite(table: &ResultTable) -> bool {
    let mut columns = table.batches.iter().flat_map(RecordBatch::columns);
    columns.any(|column| cells::has_infinite(column))
}

fn remark(table: &ResultTable) -> Option<String> {
    let (shown, total) = (table.shown_rows(), table.total_rows);
    let file = table.kept.as_ref().map(|SpillFile { path, bytes }| {
        let form = if path.ends_with(".csv") { "CSV" } else { "Parquet" };
        format!("all of them are in {path} ({form}, {} bytes)", grouped(*bytes))
    });
    match file {
        None if total == 0 => Some("no rows".to_owned()),
        Some(file) if total == 0 => Some(format!("no rows; {file}")),
        file if shown >= total => file,
        file => {
            let rest = file.unwrap_or_else(|| "ask for fewer with a filter or a limit".to_owned());
            let (shown, total) = (grouped(shown as u64), grouped(total as u64));
            Some(format!("shown are {shown} of {total} rows; {rest}"))
        }
    }
}
