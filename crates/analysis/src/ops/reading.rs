//! Reads parameters that may be written in several ways, and says where a mistake is.

use serde_json::{Map, Value};

use crate::error::{AnalysisError, Result};

/// A name in the parameters, and where it stands.
#[derive(Clone, Debug)]
pub(crate) struct Named {
    pub(crate) path: String,
    pub(crate) name: String,
}

/// An object in the parameters, and where it stands.
#[derive(Clone, Debug)]
pub(crate) struct Given<'v> {
    path: String,
    fields: &'v Map<String, Value>,
}

impl<'v> Given<'v> {
    /// The parameters themselves.
    pub(crate) fn parameters(fields: &'v Map<String, Value>, known: &[&str]) -> Result<Self> {
        Self { path: String::new(), fields }.with_known(known)
    }

    /// An object within them.
    pub(crate) fn object(path: &str, value: &'v Value, known: &[&str]) -> Result<Self> {
        match value {
            Value::Object(fields) => Self { path: path.to_owned(), fields }.with_known(known),
            other => Err(wrong(path, "an object", other)),
        }
    }

    fn with_known(self, known: &[&str]) -> Result<Self> {
        match self.fields.keys().find(|key| !known.contains(&key.as_str())) {
            None => Ok(self),
            Some(unknown) => Err(AnalysisError::no_parameter(self.path(unknown), unknown, known)),
        }
    }

    pub(crate) fn path(&self, name: &str) -> String {
        if self.path.is_empty() { name.to_owned() } else { format!("{}.{name}", self.path) }
    }

    /// What is given under one of these names, which mean the same; null is nothing.
    pub(crate) fn value(&self, names: &[&str]) -> Option<(String, &'v Value)> {
        let given = |name: &&str| self.fields.get(*name).filter(|value| !value.is_null());
        names.iter().find_map(|name| Some((self.path(name), given(name)?)))
    }

    /// The same, read by a function that is told where it stands.
    pub(crate) fn read<T>(
        &self,
        names: &[&str],
        read: impl FnOnce(&str, &'v Value) -> Result<T>,
    ) -> Result<Option<T>> {
        self.value(names).map(|(path, value)| read(&path, value)).transpose()
    }

    pub(crate) fn text(&self, names: &[&str]) -> Result<Option<&'v str>> {
        self.read(names, text)
    }

    pub(crate) fn count(&self, names: &[&str]) -> Result<Option<usize>> {
        self.read(names, count)
    }

    pub(crate) fn flag(&self, names: &[&str]) -> Result<Option<bool>> {
        self.read(names, flag)
    }

    pub(crate) fn number(&self, names: &[&str]) -> Result<Option<f64>> {
        self.read(names, number)
    }

    pub(crate) fn list(&self, names: &[&str]) -> Result<Option<&'v [Value]>> {
        self.read(names, list)
    }

    /// One name.
    pub(crate) fn name(&self, names: &[&str]) -> Result<Option<Named>> {
        let read = |(path, value): (String, &Value)| {
            let name = text(&path, value)?.to_owned();
            Ok(Named { path, name })
        };
        self.value(names).map(read).transpose()
    }

    /// A name that there must be.
    pub(crate) fn required_name(&self, names: &[&str]) -> Result<Named> {
        self.name(names)?.ok_or_else(|| self.missing(names))
    }

    /// One name or a list of names.
    pub(crate) fn names(&self, names: &[&str]) -> Result<Option<Vec<Named>>> {
        self.read(names, list_of_names)
    }

    /// One of a few words, in any case.
    pub(crate) fn choice<T: Copy>(
        &self,
        names: &[&str],
        choices: &[(&str, T)],
    ) -> Result<Option<T>> {
        let read = |(path, value): (String, &Value)| choice(&path, text(&path, value)?, choices);
        self.value(names).map(read).transpose()
    }

    pub(crate) fn missing(&self, names: &[&str]) -> AnalysisError {
        let name = names.first().copied().unwrap_or_default();
        AnalysisError::parameter(self.path(name), "is missing")
    }
}

pub(crate) fn text<'v>(path: &str, value: &'v Value) -> Result<&'v str> {
    value.as_str().ok_or_else(|| wrong(path, "a text", value))
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

/// The values of a list, each with its place; anything else is a list of one.
pub(crate) fn one_or_more<'v>(path: &str, value: &'v Value) -> Vec<(String, &'v Value)> {
    match value {
        Value::Array(values) => {
            let placed = |(index, value)| (format!("{path}[{index}]"), value);
            values.iter().enumerate().map(placed).collect()
        }
        one => vec![(path.to_owned(), one)],
    }
}

pub(crate) fn list_of_names(path: &str, value: &Value) -> Result<Vec<Named>> {
    let mut names: Vec<Named> = Vec::new();
    for (path, value) in one_or_more(path, value) {
        let name = text(&path, value)?.to_owned();
        if names.iter().any(|known| known.name == name) {
            return Err(AnalysisError::parameter(path, format!("{name:?} is there twice")));
        }
        names.push(Named { path, name });
    }
    Ok(names)
}

/// The pairs of an object, each with its place.
pub(crate) fn pairs<'v>(
    path: &str,
    value: &'v Value,
) -> Result<impl Iterator<Item = (Named, &'v Value)> + use<'v>> {
    let Value::Object(fields) = value else { return Err(wrong(path, "an object", value)) };
    let path = path.to_owned();
    Ok(fields.iter().map(move |(name, value)| {
        (Named { path: format!("{path}.{name}"), name: name.clone() }, value)
    }))
}

pub(crate) fn choice<T: Copy>(path: &str, given: &str, choices: &[(&str, T)]) -> Result<T> {
    let plain = given.trim().to_lowercase();
    let found = choices.iter().find(|(name, _)| *name == plain);
    found
        .map(|(_, choice)| *choice)
        .ok_or_else(|| AnalysisError::no_word(path, given, choices.iter().map(|(name, _)| *name)))
}

/// "must be a text, not 3"
pub(crate) fn wrong(path: &str, expected: &str, given: &Value) -> AnalysisError {
    AnalysisError::parameter(path, format!("must be {expected}, not {}", short(given)))
}

/// A value as it is told in a message.
pub(crate) fn short(value: &Value) -> String {
    const MOST: usize = 60;
    let text = value.to_string();
    match text.char_indices().nth(MOST) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text,
    }
}
