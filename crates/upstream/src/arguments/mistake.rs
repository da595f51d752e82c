//! Describes one mistake in the arguments: what is wrong, where, and what was expected. The text is
//! short, because a schema can name thousands of fields, and a call as many that are not among them.

use std::fmt::{self, Write as _};

use jsonschema::{
    ValidationError,
    error::{TypeKind, ValidationErrorKind},
};
use narrows_model::{clipped_name, cut, nearest};
use serde_json::Value;

/// How many unknown fields are named. To find what each may mean takes time.
const MAX_UNKNOWN: usize = 4;
/// How many of the possible fields or values are listed.
const MAX_EXPECTED: usize = 40;
/// How many characters of a wrong value are shown.
const SHOWN_CHARS: usize = 180;
/// How much of a value is formatted to show its beginning: characters have up to four bytes, and to cut
/// the text its next few bytes have to be seen.
const WRITTEN_BYTES: usize = 8 * SHOWN_CHARS;

/// Describes a mistake. `properties` are those that the whole may have.
pub(super) fn describe(error: &ValidationError<'_>, properties: &[String]) -> String {
    let place = place(error);
    match error.kind() {
        ValidationErrorKind::Required { property } => {
            let name = property.as_str().unwrap_or_default();
            match place.as_str() {
                "" => format!("{name:?} is missing"),
                place => format!("{place:?} has no {name:?}"),
            }
        }
        ValidationErrorKind::AdditionalProperties { unexpected }
        | ValidationErrorKind::UnevaluatedProperties { unexpected } => {
            let known = if place.is_empty() { properties } else { &[] };
            describe_unknown(unexpected, known)
        }
        ValidationErrorKind::Enum { options } => {
            let options = options.as_array().map(Vec::as_slice).unwrap_or_default();
            let near = error
                .instance()
                .as_str()
                .map(|given| nearest(given, options.iter().filter_map(Value::as_str)));
            format!(
                "{place:?} is {}, expected one of {}{}",
                shown(error.instance()),
                listed(options.iter().map(shown)),
                near.unwrap_or_default()
            )
        }
        ValidationErrorKind::Type { kind } => {
            let expected = match kind {
                TypeKind::Single(one) => one.to_string(),
                TypeKind::Multiple(many) => {
                    many.iter().map(|one| one.to_string()).collect::<Vec<_>>().join(" or ")
                }
            };
            format!("{place:?} is {}, expected {expected}", shown(error.instance()))
        }
        ValidationErrorKind::AnyOf { context } | ValidationErrorKind::OneOfNotValid { context } => {
            // The branch with the fewest mistakes is the one that was meant.
            let meant = context.iter().filter(|branch| !branch.is_empty());
            match meant.min_by_key(|branch| branch.len()).and_then(|branch| branch.first()) {
                Some(inner) => {
                    let inner = beginning(&inner.masked());
                    format!("{place:?} is {}: {inner}", shown(error.instance()))
                }
                None => format!("{place:?} is {}, which does not fit", shown(error.instance())),
            }
        }
        // The rest names its expectation by itself ("5 is greater than the maximum of 3").
        _ if place.is_empty() => beginning(error),
        _ => format!("{place:?}: {}", shown(error)),
    }
}

/// Names the first unknown fields, with what may be meant, and counts the others.
fn describe_unknown(unexpected: &[String], known: &[String]) -> String {
    let told = unexpected.iter().take(MAX_UNKNOWN).map(|name| {
        let near = nearest(name, known.iter().map(String::as_str));
        format!("{:?} is not known{near}", clipped_name(name))
    });
    let mut parts: Vec<String> = told.collect();
    match unexpected.len().saturating_sub(MAX_UNKNOWN) {
        0 => {}
        1 => parts.push("1 more is not known".to_owned()),
        more => parts.push(format!("{more} more are not known")),
    }
    let takes = match known {
        [] => String::new(),
        known => format!(" (it takes {})", listed(known.iter().cloned())),
    };
    format!("{}{takes}", parts.join("; "))
}

/// Lists the first items, and counts the others.
fn listed(all: impl ExactSizeIterator<Item = String>) -> String {
    let more = all.len().saturating_sub(MAX_EXPECTED);
    let mut text = all.take(MAX_EXPECTED).collect::<Vec<_>>().join(", ");
    if more > 0 {
        text += &format!(" and {more} more");
    }
    text
}

