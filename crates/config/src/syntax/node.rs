//! A document of any syntax as a tree whose nodes know their position.

use std::fmt;

/// A position in a file, counted from one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Position {
    pub line: usize,
    pub column: usize,
}

/// A value with its position.
#[derive(Clone)]
pub(crate) struct Node {
    pub(crate) at: Position,
    pub(crate) value: Value,
}

#[derive(Clone)]
pub(crate) enum Value {
    Null,
    Bool(bool),
    Integer(i64),
    Float(f64),
    String(String),
    /// A date of TOML, which no setting accepts.
    Date,
    Array(Vec<Node>),
    /// The fields in the order of the file, each name once.
    Table(Vec<Field>),
}

/// A field of a table: a name and its value.
#[derive(Clone)]
pub(crate) struct Field {
    pub(crate) name: String,
    /// The position of the name.
    pub(crate) at: Position,
    pub(crate) node: Node,
}

impl Node {
    pub(crate) fn fields(&self) -> Option<&[Field]> {
        match &self.value {
            Value::Table(fields) => Some(fields),
            _ => None,
        }
    }

    pub(crate) fn get(&self, name: &str) -> Option<&Node> {
        let field = self.fields()?.iter().find(|field| field.name == name)?;
        Some(&field.node)
    }

    /// Returns the node at a path of names.
    pub(crate) fn at_path(&self, path: &[String]) -> Option<&Node> {
        path.iter().try_fold(self, |node, name| node.get(name))
    }

    pub(crate) fn as_str(&self) -> Option<&str> {
        match &self.value {
            Value::String(text) => Some(text),
            _ => None,
        }
    }

    /// Converts the value to JSON.
    pub(crate) fn to_json(&self) -> serde_json::Value {
        match &self.value {
            Value::Null | Value::Date => serde_json::Value::Null,
            Value::Bool(value) => (*value).into(),
            Value::Integer(number) => (*number).into(),
            Value::Float(number) => (*number).into(),
            Value::String(text) => text.as_str().into(),
            Value::Array(items) => items.iter().map(Self::to_json).collect(),
            Value::Table(fields) => {
                let fields = fields.iter().map(|field| (field.name.clone(), field.node.to_json()));
                serde_json::Value::Object(fields.collect())
            }
        }
    }

    pub(crate) fn as_bool(&self) -> Option<bool> {
        match self.value {
            Value::Bool(value) => Some(value),
            _ => None,
        }
    }

    /// Returns the kind of the value, for messages. The value itself may be a secret.
    pub(crate) fn kind(&self) -> &'static str {
        match &self.value {
            Value::Null => "null",
            Value::Bool(_) => "true or false",
            Value::Integer(_) | Value::Float(_) => "a number",
            Value::String(_) => "a string",
            Value::Date => "a date",
            Value::Array(_) => "an array",
            Value::Table(_) => "a table",
        }
    }

    /// Returns the value without positions, to compare documents.
    pub(crate) fn plain(&self) -> serde_json::Value {
        match &self.value {
            Value::Null => serde_json::Value::Null,
            Value::Bool(value) => (*value).into(),
            Value::Integer(value) => (*value).into(),
            Value::Float(value) => (*value).into(),
            Value::String(value) => value.as_str().into(),
            Value::Date => "(a date)".into(),
            Value::Array(items) => items.iter().map(Self::plain).collect(),
            Value::Table(fields) => {
                fields.iter().map(|field| (field.name.clone(), field.node.plain())).collect()
            }
        }
    }
}

/// Shows only the kind: the values of a configuration must not get into logs.
impl fmt::Debug for Node {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} in line {}", self.kind(), self.at.line)
    }
}
