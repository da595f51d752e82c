//! Converts a tool's result to the value that a program gets.

use std::borrow::Cow;

use narrows_model::cut;
use narrows_python::codegen::is_wrapped;
use narrows_upstream::catalog::Tool;
use rmcp::model::{CallToolResult, ContentBlock, ResourceContents};
use serde_json::{Value, json};

use crate::{media::Media, text_parsing};

/// The most bytes of a failing tool's text that become its error message.
const MAX_MESSAGE_LEN: usize = 4_000;

/// The key that tells the guest that a value was read from a text; see `_narrows/calls.py`.
const RECOVERED: &str = "$recovered";

/// The value that a program gets, and the text that it was read from, if any.
#[derive(Debug, PartialEq)]
pub(crate) struct ToolValue {
    pub(crate) value: Value,
    pub(crate) raw: Option<String>,
}

impl From<Value> for ToolValue {
    fn from(value: Value) -> Self {
        Self { value, raw: None }
    }
}

impl ToolValue {
    /// Converts it to the JSON that the guest reads.
    pub(crate) fn into_message(self) -> Value {
        match self.raw {
            Some(raw) => json!({ RECOVERED: self.value, "raw": raw }),
            None => self.value,
        }
    }
}

/// Converts a result as [`of`] does, and also reads tables and JSON within text as values.
pub(crate) fn recovered(
    result: CallToolResult,
    tool: &Tool,
    media: &Media,
) -> Result<ToolValue, String> {
    match of(result, tool, media)? {
        Value::String(raw) => Ok(read(raw)),
        value => Ok(value.into()),
    }
}

fn read(raw: String) -> ToolValue {
    match text_parsing::recover(&raw) {
        Some(found) => ToolValue { value: found.value, raw: Some(raw) },
        None => Value::String(raw).into(),
    }
}

/// Converts a result to a value, or to the message of a failure.
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

/// Unwraps a value that FastMCP has wrapped: it wraps results that are not objects, and says so in the
/// schema.
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

/// Parses text that is JSON. A number stays text if JSON would write it differently (`1e5`, `0.10`):
/// then it is an identifier or a format, not a quantity.
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

/// Returns what a model reads of a result. Clients take either the texts or the structure as JSON; the
/// longer one counts.
pub fn model_text(result: &CallToolResult) -> Cow<'_, str> {
    let text = text(result);
    match result.structured_content.as_ref().map(Value::to_string) {
        Some(structure) if structure.len() > text.len() => structure.into(),
        _ => text,
    }
}

