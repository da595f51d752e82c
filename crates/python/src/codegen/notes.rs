//! Notes on values: their descriptions and constraints, in few words.

use serde_json::{Map, Value};

use super::excerpt::{clipped, sentence_length, telling_part, whole_sentences};
use super::literal;
use super::types::MAX_LITERALS;

/// How many characters of a description a list of tools shows.
const SUMMARY_CHARS: usize = 100;

/// The length of a pattern that is shown. Longer ones cost more tokens than they are worth; the server
/// says what did not match.
const MAX_PATTERN: usize = 80;

/// Of how many alternatives the constraints are shown.
const MAX_ALTERNATIVES: usize = 4;

/// Formats of numbers that only say how a machine stores them.
const MACHINE_FORMATS: [&str; 6] = ["int32", "int64", "uint32", "uint64", "float", "double"];

/// The bound that only says how far a machine can count (`Number.MAX_SAFE_INTEGER`).
const MACHINE_BOUND: f64 = 9_007_199_254_740_991.0;

/// Returns the first sentence of a description, on one line, in about a hundred characters at most.
pub fn summary_line(description: &str) -> String {
    clipped(&first_sentence(description), SUMMARY_CHARS)
}

/// The schemas that describe a property. References may lead to different ones for description and
/// constraints.
#[derive(Clone, Copy, Debug)]
pub(super) struct PropertyNotes<'a> {
    /// The schema with the description.
    pub(super) description: &'a Value,
    /// The schema with the constraints.
    pub(super) limits: &'a Value,
}

/// Writes the description and the constraints of a property on one line. Empty if there are none.
pub(super) fn note(said: PropertyNotes<'_>) -> String {
    joined(literal::line(description(said.description)), said.limits)
}

/// Writes a note like [`note`], with an excerpt of the description, or without it if it only repeats
/// the name of the property.
pub(super) fn short_note(name: &str, said: PropertyNotes<'_>, chars: usize) -> String {
    let description = description(said.description);
    if repeats(name, description) {
        return joined(String::new(), said.limits);
    }
    joined(telling_part(&literal::line(description), chars), said.limits)
}

fn repeats(name: &str, description: &str) -> bool {
    const EMPTY: [&str; 10] =
        ["the", "of", "a", "an", "to", "for", "value", "string", "optional", "parameter"];
    let name = name.replace(['_', '-'], "").to_lowercase();
    description.split(|c: char| !c.is_alphanumeric()).all(|word| {
        let word = word.to_lowercase();
        EMPTY.contains(&word.as_str()) || name.contains(&word)
    })
}

fn joined(mut text: String, schema: &Value) -> String {
    let constraints = constraints(schema).join(", ");
    if constraints.is_empty() {
        return text;
    }
    if !text.is_empty() {
        text.push(' ');
    }
    text + "(" + &constraints + ")"
}

pub(super) fn description(schema: &Value) -> &str {
    schema.get("description").and_then(Value::as_str).unwrap_or_default()
}

/// Returns as many whole sentences as fit.
pub(super) fn sentences(text: &str, chars: usize) -> String {
    whole_sentences(&literal::line(text), chars)
}

fn first_sentence(text: &str) -> String {
    let text = text.trim().trim_start_matches('#');
    let paragraph = text.replace("\r\n", "\n");
    let paragraph = paragraph.split("\n\n").next().unwrap_or_default();
    let line = literal::line(paragraph);
    let end = sentence_length(&line).unwrap_or(0);
    line[..end].trim_end().to_owned()
}

/// Returns the constraints of a schema on its values.
pub(super) fn constraints(schema: &Value) -> Vec<String> {
    let Some(keywords) = schema.as_object() else { return Vec::new() };
    let mut said = own_constraints(keywords);
    for list in ["anyOf", "oneOf"].iter().filter_map(|name| keywords.get(*name)?.as_array()) {
        let alternatives = list.iter().take(MAX_ALTERNATIVES).filter_map(Value::as_object);
        let each = alternatives.map(|one| own_constraints(one).join(", "));
        let each: Vec<String> = each.filter(|one| !one.is_empty()).collect();
        said.extend((!each.is_empty()).then(|| each.join(" or ")));
    }
    said
}

