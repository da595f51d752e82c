//! Writes tables and facts as text for a model.

use std::io::{self, Write};

use serde::Serialize;
use serde_json::{Map, Serializer, Value, ser::Formatter};

use super::{Format, number::short, tokens::tokens};

/// How many rows are measured to choose the form of a long table.
const SAMPLE: usize = 50;

/// A table with the names of its columns; each row is an object with all of them, in order.
#[derive(Debug)]
pub(super) struct Grid {
    pub(super) names: Vec<String>,
    pub(super) rows: Vec<Value>,
}

impl Grid {
    pub(super) fn write(&self, format: Format) -> String {
        self.write_first(format, self.rows.len())
    }

    /// Writes the table in the form with the fewest tokens, judged by the first rows.
    pub(super) fn write_shortest(&self) -> (Format, String) {
        let sample = self.rows.len().min(SAMPLE);
        let measured = |format| {
            let text = self.write_first(format, sample);
            (tokens(&text), format, text)
        };
        let mut best = measured(Format::Csv);
        for format in [Format::Json, Format::Markdown] {
            let other = measured(format);
            if other.0 < best.0 {
                best = other;
            }
        }
        let (_, format, text) = best;
        (format, if sample == self.rows.len() { text } else { self.write(format) })
    }

    fn write_first(&self, format: Format, rows: usize) -> String {
        let rows = &self.rows[..rows];
        match format {
            Format::Json => json(rows),
            Format::Csv => self.csv(rows),
            Format::Markdown => self.markdown(rows),
        }
    }

    /// Writes rows as CSV (RFC 4180 with Unix line ends). An empty cell is null, `""` the empty text.
    fn csv(&self, rows: &[Value]) -> String {
        let mut text = String::new();
        csv_line(&mut text, self.names.iter().map(|name| quoted(name)));
        for row in rows.iter().filter_map(Value::as_object) {
            csv_line(&mut text, cells(row, quoted));
        }
        text
    }

    fn markdown(&self, rows: &[Value]) -> String {
        let mut text = String::new();
        markdown_line(&mut text, self.names.iter().map(|name| escaped(name)));
        markdown_line(&mut text, self.names.iter().map(|_| "-".to_owned()));
        for row in rows.iter().filter_map(Value::as_object) {
            markdown_line(&mut text, cells(row, escaped));
        }
        text
    }
}

/// Writes a fact on a line of its own.
pub(super) fn fact(name: &str, value: &Value) -> String {
    match value {
        Value::String(text) if !text.contains(['\n', '\r']) => format!("{name}: {text}"),
        other => format!("{name}: {}", json(other)),
    }
}

fn csv_line(text: &mut String, cells: impl Iterator<Item = String>) {
    for (position, cell) in cells.enumerate() {
        if position > 0 {
            text.push(',');
        }
        text.push_str(&cell);
    }
    text.push('\n');
}

fn markdown_line(text: &mut String, cells: impl Iterator<Item = String>) {
    text.push('|');
    for cell in cells {
        text.push_str(&cell);
        text.push('|');
    }
    text.push('\n');
}

/// Returns the cells of a row. Text is quoted by `quote`; lists and objects, as JSON text, too.
fn cells(row: &Map<String, Value>, quote: fn(&str) -> String) -> impl Iterator<Item = String> {
    row.values().map(move |value| match value {
        Value::Null => String::new(),
        Value::String(text) => quote(text),
        Value::Array(_) | Value::Object(_) => quote(&json(value)),
        Value::Bool(_) | Value::Number(_) => json(value),
    })
}

fn quoted(text: &str) -> String {
    if text.is_empty() || text.contains(['"', ',', '\n', '\r']) {
        format!("\"{}\"", text.replace('"', "\"\""))
    } else {
        text.to_owned()
    }
}

/// Escapes a cell of Markdown, where a backslash before a pipe makes the pipe part of the text.
fn escaped(text: &str) -> String {
    let mut cell = text
        .replace("\\|", "\\&#124;")
        .replace('|', "\\|")
        .replace("\r\n", "<br>")
        .replace(['\n', '\r'], "<br>");
    if cell.ends_with('\\') {
        cell.push(' ');
    }
    cell
}

/// Writes compact JSON in which floats are short.
fn json<T: Serialize + ?Sized>(value: &T) -> String {
    let mut bytes = Vec::new();
    // Writing a value to memory does not fail.
    let _ = value.serialize(&mut Serializer::with_formatter(&mut bytes, Short));
    String::from_utf8_lossy(&bytes).into_owned()
}

struct Short;

impl Formatter for Short {
    fn write_f64<W: ?Sized + Write>(&mut self, writer: &mut W, value: f64) -> io::Result<()> {
        writer.write_all(short(value).as_bytes())
    }
}

#[cfg(test)]
mod tests;
