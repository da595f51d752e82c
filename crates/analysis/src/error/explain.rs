//! Translates errors of the query engine into words for the caller.

use std::{error::Error, io};

use datafusion::{
    common::{Column, SchemaError},
    error::DataFusionError,
};
use narrows_model::nearest;

use super::{AnalysisError, available};

/// The beginning of the engine's message when its disk limit is reached; it has no error type for this.
const DISK_FULL: &str = "The used disk space during the spilling process has exceeded";

/// Recognizes errors of limits, without the values of the limits, which only `runtime::job` knows. Any
/// other message is handed to `other`.
pub(crate) fn explain(
    error: &DataFusionError,
    other: impl FnOnce(String) -> AnalysisError,
) -> AnalysisError {
    if chain(error).any(is_memory) {
        AnalysisError::Memory(0)
    } else if chain(error).any(is_disk) {
        AnalysisError::Disk(0)
    } else if let Some((parameter, reason)) = chain(error).find_map(of_parameter) {
        AnalysisError::parameter(parameter, reason)
    } else {
        other(words(error))
    }
}

/// Returns the parameter and the reason if a function of ours reported an error of its parameter.
fn of_parameter<'a>(error: &'a (dyn Error + 'static)) -> Option<(&'a str, &'a str)> {
    match error.downcast_ref()? {
        AnalysisError::Parameter { parameter, reason, .. } => Some((parameter, reason)),
        _ => None,
    }
}

