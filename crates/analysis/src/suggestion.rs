//! Calls that work in the place of one that does not, with columns of the table at hand.
//!
//! They are written with placeholders, such as `<number>`, which are replaced by columns of the right
//! type once there is a table; `runtime/suggested.rs` tries them.

use std::fmt;

use datafusion::{arrow::datatypes::DataType, common::DFSchema};
use serde_json::{Map, Value};

use crate::spelling::snake_case;

/// The placeholders for columns and tables in calls, each with a name to show where there is no table.
const PLACEHOLDERS: [(&str, &str); 7] = [
    ("<number>", "amount"),
    ("<number 2>", "price"),
    ("<text>", "region"),
    ("<text 2>", "name"),
    ("<time>", "date"),
    ("<column>", "id"),
    ("<table 2>", "other"),
];

/// Names of columns that usually hold times, though their type may be text.
pub(crate) const TIME_NAMES: [&str; 9] =
    ["time", "timestamp", "datetime", "date", "ts", "day", "month", "week", "year"];

/// How much of a caller's own values a message repeats.
const MAX_TEXT: usize = 400;
/// How many columns of a type are tried in each call.
const MAX_TURNS: usize = 4;

/// Calls that may work, the best first. An error shows one of them.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Suggestion {
    calls: Vec<Call>,
}

/// A call of `execute_analysis`, or only the parameters of one whose type is not in question.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Call {
    /// The words before the call in a message.
    lead: String,
    pub(crate) analysis_type: Option<String>,
    pub(crate) parameters: Map<String, Value>,
}

impl Suggestion {
    pub(crate) fn or(mut self, lead: &str, analysis_type: Option<&str>, parameters: Value) -> Self {
        if let Value::Object(parameters) = parameters {
            let analysis_type = analysis_type.map(str::to_owned);
            self.calls.push(Call { lead: lead.to_owned(), analysis_type, parameters });
        }
        self
    }

    /// Suggests one call, which a message shows as "; as in {"analysis_type": …}"
    pub(crate) fn call(analysis_type: &str, parameters: Value) -> Self {
        Self::default().or_call(analysis_type, parameters)
    }

    pub(crate) fn or_call(self, analysis_type: &str, parameters: Value) -> Self {
        self.or("; as in ", Some(analysis_type), parameters)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.calls.is_empty()
    }

    /// Returns the calls with existing columns and tables in the place of placeholders, in the order in
    /// which they are tried.
    pub(crate) fn filled(&self, schema: &DFSchema, tables: &[String]) -> Vec<Call> {
        let there = TableColumns::of(schema, tables);
        let mut filled: Vec<Call> = Vec::new();
        for call in &self.calls {
            for turn in 0..MAX_TURNS {
                let parameters = replaced_in(&call.parameters, &|name| there.get(name, turn));
                let Some(parameters) = parameters else { break };
                let call = Call { parameters, ..call.clone() };
                if !filled.contains(&call) && call.to_string().len() <= MAX_TEXT {
                    filled.push(call);
                }
            }
        }
        filled
    }
}

/// Writes the first call that is short enough, with made-up names because there is no table.
impl fmt::Display for Suggestion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let made_up = |name: &str| {
            let (_, column) = PLACEHOLDERS.iter().find(|(placeholder, _)| *placeholder == name)?;
            Some((*column).to_owned())
        };
        let named = self.calls.iter().filter_map(|call| {
            let parameters = replaced_in(&call.parameters, &made_up)?;
            Some(Call { parameters, ..call.clone() }.to_string())
        });
        match named.into_iter().find(|call| call.len() <= MAX_TEXT) {
            Some(call) => f.write_str(&call),
            None => Ok(()),
        }
    }
}

impl fmt::Display for Call {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let parameters = Value::Object(self.parameters.clone());
        f.write_str(&self.lead)?;
        match &self.analysis_type {
            Some(name) => {
                write!(f, "{{\"analysis_type\": {name:?}, \"parameters\": {parameters}}}")
            }
            None => write!(f, "{parameters}"),
        }
    }
}

/// The columns of a table by the kind of their values. Keys of rows come last, because few ask about
/// them.
struct TableColumns<'s> {
    numbers: Vec<&'s str>,
    texts: Vec<&'s str>,
    times: Vec<&'s str>,
    all: Vec<&'s str>,
    tables: &'s [String],
}

