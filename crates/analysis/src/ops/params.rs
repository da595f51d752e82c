//! Reads parameters that may be written in several ways, and names the place of a mistake.

use narrows_model::cut;
use serde_json::{Map, Value};

use crate::{
    aliases::{Scope, parameters},
    error::{AnalysisError, Result},
    kind::AnalysisType,
};

/// A name in the parameters, and its path.
#[derive(Clone, Debug)]
pub(crate) struct ParamName {
    pub(crate) path: String,
    pub(crate) name: String,
}

/// An object in the parameters, and its path.
#[derive(Clone, Debug)]
pub(crate) struct Params<'v> {
    path: String,
    fields: &'v Map<String, Value>,
    scope: &'static Scope,
}

impl<'v> Params<'v> {
    /// Takes the parameters of a type, and checks their names.
    pub(crate) fn parameters(kind: AnalysisType, fields: &'v Map<String, Value>) -> Result<Self> {
        Self { path: String::new(), fields, scope: parameters::of(kind) }.checked()
    }

    /// Takes an object within the parameters, and checks its names.
    pub(crate) fn object(path: &str, value: &'v Value, scope: &'static Scope) -> Result<Self> {
        match value {
            Value::Object(fields) => Self { path: path.to_owned(), fields, scope }.checked(),
            other => Err(wrong(path, "an object", other)),
        }
    }

    fn checked(self) -> Result<Self> {
        self.scope.check(&self.path, self.fields)?;
        Ok(self)
    }

    pub(crate) fn path(&self, name: &str) -> String {
        if self.path.is_empty() { name.to_owned() } else { format!("{}.{name}", self.path) }
    }

    /// Returns the value of a parameter under any of its names, with its path. Null counts as absent.
    pub(crate) fn value(&self, name: &str) -> Option<(String, &'v Value)> {
        let is_given = |(key, value): &(&String, &Value)| {
            !value.is_null() && self.scope.canonical(key) == Some(name)
        };
        let (key, value) = self.fields.iter().find(is_given)?;
        Some((self.path(key), value))
    }

    /// Returns the value of a parameter, parsed by a function that is given its path.
    pub(crate) fn read<T>(
        &self,
        name: &str,
        read: impl FnOnce(&str, &'v Value) -> Result<T>,
    ) -> Result<Option<T>> {
        self.value(name).map(|(path, value)| read(&path, value)).transpose()
    }

    pub(crate) fn text(&self, name: &str) -> Result<Option<&'v str>> {
        self.read(name, text)
    }

    pub(crate) fn count(&self, name: &str) -> Result<Option<usize>> {
        self.read(name, count)
    }

    pub(crate) fn flag(&self, name: &str) -> Result<Option<bool>> {
        self.read(name, flag)
    }

    pub(crate) fn number(&self, name: &str) -> Result<Option<f64>> {
        self.read(name, number)
    }

    pub(crate) fn list(&self, name: &str) -> Result<Option<&'v [Value]>> {
        self.read(name, list)
    }

    /// Reads one name.
    pub(crate) fn name(&self, name: &str) -> Result<Option<ParamName>> {
        let read = |(path, value): (String, &Value)| {
            let name = name_text(&path, value)?;
            Ok(ParamName { path, name })
        };
        self.value(name).map(read).transpose()
    }

    /// Reads a name, and fails if it is absent.
    pub(crate) fn required_name(&self, name: &str) -> Result<ParamName> {
        self.name(name)?.ok_or_else(|| self.missing(name))
    }

    /// Reads one name or a list of names.
    pub(crate) fn names(&self, name: &str) -> Result<Option<Vec<ParamName>>> {
        self.read(name, list_of_names)
    }

    /// Reads one of a few words, in any case.
    pub(crate) fn choice<T: Copy>(&self, name: &str, choices: &[(&str, T)]) -> Result<Option<T>> {
        let read = |(path, value): (String, &Value)| choice(&path, text(&path, value)?, choices);
        self.value(name).map(read).transpose()
    }

    pub(crate) fn missing(&self, name: &str) -> AnalysisError {
        AnalysisError::suggesting(self.path(name), "is missing", self.scope.suggestion(self.fields))
    }
}

