//! The changes of a tool, in words that a model understands.

use std::fmt::{self, Display};

use serde_json::Value;

use super::schema::SubSchema;

/// How deep schemas are compared; a difference below that is only "changed".
const MAX_DEPTH: usize = 8;
/// How many parts are compared. Stops schemas whose definitions refer to one another a hundred times,
/// which would take forever.
const MAX_PARTS: usize = 2_000;
/// How many differences are listed.
const MAX_SHOWN: usize = 6;

/// The changes of one tool.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ToolChange {
    pub tool: String,
    /// The most important one first; never empty.
    pub differences: Vec<Difference>,
}

impl ToolChange {
    /// Tells whether code that worked before may fail now.
    pub fn may_break(&self) -> bool {
        self.differences.iter().any(Difference::may_break)
    }
}

impl Display for ToolChange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shown = self.differences.iter().take(MAX_SHOWN).map(Difference::to_string);
        write!(f, "{}: {}", self.tool, shown.collect::<Vec<_>>().join("; "))?;
        match self.differences.len().saturating_sub(MAX_SHOWN) {
            0 => Ok(()),
            more => write!(f, "; and {more} more"),
        }
    }
}

/// A difference between two definitions of a tool. The variants are in the order of importance.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Difference {
    Missing,
    ParameterGone { name: String },
    NewRequired { name: String, kind: String },
    NowRequired { name: String },
    ParameterType { name: String, was: String, is: String },
    ValuesGone { name: String, values: Vec<String> },
    ParameterRules { name: String, keywords: Vec<String> },
    FieldGone { name: String },
    FieldType { name: String, was: String, is: String },
    ResultUnknown,
    ResultRules { name: String, keywords: Vec<String> },
    Annotation { name: String, was: String, is: String },
    // The differences from here on break nothing.
    NewOptional { name: String, kind: String },
    NoLongerRequired { name: String },
    NewValues { name: String, values: Vec<String> },
    NewField { name: String, kind: String },
    ResultKnown,
}

impl Difference {
    /// Tells whether code that worked before may fail now.
    pub fn may_break(&self) -> bool {
        !matches!(
            self,
            Self::NewOptional { .. }
                | Self::NoLongerRequired { .. }
                | Self::NewValues { .. }
                | Self::NewField { .. }
                | Self::ResultKnown
        )
    }
}

impl Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Missing => f.write_str("the tool is gone"),
            Self::ParameterGone { name } => write!(f, "the parameter {name} is gone"),
            Self::NewRequired { name, kind } => {
                write!(f, "there is a new required parameter {name} ({kind})")
            }
            Self::NowRequired { name } => write!(f, "the parameter {name} is now required"),
            Self::ParameterType { name, was, is } => {
                write!(f, "the parameter {name} is now {is}, it was {was}")
            }
            Self::ValuesGone { name, values } => {
                write!(f, "the parameter {name} no longer takes {}", values.join(", "))
            }
            Self::ParameterRules { name, keywords } if name.is_empty() => {
                write!(f, "the parameters have other rules ({})", keywords.join(", "))
            }
            Self::ParameterRules { name, keywords } => {
                write!(f, "the parameter {name} has other rules ({})", keywords.join(", "))
            }
            Self::FieldGone { name } => write!(f, "the result no longer has the field {name}"),
            Self::FieldType { name, was, is } if name.is_empty() => {
                write!(f, "the result is now {is}, it was {was}")
            }
            Self::FieldType { name, was, is } => {
                write!(f, "the field {name} of the result is now {is}, it was {was}")
            }
            Self::ResultUnknown => f.write_str("the result is no longer described"),
            Self::ResultRules { name, keywords } if name.is_empty() => {
                write!(f, "the result changed ({})", keywords.join(", "))
            }
            Self::ResultRules { name, keywords } => {
                write!(f, "the field {name} of the result changed ({})", keywords.join(", "))
            }
            Self::Annotation { name, was, is } => {
                write!(f, "the annotation {name} is now {is}, it was {was}")
            }
            Self::NewOptional { name, kind } => {
                write!(f, "there is a new optional parameter {name} ({kind})")
            }
            Self::NoLongerRequired { name } => {
                write!(f, "the parameter {name} is no longer required")
            }
            Self::NewValues { name, values } => {
                write!(f, "the parameter {name} now also takes {}", values.join(", "))
            }
            Self::NewField { name, kind } => {
                write!(f, "the result has a new field {name} ({kind})")
            }
            Self::ResultKnown => f.write_str("the result is now described"),
        }
    }
}

/// Returns all differences between two pinned schemas, the most important first.
pub(crate) fn differences(was: &Value, is: &Value) -> Vec<Difference> {
    let mut found = Vec::new();
    let side = |key: &'static str| (&was[key], &is[key]);
    let (old, new) = side("input");
    Comparison::whole(SchemaSide::Parameters, old, new, &mut found);
    match side("output") {
        (Value::Null, Value::Null) => {}
        (Value::Null, _) => found.push(Difference::ResultKnown),
        (_, Value::Null) => found.push(Difference::ResultUnknown),
        (old, new) => Comparison::whole(SchemaSide::Result, old, new, &mut found),
    }
    let (old, new) = side("annotations");
    for name in keys_that_differ(SubSchema::whole(old), SubSchema::whole(new)) {
        let text = |from: &Value| from.get(&name).map_or("not said".to_owned(), Value::to_string);
        found.push(Difference::Annotation { was: text(old), is: text(new), name });
    }
    found.sort();
    found.dedup();
    found
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum SchemaSide {
    Parameters,
    Result,
}

struct Comparison<'f> {
    side: SchemaSide,
    /// Whether both schemas have the same definitions, so that equal references mean the same.
    same_definitions: bool,
    parts_left: usize,
    found: &'f mut Vec<Difference>,
}