/// Returns the texts of a result, or its structure if it has no text.
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
    if text.len() > MAX_MESSAGE_LEN {
        format!("{}… ({} bytes in all)", cut::head(&text, MAX_MESSAGE_LEN), text.len())
    } else {
        text.into_owned()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use narrows_model::Limits;
    use narrows_sandbox::{Workspace, WorkspaceMount};

    use super::*;
    use crate::catalog::tests::tool;

    fn result(result: Value) -> CallToolResult {
        serde_json::from_value(result).unwrap()
    }

    fn given(answer: Value, tool: &Tool) -> Result<Value, String> {
        of(result(answer), tool, &Media::default())
    }

    fn text_block(text: &str) -> Value {
        json!({"type": "text", "text": text})
    }

    #[test]
    fn structure_goes_before_the_text_that_repeats_it() {
        let tool = tool(json!({"name": "go"}));
        let answer = json!({"content": [text_block("a is 1")], "structuredContent": {"a": 1}});
        assert_eq!(given(answer, &tool), Ok(json!({"a": 1})));
    }

    #[test]
    fn none_one_and_several_blocks_are_none_a_value_and_a_list() {
        let tool = tool(json!({"name": "go"}));
        for (blocks, expected) in [
            (json!([]), json!(null)),
            (json!([text_block("1")]), json!(1)),
            (json!([text_block("[1]"), text_block("b")]), json!([[1], "b"])),
        ] {
            assert_eq!(given(json!({"content": blocks}), &tool), Ok(expected));
        }
    }

    #[test]
    fn what_was_wrapped_is_unwrapped_only_if_the_tool_says_so() {
        let answer = json!({"content": [], "structuredContent": {"result": [1, 2]}});
        let schema = json!({"type": "object", "properties": {"result": {"type": "array"}}});
        let plain = tool(json!({"name": "go", "outputSchema": schema}));
        assert_eq!(given(answer.clone(), &plain), Ok(json!({"result": [1, 2]})));
        let mut schema = schema;
        schema["x-fastmcp-wrap-result"] = true.into();
        let wrapping = tool(json!({"name": "go", "outputSchema": schema}));
        assert_eq!(given(answer, &wrapping), Ok(json!([1, 2])));
        // What does not keep to its own schema is given as it is.
        let other = json!({"content": [], "structuredContent": {"other": 1}});
        assert_eq!(given(other, &wrapping), Ok(json!({"other": 1})));
    }

    #[test]
    fn an_image_is_a_file_beside_the_structure() {
        let home = tempfile::tempdir().unwrap();
        let workspace = Workspace::open(home.path(), &Limits::default()).unwrap();
        let media = Media::new(Some(WorkspaceMount::writable(Arc::clone(&workspace))));
        let tool = tool(json!({"name": "go"}));
        let answer = result(json!({
            "content": [
                text_block("a chart"),
                {"type": "image", "mimeType": "image/png", "data": "AAEC"},
            ],
            "structuredContent": {"rows": 3},
        }));
        let file = json!({
            "type": "image", "mime_type": "image/png", "bytes": 3,
            "path": "/workspace/image-1.png",
        });
        assert_eq!(of(answer, &tool, &media), Ok(json!([{"rows": 3}, file])));
        assert_eq!(workspace.read("image-1.png", 10).unwrap(), [0, 1, 2]);
    }

    #[test]
    fn resources_and_links_keep_their_address_and_type() {
        let tool = tool(json!({"name": "go"}));
        let block = |block: Value| given(json!({"content": [block]}), &tool).unwrap();
        let text = json!({"uri": "file:///a", "mimeType": "text/plain", "text": "[1]"});
        assert_eq!(
            block(json!({"type": "resource", "resource": text})),
            json!({"type": "resource", "uri": "file:///a", "mime_type": "text/plain", "text": "[1]"})
        );
        let bytes = json!({"uri": "file:///b", "blob": "AAEC"});
        assert_eq!(
            block(json!({"type": "resource", "resource": bytes})),
            json!({"type": "resource", "mime_type": "application/octet-stream", "bytes": 3,
                "data": "AAEC", "uri": "file:///b"})
        );
        let link = json!({"type": "resource_link", "uri": "file:///c", "name": "c",
            "mimeType": "text/csv"});
        assert_eq!(
            block(link),
            json!({"type": "resource_link", "uri": "file:///c", "name": "c",
                "mime_type": "text/csv"})
        );
    }

    #[test]
    fn a_failure_says_what_the_tool_said_and_no_more_than_can_be_read() {
        let tool = tool(json!({"name": "go"}));
        let failed = |answer: Value| given(answer, &tool).unwrap_err();
        let blocks = json!([text_block("no such issue"), text_block("7")]);
        assert_eq!(failed(json!({"content": blocks, "isError": true})), "no such issue\n7");
        let structured = json!({"content": [], "isError": true, "structuredContent": {"code": 7}});
        assert_eq!(failed(structured), r#"{"code":7}"#);
        assert_eq!(
            failed(json!({"content": [], "isError": true})),
            "the tool failed without saying why"
        );
        // The cut would go through a letter of two bytes.
        let long = format!("x{}", "ö".repeat(5_000));
        let told = failed(json!({"content": [text_block(&long)], "isError": true}));
        assert_eq!(told, format!("x{}… (10001 bytes in all)", "ö".repeat(1_999)));
        // It would leave half of an address, which nobody finds any more.
        let start = "x".repeat(MAX_MESSAGE_LEN - 8);
        let long = format!("{start} ada@example.com");
        let told = failed(json!({"content": [text_block(&long)], "isError": true}));
        assert_eq!(told, format!("{start} … ({} bytes in all)", long.len()));
        // Only its label tells that a word of letters is a password.
        let start = format!("{}{{\"password\": \"", "x".repeat(MAX_MESSAGE_LEN - 28));
        let long = format!("{start}correcthorsebatterystaple\"}}");
        let told = failed(json!({"content": [text_block(&long)], "isError": true}));
        assert_eq!(told, format!("{start}… ({} bytes in all)", long.len()));
    }

    #[test]
    fn a_table_in_a_text_is_rows_that_keep_the_text() {
        let tool = tool(json!({"name": "go"}));
        let table = "| id | name |\n|---|---|\n| 1 | Ada |\n| 2 | Bob |\n";
        let rows = json!([{"id": 1, "name": "Ada"}, {"id": 2, "name": "Bob"}]);
        let answer = result(json!({"content": [text_block(table)]}));
        let read = recovered(answer, &tool, &Media::default()).unwrap();
        assert_eq!(read, ToolValue { value: rows.clone(), raw: Some(table.to_owned()) });
        assert_eq!(read.into_message(), json!({"$recovered": rows, "raw": table}));
        // A text that is only a text is one.
        let prose = result(json!({"content": [text_block("There is nothing to tell.")]}));
        let read = recovered(prose, &tool, &Media::default()).unwrap();
        assert_eq!(read.into_message(), json!("There is nothing to tell."));
    }

    #[test]
    fn a_long_text_is_read_as_a_short_one_is() {
        let tool = tool(json!({"name": "go"}));
        let rows: String = (0..20_000).map(|id| format!("| {id} | Ada |\n")).collect();
        let table = format!("| id | name |\n|---|---|\n{rows}");
        let answer = result(json!({"content": [text_block(&table)]}));
        let read = recovered(answer, &tool, &Media::default()).unwrap();
        assert_eq!(read.value[19_999], json!({"id": 19_999, "name": "Ada"}));
        assert_eq!(read.raw, Some(table));
    }

    #[test]
    fn a_client_reads_the_texts_or_else_the_structure() {
        for (answer, expected) in [
            (json!({"content": [text_block("a")], "structuredContent": {"a": 1}}), "a"),
            (json!({"content": [text_block("a"), text_block("b")]}), "a\nb"),
            (json!({"content": [], "structuredContent": {"a": 1}}), r#"{"a":1}"#),
            (json!({"content": []}), ""),
        ] {
            assert_eq!(text(&result(answer)), expected);
        }
    }

    #[test]
    fn what_a_model_reads_is_counted_at_its_higher_price() {
        for (answer, expected) in [
            (json!({"content": [text_block("a")], "structuredContent": {"a": 1}}), r#"{"a":1}"#),
            (
                json!({"content": [text_block("a long text")], "structuredContent": {}}),
                "a long text",
            ),
            (json!({"content": [text_block("a")]}), "a"),
        ] {
            assert_eq!(model_text(&result(answer)), expected);
        }
    }

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
