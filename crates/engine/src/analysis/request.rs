//! What callers write, with their slips, as an analysis.

use narrows_analysis::{
    AnalysisError, AnalysisType, FileFormat, Format, Input, Output, SpillTarget, Understood,
    is_parameter, understand,
};
use narrows_model::{clipped_name, nearest};
use serde::Deserialize;
use serde_json::{Map, Value, json};

use crate::codegen::is_identifier;

/// How many keys are told that are not understood.
const MAX_TOLD: usize = 10;
/// The name of a table that nobody named.
const UNNAMED: &str = "data";
/// The name of rows that stand in the parameters of a join, as pandas' `merge` is given them.
const JOINED: &str = "joined";
/// The most rows and bytes that a caller can have in an answer.
const MAX_ROWS: usize = 100_000;
const MAX_BYTES: usize = 1 << 20;

/// One analysis, and where its tables come from; the first is the one it is about.
#[derive(Debug)]
pub struct AnalysisRequest {
    pub kind: AnalysisType,
    pub parameters: Map<String, Value>,
    pub tables: Vec<(String, TableSource)>,
    pub output: Output,
    /// The file of the workspace where all rows go, if the caller names one.
    pub file: Option<String>,
    /// A file of the caller's own for all rows.
    pub keep: Option<SpillTarget>,
    /// What was understood in a way that the caller should know of.
    pub notes: Vec<String>,
    /// Why it cannot be done, which is said once the tables are there.
    pub refusal: Option<AnalysisError>,
    /// The type and its parameters as the caller wrote them.
    pub asked: (String, Map<String, Value>),
}

/// Where a table comes from.
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
    /// A variable of a session, or what it has by this name; it is there only where programs run.
    Variable {
        session: String,
        variable: String,
        field: Option<String>,
    },
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

/// What a reference has: first the key that tells which it is.
const REFERENCES: [&[&str]; 4] = [
    &["tool", "arguments", "path"],
    &["file", "format", "path"],
    &["session", "variable"],
    &["result"],
];

const KNOWN: [&str; 7] =
    ["analysis_type", "data", "data_field", "source", "tables", "parameters", "output"];

impl AnalysisRequest {
    /// An analysis of no tables yet.
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

    /// An analysis of no tables yet, of a type that may be called otherwise elsewhere.
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

    /// What a program asks for; the tables that it has itself come as bytes.
    pub(crate) fn of_program(
        mut arguments: Map<String, Value>,
        data: &[bytes::Bytes],
    ) -> Result<Self, String> {
        let tables = match arguments.remove("tables") {
            Some(Value::Array(tables)) => tables,
            _ => Vec::new(),
        };
        arguments.insert("tables".into(), Value::Object(Map::new()));
        // It has tables, though not in the arguments.
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

    /// Rows, or an object whose lists are tables.
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
        // Whoever asks for many rows wants to see them.
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

impl TableSource {
    fn read(what: &str, source: Value, field: Option<String>) -> Result<Self, String> {
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

    /// Returns what [`Self::read`] reads; nothing for a variable, which is only where programs run.
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

    /// What a query calls the table.
    fn name(&self) -> String {
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

/// The part of a value that is its rows: at a path such as `result.items`, or its only list.
pub(crate) fn rows_of(value: Value, path: Option<&str>) -> Result<Value, String> {
    let value = decoded(value);
    let Some(path) = path else {
        return match lists(&value).as_slice() {
            [] => Ok(value),
            [list] => at(value, &list.join("."), list),
            several => {
                let several: Vec<String> = several.iter().map(|list| list.join(".")).collect();
                Err(format!("path: say which list of the answer is meant: {}", several.join(", ")))
            }
        };
    };
    let steps = path.trim_start_matches(['$', '/', '.']).split(['.', '/']);
    let steps: Vec<String> = steps.filter(|step| !step.is_empty()).map(str::to_owned).collect();
    at(value, path, &steps)
}

/// Where all lists of rows are that are nearest to the outside.
fn lists(value: &Value) -> Vec<Vec<String>> {
    let mut level = vec![(Vec::new(), value)];
    while !level.is_empty() {
        let objects = level.iter().filter_map(|(steps, value)| Some((steps, value.as_object()?)));
        let within = objects.flat_map(|(steps, entries)| {
            entries
                .iter()
                .map(|(name, value)| (steps.iter().cloned().chain([name.clone()]).collect(), value))
        });
        level = within.collect();
        let found = level.iter().filter(|(_, value)| is_rows(value));
        let found: Vec<Vec<String>> = found.map(|(steps, _)| steps.clone()).collect();
        if !found.is_empty() {
            return found;
        }
    }
    Vec::new()
}

/// What is at the end of steps, which are written as `path`.
fn at(mut value: Value, path: &str, steps: &[String]) -> Result<Value, String> {
    for step in steps {
        let found = match &mut value {
            Value::Object(entries) => entries.get_mut(step),
            Value::Array(items) => step.parse::<usize>().ok().and_then(|at| items.get_mut(at)),
            _ => None,
        };
        let Some(found) = found else {
            let known = match &value {
                Value::Object(entries) => {
                    let names: Vec<&str> = entries.keys().map(String::as_str).collect();
                    format!("{}; there are {}", nearest(step, names.clone()), names.join(", "))
                }
                Value::Array(items) => format!("; it is a list of {}", items.len()),
                _ => "; it is no object".to_owned(),
            };
            return Err(format!("path: the answer has no {step:?} in {path:?}{known}"));
        };
        value = found.take();
    }
    Ok(value)
}

/// The parts of a table among the data of a call, by the first one's place and their number.
fn given<'a>(place: &Value, data: &'a [bytes::Bytes]) -> Option<&'a [bytes::Bytes]> {
    let [start, count] = place.as_array()?.as_slice() else { return None };
    let [start, count] = [start, count].map(|number| usize::try_from(number.as_u64()?).ok());
    data.get(start?..)?.get(..count?)
}

/// Takes parameters that stand beside `parameters` instead of in it. What no type has, and is
/// written almost like an argument, is a slip.
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

/// Takes the rows of a join out of its parameters, where their name stays.
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

/// Whether a value is a table by its columns: an object of lists, and no reference.
fn is_columns(value: &Value) -> bool {
    let Value::Object(columns) = value else { return false };
    !columns.is_empty() && columns.values().all(Value::is_array)
}

/// Whether a value is a list of rows.
fn is_rows(value: &Value) -> bool {
    matches!(value, Value::Array(rows) if rows.first().is_some_and(Value::is_object))
}

/// JSON that came as text.
fn decoded(value: Value) -> Value {
    match &value {
        Value::String(text) if text.trim_start().starts_with(['[', '{']) => {
            serde_json::from_str(text).unwrap_or(value)
        }
        _ => value,
    }
}

/// Whether data is the name of a file, which models write for a source.
fn is_file(data: &Value) -> bool {
    let name = data.as_str().filter(|text| !text.trim_start().starts_with(['[', '{']));
    name.is_some_and(|name| !name.contains('\n') && FileFormat::of(name).is_some())
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

fn object(value: Option<Value>, name: &str) -> Result<Map<String, Value>, String> {
    match value.map(decoded) {
        None | Some(Value::Null) => Ok(Map::new()),
        Some(Value::Object(object)) => Ok(object),
        Some(other) => Err(format!("{name}: it is {other}, expected an object")),
    }
}

#[cfg(test)]
mod tests;
