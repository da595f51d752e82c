//! Settings of what a scanner looks for.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::kind::kinds;

/// The settings of a scanner. By default it looks for all built-in kinds, and nothing else.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Settings {
    /// The kinds whose settings differ from the default, by name.
    pub kinds: BTreeMap<String, KindSettings>,
    /// Kinds of the user's own.
    pub custom: Vec<Custom>,
    /// The region of phone numbers without a country code, as in ISO 3166 (`US` if absent).
    pub region: Option<String>,
    /// Which addresses of pages count as personal.
    pub urls: Urls,
}

impl Settings {
    /// Returns how many of the last characters of a value of this kind stay readable in its token.
    pub fn keep_last(&self, kind: &str) -> usize {
        self.kinds.get(kind).map_or(0, |settings| settings.keep_last)
    }
}

/// The settings of one kind.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct KindSettings {
    /// Whether it is looked for.
    pub on: bool,
    /// How many of the last characters stay readable in the token.
    pub keep_last: usize,
}

impl Default for KindSettings {
    fn default() -> Self {
        Self { on: true, keep_last: 0 }
    }
}

/// A kind of the user's own. It may also have the name of a built-in kind, and adds to it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Custom {
    /// Its name: capital letters, digits and underscores.
    pub kind: String,
    /// How its values are found.
    pub pattern: CustomPattern,
}

/// The pattern of a kind of the user's own.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CustomPattern {
    /// A regular expression. Its first group is the value if it has one.
    Regex(String),
    /// Words or phrases, whole and in any case.
    Words(Vec<String>),
}

/// Which addresses of pages count as personal. An address as such is public; one that carries a
/// user and a password is not.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Urls {
    /// Only those with a user or a password in them.
    #[default]
    WithCredentials,
    /// All of them. This is how public data sets are labelled, so scores are measured with it.
    All,
}

/// The reason why settings cannot be followed.
#[derive(Debug, thiserror::Error)]
pub enum SettingsError {
    #[error("unknown kind of personal data `{name}`: use one of {}, or define it under custom", kinds().join(", "))]
    UnknownKind { name: String },
    #[error(
        "the name `{name}` of a custom kind cannot be used in a token: use 2 to 32 capital letters, digits and underscores, a letter first and no underscore last"
    )]
    BadName { name: String },
    #[error("the pattern of the custom kind `{kind}` is no regular expression: {source}")]
    BadRegex { kind: String, source: Box<regex::Error> },
    #[error(
        "the pattern of the custom kind `{kind}` matches the empty text: make it match at least one character"
    )]
    EmptyMatch { kind: String },
    #[error("the custom kind `{kind}` has no words: list at least one, and none that is empty")]
    NoWords { kind: String },
    #[error("the words of the custom kind `{kind}` are too many to search for: {source}")]
    TooManyWords { kind: String, source: Box<aho_corasick::BuildError> },
    #[error(
        "unknown region `{region}`: use a code of two letters as in ISO 3166, such as US or DE"
    )]
    UnknownRegion { region: String },
}