/// Returns the only part of a schema that can have constraints besides its own: the one alternative
/// beside `null`, which is the usual way to write an optional value, or the single part.
pub(super) fn only_part(schema: &Value) -> Option<&Value> {
    let is_null = |one: &&Value| one.get("type").and_then(Value::as_str) == Some("null");
    let list = ["anyOf", "oneOf", "allOf"].iter().find_map(|name| schema.get(name)?.as_array())?;
    let mut others = list.iter().filter(|one| !is_null(one));
    others.next().filter(|_| others.next().is_none())
}

fn own_constraints(keywords: &Map<String, Value>) -> Vec<String> {
    let mut said = limits(keywords);
    said.extend(enumeration(keywords));
    if let Some(items) = keywords.get("items").and_then(Value::as_object) {
        let each = limits(items).join(", ");
        said.extend((!each.is_empty()).then(|| format!("each {each}")));
        said.extend(enumeration(items));
    }
    said
}

/// Returns the bounds and formats of a schema.
fn limits(keywords: &Map<String, Value>) -> Vec<String> {
    let mut said = Vec::new();
    said.extend(number_range(keywords));
    let step = keywords.get("multipleOf").filter(|step| step.is_number());
    said.extend(step.map(|step| format!("multiple of {step}")));
    said.extend(range("length", keywords, "minLength", "maxLength"));
    said.extend(range("items", keywords, "minItems", "maxItems"));
    let text = |keyword| keywords.get(keyword).and_then(Value::as_str);
    let format = text("format").filter(|format| !MACHINE_FORMATS.contains(format));
    // A format says in one word what its pattern says.
    match (format.or(text("contentEncoding")), text("pattern")) {
        (Some(format), _) => said.push(literal::line(format)),
        (None, Some(pattern)) if pattern.chars().count() <= MAX_PATTERN => {
            said.push(format!("pattern {}", literal::line(pattern)));
        }
        _ => {}
    }
    said
}

fn number_range(keywords: &Map<String, Value>) -> Option<String> {
    let number = |keyword| {
        let value = keywords.get(keyword)?;
        value.as_f64().filter(|n: &f64| n.abs() < MACHINE_BOUND).map(|_| value.to_string())
    };
    // In draft 4, `exclusiveMinimum` and `exclusiveMaximum` are flags beside the bounds.
    let flag = |keyword| keywords.get(keyword) == Some(&Value::Bool(true));
    let min = match (number("exclusiveMinimum"), number("minimum")) {
        (Some(n), _) => Some(format!(">{n}")),
        (None, Some(n)) if flag("exclusiveMinimum") => Some(format!(">{n}")),
        (None, n) => n.map(|n| format!(">={n}")),
    };
    let max = match (number("exclusiveMaximum"), number("maximum")) {
        (Some(n), _) => Some(format!("<{n}")),
        (None, Some(n)) if flag("exclusiveMaximum") => Some(format!("<{n}")),
        (None, n) => n.map(|n| format!("<={n}")),
    };
    match (min, max) {
        (Some(min), Some(max)) => Some(match (min.strip_prefix(">="), max.strip_prefix("<=")) {
            (Some(min), Some(max)) => format!("{min}..{max}"),
            _ => format!("{min}, {max}"),
        }),
        (min, max) => min.or(max),
    }
}

fn range(what: &str, keywords: &Map<String, Value>, min: &str, max: &str) -> Option<String> {
    let number = |keyword| keywords.get(keyword).and_then(Value::as_u64);
    match (number(min).filter(|n| *n > 0), number(max)) {
        (Some(min), Some(max)) if min == max => Some(format!("{what} {min}")),
        (Some(min), Some(max)) => Some(format!("{what} {min}..{max}")),
        (Some(min), None) => Some(format!("{what} >={min}")),
        (None, Some(max)) => Some(format!("{what} <={max}")),
        (None, None) => None,
    }
}

