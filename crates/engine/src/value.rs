//! From a tool's result to the value that a program gets.

use std::borrow::Cow;

use rmcp::model::{CallToolResult, ContentBlock, ResourceContents};
use serde_json::{Value, json};

use crate::{catalog::Tool, codegen::is_wrapped, media::Media, recover};

/// Longer texts are read beside other work.
const LONG_TEXT: usize = 128 << 10;
/// How much of a failing tool's text becomes its error message.
const LONGEST_MESSAGE: usize = 4_000;

/// How the guest is told that a value was read from a text; see `_narrows/calls.py`.
const RECOVERED: &str = "$recovered";

/// The value that a program gets, and the text that it was read from, if it was.
#[derive(Debug, PartialEq)]
pub(crate) struct Given {
    pub(crate) value: Value,
    pub(crate) raw: Option<String>,
}

impl From<Value> for Given {
    fn from(value: Value) -> Self {
        Self { value, raw: None }
    }
}

impl Given {
    /// As the guest reads it.
    pub(crate) fn into_message(self) -> Value {
        match self.raw {
            Some(raw) => json!({ RECOVERED: self.value, "raw": raw }),
            None => self.value,
        }
    }
}

/// As [`of`], with tables and JSON inside of text as values.
pub(crate) async fn recovered(
    result: CallToolResult,
    tool: &Tool,
    media: &Media,
) -> Result<Given, String> {
    match of(result, tool, media)? {
        Value::String(raw) if raw.len() > LONG_TEXT => {
            let kept = raw.clone();
            let read = tokio::task::spawn_blocking(move || read(raw)).await;
            Ok(read.unwrap_or_else(|_| Value::String(kept).into()))
        }
        Value::String(raw) => Ok(read(raw)),
        value => Ok(value.into()),
    }
}

fn read(raw: String) -> Given {
    match recover::recover(&raw) {
        Some(found) => Given { value: found.value, raw: Some(raw) },
        None => Value::String(raw).into(),
    }
}

/// The value of a result, or the message of a failure.
pub(crate) fn of(result: CallToolResult, tool: &Tool, media: &Media) -> Result<Value, String> {
    if result.is_error == Some(true) {
        return Err(message(&result));
    }
    let has_media = result
        .content
        .iter()
        .any(|block| !matches!(block, ContentBlock::Text(_) | ContentBlock::ResourceLink(_)));
    let structured = result.structured_content.map(|value| unwrap(value, tool));
    match structured {
        // The text repeats the structure for clients that cannot read it.
        Some(value) if !has_media => Ok(value),
        Some(value) => {
            let blocks = result.content.into_iter();
            let rest = blocks.filter(|block| !matches!(block, ContentBlock::Text(_)));
            Ok(Value::Array(
                std::iter::once(value).chain(rest.map(|block| of_block(block, media))).collect(),
            ))
        }
        None => {
            let mut values: Vec<Value> =
                result.content.into_iter().map(|block| of_block(block, media)).collect();
            Ok(match values.len() {
                0 => Value::Null,
                1 => values.remove(0),
                _ => Value::Array(values),
            })
        }
    }
}

/// FastMCP wraps what is no object into one, and says so in the schema.
fn unwrap(mut value: Value, tool: &Tool) -> Value {
    let wrapped = tool.output_schema().is_some_and(is_wrapped);
    match value.get_mut("result") {
        Some(result) if wrapped => result.take(),
        _ => value,
    }
}

fn of_block(block: ContentBlock, media: &Media) -> Value {
    match block {
        ContentBlock::Text(text) => of_text(text.text),
        ContentBlock::Image(image) => media.keep("image", &image.mime_type, image.data),
        ContentBlock::Audio(audio) => media.keep("audio", &audio.mime_type, audio.data),
        ContentBlock::Resource(resource) => match resource.resource {
            ResourceContents::TextResourceContents { text, uri, mime_type, .. } => {
                json!({ "type": "resource", "uri": uri, "mime_type": mime_type, "text": text })
            }
            ResourceContents::BlobResourceContents { blob, uri, mime_type, .. } => {
                let mime_type = mime_type.unwrap_or_else(|| "application/octet-stream".into());
                let mut value = media.keep("resource", &mime_type, blob);
                value["uri"] = uri.into();
                value
            }
            other => serde_json::to_value(other).unwrap_or_default(),
        },
        ContentBlock::ResourceLink(link) => {
            let mut value = serde_json::to_value(link).unwrap_or_default();
            if let Value::Object(fields) = &mut value {
                let mime_type = fields.shift_remove("mimeType");
                fields.shift_insert(0, "type".into(), "resource_link".into());
                fields.extend(mime_type.map(|kind| ("mime_type".to_owned(), kind)));
            }
            value
        }
        other => serde_json::to_value(other).unwrap_or_default(),
    }
}

/// Text that is JSON is what the JSON says. A number stays text if it would be written
/// differently (`1e5`, `0.10`): then it is an identifier or a format, not a quantity.
fn of_text(text: String) -> Value {
    let trimmed = text.trim();
    match trimmed.bytes().next() {
        Some(b'{' | b'[' | b'"' | b't' | b'f' | b'n' | b'-' | b'0'..=b'9') => {}
        _ => return Value::String(text),
    }
    match serde_json::from_str::<Value>(trimmed) {
        Ok(Value::Number(number)) if number.to_string() != trimmed => Value::String(text),
        Ok(value) => value,
        Err(_) => Value::String(text),
    }
}

/// What a client hands to a model: the texts, or else the structure.
pub fn text(result: &CallToolResult) -> Cow<'_, str> {
    let texts = result.content.iter().filter_map(|block| match block {
        ContentBlock::Text(text) => Some(text.text.as_str()),
        _ => None,
    });
    let texts: Vec<&str> = texts.collect();
    match (texts.as_slice(), &result.structured_content) {
        ([only], _) => Cow::Borrowed(only),
        ([], Some(value)) => value.to_string().into(),
        (several, _) => several.join("\n").into(),
    }
}

fn message(result: &CallToolResult) -> String {
    let mut text = text(result);
    if text.is_empty() {
        text = "the tool failed without saying why".into();
    }
    let end = text.floor_char_boundary(LONGEST_MESSAGE);
    if end < text.len() {
        format!("{}… ({} bytes in all)", &text[..end], text.len())
    } else {
        text.into_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_that_is_json_is_parsed_and_nothing_is_lost() {
        for (text, value) in [
            (r#"{"a": [1, 2]}"#, json!({"a": [1, 2]})),
            ("[]", json!([])),
            ("42", json!(42)),
            ("true", json!(true)),
            ("null", json!(null)),
            ("1e5", json!("1e5")),
            ("0.10", json!("0.10")),
            ("007", json!("007")),
            ("nothing found", json!("nothing found")),
            ("{not json", json!("{not json")),
            ("", json!("")),
            ("  spaces ", json!("  spaces ")),
        ] {
            assert_eq!(of_text(text.to_owned()), value, "{text:?}");
        }
    }
}
