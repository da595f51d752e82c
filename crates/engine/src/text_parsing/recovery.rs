//! Tries the forms of values in text, in their order.

use serde_json::Value;

use super::{delimited, fields, json, table};

/// The longest text in which tables are looked for; longer ones are only parsed as JSON. Nobody writes
/// such tables for a reader, and reading line by line would take long.
const MAX_TEXT_LEN: usize = 4 * 1024 * 1024;

/// A value that was found in a text.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct ParsedText {
    pub(crate) value: Value,
    pub(crate) kind: TextForm,
}

/// The form that a text has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TextForm {
    /// One value as JSON or Python writes it, with a label above it.
    Json,
    /// Several JSON values, as a list of them.
    JsonSequence,
    /// A Markdown table, as a list of rows.
    Table,
    /// Comma, semicolon or tab separated values, as a list of rows.
    Delimited,
    /// `key: value` lines, as a list of objects.
    Records,
}

/// Returns the value in a text, or `None` if it is only a text.
pub(crate) fn recover(text: &str) -> Option<ParsedText> {
    let recovered = find(text.trim_start_matches('\u{feff}'))?;
    tracing::debug!(kind = ?recovered.kind, bytes = text.len(), "a text was read as a value");
    Some(recovered)
}

fn find(text: &str) -> Option<ParsedText> {
    let of_kind = |kind| move |value| ParsedText { value, kind };
    match json::find(text) {
        json::FoundJson::One(value) => Some(of_kind(TextForm::Json)(value)),
        json::FoundJson::Many(values) => Some(of_kind(TextForm::JsonSequence)(values.into())),
        json::FoundJson::Nothing if text.len() <= MAX_TEXT_LEN => table::find(text)
            .map(of_kind(TextForm::Table))
            .or_else(|| fields::find(text).map(of_kind(TextForm::Records)))
            .or_else(|| delimited::find(text).map(of_kind(TextForm::Delimited))),
        json::FoundJson::Code if text.len() <= MAX_TEXT_LEN => {
            delimited::find_fenced(text).map(of_kind(TextForm::Delimited))
        }
        json::FoundJson::Nothing | json::FoundJson::Code => None,
    }
}
