//! Errors of analyses, in words for the caller.

mod explain;

use std::{fmt::Display, time::Duration};

use datafusion::error::DataFusionError;
use narrows_model::{cut, nearest};
use thiserror::Error;

pub(crate) use explain::{exhausted, explain, finally, in_words, missing_column};

use crate::suggestion::Suggestion;

#[derive(Debug, Error)]
pub enum AnalysisError {
    /// The request cannot be understood or done: the parameter, what is wrong with it, and what
    /// works instead.
    #[error("{parameter}: {reason}{suggestion}")]
    Parameter { parameter: String, reason: String, suggestion: Suggestion },
    /// The data cannot be read: which table, and what is wrong with it.
    #[error("{table}: {reason}")]
    Data { table: String, reason: String },
    /// SQL that is not allowed here or has a mistake.
    #[error("sql: {0}")]
    Sql(String),
    #[error(
        "the analysis needs more than its memory limit of {} MB; use fewer columns or rows, \
         or group by something with fewer values",
        .0 >> 20
    )]
    Memory(usize),
    #[error(
        "the analysis needs more memory than the others leave it of the {} MB that all have \
         together; try again in a moment, or use fewer columns or rows",
        .0 >> 20
    )]
    SharedMemory(usize),
    #[error("the analysis needs more than {} MB of temporary disk space", .0 >> 20)]
    Disk(u64),
    #[error("the analysis took longer than {} s and was stopped", .0.as_secs_f64())]
    Time(Duration),
    #[error("the analysis was cancelled")]
    Cancelled,
    #[error("busy: {waiting} of your analyses are waiting for their turn; try again in a moment")]
    Busy { waiting: usize },
    #[error(
        "busy: the tables of your analyses that are waiting for their turn take too much memory; wait \
         for one of them, or write the tables to files and name these"
    )]
    TablesWaiting,
    /// An error that the caller cannot mend.
    #[error("the analysis failed: {0}")]
    Internal(String),
}

pub(crate) type Result<T, E = AnalysisError> = std::result::Result<T, E>;

impl AnalysisError {
    pub(crate) fn parameter(parameter: impl Into<String>, reason: impl Display) -> Self {
        Self::suggesting(parameter, reason, Suggestion::default())
    }

    /// Makes an error of a parameter with suggested calls, of which one is shown that works with the
    /// tables at hand.
    pub(crate) fn suggesting(
        parameter: impl Into<String>,
        reason: impl Display,
        suggestion: Suggestion,
    ) -> Self {
        Self::Parameter { parameter: parameter.into(), reason: reason.to_string(), suggestion }
    }

    /// Makes the error for an unknown column: "no column 'setor'; did you mean sector? columns: …"
    pub(crate) fn no_column<'a>(
        parameter: impl Into<String>,
        name: &str,
        known: impl IntoIterator<Item = &'a str> + Clone,
    ) -> Self {
        let near = nearest(name, known.clone());
        Self::parameter(parameter, format!("no column {name:?}{near}{}", available(known)))
    }

    /// Makes the error for a word that is not one of those that are allowed there.
    pub(crate) fn no_word<'a>(
        path: impl Into<String>,
        word: &str,
        known: impl IntoIterator<Item = &'a str> + Clone,
    ) -> Self {
        let near = nearest(word, known.clone());
        Self::parameter(path, format!("no {word:?} here{near}{}", available(known)))
    }

    /// Cuts the middle out of a very long message: a name can be as long as a query.
    pub(crate) fn shortened(mut self) -> Self {
        let text = match &mut self {
            Self::Parameter { reason, .. } | Self::Data { reason, .. } => reason,
            Self::Sql(reason) | Self::Internal(reason) => reason,
            _ => return self,
        };
        let ends = (text.char_indices().nth(MAX_CHARS), text.char_indices().nth_back(END_CHARS));
        if let (Some((start, _)), Some((end, _))) = ends
            && start < end
        {
            *text = format!("{} … {}", cut::head(text, start), cut::tail(text, text.len() - end));
        }
        self
    }

    /// Tells whether the request is at fault, and not the data, a limit or the machine.
    pub fn is_wrong_use(&self) -> bool {
        matches!(self, Self::Parameter { .. } | Self::Sql(_))
    }

    pub fn is_limit(&self) -> bool {
        matches!(self, Self::Memory(_) | Self::SharedMemory(_) | Self::Disk(_) | Self::Time(_))
    }
}

/// The longest message, and how much of that is its end, where the advice is.
const MAX_CHARS: usize = 1000;
const END_CHARS: usize = 500;

/// How many names a message lists.
const MAX_NAMES: usize = 30;

/// Lists the names that exist: "; there are a, b, c"
pub(crate) fn available<'a>(names: impl IntoIterator<Item = &'a str>) -> String {
    let names: Vec<&str> = names.into_iter().collect();
    match names.len() {
        0 => "; there are none".to_owned(),
        count if count > MAX_NAMES => {
            format!("; there are {} and {} more", names[..MAX_NAMES].join(", "), count - MAX_NAMES)
        }
        _ => format!("; there are {}", names.join(", ")),
    }
}

impl From<DataFusionError> for AnalysisError {
    /// Converts an error of the query engine. Limits have no values here; `runtime::job`, which knows
    /// them, puts them in.
    fn from(error: DataFusionError) -> Self {
        explain(&error, Self::Internal)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_has_an_end() {
        let said = |text: String| AnalysisError::Sql(text).shortened().to_string();
        assert_eq!(said("no column".to_owned()), "sql: no column");
        let all = "ü".repeat(1400);
        assert_eq!(said(all.clone()), format!("sql: {all}"));
        let long = said(format!("no column {}; did you mean sector?", "ü".repeat(60_000)));
        assert!(long.starts_with("sql: no column ü") && long.ends_with("; did you mean sector?"));
        assert_eq!(long.chars().count(), "sql: ".len() + 1000 + " … ".chars().count() + 501);
    }
}
