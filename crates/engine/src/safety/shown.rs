//! Writes a call's arguments for the person who decides on it: every argument is shown, and nothing is
//! hidden in them.

use std::borrow::Cow;

use narrows_model::grouped;
use serde_json::{Map, Value};

/// A longer text is folded in the middle.
const MAX_TEXT_BYTES: usize = 400;
/// The least bytes that are shown of each text, however many texts there are.
const MIN_TEXT_BYTES: usize = 160;
/// The most values, at any depth, of a call that a person is asked about. Every value has to be shown;
/// otherwise a caller could hide the one that matters among many.
pub(super) const MAX_VALUES: usize = 100;
/// Longer names are folded too: the caller chooses them, and could hide things in them.
const MAX_NAME_BYTES: usize = 200;
/// The first digits of a hash are enough to tell two values apart.
const HASH_DIGITS: usize = 12;

/// A keyed hash of a value, which nobody without the key can reverse by trying values.
pub(super) type Digest<'a> = &'a dyn Fn(&str) -> String;

/// Counts the arguments and all values in them: the members of objects and the elements of lists.
pub(super) fn count_values(arguments: &Map<String, Value>) -> usize {
    fn within(value: &Value) -> usize {
        match value {
            Value::Array(elements) => elements.len() + elements.iter().map(within).sum::<usize>(),
            Value::Object(members) => count_values(members),
            _ => 0,
        }
    }
    arguments.len() + arguments.values().map(within).sum::<usize>()
}

/// Writes arguments for a person, in about `max_bytes`. `protected` are the arguments with personal
/// data and secrets replaced by tokens. Only texts are folded, never the structure around them; a
/// folded text is described by the length and the hash of its real value.
pub(super) fn arguments(
    real: &Map<String, Value>,
    protected: &Map<String, Value>,
    max_bytes: usize,
    digest: Digest<'_>,
) -> String {
    if protected.is_empty() {
        return "{}".to_owned();
    }
    let share = max_bytes / count_values(protected).max(1);
    let max_text = share.clamp(MIN_TEXT_BYTES, MAX_TEXT_BYTES);
    let lines = protected.iter().zip(real.values()).map(|((name, shown), real)| {
        let name = Value::from(fold_name(name, digest)).to_string();
        let shown = fold_texts(real, shown, max_text, digest);
        let text = serde_json::to_string_pretty(&shown).unwrap_or_default();
        format!("  {}: {}", visible(&name), visible(&text).replace('\n', "\n  "))
    });
    format!("{{\n{}\n}}", lines.collect::<Vec<_>>().join(",\n"))
}

/// Folds the long texts within a value, so that what is beside them stays.
fn fold_texts(real: &Value, shown: &Value, max_text: usize, digest: Digest<'_>) -> Value {
    match (real, shown) {
        (real, Value::String(text)) => fold(text, max_text, || about(real, digest)).into(),
        (Value::Array(real), Value::Array(shown)) if real.len() == shown.len() => {
            let items = real.iter().zip(shown);
            items.map(|(real, shown)| fold_texts(real, shown, max_text, digest)).collect()
        }
        (Value::Object(real), Value::Object(shown)) if real.len() == shown.len() => {
            let entries = real.values().zip(shown);
            let folded = entries.map(|(real, (name, shown))| {
                (fold_name(name, digest), fold_texts(real, shown, max_text, digest))
            });
            Value::Object(folded.collect())
        }
        // The shapes differ, so the real values cannot be matched to the texts.
        (_, Value::Array(shown)) => {
            shown.iter().map(|shown| fold_texts(shown, shown, max_text, digest)).collect()
        }
        (_, Value::Object(members)) => {
            let folded = members.iter().map(|(name, shown)| {
                (fold_name(name, digest), fold_texts(shown, shown, max_text, digest))
            });
            Value::Object(folded.collect())
        }
        (_, shown) => shown.clone(),
    }
}

/// Folds a long name. Its hash keeps it apart from others with the same ends.
fn fold_name(name: &str, digest: Digest<'_>) -> String {
    fold(name, MAX_NAME_BYTES, || about(&Value::from(name), digest))
}

/// Returns the length of a value and its hash, as text.
fn about(real: &Value, digest: Digest<'_>) -> String {
    let text = match real {
        Value::String(text) => Cow::Borrowed(text.as_str()),
        other => Cow::Owned(other.to_string()),
    };
    let hash = digest(&text);
    let hash = &hash[..hash.floor_char_boundary(HASH_DIGITS)];
    format!("{} characters in all, hash {hash}", grouped(text.chars().count() as u64))
}

/// Leaves out the middle of a text that would take more than `max_bytes` when it is shown.
fn fold(text: &str, max_bytes: usize, note: impl FnOnce() -> String) -> String {
    if text.chars().map(shown_bytes).sum::<usize>() <= max_bytes {
        return text.to_owned();
    }
    let within_half = |chars: &mut dyn Iterator<Item = char>| {
        let mut left = max_bytes / 2;
        let fits = chars.map_while(|c| {
            left = left.checked_sub(shown_bytes(c))?;
            Some(c.len_utf8())
        });
        fits.sum::<usize>()
    };
    let head = &text[..within_half(&mut text.chars())];
    let tail = &text[text.len() - within_half(&mut text.chars().rev())..];
    format!("{head}…[{}]…{tail}", note())
}

/// Returns how many bytes a character takes in JSON after [`visible`].
fn shown_bytes(c: char) -> usize {
    match c {
        '"' | '\\' | '\n' | '\t' | '\r' => 2,
        _ if is_hidden(c) => "\\u{10ffff}".len(),
        _ => c.len_utf8(),
    }
}