pub(crate) fn text<'v>(path: &str, value: &'v Value) -> Result<&'v str> {
    value.as_str().ok_or_else(|| wrong(path, "a text", value))
}

/// Reads a name, which may be written as a number: the column of a year is called "2010".
pub(crate) fn name_text(path: &str, value: &Value) -> Result<String> {
    match value {
        Value::Number(number) => Ok(number.to_string()),
        value => Ok(text(path, value)?.to_owned()),
    }
}

pub(crate) fn count(path: &str, value: &Value) -> Result<usize> {
    let count = value.as_u64().and_then(|count| usize::try_from(count).ok());
    count.ok_or_else(|| wrong(path, "a whole number from 0", value))
}

pub(crate) fn flag(path: &str, value: &Value) -> Result<bool> {
    value.as_bool().ok_or_else(|| wrong(path, "true or false", value))
}

fn list<'v>(path: &str, value: &'v Value) -> Result<&'v [Value]> {
    value.as_array().map(Vec::as_slice).ok_or_else(|| wrong(path, "a list", value))
}

pub(crate) fn number(path: &str, value: &Value) -> Result<f64> {
    let number = match value {
        Value::String(text) => text.trim().parse().ok(),
        other => other.as_f64(),
    };
    number.filter(|number| number.is_finite()).ok_or_else(|| wrong(path, "a number", value))
}

/// Returns the values of a list, each with its path; any other value counts as a list of one.
pub(crate) fn one_or_more<'v>(path: &str, value: &'v Value) -> Vec<(String, &'v Value)> {
    match value {
        Value::Array(values) => {
            let placed = |(index, value)| (format!("{path}[{index}]"), value);
            values.iter().enumerate().map(placed).collect()
        }
        one => vec![(path.to_owned(), one)],
    }
}

pub(crate) fn list_of_names(path: &str, value: &Value) -> Result<Vec<ParamName>> {
    let mut names: Vec<ParamName> = Vec::new();
    for (path, value) in one_or_more(path, value) {
        let name = name_text(&path, value)?;
        if names.iter().any(|known| known.name == name) {
            return Err(AnalysisError::parameter(path, format!("{name:?} is there twice")));
        }
        names.push(ParamName { path, name });
    }
    Ok(names)
}

/// Returns the pairs of an object, each with its path.
pub(crate) fn pairs<'v>(
    path: &str,
    value: &'v Value,
) -> Result<impl Iterator<Item = (ParamName, &'v Value)> + use<'v>> {
    let Value::Object(fields) = value else { return Err(wrong(path, "an object", value)) };
    let path = path.to_owned();
    Ok(fields.iter().map(move |(name, value)| {
        (ParamName { path: format!("{path}.{name}"), name: name.clone() }, value)
    }))
}

pub(crate) fn choice<T: Copy>(path: &str, given: &str, choices: &[(&str, T)]) -> Result<T> {
    let plain = given.trim().to_lowercase();
    let found = choices.iter().find(|(name, _)| *name == plain);
    found
        .map(|(_, choice)| *choice)
        .ok_or_else(|| AnalysisError::no_word(path, given, choices.iter().map(|(name, _)| *name)))
}

/// Makes the error for a value of a wrong type: "must be a text, not 3"
pub(crate) fn wrong(path: &str, expected: &str, given: &Value) -> AnalysisError {
    AnalysisError::parameter(path, format!("must be {expected}, not {}", short(given)))
}

/// Shortens a value for a message.
pub(crate) fn short(value: &Value) -> String {
    const MAX_SHOWN: usize = 60;
    let text = value.to_string();
    match text.char_indices().nth(MAX_SHOWN) {
        Some((end, _)) => format!("{}…", cut::head(&text, end)),
        None => text,
    }
}
