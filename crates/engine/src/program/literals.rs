//! Replaces tokens in a program by their values. A model that was shown `[EMAIL_…]` writes it into its
//! next program and means the value, in a literal or in the variables that it passes along.

use std::collections::{BTreeSet, HashMap};

use narrows_model::Program;
use narrows_pii::{Form, Revealed, reveal, tokens_in};
use narrows_python::check::is_too_deep;
use ruff_python_ast::token::{Token, TokenKind};
use ruff_python_parser::parse_module;
use ruff_text_size::Ranged;
use serde_json::{Value, json};

use crate::{safety::RunGuard, state::StateError};

/// The result of replacing tokens in a program.
#[derive(Debug, Default)]
pub(crate) struct RestoredLiterals {
    /// The kinds of the values that replaced tokens.
    pub(crate) kinds: BTreeSet<String>,
    /// The reason why tokens were not replaced, if that failed.
    pub(crate) note: Option<String>,
}

/// Replaces tokens in a program by their values, in modes in which programs see values. If that fails,
/// the program runs with the tokens.
pub(crate) async fn restore(guard: &RunGuard, program: &mut Program) -> RestoredLiterals {
    if !guard.pii_filter().shows_values_to_programs() {
        return RestoredLiterals::default();
    }
    try_restore(guard, program).await.unwrap_or_else(|error| RestoredLiterals {
        note: Some(format!("tokens in the program stayed as they are: {error}")),
        ..RestoredLiterals::default()
    })
}

async fn try_restore(
    guard: &RunGuard,
    program: &mut Program,
) -> Result<RestoredLiterals, StateError> {
    let mut restored = RestoredLiterals::default();
    if !program.context.is_empty() {
        let context = Value::Object(program.context.clone());
        let (context, revealed) = guard.known_by_all(context).await?;
        restored.kinds = revealed.kinds;
        guard.leave(revealed.left);
        if let Value::Object(context) = context {
            program.context = context;
        }
    }
    let source = &program.source;
    let reading = || tokens_in(source).map(|token| token.text.to_owned()).collect();
    let tokens: BTreeSet<String> = guard.agent().compute(source.len(), reading).await;
    if tokens.is_empty() {
        return Ok(restored);
    }
    let tokens: Vec<String> = tokens.into_iter().collect();
    let (values, revealed) = guard.known_by_all(json!(tokens)).await?;
    restored.kinds.extend(revealed.kinds);
    let values = values.as_array().into_iter().flatten().map(|value| match value {
        Value::String(text) => text.clone(),
        number => number.to_string(),
    });
    let known: HashMap<String, String> =
        tokens.into_iter().zip(values).filter(|(token, value)| token != value).collect();
    let replacing = || with_values(source, &known);
    let (source, left) = guard.agent().compute(source.len(), replacing).await;
    program.source = source;
    guard.leave(left);
    Ok(restored)
}

/// Replaces tokens in the string literals of a program. Also returns the tokens that stayed in
/// literals.
fn with_values(source: &str, known: &HashMap<String, String>) -> (String, BTreeSet<String>) {
    let mut left = BTreeSet::new();
    // A program that does not parse stays as it is; Python reports the error.
    let parsed = (!is_too_deep(source)).then(|| parse_module(source).ok()).flatten();
    let Some(parsed) = parsed else { return (source.to_owned(), left) };
    let (mut made, mut done) = (String::with_capacity(source.len()), 0);
    for token in parsed.tokens().iter().filter(|token| is_text(token)) {
        let (start, end) = (token.start().to_usize(), token.end().to_usize());
        let text = &source[start..end];
        let changed = reveal(text, &mut |found| {
            let value =
                known.get(found.text).and_then(|value| written(value, text, found.text, token));
            if value.is_none() {
                left.insert(found.text.to_owned());
            }
            Some(Revealed { value: value?, form: Form::Text })
        });
        made.push_str(&source[done..start]);
        made.push_str(&changed);
        done = end;
    }
    made.push_str(&source[done..]);
    (made, left)
}

fn is_text(token: &Token) -> bool {
    matches!(token.kind(), TokenKind::String | TokenKind::FStringMiddle)
}