fn chain<'a>(error: &'a (dyn Error + 'static)) -> impl Iterator<Item = &'a (dyn Error + 'static)> {
    std::iter::successors(Some(error), |&error| error.source())
}

/// Makes an error for exhausted memory that no operator answers by trying another way.
pub(crate) fn exhausted(reason: String) -> DataFusionError {
    DataFusionError::External(Box::new(Exhausted(reason)))
}

#[derive(Debug, thiserror::Error)]
#[error("{0}")]
struct Exhausted(String);

/// Converts exhausted memory so that no operator above tries another way.
pub(crate) fn finally(error: DataFusionError) -> DataFusionError {
    match error.find_root() {
        DataFusionError::ResourcesExhausted(reason) => exhausted(reason.clone()),
        _ => error,
    }
}

fn is_memory(error: &(dyn Error + 'static)) -> bool {
    if let Some(Exhausted(text)) = error.downcast_ref() {
        return !text.contains(DISK_FULL);
    }
    let exhausted = |error: &DataFusionError| match error {
        DataFusionError::ResourcesExhausted(text) => !text.contains(DISK_FULL),
        _ => false,
    };
    error.downcast_ref::<DataFusionError>().is_some_and(exhausted)
}

fn is_disk(error: &(dyn Error + 'static)) -> bool {
    let full = |error: &io::Error| error.kind() == io::ErrorKind::StorageFull;
    error.downcast_ref::<io::Error>().is_some_and(full) || error.to_string().contains(DISK_FULL)
}

fn words(error: &DataFusionError) -> String {
    match error.find_root() {
        DataFusionError::SchemaError(error, _) => schema_words(error),
        DataFusionError::Collection(errors) => match errors.first() {
            Some(first) => words(first),
            None => "it failed".to_owned(),
        },
        root => {
            let text = root.strip_backtrace();
            familiar(&text).unwrap_or_else(|| in_words(&text))
        }
    }
}

fn schema_words(error: &SchemaError) -> String {
    match error {
        SchemaError::FieldNotFound { field, valid_fields } => missing(field, valid_fields),
        SchemaError::AmbiguousReference { field } => {
            let name = field.name();
            format!("the column {name:?} is in several tables; write table.{name}")
        }
        SchemaError::DuplicateQualifiedField { name, .. }
        | SchemaError::DuplicateUnqualifiedField { name } => {
            format!("two columns are called {name:?}; give one another name with AS")
        }
    }
}

/// Returns the name of the missing column, if that is the error and the column has no table in front.
pub(crate) fn missing_column(error: &DataFusionError) -> Option<&str> {
    match error.find_root() {
        DataFusionError::SchemaError(error, _) => match error.as_ref() {
            SchemaError::FieldNotFound { field, .. } if field.relation.is_none() => {
                Some(field.name())
            }
            _ => None,
        },
        DataFusionError::Collection(errors) => errors.first().and_then(missing_column),
        _ => None,
    }
}

fn missing(field: &Column, known: &[Column]) -> String {
    let of_table = known.iter().filter(|column| {
        field.relation.is_none() || column.relation == field.relation || column.relation.is_none()
    });
    let mut names: Vec<&str> = Vec::new();
    for column in of_table {
        if !names.contains(&column.name()) {
            names.push(column.name());
        }
    }
    let table = match &field.relation {
        Some(_) if names.is_empty() => return no_relation(field, known),
        Some(relation) => format!(" in {relation}"),
        None => String::new(),
    };
    let name = field.name();
    let near = nearest(name, names.iter().copied());
    format!("no column {name:?}{table}{near}{}", available(names))
}

fn no_relation(field: &Column, known: &[Column]) -> String {
    let mut tables: Vec<String> =
        known.iter().filter_map(|column| Some(column.relation.as_ref()?.to_string())).collect();
    tables.sort();
    tables.dedup();
    let tables: Vec<&str> = tables.iter().map(String::as_str).collect();
    let wanted = field.relation.as_ref().map(ToString::to_string).unwrap_or_default();
    let near = nearest(&wanted, tables.iter().copied());
    format!("no table {wanted:?} here for {wanted}.{}{near}{}", field.name(), available(tables))
}

/// Rewrites frequent messages of the engine.
fn familiar(text: &str) -> Option<String> {
    let between = |before: &str, after: &str| {
        let (_, rest) = text.split_once(before)?;
        Some(in_words(rest.split_once(after)?.0))
    };
    if text.contains("must appear in the GROUP BY clause") {
        let column = between("column \"", "\"")?;
        return Some(format!(
            "the column {column} has to be in GROUP BY or in an aggregate like max"
        ));
    }
    if text.contains("Projections require unique expression names") {
        let column = between("the expression \"", "\" at")?;
        return Some(format!("two columns are called {column}; give one another name with AS"));
    }
    if text.contains("Physical plan does not support logical expression") {
        return Some("a subquery of this form is not supported; write it as a join".to_owned());
    }
    if text.contains("not implemented") && text.trim_end().ends_with("TOP") {
        return Some("TOP is not there; write LIMIT 10 at the end instead of TOP 10".to_owned());
    }
    if text.contains("Cannot access field at argument") {
        return Some(
            "a value has no parts; those of a date are date_part('month', x::date)".to_owned(),
        );
    }
    if text.contains("Cannot coerce arithmetic expression") && text.contains(" + ") {
        let types = between("arithmetic expression ", " to valid types")?;
        return Some(format!("{types} is no sum; texts are joined by ||, as in a || '-' || b"));
    }
    let function = between("Function '", "'")?;
    let given = between("(DataType: ", ")")?;
    Some(format!("{function} does not take {given}; change its type first, as in x::double"))
}

/// Prefixes of the engine's messages that name its own kind of error.
const KINDS: [&str; 11] = [
    "Error during planning: ",
    "Execution error: ",
    "Arrow error: ",
    "External error: ",
    "Optimizer rule ",
    "This feature is not implemented: ",
    "SQL error: ",
    "Schema error: ",
    "Internal error: ",
    "Invalid argument error: ",
    "type_coercion\ncaused by\n",
];

/// Texts from which on a message is of no use to the caller.
const TAILS: [&str; 5] = [
    "Candidate functions:",
    "This issue was likely caused by a bug",
    "You might need to add explicit type casts",
    "Please try increasing",
    " Substring {",
];

/// The engine's names of types, and their names in SQL.
const TYPES: [(&str, &str); 9] = [
    ("LargeUtf8", "text"),
    ("Utf8View", "text"),
    ("Utf8", "text"),
    ("Boolean", "boolean"),
    ("Float64", "double"),
    ("Float32", "real"),
    ("Int64", "bigint"),
    ("Int32", "int"),
    ("Date32", "date"),
];

/// Rewrites a message as one line without the engine's jargon.
pub(crate) fn in_words(text: &str) -> String {
    let mut text = text;
    for tail in TAILS {
        text = text.split(tail).next().unwrap_or(text);
    }
    let mut text = text.to_owned();
    for kind in KINDS {
        text = text.replace(kind, "");
    }
    for (theirs, ours) in TYPES {
        text = text.replace(theirs, ours);
    }
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    line.trim_end_matches(['.', ' ', ',']).to_owned()
}