/// Escapes characters that are invisible or that change the direction of text, such as `\u202e`: what
/// is approved must be what is read.
pub fn visible(text: &str) -> Cow<'_, str> {
    if !text.contains(is_hidden) {
        return Cow::Borrowed(text);
    }
    let mut shown = String::with_capacity(text.len() + 16);
    for c in text.chars() {
        match u32::from(c) {
            _ if !is_hidden(c) => shown.push(c),
            code @ 0..=0xffff => shown.push_str(&format!("\\u{code:04x}")),
            code => shown.push_str(&format!("\\u{{{code:x}}}")),
        }
    }
    Cow::Owned(shown)
}

fn is_hidden(c: char) -> bool {
    let is_format = matches!(c,
        '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}'
        | '\u{180b}'..='\u{180f}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
        | '\u{2060}'..='\u{206f}' | '\u{2800}' | '\u{3164}' | '\u{fe00}'..='\u{fe0f}'
        | '\u{feff}' | '\u{ffa0}' | '\u{fff0}'..='\u{fffb}' | '\u{1bca0}'..='\u{1bca3}'
        | '\u{1d173}'..='\u{1d17a}' | '\u{e0000}'..='\u{e0fff}');
    is_format || c.is_control() && c != '\n'
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn shown(arguments: &Value, max_bytes: usize) -> String {
        let arguments = arguments.as_object().unwrap();
        super::arguments(arguments, arguments, max_bytes, &|text| format!("{:0>32}", text.len()))
    }

    #[test]
    fn every_argument_is_shown_and_a_long_one_is_folded_in_the_middle() {
        let body = format!("begin{}end", "x".repeat(5_000));
        let text = shown(&json!({"to": "bob", "body": body, "last": {"a": [1, 2]}}), 4_000);
        for part in ["\"to\": \"bob\"", "begin", "end\"", "5,008 characters in all, hash 0000"] {
            assert!(text.contains(part), "{part}: {text}");
        }
        assert!(
            text.ends_with("\"last\": {\n    \"a\": [\n      1,\n      2\n    ]\n  }\n}"),
            "{text}"
        );
        assert!(text.len() < 1_000);
    }

    #[test]
    fn what_stands_beside_a_long_text_within_an_argument_stays() {
        let mail = json!({"mail": {"body": "x".repeat(9_000), "to": "bob"}});
        let text = shown(&mail, 4_000);
        assert!(
            text.contains("9,000 characters in all") && text.contains("\"to\": \"bob\""),
            "{text}"
        );
    }

    #[test]
    fn the_most_arguments_that_can_be_shown_are_all_shown() {
        // Whatever the texts are made of.
        for (letter, max_bytes) in [("y", 48 << 10), ("\u{202e}", 48 << 10), ("\0", 48 << 10)] {
            let many: Map<String, Value> = (0..MAX_VALUES)
                .map(|n| (format!("argument {n}"), json!(letter.repeat(500))))
                .collect();
            let text = shown(&Value::Object(many), 4_000);
            for n in 0..MAX_VALUES {
                assert!(text.contains(&format!("\"argument {n}\"")), "{n}");
            }
            assert!(text.len() < max_bytes, "{}", text.len());
        }
    }

    #[test]
    fn padding_within_an_argument_hides_nothing() {
        let mut padding: Map<String, Value> =
            (0..49).map(|n| (format!("filler {n}"), json!("y".repeat(500)))).collect();
        padding.insert("amount".to_owned(), json!(1_000_000));
        padding.extend((49..98).map(|n| (format!("filler {n}"), json!("y".repeat(500)))));
        let list: Vec<Value> = (0..99).map(|n| json!(1_000 + n)).collect();
        let request = json!({ "request": padding });
        for (call, part) in [(request, "\"amount\": 1000000"), (json!({"ids": list}), "1050")] {
            assert_eq!(count_values(call.as_object().unwrap()), MAX_VALUES, "{call}");
            assert!(shown(&call, 400).contains(part), "{part}");
        }
        // Nor do long names: each is told apart from others with the same ends.
        let name = |middle: &str| format!("{}{middle}{}", "n".repeat(500), "n".repeat(500));
        let named: Map<String, Value> =
            ["a", "bc"].into_iter().map(|middle| (name(middle), json!(middle))).collect();
        let text = shown(&json!({ "request": named }), 4_000);
        assert!(
            text.contains(": \"a\"") && text.contains(": \"bc\"") && text.len() < 1_000,
            "{text}"
        );
    }

    #[test]
    fn what_is_folded_is_named_by_what_it_really_is() {
        let real = json!({"to": "a".repeat(2_000)});
        let protected = json!({"to": "[EMAIL_abcdefghijkl]".repeat(100)});
        let text = super::arguments(
            real.as_object().unwrap(),
            protected.as_object().unwrap(),
            4_000,
            &|text| if text.starts_with("aaa") { "real".into() } else { "other".into() },
        );
        assert!(text.contains("2,000 characters in all, hash real"), "{text}");
    }

    #[test]
    fn characters_that_nobody_sees_are_made_visible() {
        for (hidden, expected) in [
            ("pay\u{202e}bob", "pay\\u202ebob"),
            ("a\u{200b}b\u{2066}", "a\\u200bb\\u2066"),
            ("\u{feff}x\u{7f}\u{9b}", "\\ufeffx\\u007f\\u009b"),
            ("\u{e0041}", "\\u{e0041}"),
            ("Größe 東京\n", "Größe 東京\n"),
        ] {
            assert_eq!(visible(hidden), expected);
        }
        let text = shown(&json!({"to\u{202e}": "\u{202e}evil\u{1b}[2J"}), 4_000);
        assert_eq!(text, "{\n  \"to\\u202e\": \"\\u202eevil\\u001b[2J\"\n}");
    }
}
