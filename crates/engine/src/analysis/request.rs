//! Reads a request for an analysis as callers write it, and forgives common slips.

use narrows_analysis::{
    AnalysisError, AnalysisType, FileFormat, Format, Input, Output, SpillTarget, Understood,
    is_parameter, understand,
};
use narrows_model::nearest;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::{
    rows::{decoded, is_rows},
    table_source::{TableSource, UNNAMED},
};

/// The table name of rows that stand in the parameters of a join, as for pandas' `merge`.
const JOINED: &str = "joined";
/// The most rows and bytes that a caller can ask for in an answer.
const MAX_ROWS: usize = 100_000;
const MAX_BYTES: usize = 1 << 20;

/// An analysis and the sources of its tables, of which the first is the main one.
#[derive(Debug)]
pub struct AnalysisRequest {
    pub kind: AnalysisType,
    pub parameters: Map<String, Value>,
    pub tables: Vec<(String, TableSource)>,
    pub output: Output,
    /// The workspace file to which all rows are written, if the caller names one.
    pub file: Option<String>,
    /// A target outside the workspace to which all rows are written.
    pub keep: Option<SpillTarget>,
    /// Notes for the caller about how the request was understood.
    pub notes: Vec<String>,
    /// The reason why it cannot be done, which is reported once the tables are read.
    pub refusal: Option<AnalysisError>,
    /// The type and its parameters as the caller wrote them.
    pub asked: (String, Map<String, Value>),
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct OutputOptions {
    #[serde(alias = "limit", alias = "max_rows")]
    rows: Option<usize>,
    bytes: Option<usize>,
    format: Option<Format>,
    #[serde(alias = "path")]
    file: Option<String>,
}

const KNOWN: [&str; 7] =
    ["analysis_type", "data", "data_field", "source", "tables", "parameters", "output"];

impl AnalysisRequest {
    /// Creates an analysis without tables.
    pub fn new(kind: AnalysisType, parameters: Map<String, Value>) -> Self {
        Self {
            kind,
            asked: (kind.name().to_owned(), parameters.clone()),
            parameters,
            tables: Vec::new(),
            output: Output::default(),
            file: None,
            keep: None,
            notes: Vec::new(),
            refusal: None,
        }
    }

    /// Creates an analysis without tables; its type may have a name that other tools use for it.
    pub fn understood(name: &str, parameters: Map<String, Value>) -> Result<Self, String> {
        let asked = (name.to_owned(), parameters.clone());
        let understood = understand(name, parameters).map_err(|error| error.to_string())?;
        let Understood { kind, parameters, note, refusal } = understood;
        let notes = Vec::from_iter(note);
        Ok(Self { notes, refusal, asked, ..Self::new(kind, parameters) })
    }

    pub fn add(&mut self, name: &str, origin: TableSource) {
        self.tables.push((name.to_owned(), origin));
    }

