//! Requests for searches and definitions.

use narrows_model::clipped_name;
use serde::{
    Deserialize, Deserializer, Serialize,
    de::{Error, IntoDeserializer},
};
use serde_json::Value;

/// The longest query, longer than anybody needs. Each word is looked up in all tools, and a query of
/// megabytes would take seconds.
const MAX_QUERY_BYTES: usize = 2 << 10;
const MAX_QUERY_WORDS: usize = 200;
/// The longest name; the names of a server and a tool together are shorter.
const MAX_NAME_BYTES: usize = 1 << 10;

/// The level of detail about each tool.
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
    #[serde(deserialize_with = "query")]
    pub query: String,
    #[serde(alias = "detail", deserialize_with = "detail")]
    pub detail_level: Detail,
    /// The most tools to return; by default the ten best, or fifty of a list.
    #[serde(deserialize_with = "limit")]
    pub limit: Option<usize>,
    /// Limits the search to tools of this server.
    #[serde(deserialize_with = "name")]
    pub server: Option<String>,
    /// Limits the search to servers of this category.
    #[serde(deserialize_with = "name")]
    pub category: Option<String>,
}

/// A request for the definition of a tool.
#[derive(Clone, Debug, Deserialize)]
pub struct DefinitionRequest {
    pub name: String,
    #[serde(default, deserialize_with = "name")]
    pub server: Option<String>,
    /// The name of a server is accepted here too; other categories are ignored, since the tool is
    /// named.
    #[serde(default, deserialize_with = "name")]
    pub category: Option<String>,
    /// The JSON definition as its server wrote it.
    #[serde(default)]
    pub raw: bool,
}

impl SearchRequest {
    /// Tells whether it is about skills only.
    pub(crate) fn is_of_skills(&self) -> bool {
        let names = [&self.server, &self.category];
        names.into_iter().flatten().any(|name| matches!(name.as_str(), "skills" | "skill"))
            || matches!(self.query.trim(), "skills" | "skill")
    }

    /// Tells whether the search is not limited to a server or category, so that skills and abilities
    /// may match.
    pub(crate) fn is_everywhere(&self) -> bool {
        self.server.is_none() && self.category.is_none() && !self.query.trim().is_empty()
    }
}

/// Reads a level of detail. Models write `"FULL"` and `"Name Only"` too.
fn detail<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Detail, D::Error> {
    let Some(text) = Option::<String>::deserialize(deserializer)? else {
        return Ok(Detail::default());
    };
    let folded = text.trim().to_lowercase().replace([' ', '-'], "_");
    Detail::deserialize(folded.into_deserializer())
}

/// Reads a limit. Models write `"10"` and `10.0` too.
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

/// Reads a name; an empty one counts as none.
fn name<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<String>, D::Error> {
    let name = Option::<String>::deserialize(deserializer)?;
    let name = name.filter(|name| !name.trim().is_empty());
    match name.as_deref().map(str::len) {
        Some(bytes) if bytes > MAX_NAME_BYTES => Err(D::Error::custom(format!(
            "{:?} has {bytes} bytes, and names have at most {MAX_NAME_BYTES}",
            clipped_name(&name.unwrap_or_default())
        ))),
        _ => Ok(name),
    }
}

/// Reads a query, and refuses one that is too long.
fn query<'de, D: Deserializer<'de>>(deserializer: D) -> Result<String, D::Error> {
    let query = String::deserialize(deserializer)?;
    check_query(&query).map_err(D::Error::custom)?;
    Ok(query)
}

/// Reads an optional query, and refuses one that is too long.
pub fn optional_query<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<String>, D::Error> {
    let query = Option::<String>::deserialize(deserializer)?;
    query.as_deref().map_or(Ok(()), check_query).map_err(D::Error::custom)?;
    Ok(query)
}

fn check_query(query: &str) -> Result<(), String> {
    let advice = "say in a few words what is to be done";
    if query.len() > MAX_QUERY_BYTES {
        let bytes = query.len();
        return Err(format!(
            "the query has {bytes} bytes, and may have {MAX_QUERY_BYTES}; {advice}"
        ));
    }
    match query.split_whitespace().count() {
        words if words > MAX_QUERY_WORDS => {
            Err(format!("the query has {words} words, and may have {MAX_QUERY_WORDS}; {advice}"))
        }
        _ => Ok(()),
    }
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
        for (written, meant) in [
            (json!("FULL"), Detail::Full),
            (json!(" Name-Only "), Detail::NameOnly),
            (json!("With Description"), Detail::WithDescription),
            (json!(null), Detail::WithDescription),
        ] {
            let request: SearchRequest =
                serde_json::from_value(json!({ "detail_level": written })).unwrap();
            assert_eq!(request.detail_level, meant);
        }
        let wrong = serde_json::from_value::<SearchRequest>(json!({"detail_level": "all"}));
        let told = wrong.unwrap_err().to_string();
        assert!(told.starts_with("unknown variant `all`, expected one of"), "{told}");
        for wrong in [json!({"limit": 0}), json!({"limit": "many"}), json!({"query": 5})] {
            assert!(serde_json::from_value::<SearchRequest>(wrong).is_err());
        }
    }

    #[test]
    fn what_is_too_long_to_be_looked_for_is_refused_with_the_bound() {
        let told = |value: Value| {
            serde_json::from_value::<SearchRequest>(value).map_err(|error| error.to_string())
        };
        let longest = "ab ".repeat(MAX_QUERY_WORDS);
        assert_eq!(told(json!({ "query": longest })).unwrap().query, longest);
        let error = told(json!({"query": "create issue ".repeat(1_000)})).unwrap_err();
        assert_eq!(
            error,
            "the query has 13000 bytes, and may have 2048; say in a few words what is to be done"
        );
        let error = told(json!({"query": "a ".repeat(MAX_QUERY_WORDS + 1)})).unwrap_err();
        assert!(error.starts_with("the query has 201 words, and may have 200;"), "{error}");
        for key in ["server", "category"] {
            let error = told(json!({"query": "", key: "y".repeat(2_000_000)})).unwrap_err();
            assert!(error.ends_with("has 2000000 bytes, and names have at most 1024"), "{error}");
            assert!(error.len() < 300, "it is not repeated");
        }
    }
}
