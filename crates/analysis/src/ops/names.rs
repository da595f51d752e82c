//! Names and words in parameters.

use std::fmt::Display;

use serde_json::Value;

use super::params::{name_text, one_or_more};
use crate::error::{AnalysisError, Result};

/// One name or a list of names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Names {
    One(String),
    Many(Vec<String>),
}

impl Default for Names {
    fn default() -> Self {
        Self::Many(Vec::new())
    }
}

impl Names {
    pub(crate) fn read(path: &str, value: &Value) -> Result<Self> {
        if !value.is_array() {
            return Ok(Self::One(name_text(path, value)?));
        }
        let names = one_or_more(path, value);
        let name = |(path, value): (String, &Value)| name_text(&path, value);
        Ok(Self::Many(names.into_iter().map(name).collect::<Result<_>>()?))
    }

    pub(crate) fn as_slice(&self) -> &[String] {
        match self {
            Self::One(name) => std::slice::from_ref(name),
            Self::Many(names) => names,
        }
    }

    /// Checks that no name is there twice.
    pub(crate) fn check_distinct(&self, parameter: &str) -> Result<()> {
        let names = self.as_slice();
        match names.iter().enumerate().find(|(at, name)| names[..*at].contains(name)) {
            Some((_, name)) => {
                Err(AnalysisError::parameter(parameter, format!("{name:?} is there twice")))
            }
            None => Ok(()),
        }
    }

    /// Returns each name with its path in the parameters: `fields[1]`.
    pub(crate) fn with_paths(&self, parameter: &str) -> Vec<(String, &str)> {
        match self {
            Self::One(name) => vec![(parameter.to_owned(), name)],
            Self::Many(names) => names
                .iter()
                .enumerate()
                .map(|(at, name)| (format!("{parameter}[{at}]"), name.as_str()))
                .collect(),
        }
    }
}

/// Finds the value of a word, each of which has other words with the same meaning.
pub(crate) fn word<T: Copy>(
    parameter: &str,
    given: &str,
    words: &[(&'static str, &[&str], T)],
) -> Result<T> {
    let plain = plain(given);
    let means = |(word, others, _): &&(&str, &[&str], T)| {
        *word == plain || others.contains(&plain.as_str())
    };
    match words.iter().find(means) {
        Some((_, _, meaning)) => Ok(*meaning),
        None => {
            let known = words.iter().map(|(word, _, _)| *word);
            Err(AnalysisError::no_word(parameter, given, known))
        }
    }
}

pub(crate) fn plain(word: &str) -> String {
    word.trim().to_lowercase().replace(['-', ' '], "_")
}

/// Returns a name for a result column that no other column has.
pub(crate) fn free_name<T: PartialEq<str>>(wanted: &str, taken: &[T]) -> String {
    let mut name = wanted.to_owned();
    while taken.iter().any(|other| *other == *name.as_str()) {
        name.push('_');
    }
    name
}

/// Writes a count with its noun: "3 rows", "1 row".
pub(crate) fn counted(count: impl Into<u64>, what: &str) -> impl Display {
    let count = count.into();
    let plural = if count == 1 { "" } else { "s" };
    format!("{count} {what}{plural}")
}