/// Returns where a mistake is, as Python writes it: `items[2].name`.
pub(super) fn place(error: &ValidationError<'_>) -> String {
    let pointer = error.instance_path().to_string();
    let mut place = String::new();
    for part in pointer.split('/').skip(1) {
        let part = part.replace("~1", "/").replace("~0", "~");
        if part.parse::<usize>().is_ok() {
            place += &format!("[{part}]");
        } else if place.is_empty() {
            place = part;
        } else {
            place += &format!(".{part}");
        }
    }
    place
}

/// Returns the beginning of a value as text.
fn shown(value: &impl fmt::Display) -> String {
    let text = beginning(value);
    match text.char_indices().nth(SHOWN_CHARS) {
        Some((end, _)) => format!("{}…", cut::head(&text, end)),
        None => text,
    }
}

/// Formats a value no further than it is shown: a wrong value may have megabytes.
fn beginning(it: &impl fmt::Display) -> String {
    let mut text = Beginning(String::new());
    match write!(text, "{it}") {
        Ok(()) => text.0,
        Err(fmt::Error) => format!("{}…", cut::head(&text.0, WRITTEN_BYTES)),
    }
}

/// A buffer that fails when there is enough in it.
struct Beginning(String);

impl fmt::Write for Beginning {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        let left = (2 * WRITTEN_BYTES).saturating_sub(self.0.len());
        if text.len() <= left {
            self.0.push_str(text);
            return Ok(());
        }
        self.0.push_str(&text[..text.floor_char_boundary(left)]);
        Err(fmt::Error)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Map, json};

    use super::{super::Checker, *};

    fn refusal(schema: &Value, arguments: Map<String, Value>) -> String {
        let mut arguments = arguments;
        Checker::new(schema).check(schema, &mut arguments).expect_err("it should be refused")
    }

    /// Once each field was compared with each property, and all of them were listed.
    #[test]
    fn of_many_unknown_fields_a_few_are_told_and_the_others_counted() {
        let name = |number: usize| format!("{}{number}", "p".repeat(37));
        let properties: Map<String, Value> =
            (0..300).map(|number| (name(number), json!({}))).collect();
        let schema = json!({"properties": properties, "additionalProperties": false});
        for count in [5, 130, 15_000] {
            let unknown = (0..count).map(|number| (format!("{}x", name(number)), json!(1)));
            let message = refusal(&schema, unknown.collect());
            assert!(message.len() < 4_100, "{count}: {} bytes", message.len());
            assert_eq!(message.matches("did you mean").count(), MAX_UNKNOWN, "{message}");
            let more = match count {
                5 => "1 more is not known (it takes ".to_owned(),
                _ => format!("{} more are not known (it takes ", count - MAX_UNKNOWN),
            };
            assert!(message.contains(&more), "{message}");
            assert!(message.contains(" and 260 more)"), "{message}");
        }
    }

    #[test]
    fn long_names_values_and_choices_are_told_in_a_short_message() {
        let long = "x".repeat(1 << 20);
        let words: Vec<String> = (0..5_000).map(|number| format!("word{number}")).collect();
        let schema = json!({
            "properties": {
                "choice": {"enum": words},
                "number": {"type": "integer"},
                "few": {"maxItems": 1},
                "either": {"anyOf": [{"type": "integer"}, {"maxLength": 3}]},
            },
            "additionalProperties": false,
        });
        for (wrong, told) in [
            (json!({"choice": "wrod17"}), " and 4960 more; did you mean word17"),
            (json!({"choice": long}), "expected one of \"word0\""),
            (json!({"number": long}), "expected integer"),
            (json!({"few": vec![&long; 2]}), "\"few\": "),
            (json!({"either": long}), "\"either\" is "),
            (json!({&long: 1}), "… is not known"),
        ] {
            let Value::Object(wrong) = wrong else { panic!("not an object") };
            let message = refusal(&schema, wrong);
            assert!(message.len() < 4_100, "{told}: {} bytes", message.len());
            let told = told.trim_start_matches("… ");
            assert!(message.contains(told), "{told}: {message}");
        }
    }

    /// A schema that refuses the same in a thousand places is not looked at a thousand times.
    #[test]
    fn one_mistake_that_is_found_in_many_places_is_told_once() {
        let refuse = json!({"properties": {"known": {}}, "additionalProperties": false});
        let schema = json!({"properties": {"known": {}}, "allOf": vec![refuse; 1_000]});
        let message = refusal(&schema, Map::from_iter([("knwon".to_owned(), json!(1))]));
        assert_eq!(message.matches("knwon").count(), 1, "{message}");
    }
}
