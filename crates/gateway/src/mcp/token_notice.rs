//! Says once to each client that values were replaced, and which switch changes that: whoever meets a
//! token for the first time does not know what it is, nor that it can be turned off.

use std::{
    collections::HashSet,
    sync::{Mutex, PoisonError},
};

use narrows_engine::{result_text, safety::Mode};
use rmcp::model::{CallToolResult, ContentBlock};
use serde_json::{Map, Value};

/// When there are more clients, they are told again.
const MAX_CLIENTS: usize = 4_096;

/// The clients that were told.
#[derive(Debug, Default)]
pub(super) struct TokenNotice {
    clients: Mutex<HashSet<String>>,
}

impl TokenNotice {
    /// Adds a line to the first answer of a client that has a token in it.
    pub(super) fn add(&self, client: String, mode: Mode, result: &mut CallToolResult) {
        if mode == Mode::Off {
            return;
        }
        let mut clients = self.clients.lock().unwrap_or_else(PoisonError::into_inner);
        if clients.contains(&client) {
            return;
        }
        let Some(kind) = first_kind(result) else { return };
        if clients.len() >= MAX_CLIENTS {
            clients.clear();
        }
        clients.insert(client);
        let line = line(&kind);
        if let Some(Value::Object(structured)) = &mut result.structured_content {
            note(structured, &line);
        }
        result.content.push(ContentBlock::text(format!("note: {line}")));
    }
}

/// Returns the kind of the first token in an answer.
fn first_kind(result: &CallToolResult) -> Option<String> {
    let of = |text: &str| Some(narrows_pii::tokens_in(text).next()?.kind.to_owned());
    let structured = || of(&result.structured_content.as_ref()?.to_string());
    of(&result_text(result)).or_else(structured)
}

fn line(kind: &str) -> String {
    format!(
        "pii: personal data such as {kind} is replaced by tokens here, and tools are given the \
         values; in narrows.toml, [pii] off = [\"{kind}\"] leaves this kind alone, [pii] mode = \
         \"off\" all of them"
    )
}

/// Adds a note to the structure of a run: some clients hand only that to their model. Answers of
/// others have their own forms.
fn note(structured: &mut Map<String, Value>, line: &str) {
    if !structured.contains_key("success") {
        return;
    }
    if let Some(Value::Array(notes)) = structured.get_mut("notes") {
        notes.push(line.into());
        return;
    }
    // Where notes stand: long answers are cut at their end.
    structured.shift_insert(1, "notes".to_owned(), vec![line].into());
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn answer(text: &str) -> CallToolResult {
        let mut result = CallToolResult::success(vec![ContentBlock::text(text)]);
        result.structured_content = Some(json!({"success": true, "result": text}));
        result
    }

    fn told(notice: &TokenNotice, client: &str, text: &str) -> Option<String> {
        let mut result = answer(text);
        notice.add(client.to_owned(), Mode::Boundary, &mut result);
        let structured = result.structured_content.unwrap();
        assert_eq!(structured["notes"].is_array(), result.content.len() == 2);
        result.content.get(1).map(|block| block.as_text().unwrap().text.clone())
    }

    #[test]
    fn a_client_is_told_of_tokens_once_and_of_the_switch() {
        let notice = TokenNotice::default();
        assert_eq!(told(&notice, "a", "nothing [1] here"), None);
        let line = told(&notice, "a", "write to [EMAIL_abcdefghijkl]").unwrap();
        assert!(line.contains("[pii] off = [\"EMAIL\"]"), "{line}");
        assert!(line.contains("[pii] mode = \"off\"") && !line.contains('\n'), "{line}");
        assert_eq!(told(&notice, "a", "write to [EMAIL_abcdefghijkl]"), None);
        assert!(told(&notice, "b", "write to [EMAIL_abcdefghijkl]").is_some());
    }

    #[test]
    fn notes_come_before_the_result() {
        let mut result = answer("[EMAIL_abcdefghijkl]");
        TokenNotice::default().add("a".to_owned(), Mode::Strict, &mut result);
        let Some(Value::Object(structured)) = result.structured_content else { panic!() };
        assert_eq!(structured.keys().collect::<Vec<_>>(), ["success", "notes", "result"]);
    }

    #[test]
    fn where_nothing_is_replaced_nothing_is_said() {
        let mut result = answer("[EMAIL_abcdefghijkl]");
        TokenNotice::default().add("a".to_owned(), Mode::Off, &mut result);
        assert_eq!(result.content.len(), 1);
    }
}