/// Returns the values of an enumeration that has too many for a type.
fn enumeration(keywords: &Map<String, Value>) -> Option<String> {
    let values = keywords.get("enum")?.as_array()?;
    if values.len() <= MAX_LITERALS {
        return None;
    }
    let values: Vec<String> = values
        .iter()
        .map(|value| value.as_str().map_or_else(|| literal::value(value), literal::line))
        .collect();
    Some(format!("one of: {}", values.join(" | ")))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn said(schema: &Value) -> PropertyNotes<'_> {
        PropertyNotes { description: schema, limits: schema }
    }

    #[test]
    fn a_summary_is_the_first_sentence() {
        assert_eq!(
            summary_line("Reads a file,\n  e.g. a log. Then more."),
            "Reads a file, e.g. a log."
        );
        assert_eq!(summary_line("# Title\n\nText"), "Title");
        assert_eq!(summary_line("version 1.2 of it"), "version 1.2 of it");
        assert_eq!(summary_line(""), "");
        let long = summary_line(&"wörd ".repeat(60));
        assert!(long.chars().count() <= 101 && long.ends_with("wörd…"), "{long}");
        assert_eq!(summary_line(&"x".repeat(300)).chars().count(), 101);
    }

    #[test]
    fn whole_sentences_are_kept_while_they_fit() {
        assert_eq!(sentences("One. Two. Three.", 9), "One. Two.");
        assert_eq!(sentences("One. Two.", 100), "One. Two.");
        assert_eq!(sentences("", 10), "");
    }

    #[test]
    fn a_short_note_does_not_repeat_the_name() {
        let note =
            |name, text| short_note(name, said(&json!({"description": text, "minimum": 1})), 50);
        assert_eq!(note("issue_id", "The ID of the issue."), "(>=1)");
        assert_eq!(note("issue_id", "The ID of the project"), "The ID of the project (>=1)");
    }

    #[test]
    fn a_short_note_keeps_the_unit_rather_than_more_words() {
        let text = "How long to wait for an answer of the server, which may be busy with the work \
                    of others, in milliseconds";
        let note = short_note("timeout", said(&json!({"description": text})), 80);
        assert_eq!(note, "How long to wait for an answer of the server… in milliseconds");
    }

    #[test]
    fn constraints_are_short() {
        let say = |schema: Value| note(said(&schema));
        assert_eq!(say(json!({"description": "N", "minimum": 1, "maximum": 5})), "N (1..5)");
        assert_eq!(say(json!({"exclusiveMinimum": 0, "maximum": 9007199254740991_i64})), "(>0)");
        assert_eq!(say(json!({"minimum": 0, "exclusiveMinimum": true})), "(>0)");
        assert_eq!(say(json!({"minLength": 2, "maxLength": 2})), "(length 2)");
        assert_eq!(say(json!({"format": "uuid", "pattern": "^x"})), "(uuid)");
        assert_eq!(say(json!({"pattern": "^\\d+$"})), "(pattern ^\\d+$)");
        assert_eq!(say(json!({"anyOf": [{"maxItems": 3}, {"type": "null"}]})), "(items <=3)");
        assert_eq!(say(json!({"minimum": "x", "enum": 5, "description": 3})), "");
        for (schema, expected) in [
            (json!({"items": {"format": "email", "maxLength": 9}}), "(each length <=9, email)"),
            (json!({"maxItems": 2, "items": {"minimum": 0}}), "(items <=2, each >=0)"),
            (json!({"minimum": 0, "maximum": 1, "multipleOf": 0.5}), "(0..1, multiple of 0.5)"),
            (json!({"contentEncoding": "base64"}), "(base64)"),
            (
                json!({"oneOf": [{"minimum": 1, "maximum": 9}, {"format": "date"}, {}]}),
                "(1..9 or date)",
            ),
            (json!({"type": "integer", "format": "int64"}), ""),
        ] {
            assert_eq!(say(schema), expected);
        }
        let many: Vec<u32> = (0..21).collect();
        assert!(say(json!({"items": {"enum": many}})).starts_with("(one of: 0 | 1 |"));
    }
}
