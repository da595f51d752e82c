//! Deprecated tools, whose servers say so in a flag of the definition or in the description.

use serde_json::Value;

use super::{excerpt, literal};

const WORD: &str = "deprecated";
/// How many characters of the advice are shown.
const MAX_ADVICE_CHARS: usize = 100;
/// Subjects of sentences that are about the tool itself, since a tool may well list things that are
/// deprecated elsewhere.
const SUBJECTS: [&str; 8] =
    ["this", "it is", "it's", "tool", "endpoint", "method", "function", "command"];

/// The deprecation of a tool.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Deprecation {
    /// The server's advice on what to use instead; may be empty.
    advice: String,
}

impl Deprecation {
    /// Reads the deprecation in a tool's definition. None if the tool is not deprecated.
    pub fn of(raw: &Value) -> Option<Self> {
        let places = [Some(raw), raw.get("annotations"), raw.get("_meta")];
        let flagged = places.into_iter().flatten().find_map(flagged);
        let texts = ["description", "title"].map(|key| raw.get(key).and_then(Value::as_str));
        let said = || texts.into_iter().flatten().find_map(said);
        match flagged {
            Some(advice) if advice.is_empty() => Some(said().unwrap_or_default()),
            Some(advice) => Some(advice),
            None => said(),
        }
        .map(|advice| Self { advice: excerpt::clipped(&literal::line(&advice), MAX_ADVICE_CHARS) })
    }

    /// Puts the deprecation before a description, unless that begins with it.
    pub fn with(&self, description: &str) -> String {
        let begins = description.trim_start_matches(|c: char| !c.is_alphanumeric()).to_lowercase();
        match (begins.starts_with(WORD), description.is_empty()) {
            (true, _) => description.to_owned(),
            (false, true) => self.to_string(),
            (false, false) => format!("{self}; {description}"),
        }
    }
}

impl std::fmt::Display for Deprecation {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.advice.as_str() {
            "" => f.write_str(WORD),
            advice => write!(f, "{WORD}: {advice}"),
        }
    }
}

/// Returns the advice of a flag: `"deprecated": true`, or a text; also with a prefix, as in `_meta`.
fn flagged(place: &Value) -> Option<String> {
    let is_flag = |key: &str| key.rsplit(['/', '.']).next() == Some(WORD);
    let (_, value) = place.as_object()?.iter().find(|(key, _)| is_flag(key))?;
    match value {
        Value::Bool(true) => Some(String::new()),
        Value::String(advice) if !advice.is_empty() => Some(advice.clone()),
        Value::Object(about) => {
            let texts = ["message", "reason", "replacement", "use"].map(|key| about.get(key));
            Some(texts.into_iter().flatten().find_map(Value::as_str).unwrap_or_default().to_owned())
        }
        _ => None,
    }
}

/// Returns the advice, which may be empty, of a text that says that its tool is deprecated.
fn said(text: &str) -> Option<String> {
    let line = literal::line(text);
    excerpt::sentences(&line).into_iter().enumerate().find_map(|(number, sentence)| {
        // This keeps the length, so that positions are valid in the sentence too.
        let small = sentence.to_ascii_lowercase();
        let at = small.find(WORD)?;
        let before = small[..at].trim_end();
        let begins = !before.contains(char::is_alphanumeric);
        let is_bracketed = number == 0 && before.ends_with(['(', '[']);
        let is_loud = sentence[at..].starts_with("DEPRECATED");
        let is_verb = ["is", "now", "been", "was", "are"].iter().any(|verb| {
            before.strip_suffix(verb).is_some_and(|rest| rest.is_empty() || rest.ends_with(' '))
        });
        let is_said = is_verb && SUBJECTS.iter().any(|subject| before.contains(subject));
        // "Deprecated packages of a project" describes what the tool lists.
        let is_own = begins && !is_attribute(&small[at + WORD.len()..]);
        (is_own || is_bracketed || is_loud || is_said).then(|| advice(&sentence[at + WORD.len()..]))
    })
}

/// Tells whether "deprecated" describes the word after it.
fn is_attribute(rest: &str) -> bool {
    const FOLLOWING: [&str; 10] =
        ["use", "since", "in", "as", "and", "please", "by", "for", "from", "will"];
    let Some(next) = rest.strip_prefix(' ') else { return false };
    let word = next.split(|c: char| !c.is_alphanumeric()).next().unwrap_or_default();
    !word.is_empty() && !FOLLOWING.contains(&word)
}

/// Returns the advice after the word. If the word is in brackets, the advice ends with them, because
/// the text after them describes the tool.
fn advice(rest: &str) -> String {
    let end = rest.find([')', ']']).filter(|end| !rest[..*end].contains(['(', '[']));
    let rest = end.map_or(rest, |end| &rest[..end]);
    let rest = rest.trim_start_matches(|c: char| !c.is_alphanumeric() && c != '`');
    rest.trim_end_matches(['.', ' ', '*', '_']).to_owned()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn told(raw: Value) -> Option<String> {
        Deprecation::of(&raw).map(|found| found.to_string())
    }

    #[test]
    fn what_is_deprecated_is_told_with_the_advice() {
        for (description, expected) in [
            ("DEPRECATED: Use search_v2 instead. Finds text.", "deprecated: Use search_v2 instead"),
            ("[Deprecated] Finds text.", "deprecated"),
            ("**Deprecated** since 2.0, use `find`.", "deprecated: since 2.0, use `find`"),
            ("Finds text (deprecated, use find).", "deprecated: use find"),
            (
                "Finds text. This tool is deprecated in favor of find.",
                "deprecated: in favor of find",
            ),
            ("Finds text. It is now deprecated.", "deprecated"),
            ("Finds text. NOTE: this endpoint has been deprecated", "deprecated"),
        ] {
            let raw = json!({"name": "x", "description": description});
            assert_eq!(told(raw).as_deref(), Some(expected), "{description}");
        }
        for raw in [
            json!({"annotations": {"deprecated": true}}),
            json!({"_meta": {"example.com/deprecated": true}}),
            json!({"deprecated": {}}),
        ] {
            assert_eq!(told(raw.clone()).as_deref(), Some("deprecated"), "{raw}");
        }
        let raw = json!({"_meta": {"deprecated": "use find"}, "description": "Finds text."});
        assert_eq!(told(raw).as_deref(), Some("deprecated: use find"));
    }

    #[test]
    fn tools_about_what_is_deprecated_are_not() {
        for description in [
            "",
            "Lists deprecated packages of a project.",
            "Deprecated packages of a project.",
            "Shows APIs. Includes those that are deprecated.",
            "Set include_deprecated to see old versions.",
        ] {
            assert_eq!(told(json!({"description": description})), None, "{description}");
        }
        assert_eq!(told(json!({"annotations": {"deprecated": false}, "_meta": null})), None);
    }

    #[test]
    fn it_is_said_once() {
        let found = Deprecation { advice: "use find".into() };
        assert_eq!(found.with("Finds text."), "deprecated: use find; Finds text.");
        assert_eq!(found.with("[DEPRECATED] Finds text."), "[DEPRECATED] Finds text.");
        assert_eq!(found.with(""), "deprecated: use find");
    }
}