    /// Reads the arguments of `execute_analysis`.
    pub fn read(mut arguments: Map<String, Value>) -> Result<Self, String> {
        for (alias, name) in [("type", "analysis_type"), ("params", "parameters")] {
            if let Some(value) = arguments.remove(alias) {
                arguments.entry(name).or_insert(value);
            }
        }
        let name = match arguments.remove("analysis_type") {
            Some(Value::String(name)) => name,
            _ => {
                let names = AnalysisType::ALL.map(AnalysisType::name).join(", ");
                return Err(format!("analysis_type: it is missing; it is one of {names}"));
            }
        };
        let mut parameters = object(arguments.remove("parameters"), "parameters")?;
        take_parameters(&mut arguments, &mut parameters)?;
        let field = parameters.remove("data_field").or(arguments.remove("data_field"));
        let joined = take_joined(&mut parameters);
        let mut request = Self::understood(&name, parameters)?;
        let kind = request.kind;
        let field = match field {
            None | Some(Value::Null) => None,
            Some(Value::String(field)) => Some(field),
            Some(other) => return Err(format!("data_field: it is {other}, expected a name")),
        };
        let data = arguments.remove("data").filter(|data| !data.is_null());
        let source = arguments.remove("source").filter(|source| !source.is_null());
        match (data, source) {
            (Some(_), Some(_)) => return Err("data, source: give one of them, not both".into()),
            (Some(data), None) if is_file(&data) => {
                let origin = TableSource::read("data", data, field)?;
                request.add(&origin.name(), origin);
            }
            (Some(data), None) => request.add_data(decoded(data), field.as_deref())?,
            (None, Some(source)) => {
                let origin = TableSource::read("source", source, field)?;
                request.add(&origin.name(), origin);
            }
            (None, None) => {}
        }
        for (name, source) in object(arguments.remove("tables"), "tables")? {
            let origin = TableSource::read(&format!("tables.{name}"), source, None)?;
            request.add(&name, origin);
        }
        if let Some(rows) = joined {
            request.add(JOINED, TableSource::Given(Input::Json(rows)));
        }
        if request.tables.is_empty() && kind != AnalysisType::Sql {
            return Err(
                "data: there is nothing to analyse; give rows as data, or a source such as \
                        \"sales.csv\" or {\"tool\": …, \"arguments\": …}"
                    .into(),
            );
        }
        request.read_output(arguments.remove("output"))?;
        Ok(request)
    }

    /// Reads a program's request; tables that the program has in memory come as bytes in `data`.
    pub(crate) fn of_program(
        mut arguments: Map<String, Value>,
        data: &[bytes::Bytes],
    ) -> Result<Self, String> {
        let tables = match arguments.remove("tables") {
            Some(Value::Array(tables)) => tables,
            _ => Vec::new(),
        };
        arguments.insert("tables".into(), Value::Object(Map::new()));
        // Its tables are not in the arguments; without a source the request would be refused.
        arguments.insert("source".into(), Value::String(String::new()));
        let mut request = Self::read(arguments)?;
        let mut joined = std::mem::take(&mut request.tables);
        joined.retain(|(name, _)| name == JOINED);
        for table in tables {
            let name = table["name"].as_str().unwrap_or(UNNAMED).to_owned();
            let origin = match given(&table["data"], data) {
                Some(parts) if table["form"] == "marshal" => {
                    TableSource::Given(Input::Marshal(parts.to_vec()))
                }
                Some([text]) => {
                    TableSource::Given(Input::Text(String::from_utf8_lossy(text).into_owned()))
                }
                _ => TableSource::read(&name, table["source"].clone(), None)?,
            };
            request.add(&name, origin);
        }
        request.tables.append(&mut joined);
        Ok(request)
    }

    /// Adds data that is rows, or an object whose lists are tables.
    fn add_data(&mut self, data: Value, field: Option<&str>) -> Result<(), String> {
        let Value::Object(mut entries) = data else {
            if let Some(field) = field {
                return Err(format!("data_field: data has no {field:?}; it is no object"));
            }
            self.add(UNNAMED, TableSource::Given(Input::Json(data)));
            return Ok(());
        };
        if let Some(field) = field {
            let Some(rows) = entries.shift_remove(field) else {
                let known = entries.keys().map(String::as_str);
                let near = nearest(field, known.clone());
                let known: Vec<&str> = known.collect();
                let known = known.join(", ");
                return Err(format!("data_field: data has no {field:?}{near}; there are {known}"));
            };
            self.add(field, TableSource::Given(Input::Json(rows)));
            self.add_tables(entries);
            return Ok(());
        }
        if !entries.values().any(is_rows) {
            self.add(UNNAMED, TableSource::Given(Input::Json(Value::Object(entries))));
            return Ok(());
        }
        self.add_tables(entries);
        if let [(first, _), _, ..] = self.tables.as_slice()
            && self.kind != AnalysisType::Sql
        {
            let note = format!("data: {first:?} was analysed; name another one with data_field");
            self.notes.push(note);
        }
        Ok(())
    }

    fn add_tables(&mut self, entries: Map<String, Value>) {
        for (name, rows) in entries.into_iter().filter(|(_, rows)| is_rows(rows)) {
            self.add(&name, TableSource::Given(Input::Json(rows)));
        }
    }