/// Escapes a value for a literal. A value with special characters may only stand in a plain literal,
/// and not within further quotes: those may be SQL, which has escapes of its own, and the value could
/// break out of them.
fn written(value: &str, literal: &str, token: &str, kind: &Token) -> Option<String> {
    let means_something = |c: char| c.is_control() || "'\"`\\{}".contains(c);
    if !value.contains(means_something) {
        return Some(value.to_owned());
    }
    let flags = kind.string_flags()?;
    let within_quotes = ['\'', '"', '`'].iter().any(|quote| {
        let inner = literal.get(1..literal.len().saturating_sub(1)).unwrap_or_default();
        inner.contains(&format!("{quote}{token}{quote}"))
    });
    let is_plain =
        kind.kind() == TokenKind::String && !flags.is_raw_string() && !flags.is_byte_string();
    (is_plain && !within_quotes).then(|| {
        value.chars().fold(String::new(), |mut text, c| {
            match c {
                '\\' | '\'' | '"' => text.extend(['\\', c]),
                c if c.is_control() => text += &format!("\\u{:04x}", u32::from(c)),
                c => text.push(c),
            }
            text
        })
    })
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use narrows_model::Principal;

    use super::*;
    use crate::state::tests::state;

    /// Otherwise a rule such as `* -> http.*` would hold for every program with a context.
    #[tokio::test]
    async fn a_program_without_tokens_has_read_nothing() {
        let home = tempfile::tempdir().unwrap();
        let agent = state(home.path()).agent(Arc::new(Principal::local()));
        let guard = agent.guard(agent.level(None).unwrap());
        let mut program = Program::new("print(who, '[no token]')");
        program.context.insert("who".into(), "Ada".into());
        let restored = restore(&guard, &mut program).await;
        assert!(restored.kinds.is_empty() && restored.note.is_none(), "{restored:?}");
        assert!(guard.flow().is_empty());
    }

    const MAIL: &str = "[EMAIL_abcdefghijkl]";
    const NAME: &str = "[PERSON_abcdefghijkl]";

    fn revealed(source: &str) -> (String, usize) {
        let known = [(MAIL, "ada@example.com"), (NAME, "Ada \"A\" O'Neil\n")];
        let known = known.map(|(token, value)| (token.to_owned(), value.to_owned())).into();
        let (source, left) = with_values(source, &known);
        (source, left.len())
    }

    #[test]
    fn tokens_in_texts_become_values() {
        for (source, expected) in [
            (format!("x == '{MAIL}'"), "x == 'ada@example.com'"),
            (format!("x in [\"{MAIL}\", 1]"), "x in [\"ada@example.com\", 1]"),
            (format!("f'to {MAIL} {{x}}'"), "f'to ada@example.com {x}'"),
            (format!("r'^{MAIL}$'"), "r'^ada@example.com$'"),
            (
                format!("sql(\"select * from t where e = '{MAIL}'\")"),
                "sql(\"select * from t where e = 'ada@example.com'\")",
            ),
            (format!("x == '{NAME}'"), "x == 'Ada \\\"A\\\" O\\'Neil\\u000a'"),
        ] {
            assert_eq!(revealed(&source), (expected.to_owned(), 0));
        }
    }

    #[test]
    fn what_would_mean_something_else_stays_and_is_told() {
        for source in [
            // The value has quotes, which would end the text of the query.
            format!("sql(\"select * from t where n = '{NAME}'\")"),
            format!("f'{NAME}'"),
            format!("r'{NAME}'"),
            "x == '[EMAIL_zzzzzzzzzzzz]'".to_owned(),
        ] {
            assert_eq!(revealed(&source), (source.clone(), 1));
        }
    }

    #[test]
    fn what_is_no_text_is_not_touched() {
        for source in [
            format!("# {MAIL}\nx = 1"),
            format!("x = {MAIL}"),
            format!("x = '{MAIL}"),
            format!("{}'{MAIL}'", "(".repeat(10_000)),
        ] {
            assert_eq!(revealed(&source), (source.clone(), 0));
        }
    }
}
