//! Says once to each client that values were replaced, and which switch changes that: whoever meets a
//! token for the first time does not know what it is, nor that it can be turned off.

use std::{
    collections::HashMap,
    sync::{Mutex, PoisonError},
};

use narrows_engine::{result_text, safety::Mode};
use rmcp::model::{CallToolResult, ContentBlock};
use serde_json::{Map, Value};

/// When there are more clients, they are told again.
const MAX_CLIENTS: usize = 4_096;

/// The origin of an answer, which decides whether a note may be added to its structure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum AnswerOf {
    OwnTool,
    /// A server's structure must keep the form that its definition promises.
    Server,
}

/// The parts of an answer in which a client was already told: some clients hand their model the text,
/// others the structure in its place.
#[derive(Clone, Copy, Debug, Default)]
struct Told {
    in_text: bool,
    in_structure: bool,
}

/// The clients that were told, and how.
#[derive(Debug, Default)]
pub(super) struct TokenNotice {
    clients: Mutex<HashMap<String, Told>>,
}

impl TokenNotice {
    /// Adds a line to the first answer of a client that has a token in it: to the text, and to the
    /// structure or, where that takes no note, to the first one that does.
    pub(super) fn add(
        &self,
        client: String,
        mode: Mode,
        of: AnswerOf,
        result: &mut CallToolResult,
    ) {
        if mode == Mode::Off {
            return;
        }
        let mut clients = self.clients.lock().unwrap_or_else(PoisonError::into_inner);
        let before = clients.get(&client).copied().unwrap_or_default();
        if before.in_text && before.in_structure {
            return;
        }
        let Some(kind) = first_kind(result) else { return };
        let line = line(&kind);
        let in_structure = match &mut result.structured_content {
            _ if before.in_structure => true,
            // Whoever takes the structure takes the text where there is none.
            None => !before.in_text,
            Some(Value::Object(structured)) if of == AnswerOf::OwnTool => note(structured, &line),
            Some(_) => false,
        };
        if !before.in_text {
            result.content.push(ContentBlock::text(format!("note: {line}")));
        }
        if clients.len() >= MAX_CLIENTS {
            clients.clear();
        }
        clients.insert(client, Told { in_text: true, in_structure });
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

/// Adds a note to a structure. Returns false if there is no place for it.
fn note(structured: &mut Map<String, Value>, line: &str) -> bool {
    match structured.get_mut("notes") {
        Some(Value::Array(notes)) => notes.push(line.into()),
        Some(_) => return false,
        None => {
            // Right after `success`, where the notes of a run are, because long answers are cut at their
            // end.
            let place = usize::from(structured.contains_key("success"));
            structured.shift_insert(place, "notes".to_owned(), vec![line].into());
        }
    }
    true
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
        notice.add(client.to_owned(), Mode::Boundary, AnswerOf::OwnTool, &mut result);
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
        let notice = TokenNotice::default();
        notice.add("a".to_owned(), Mode::Strict, AnswerOf::OwnTool, &mut result);
        let Some(Value::Object(structured)) = result.structured_content else { panic!() };
        assert_eq!(structured.keys().collect::<Vec<_>>(), ["success", "notes", "result"]);
    }

    #[test]
    fn a_client_that_takes_the_structure_is_told_whatever_tool_answers() {
        let mut result = answer("[EMAIL_abcdefghijkl]");
        result.structured_content = Some(json!({"skills": ["[EMAIL_abcdefghijkl]"]}));
        let notice = TokenNotice::default();
        notice.add("a".to_owned(), Mode::Boundary, AnswerOf::OwnTool, &mut result);
        let structured = result.structured_content.unwrap();
        assert!(structured["notes"][0].as_str().unwrap().starts_with("pii: "), "{structured}");
        assert_eq!(told(&notice, "a", "[EMAIL_abcdefghijkl]"), None);
    }

    #[test]
    fn where_a_servers_structure_takes_no_note_the_next_of_ours_has_it() {
        let (notice, form) = (TokenNotice::default(), json!({"email": "[EMAIL_abcdefghijkl]"}));
        let mut texts = 0;
        for _ in 0..2 {
            let mut result = answer("[EMAIL_abcdefghijkl]");
            result.structured_content = Some(form.clone());
            notice.add("a".to_owned(), Mode::Boundary, AnswerOf::Server, &mut result);
            assert_eq!(result.structured_content, Some(form.clone()));
            texts += result.content.len() - 1;
        }
        // The text says it once.
        assert_eq!(texts, 1);
        let mut result = answer("[EMAIL_abcdefghijkl]");
        notice.add("a".to_owned(), Mode::Boundary, AnswerOf::OwnTool, &mut result);
        assert_eq!(result.content.len(), 1);
        assert!(result.structured_content.unwrap()["notes"].is_array());
        assert_eq!(told(&notice, "a", "[EMAIL_abcdefghijkl]"), None);
    }

    #[test]
    fn where_nothing_is_replaced_nothing_is_said() {
        let mut result = answer("[EMAIL_abcdefghijkl]");
        let notice = TokenNotice::default();
        notice.add("a".to_owned(), Mode::Off, AnswerOf::OwnTool, &mut result);
        assert_eq!(result.content.len(), 1);
    }
}
