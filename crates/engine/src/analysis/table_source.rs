//! The sources of an analysis's tables, as callers name them.

use narrows_analysis::{FileFormat, Input};
use narrows_model::{clipped_name, is_identifier, nearest};
use serde_json::{Map, Value, json};

use super::request::object;

/// The most unknown keys that an error names.
const MAX_TOLD: usize = 10;
/// The name of a table that the caller did not name.
pub(super) const UNNAMED: &str = "data";

/// The source of a table.
#[derive(Debug)]
pub enum TableSource {
    Given(Input),
    /// A file of the workspace, or a part of one that is JSON.
    File {
        file: String,
        format: Option<FileFormat>,
        path: Option<String>,
    },
    /// The answer of a tool, or a part of it.
    Tool {
        tool: String,
        arguments: Map<String, Value>,
        path: Option<String>,
    },
    /// The table of an earlier answer.
    Result(String),
    /// A variable of a session, or its entry `field`. Only programs of that session can read it.
    Variable {
        session: String,
        variable: String,
        field: Option<String>,
    },
}

/// The keys of each kind of reference; the first key identifies the kind.
const REFERENCES: [&[&str]; 4] = [
    &["tool", "arguments", "path"],
    &["file", "format", "path"],
    &["session", "variable"],
    &["result"],
];

impl TableSource {
    pub(super) fn read(what: &str, source: Value, field: Option<String>) -> Result<Self, String> {
        if field.is_none() && is_columns(&source) {
            return Ok(Self::Given(Input::Json(source)));
        }
        let source = match source {
            Value::String(file) => return Ok(Self::File { file, format: None, path: field }),
            Value::Array(_) | Value::Null if field.is_some() => {
                return Err(format!("data_field: {what} is no object"));
            }
            Value::Array(rows) => return Ok(Self::Given(Input::Json(Value::Array(rows)))),
            Value::Object(source) => source,
            other => {
                return Err(format!(
                    "{what}: it is {other}; name a file, or {{\"tool\": …}}, {{\"result\": …}}, \
                     {{\"session\": …, \"variable\": …}}"
                ));
            }
        };
        let text = |key: &str| source.get(key).and_then(Value::as_str).map(str::to_owned);
        let kind = REFERENCES.iter().find(|kind| source.get(kind[0]).is_some_and(Value::is_string));
        let Some(kind) = kind else {
            let given: Vec<String> =
                source.keys().take(MAX_TOLD).map(|key| clipped_name(key)).collect();
            let expected = REFERENCES.map(|kind| kind[0]).join(", ");
            return Err(format!("{what}: it has {}, expected one of {expected}", given.join(", ")));
        };
        if let Some(unknown) = source.keys().find(|key| !kind.contains(&key.as_str())) {
            let near = nearest(unknown, kind.iter().copied());
            return Err(format!(
                "{what}.{}: no such key{near}; there are {}",
                clipped_name(unknown),
                kind.join(", ")
            ));
        }
        let first = text(kind[0]).unwrap_or_default();
        Ok(match kind[0] {
            "tool" => {
                let given = source.get("arguments").cloned();
                let arguments = object(given, &format!("{what}.arguments"))?;
                Self::Tool { tool: first, arguments, path: text("path").or(field) }
            }
            "file" => Self::File {
                file: first,
                format: text("format").map(|name| file_format(what, &name)).transpose()?,
                path: text("path").or(field),
            },
            "session" => {
                let variable = text("variable").unwrap_or_default();
                if !is_identifier(&variable) {
                    return Err(format!("{what}.variable: {variable:?} is no name of a variable"));
                }
                Self::Variable { session: first, variable, field }
            }
            _ if field.is_some() => {
                return Err("data_field: an earlier result is a table, it has no fields".into());
            }
            _ => Self::Result(first),
        })
    }

    /// Converts a source back into the JSON that [`Self::read`] reads. A variable becomes null, because
    /// the program passes it itself.
    pub(crate) fn into_json(self) -> Value {
        match self {
            Self::Given(Input::Json(rows)) => rows,
            Self::Given(_) | Self::Variable { .. } => Value::Null,
            Self::File { file, format, path } => {
                let mut source = json!({ "file": file });
                if let Some(format) = format {
                    source["format"] = format.extension().into();
                }
                with_path(source, path)
            }
            Self::Tool { tool, arguments, path } => {
                with_path(json!({ "tool": tool, "arguments": arguments }), path)
            }
            Self::Result(result) => json!({ "result": result }),
        }
    }

    /// Returns the name of the table in queries.
    pub(super) fn name(&self) -> String {
        let file = match self {
            Self::File { file, .. } => file,
            _ => return UNNAMED.to_owned(),
        };
        let name = file.rsplit('/').next().unwrap_or_default();
        let stem = name.split('.').next().unwrap_or_default();
        match is_identifier(stem) {
            true => stem.to_owned(),
            false => UNNAMED.to_owned(),
        }
    }
}

/// Tells whether a value is a table by columns: an object in which all values are lists.
fn is_columns(value: &Value) -> bool {
    let Value::Object(columns) = value else { return false };
    !columns.is_empty() && columns.values().all(Value::is_array)
}

fn with_path(mut source: Value, path: Option<String>) -> Value {
    if let Some(path) = path {
        source["path"] = path.into();
    }
    source
}

fn file_format(what: &str, name: &str) -> Result<FileFormat, String> {
    FileFormat::of(&format!(".{name}"))
        .ok_or_else(|| format!("{what}.format: {name:?} is none of json, jsonl, csv, tsv, parquet"))
}
