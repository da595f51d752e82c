//! Recorded tool results, against which the tests of a skill run without any server.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use thiserror::Error;

use narrows_model::{Nearest, nearest};

/// How much of the arguments an error message shows.
const MAX_SHOWN_LEN: usize = 120;
/// How many recorded calls an error message lists.
const MAX_SHOWN: usize = 5;

/// The recorded answers of tools, in the order of the calls.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Recording(pub Vec<RecordedCall>);

/// One call and its answer: `{"tool": "github.list", "arguments": {}, "result": []}`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RecordedCall {
    pub tool: String,
    #[serde(default)]
    pub arguments: Value,
    #[serde(flatten)]
    pub reply: RecordedReply,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum RecordedReply {
    Result(Value),
    /// The message of the `ToolError`.
    Error(String),
}

/// The reason for which a call has no recorded answer.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum NotRecorded {
    #[error("no call of {tool} is recorded ({}): record it, or change the test{hint}", recorded(.tools))]
    Tool { tool: String, tools: Vec<String>, hint: Nearest },
    #[error("{tool} is not recorded with the arguments {arguments}, but with {}; record it, or change the test", shown(.known))]
    Arguments { tool: String, arguments: String, known: Vec<String> },
}

fn recorded(tools: &[String]) -> String {
    if tools.is_empty() {
        "nothing is".to_owned()
    } else {
        format!("those of {} are", shown(tools))
    }
}

fn shown(all: &[String]) -> String {
    let first = all.iter().take(MAX_SHOWN).map(String::as_str).collect::<Vec<_>>().join(", ");
    match all.len().saturating_sub(MAX_SHOWN) {
        0 => first,
        more => format!("{first} and {more} more"),
    }
}

impl Recording {
    /// Returns the answer to a call. The order of the arguments does not matter.
    pub fn answer(&self, tool: &str, arguments: &Value) -> Result<&RecordedReply, NotRecorded> {
        let of_tool = || self.0.iter().filter(|call| call.tool == tool);
        if let Some(call) = of_tool().find(|call| is_same(&call.arguments, arguments)) {
            return Ok(&call.reply);
        }
        let known: Vec<String> = of_tool().map(|call| cut(&call.arguments)).collect();
        if known.is_empty() {
            let mut tools: Vec<String> = self.0.iter().map(|call| call.tool.clone()).collect();
            tools.sort();
            tools.dedup();
            let hint = nearest(tool, tools.iter().map(String::as_str));
            return Err(NotRecorded::Tool { tool: tool.to_owned(), tools, hint });
        }
        Err(NotRecorded::Arguments { tool: tool.to_owned(), arguments: cut(arguments), known })
    }
}

/// Tells whether two arguments are the same; none at all are the same as an empty object.
fn is_same(one: &Value, other: &Value) -> bool {
    let is_empty = |value: &Value| match value {
        Value::Null => true,
        Value::Object(fields) => fields.is_empty(),
        _ => false,
    };
    one == other || is_empty(one) && is_empty(other)
}

fn cut(arguments: &Value) -> String {
    let text = arguments.to_string();
    match text.char_indices().nth(MAX_SHOWN_LEN) {
        Some((end, _)) => format!("{}…", narrows_model::cut::head(&text, end)),
        None => text,
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use serde_json::json;

    use super::*;

    fn recording() -> Recording {
        serde_json::from_value(json!([
            {"tool": "github.list_issues", "arguments": {"owner": "o", "page": {"a": 1, "b": 2}}, "result": [{"title": "x"}]},
            {"tool": "github.list_issues", "arguments": {"owner": "p"}, "error": "not found"},
            {"tool": "clock.now", "result": null}
        ]))
        .unwrap()
    }

    #[test]
    fn a_call_is_found_by_its_arguments_in_any_order() {
        let recording = recording();
        let arguments = json!({"page": {"b": 2, "a": 1}, "owner": "o"});
        let found = recording.answer("github.list_issues", &arguments);
        assert_eq!(found, Ok(&RecordedReply::Result(json!([{"title": "x"}]))));
        let failed = recording.answer("github.list_issues", &json!({"owner": "p"}));
        assert_eq!(failed, Ok(&RecordedReply::Error("not found".to_owned())));
        assert_eq!(
            recording.answer("clock.now", &json!({})),
            Ok(&RecordedReply::Result(Value::Null))
        );
    }

    #[test]
    fn what_is_not_recorded_is_told_with_what_is() {
        let recording = recording();
        let said = |tool, arguments| recording.answer(tool, &arguments).unwrap_err().to_string();
        assert_eq!(
            said("github.list_issues", json!({"owner": "q"})),
            "github.list_issues is not recorded with the arguments {\"owner\":\"q\"}, but with \
             {\"owner\":\"o\",\"page\":{\"a\":1,\"b\":2}}, {\"owner\":\"p\"}; record it, or change \
             the test"
        );
        assert_eq!(
            said("github.list_isues", json!({})),
            "no call of github.list_isues is recorded (those of clock.now, github.list_issues \
             are): record it, or change the test; did you mean github.list_issues?"
        );
        let nothing = Recording::default().answer("a.b", &json!({})).unwrap_err().to_string();
        assert!(nothing.contains("no call of a.b is recorded (nothing is)"), "{nothing}");
    }

    #[test]
    fn it_is_written_as_it_is_read_and_needs_an_answer() {
        let text = serde_json::to_string(&recording()).unwrap();
        assert_eq!(serde_json::from_str::<Recording>(&text).unwrap(), recording());
        assert!(text.contains(r#""error":"not found""#), "{text}");
        assert!(serde_json::from_str::<Recording>(r#"[{"tool": "a.b"}]"#).is_err());
    }
}
