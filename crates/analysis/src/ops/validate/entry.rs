//! Parses rules.

use serde_json::Value;

use super::plan::Severity;
use crate::{
    aliases::parameters::{COMPARE, RANGE, REFERENCE, RULE},
    error::Result,
    ops::{
        names::Names,
        params::{Params, wrong},
    },
};

const SEVERITIES: &[(&str, Severity)] =
    &[("error", Severity::Error), ("warning", Severity::Warning)];

/// The rules for a field, or for the table.
#[derive(Debug)]
pub(super) struct Entry {
    pub(super) field: Option<String>,
    pub(super) fields: Option<Names>,
    pub(super) kind: Option<String>,
    pub(super) required: bool,
    pub(super) nullable: Option<bool>,
    pub(super) min: Option<Value>,
    pub(super) max: Option<Value>,
    pub(super) positive: bool,
    pub(super) min_length: Option<usize>,
    pub(super) max_length: Option<usize>,
    pub(super) pattern: Option<String>,
    pub(super) allowed: Option<Listed>,
    pub(super) not_in: Option<Listed>,
    pub(super) unique: Option<Unique>,
    pub(super) references: Option<Reference>,
    pub(super) compare: Option<Compare>,
    pub(super) equals: Option<Value>,
    pub(super) expression: Option<String>,
    pub(super) increasing: Option<Increasing>,
    pub(super) row_count: Option<CountRange>,
    pub(super) severity: Severity,
    pub(super) coerce: Option<bool>,
}

impl Entry {
    pub(super) fn read(path: &str, value: &Value) -> Result<Self> {
        let given = Params::object(path, value, &RULE)?;
        let any = |name: &str| given.value(name).map(|(_, value)| value.clone());
        let text =
            |name: &str| -> Result<Option<String>> { Ok(given.text(name)?.map(str::to_owned)) };
        let list = |name: &str| -> Result<Option<Listed>> {
            let path = given.value(name).map(|(path, _)| path).unwrap_or_default();
            Ok(given.list(name)?.map(|values| Listed { path, values: values.to_vec() }))
        };
        Ok(Self {
            field: text("field")?,
            fields: given.read("fields", Names::read)?,
            kind: text("type")?,
            required: given.flag("required")?.unwrap_or_default(),
            nullable: given.flag("nullable")?,
            min: any("min"),
            max: any("max"),
            positive: given.flag("positive")?.unwrap_or_default(),
            min_length: given.count("min_length")?,
            max_length: given.count("max_length")?,
            pattern: text("pattern")?,
            allowed: list("allowed")?,
            not_in: list("not_in")?,
            unique: given.read("unique", Unique::read)?,
            references: given.read("references", Reference::read)?,
            compare: given.read("compare", Compare::read)?,
            equals: any("equals"),
            expression: text("expression")?,
            increasing: given.read("increasing", Increasing::read)?.flatten(),
            row_count: given.read("row_count", CountRange::read)?,
            severity: given.choice("severity", SEVERITIES)?.unwrap_or_default(),
            coerce: given.flag("coerce")?,
        })
    }

    /// Returns the name of a rule for a field, if there is any.
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

/// The types that text may stand for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Coerce {
    /// Text only.
    Nothing,
    /// The number, the time or the boolean that is written in it. A single other value makes a whole
    /// column text, in which the rest still are what they were.
    Written,
    /// The same, also when compared with a number of another column, and 1 and 0 for true and false.
    Anything,
}

impl From<Option<bool>> for Coerce {
    fn from(given: Option<bool>) -> Self {
        match given {
            Some(false) => Self::Nothing,
            None => Self::Written,
            Some(true) => Self::Anything,
        }
    }
}

/// Values with their path in the parameters.
#[derive(Debug)]
pub(super) struct Listed {
    pub(super) path: String,
    pub(super) values: Vec<Value>,
}

/// Whether the field's values must be unique, or which fields must be unique together.
#[derive(Debug)]
pub(super) enum Unique {
    Flag(bool),
    Fields(Names),
}

impl Unique {
    fn read(path: &str, value: &Value) -> Result<Self> {
        match value {
            Value::Bool(flag) => Ok(Self::Flag(*flag)),
            Value::String(_) | Value::Array(_) => Ok(Self::Fields(Names::read(path, value)?)),
            other => Err(wrong(path, "true, or fields that are unique together", other)),
        }
    }
}

/// A field of another table that must have the value.
#[derive(Debug)]
pub(super) struct Reference {
    pub(super) table: String,
    pub(super) field: String,
}

impl Reference {
    fn read(path: &str, value: &Value) -> Result<Self> {
        let given = Params::object(path, value, &REFERENCE)?;
        let table = given.required_name("table")?.name;
        Ok(Self { table, field: given.required_name("field")?.name })
    }
}

#[derive(Debug)]
pub(super) struct Compare {
    pub(super) operator: String,
    pub(super) field: Option<String>,
    pub(super) value: Option<Value>,
}

impl Compare {
    fn read(path: &str, value: &Value) -> Result<Self> {
        let given = Params::object(path, value, &COMPARE)?;
        Ok(Self {
            operator: given.required_name("operator")?.name,
            field: given.text("field")?.map(str::to_owned),
            value: given.value("value").map(|(_, value)| value.clone()),
        })
    }

    /// Reads `{"field": "other"}`, or a value.
    pub(super) fn equal_to(other: &Value) -> Self {
        let field = other.get("field").and_then(Value::as_str).map(str::to_owned);
        let value = field.is_none().then(|| other.clone());
        Self { operator: "==".to_owned(), field, value }
    }
}

/// How values must increase: `true` (never less than before), or `"strict"` (always more than before).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Increasing {
    Weakly,
    Strictly,
}

impl Increasing {
    fn read(path: &str, value: &Value) -> Result<Option<Self>> {
        match value {
            Value::Bool(is_asked) => Ok(is_asked.then_some(Self::Weakly)),
            Value::String(word) if word.trim().eq_ignore_ascii_case("strict") => {
                Ok(Some(Self::Strictly))
            }
            other => Err(wrong(path, "true, false or \"strict\"", other)),
        }
    }
}

#[derive(Clone, Copy, Debug)]
pub(super) struct CountRange {
    pub(super) min: Option<u64>,
    pub(super) max: Option<u64>,
}

impl CountRange {
    fn read(path: &str, value: &Value) -> Result<Self> {
        if !value.is_object() {
            return Err(wrong(path, "an object with `min`, `max` or both", value));
        }
        let given = Params::object(path, value, &RANGE)?;
        let count = |name: &str| -> Result<Option<u64>> {
            Ok(given.count(name)?.map(|count| count as u64))
        };
        Ok(Self { min: count("min")?, max: count("max")? })
    }
}
