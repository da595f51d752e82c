//! The input of a load: data in any of its formats.

use std::fs::File;

use bytes::Bytes;
use datafusion::arrow::{array::RecordBatch, datatypes::SchemaRef};
use serde_json::Value;

/// Data that becomes a table.
#[derive(Debug)]
pub enum Input {
    /// Rows as a list of objects, one object (one row), a list of plain values (column `value`),
    /// or an object of lists of the same length (columns).
    Json(Value),
    /// The same as JSON text.
    Text(String),
    /// The same as Python's `marshal` writes it (version 4). A list may come in several parts, each
    /// of which is a list: several threads read them.
    Marshal(Vec<Bytes>),
    /// An open file. It is passed open, so that nothing is ever opened by a path.
    File { file: File, format: FileFormat },
    /// A table, of which only the objects change: their fields become columns.
    Batches { schema: SchemaRef, batches: Vec<RecordBatch> },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileFormat {
    Json,
    JsonLines,
    Csv,
    Tsv,
    Parquet,
}

impl FileFormat {
    /// Returns the format that a file has by its extension.
    pub fn of(name: &str) -> Option<Self> {
        let (_, extension) = name.rsplit_once('.')?;
        Some(match extension.to_ascii_lowercase().as_str() {
            "json" => Self::Json,
            "jsonl" | "ndjson" => Self::JsonLines,
            "csv" => Self::Csv,
            "tsv" => Self::Tsv,
            "parquet" | "pq" => Self::Parquet,
            _ => return None,
        })
    }

    /// Returns the extension of files of this format.
    pub fn extension(self) -> &'static str {
        match self {
            Self::Json => "json",
            Self::JsonLines => "jsonl",
            Self::Csv => "csv",
            Self::Tsv => "tsv",
            Self::Parquet => "parquet",
        }
    }
}