impl<'s> TableColumns<'s> {
    fn of(schema: &'s DFSchema, tables: &'s [String]) -> Self {
        let is_time = |name: &str, data_type: &DataType| {
            data_type.is_temporal()
                || data_type.is_string() && TIME_NAMES.contains(&name.to_lowercase().as_str())
        };
        let named = |fits: &dyn Fn(&str, &DataType) -> bool| -> Vec<&'s str> {
            let fields = schema.fields().iter();
            let fields = fields.filter(|field| fits(field.name(), field.data_type()));
            let mut names: Vec<&str> = fields.map(|field| field.name().as_str()).collect();
            names.sort_by_key(|name| is_key(name));
            names
        };
        Self {
            numbers: named(&|_, data_type| data_type.is_numeric()),
            texts: named(&|name, data_type| data_type.is_string() && !is_time(name, data_type)),
            times: named(&is_time),
            all: named(&|_, _| true),
            tables,
        }
    }

    /// Returns the name that replaces a placeholder at a turn; each turn takes other columns.
    fn get(&self, placeholder: &str, turn: usize) -> Option<String> {
        let (columns, at): (&[&str], usize) = match placeholder {
            "<number>" => (&self.numbers, 0),
            "<number 2>" => (&self.numbers, 1),
            "<text>" => (&self.texts, 0),
            "<text 2>" => (&self.texts, 1),
            "<time>" => (&self.times, 0),
            "<column>" => (&self.all, 0),
            _ => return self.tables.get(1).cloned(),
        };
        let at = (at + turn).checked_rem(columns.len())?;
        Some(columns[at].to_owned())
    }
}

fn is_key(name: &str) -> bool {
    let name = snake_case(name);
    name == "id" || name.ends_with("_id")
}

/// Replaces placeholders by names. Returns none if there is no name for one of them.
fn replaced_in(
    parameters: &Map<String, Value>,
    name_of: &dyn Fn(&str) -> Option<String>,
) -> Option<Map<String, Value>> {
    let replaced = parameters
        .iter()
        .map(|(key, value)| Some((replaced_text(key, name_of)?, replaced(value, name_of)?)));
    replaced.collect()
}

fn replaced(value: &Value, name_of: &dyn Fn(&str) -> Option<String>) -> Option<Value> {
    Some(match value {
        Value::String(text) => replaced_text(text, name_of)?.into(),
        Value::Array(values) => {
            values.iter().map(|value| replaced(value, name_of)).collect::<Option<Vec<_>>>()?.into()
        }
        Value::Object(fields) => replaced_in(fields, name_of)?.into(),
        other => other.clone(),
    })
}

/// Replaces placeholders in a text. A placeholder alone becomes the plain name; within a longer text,
/// which is SQL then, the name is quoted.
fn replaced_text(text: &str, name_of: &dyn Fn(&str) -> Option<String>) -> Option<String> {
    if PLACEHOLDERS.iter().any(|(placeholder, _)| *placeholder == text) {
        return name_of(text);
    }
    let mut replaced = text.to_owned();
    for (placeholder, _) in
        PLACEHOLDERS.iter().filter(|(placeholder, _)| text.contains(placeholder))
    {
        replaced = replaced.replace(placeholder, &quoted(&name_of(placeholder)?));
    }
    Some(replaced)
}

/// Quotes a name for SQL.
pub(crate) fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use datafusion::arrow::datatypes::{Field, Schema};
    use serde_json::json;

    use super::*;

    fn filled(parameters: Value) -> Vec<Value> {
        let fields = vec![
            Field::new("order_id", DataType::Int64, true),
            Field::new("date", DataType::Utf8, true),
            Field::new("sec\"tor", DataType::Utf8, true),
            Field::new("roi", DataType::Float64, true),
        ];
        let schema = DFSchema::try_from(Schema::new_with_metadata(fields, HashMap::new())).unwrap();
        let calls = Suggestion::call("sum", parameters).filled(&schema, &["data".to_owned()]);
        calls.into_iter().map(|call| call.parameters.into()).collect()
    }

    #[test]
    fn placeholders_become_columns_of_their_type() {
        let calls = filled(json!({"<number>": "<text>", "t": ["<time>"], "q": "max(<text>)"}));
        assert_eq!(
            calls,
            [
                json!({"roi": "sec\"tor", "t": ["date"], "q": "max(\"sec\"\"tor\")"}),
                json!({"order_id": "sec\"tor", "t": ["date"], "q": "max(\"sec\"\"tor\")"}),
            ]
        );
        assert!(filled(json!({"with": "<table 2>"})).is_empty());
    }

    #[test]
    fn without_a_table_names_are_made_up() {
        let told = Suggestion::call("sum", json!({"field": "<number>"})).to_string();
        let wanted = r#"; as in {"analysis_type": "sum", "parameters": {"field":"amount"}}"#;
        assert_eq!(told, wanted);
    }
}