    fn read_output(&mut self, output: Option<Value>) -> Result<(), String> {
        let options = match output {
            None | Some(Value::Null) => return Ok(()),
            // `"output": "csv"`, or a file.
            Some(Value::String(text)) if text.contains('.') => json!({ "file": text }),
            Some(Value::String(text)) => json!({ "format": text }),
            Some(other) => other,
        };
        let options: OutputOptions =
            serde_json::from_value(options).map_err(|error| format!("output: {error}"))?;
        let Output { rows, bytes, format, .. } = &mut self.output;
        *rows = options.rows.map_or(*rows, |wanted| wanted.min(MAX_ROWS));
        // A caller that says how many rows it wants gets more bytes too.
        let default = if options.rows.is_some() { MAX_BYTES } else { *bytes };
        *bytes = options.bytes.unwrap_or(default).min(MAX_BYTES);
        *format = options.format;
        self.file = options.file;
        if let Some(file) = &self.file
            && !matches!(FileFormat::of(file), Some(FileFormat::Csv | FileFormat::Parquet))
        {
            return Err(format!("output.file: {file:?} must end with .parquet or .csv"));
        }
        Ok(())
    }
}

/// Returns the parts of a table among the data of a call; `place` is the index of the first and their
/// number.
fn given<'a>(place: &Value, data: &'a [bytes::Bytes]) -> Option<&'a [bytes::Bytes]> {
    let [start, count] = place.as_array()?.as_slice() else { return None };
    let [start, count] = [start, count].map(|number| usize::try_from(number.as_u64()?).ok());
    data.get(start?..)?.get(..count?)
}

/// Moves arguments that stand beside `parameters` into it. A name that no analysis has as a parameter,
/// and that is similar to an argument, is refused as a misspelling.
fn take_parameters(
    arguments: &mut Map<String, Value>,
    parameters: &mut Map<String, Value>,
) -> Result<(), String> {
    let is_other = |key: &&String| !KNOWN.contains(&key.as_str());
    let others: Vec<String> = arguments.keys().filter(is_other).cloned().collect();
    for name in others {
        if parameters.contains_key(&name) {
            return Err(format!("{name}: it is beside `parameters` and in it; give it once"));
        }
        let near = nearest(&name, KNOWN).to_string();
        if !near.is_empty() && !is_parameter(&name) {
            return Err(format!("{name}: no such argument{near}; there are {}", KNOWN.join(", ")));
        }
        if let Some(value) = arguments.shift_remove(&name) {
            parameters.insert(name, value);
        }
    }
    Ok(())
}

/// Takes the rows of a join out of its parameters, and puts the name [`JOINED`] in their place.
fn take_joined(parameters: &mut Map<String, Value>) -> Option<Value> {
    const NAMES: [&str; 4] = ["right", "with", "other", "table"];
    let join = ["join", "merge"]
        .into_iter()
        .find(|key| parameters.get(*key).is_some_and(Value::is_object));
    let parameters = match join {
        None => parameters,
        Some(key) => parameters.get_mut(key)?.as_object_mut()?,
    };
    let name = NAMES.into_iter().find(|name| parameters.get(*name).is_some_and(is_rows))?;
    let rows = parameters.get_mut(name)?;
    Some(std::mem::replace(rows, JOINED.into()))
}

/// Tells whether `data` is a file name, which models write instead of `source`.
fn is_file(data: &Value) -> bool {
    let name = data.as_str().filter(|text| !text.trim_start().starts_with(['[', '{']));
    name.is_some_and(|name| !name.contains('\n') && FileFormat::of(name).is_some())
}

pub(super) fn object(value: Option<Value>, name: &str) -> Result<Map<String, Value>, String> {
    match value.map(decoded) {
        None | Some(Value::Null) => Ok(Map::new()),
        Some(Value::Object(object)) => Ok(object),
        Some(other) => Err(format!("{name}: it is {other}, expected an object")),
    }
}

#[cfg(test)]
mod tests;
