//! Data in any of its forms.

use std::fs::File;

use bytes::Bytes;
use datafusion::arrow::{array::RecordBatch, datatypes::SchemaRef};
use serde_json::Value;

/// Data as it comes.
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
    /// An open file; it is never opened by its name.
    File { file: File, format: FileFormat },
    /// A table as it is, but for objects, whose fields become columns.
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
    /// By the extension of a file's name.
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

    /// Returns the extension that names of its files have.
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
