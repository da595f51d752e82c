//! Rules as they are written.

use serde::Deserialize;
use serde_json::Value;

use super::plan::Severity;
use crate::ops::names::Names;

#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct Parameters {
    pub(super) validations: Option<Vec<Entry>>,
    pub(super) rules: Option<Vec<Entry>>,
    pub(super) coerce: bool,
}

/// What is said of a field, or of the table.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct Entry {
    #[serde(alias = "column")]
    pub(super) field: Option<String>,
    pub(super) fields: Option<Names>,
    #[serde(rename = "type")]
    pub(super) kind: Option<String>,
    pub(super) required: bool,
    pub(super) nullable: Option<bool>,
    pub(super) min: Option<Value>,
    pub(super) max: Option<Value>,
    pub(super) positive: bool,
    pub(super) min_length: Option<usize>,
    pub(super) max_length: Option<usize>,
    pub(super) pattern: Option<String>,
    #[serde(alias = "in", alias = "enum")]
    pub(super) allowed: Option<Vec<Value>>,
    pub(super) not_in: Option<Vec<Value>>,
    pub(super) unique: Option<Unique>,
    #[serde(alias = "foreign_key")]
    pub(super) references: Option<Reference>,
    pub(super) compare: Option<Compare>,
    pub(super) equals: Option<Value>,
    pub(super) expression: Option<String>,
    pub(super) increasing: Option<Increasing>,
    pub(super) row_count: Option<Range>,
    pub(super) severity: Option<Severity>,
    pub(super) coerce: Option<bool>,
}

impl Entry {
    /// Something that is said of a field, if there is any.
    pub(super) fn facet_of_a_field(&self) -> Option<&'static str> {
        let facets = [
            ("type", self.kind.is_some()),
            ("required", self.required || self.nullable.is_some()),
            ("min", self.min.is_some()),
            ("max", self.max.is_some()),
            ("positive", self.positive),
            ("min_length", self.min_length.is_some()),
            ("max_length", self.max_length.is_some()),
            ("pattern", self.pattern.is_some()),
            ("allowed", self.allowed.is_some()),
            ("not_in", self.not_in.is_some()),
            ("unique", matches!(self.unique, Some(Unique::Flag(true))) && self.fields.is_none()),
            ("references", self.references.is_some()),
            ("compare", self.compare.is_some()),
            ("equals", self.equals.is_some()),
            ("increasing", self.increasing.is_some()),
        ];
        facets.into_iter().find(|(_, is_given)| *is_given).map(|(name, _)| name)
    }
}

/// Whether the field has each value once, or which fields together do.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
pub(super) enum Unique {
    Flag(bool),
    Fields(Names),
}

/// The field of another table that has to have the value.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Reference {
    pub(super) table: String,
    #[serde(alias = "column")]
    pub(super) field: String,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Compare {
    pub(super) operator: String,
    #[serde(default, alias = "column")]
    pub(super) field: Option<String>,
    #[serde(default)]
    pub(super) value: Option<Value>,
}

impl Compare {
    /// `{"field": "other"}`, or a value.
    pub(super) fn equal_to(other: &Value) -> Self {
        let field = other.get("field").and_then(Value::as_str).map(str::to_owned);
        let value = field.is_none().then(|| other.clone());
        Self { operator: "==".to_owned(), field, value }
    }
}

/// `true` (never less than before), or `"strict"` (always more than before).
#[derive(Debug, Deserialize)]
#[serde(untagged)]
pub(super) enum Increasing {
    Flag(bool),
    Word(Strict),
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Strict {
    Strict,
}

impl Increasing {
    /// Whether it is asked for, and whether strictly.
    pub(super) fn meaning(&self) -> (bool, bool) {
        match self {
            Self::Flag(is_asked) => (*is_asked, false),
            Self::Word(Strict::Strict) => (true, true),
        }
    }
}

#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Range {
    #[serde(default)]
    pub(super) min: Option<u64>,
    #[serde(default)]
    pub(super) max: Option<u64>,
}