impl<'f> Comparison<'f> {
    fn whole(side: SchemaSide, was: &Value, is: &Value, found: &'f mut Vec<Difference>) {
        let same = |key| was.get(key) == is.get(key);
        let same_definitions = same("$defs") && same("definitions");
        let mut comparison = Self { side, same_definitions, parts_left: MAX_PARTS, found };
        comparison.compare("", SubSchema::whole(was), SubSchema::whole(is), 0);
    }

    fn compare(&mut self, name: &str, was: SubSchema<'_>, is: SubSchema<'_>, depth: usize) {
        let is_same = self.same_definitions && was.keywords() == is.keywords();
        if is_same || self.parts_left == 0 && !self.found.is_empty() {
            return;
        }
        self.parts_left = self.parts_left.saturating_sub(1);
        let (old_type, new_type) = (was.type_name(), is.type_name());
        if old_type != new_type {
            return self.found.push(self.other_type(name, old_type, new_type));
        }
        let is_looked_into = depth < MAX_DEPTH && self.parts_left > 0;
        if is_looked_into {
            self.properties(name, was, is, depth);
            if let (Some(old), Some(new)) = (was.keyword("items"), is.keyword("items")) {
                self.compare(&format!("{name}[]"), was.at(old), is.at(new), depth + 1);
            }
        }
        self.values(name, was, is);
        let mut keywords = keys_that_differ(was, is);
        keywords.retain(|key| !self.is_told(key, was, is, is_looked_into));
        if !keywords.is_empty() {
            let name = name.to_owned();
            self.found.push(match self.side {
                SchemaSide::Parameters => Difference::ParameterRules { name, keywords },
                SchemaSide::Result => Difference::ResultRules { name, keywords },
            });
        }
    }

    /// Tells whether another difference already reports a keyword in better words.
    fn is_told(
        &self,
        key: &str,
        was: SubSchema<'_>,
        is: SubSchema<'_>,
        is_looked_into: bool,
    ) -> bool {
        let both = |key| was.keyword(key).is_some() && is.keyword(key).is_some();
        match key {
            // Definitions are compared where they are referred to.
            "$defs" | "definitions" | "type" => true,
            "properties" => is_looked_into,
            "items" => is_looked_into && both("items"),
            "enum" => self.side == SchemaSide::Parameters && both("enum"),
            "required" => {
                let is_property = |name: &Value| {
                    name.as_str().is_some_and(|name| {
                        was.property(name).is_some() || is.property(name).is_some()
                    })
                };
                let sides = [was.keyword(key), is.keyword(key)].into_iter().flatten();
                let mut names = sides.filter_map(Value::as_array).flatten();
                is_looked_into && self.side == SchemaSide::Parameters && names.all(is_property)
            }
            _ => false,
        }
    }

    fn other_type(&self, name: &str, was: String, is: String) -> Difference {
        let name = name.to_owned();
        match self.side {
            SchemaSide::Parameters => Difference::ParameterType { name, was, is },
            SchemaSide::Result => Difference::FieldType { name, was, is },
        }
    }

    fn properties(&mut self, outer: &str, was: SubSchema<'_>, is: SubSchema<'_>, depth: usize) {
        let path = |name: &str| {
            if outer.is_empty() { name.to_owned() } else { format!("{outer}.{name}") }
        };
        for (key, old) in was.properties() {
            let name = path(key);
            let Some(new) = is.property(key) else {
                self.found.push(match self.side {
                    SchemaSide::Parameters => Difference::ParameterGone { name },
                    SchemaSide::Result => Difference::FieldGone { name },
                });
                continue;
            };
            if self.side == SchemaSide::Parameters {
                match (was.requires(key), is.requires(key)) {
                    (false, true) => {
                        self.found.push(Difference::NowRequired { name: name.clone() });
                    }
                    (true, false) => {
                        self.found.push(Difference::NoLongerRequired { name: name.clone() });
                    }
                    _ => {}
                }
            }
            self.compare(&name, old, new, depth + 1);
        }
        for (key, new) in is.properties().filter(|(key, _)| was.property(key).is_none()) {
            let (name, kind) = (path(key), new.type_name());
            self.found.push(match self.side {
                SchemaSide::Result => Difference::NewField { name, kind },
                SchemaSide::Parameters if is.requires(key) => {
                    Difference::NewRequired { name, kind }
                }
                SchemaSide::Parameters => Difference::NewOptional { name, kind },
            });
        }
    }

    fn values(&mut self, name: &str, was: SubSchema<'_>, is: SubSchema<'_>) {
        let (SchemaSide::Parameters, Some(old), Some(new)) = (self.side, was.values(), is.values())
        else {
            return;
        };
        let without = |some: &[Value], others: &[Value]| -> Vec<String> {
            some.iter().filter(|one| !others.contains(one)).map(Value::to_string).collect()
        };
        let (gone, added) = (without(old, new), without(new, old));
        let name = name.to_owned();
        if !gone.is_empty() {
            self.found.push(Difference::ValuesGone { name: name.clone(), values: gone });
        }
        if !added.is_empty() {
            self.found.push(Difference::NewValues { name, values: added });
        }
    }
}

/// Returns the keywords that only one side has, or that have different values.
fn keys_that_differ(was: SubSchema<'_>, is: SubSchema<'_>) -> Vec<String> {
    let keys = |part: SubSchema<'_>| -> Vec<String> {
        part.keywords().into_iter().flat_map(|all| all.keys().cloned()).collect()
    };
    let mut keys: Vec<String> = keys(was).into_iter().chain(keys(is)).collect();
    keys.sort();
    keys.dedup();
    keys.retain(|key| was.keyword(key) != is.keyword(key));
    keys
}
