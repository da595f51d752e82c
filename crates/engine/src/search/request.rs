//! What is looked for.

use serde::{Deserialize, Deserializer, Serialize, de::Error};
use serde_json::Value;

/// How much of each tool is told.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Detail {
    #[serde(alias = "name", alias = "names")]
    NameOnly,
    #[default]
    #[serde(alias = "summary", alias = "description", alias = "descriptions")]
    WithDescription,
    #[serde(alias = "full_schema", alias = "detailed")]
    Full,
}

/// A search as a model or a person writes it.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct SearchRequest {
    pub query: String,
    #[serde(alias = "detail")]
    pub detail_level: Detail,
    /// How many at most; without it, ten of the best, or fifty of a list.
    #[serde(deserialize_with = "limit")]
    pub limit: Option<usize>,
    /// Only tools of this server.
    #[serde(deserialize_with = "text")]
    pub server: Option<String>,
    /// Only tools of servers of this category.
    #[serde(deserialize_with = "text")]
    pub category: Option<String>,
}

/// A tool whose definition is wanted.
#[derive(Clone, Debug, Deserialize)]
pub struct DefinitionRequest {
    pub name: String,
    #[serde(default, deserialize_with = "text")]
    pub server: Option<String>,
    /// A server's name is understood; other categories say nothing about a tool that is named.
    #[serde(default, deserialize_with = "text")]
    pub category: Option<String>,
    /// The JSON definition as its server wrote it.
    #[serde(default)]
    pub raw: bool,
}

impl SearchRequest {
    /// Whether it is about skills alone.
    pub(crate) fn is_of_skills(&self) -> bool {
        let names = [&self.server, &self.category];
        names.into_iter().flatten().any(|name| matches!(name.as_str(), "skills" | "skill"))
            || matches!(self.query.trim(), "skills" | "skill")
    }

    /// Whether anything may fit, wherever it is.
    pub(crate) fn is_everywhere(&self) -> bool {
        self.server.is_none() && self.category.is_none() && !self.query.trim().is_empty()
    }
}

/// Models write `"10"` and `10.0` too.
fn limit<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<usize>, D::Error> {
    let value = Value::deserialize(deserializer)?;
    let number = match &value {
        Value::Null => return Ok(None),
        Value::Number(number) => number.as_f64(),
        Value::String(text) => text.trim().parse().ok(),
        _ => None,
    };
    match number {
        Some(number) if number >= 1.0 => Ok(Some(number as usize)),
        _ => Err(D::Error::custom(format!("limit is {value}, expected a number from 1 on"))),
    }
}

/// An empty text is no text.
fn text<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<String>, D::Error> {
    let text = Option::<String>::deserialize(deserializer)?;
    Ok(text.filter(|text| !text.trim().is_empty()))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use serde_json::json;

    use super::*;

    #[test]
    fn what_models_write_is_understood() {
        let request: SearchRequest = serde_json::from_value(
            json!({"query": "q", "detail_level": "summary", "limit": "5", "server": ""}),
        )
        .unwrap();
        assert_eq!(request.detail_level, Detail::WithDescription);
        assert_eq!((request.limit, request.server), (Some(5), None));
        for wrong in [json!({"limit": 0}), json!({"limit": "many"}), json!({"query": 5})] {
            assert!(serde_json::from_value::<SearchRequest>(wrong).is_err());
        }
    }
}
