//! JSON that stands in a text: behind an introduction, in fences, or line by line.

use serde_json::{Deserializer, Value};

use super::keys;

/// How much may stand around JSON without fences: an introduction and a remark.
const LONGEST_PROSE: usize = 500;
const MOST_LINES: usize = 6;
const LONGEST_INTRODUCTION: usize = 80;

/// How much may stand around fences, if the JSON itself is not longer. With more it is a page
/// that shows JSON, as the documentation of an API does.
const LONGEST_AROUND_FENCES: usize = 1_000;

/// What was found.
#[derive(Debug, PartialEq)]
pub(super) enum Found {
    One(Value),
    Many(Vec<Value>),
    /// Something that is fenced, and no JSON: the text is a page, whatever else is in it.
    Code,
    Nothing,
}

pub(super) fn find(text: &str) -> Found {
    match Fences::of(text) {
        Some(fences) => fences.values().map_or(Found::Code, found),
        None => plain(text).map_or(Found::Nothing, found),
    }
}

fn found(mut values: Vec<Value>) -> Found {
    match values.pop() {
        None => Found::Nothing,
        Some(only) if values.is_empty() => Found::One(only),
        Some(last) => {
            values.push(last);
            Found::Many(values)
        }
    }
}

/// The fenced blocks of a text.
struct Fences<'a> {
    blocks: Vec<(&'a str, &'a str)>,
    /// How long the text around them is.
    around: usize,
    headings: usize,
    closed: bool,
}

impl<'a> Fences<'a> {
    /// None if there is no fence.
    fn of(text: &'a str) -> Option<Self> {
        let mut fences = Self { blocks: Vec::new(), around: 0, headings: 0, closed: true };
        let mut open: Option<(&str, &str, usize)> = None;
        let mut at = 0;
        for line in text.split_inclusive('\n') {
            let start = at;
            at += line.len();
            let mark = mark(line);
            match (open, mark) {
                (None, Some((mark, info))) => open = Some((mark, info, at)),
                (None, None) => {
                    fences.around += line.trim().len();
                    fences.headings += usize::from(line.starts_with('#'));
                }
                (Some((opened, info, body)), Some((mark, ""))) if mark.starts_with(opened) => {
                    fences.blocks.push((info, &text[body..start]));
                    open = None;
                }
                (Some(_), _) => {}
            }
        }
        fences.closed = open.is_none();
        (!fences.blocks.is_empty() || !fences.closed).then_some(fences)
    }

    /// Their values, if all of them are JSON, and the text is about them.
    fn values(&self) -> Option<Vec<Value>> {
        let length: usize = self.blocks.iter().map(|(_, body)| body.len()).sum();
        let is_page = self.around > length.max(LONGEST_AROUND_FENCES)
            || self.headings > self.blocks.len()
            || !self.closed;
        if is_page {
            return None;
        }
        self.blocks.iter().map(|(info, body)| fenced(info, body)).collect()
    }
}

/// The mark that opens or closes a fence, and what is written behind it.
fn mark(line: &str) -> Option<(&str, &str)> {
    let line = line.trim();
    let mark = line.chars().next().filter(|c| matches!(c, '`' | '~'))?;
    let length = line.len() - line.trim_start_matches(mark).len();
    (length >= 3).then(|| (&line[..length], line[length..].trim()))
}

fn fenced(info: &str, body: &str) -> Option<Value> {
    let language = info.split_whitespace().next().unwrap_or_default();
    if !language.is_empty() && !language.eq_ignore_ascii_case("json") {
        return None;
    }
    serde_json::from_str(body).ok().filter(|value: &Value| value.is_object() || value.is_array())
}

/// The values of a text without fences.
fn plain(text: &str) -> Option<Vec<Value>> {
    let text = text.trim();
    let (before, values, after) = starts(text).find_map(|at| {
        let (before, rest) = text.split_at(at);
        sequence(rest).map(|(values, after)| (before, values, after))
    })?;
    is_about(before, &values, after).then_some(values)
}

/// Where JSON may begin: at the start of one of the first lines, or in the first line behind a
/// colon. These are few, so that a text full of brackets is not read again and again.
fn starts(text: &str) -> impl Iterator<Item = usize> {
    let mut at = 0;
    let lines = text.split_inclusive('\n').map(move |line| {
        at += line.len();
        (at - line.len(), line)
    });
    let lines = lines.filter(|(_, line)| !line.trim().is_empty()).take(MOST_LINES);
    lines.take_while(|(at, _)| *at <= LONGEST_PROSE).filter_map(|(at, line)| {
        if line.starts_with(['{', '[']) {
            return Some(at);
        }
        let colon = line.find(": {").or_else(|| line.find(": ["));
        colon.filter(|colon| at == 0 && introduces(&line[..*colon])).map(|colon| colon + 2)
    })
}

/// `Result`, `Here are the issues`; but not `Error`, nor `10:30 worker: got`.
fn introduces(words: &str) -> bool {
    words.len() <= LONGEST_INTRODUCTION && !words.contains(':') && !keys::is_remark(words)
}

/// The objects and lists that follow each other, each from the start of a line to the end of one,
/// and what stands behind them.
fn sequence(text: &str) -> Option<(Vec<Value>, &str)> {
    let mut values = Vec::new();
    let mut rest = text;
    loop {
        let mut stream = Deserializer::from_str(rest).into_iter::<Value>();
        values.push(stream.next()?.ok()?);
        rest = &rest[stream.byte_offset()..];
        let line_end = rest.find('\n').unwrap_or(rest.len());
        if !rest[..line_end].trim().is_empty() {
            return None;
        }
        rest = rest.trim_start();
        if !rest.starts_with(['{', '[']) {
            return Some((values, rest));
        }
    }
}

/// Whether a text has those values to tell, and not only mentions them.
fn is_about(before: &str, values: &[Value], after: &str) -> bool {
    let is_short = after.len() <= LONGEST_PROSE
        && after.lines().count() <= MOST_LINES
        && after.lines().all(|line| !line.starts_with(['{', '[']));
    let is_within_line = !before.is_empty() && !before.ends_with('\n');
    let has_objects = values.iter().all(|value| match value {
        Value::Object(fields) => !fields.is_empty(),
        Value::Array(items) => items.iter().any(Value::is_object),
        _ => false,
    });
    if has_objects {
        return is_short && (after.is_empty() || !is_within_line);
    }
    // Brackets with words or nothing in them are common in prose.
    let before = before.trim_end();
    after.is_empty() && values.len() == 1 && (before.is_empty() || before.ends_with(':'))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn json_with_something_around_it() {
        for (text, value) in [
            ("Found 2 issues:\n[{\"a\": 1}, {\"a\": 2}]", json!([{"a": 1}, {"a": 2}])),
            ("Result: {\"a\": 1}", json!({"a": 1})),
            ("Found 0 issues:\n[]", json!([])),
            ("Tags:\n[\"x\"]", json!(["x"])),
            ("{\n  \"a\": {\"b\": \"}\"}\n}\n\nShowing 1 of 1.", json!({"a": {"b": "}"}})),
            ("Status: 200\nType: JSON\n\n{\"a\": 1}", json!({"a": 1})),
            ("Here it is:\n\n```json\n{\"a\": 1}\n```\nThat is all.", json!({"a": 1})),
            ("```\n[1]\n```", json!([1])),
            ("~~~ JSON\r\n{\"a\": \"```\"}\r\n~~~\r\n", json!({"a": "```"})),
        ] {
            assert_eq!(find(text), Found::One(value), "{text}");
        }
    }

    #[test]
    fn several_values_are_a_list() {
        let values = || Found::Many(vec![json!({"a": 1}), json!({"a": 2})]);
        for text in [
            "{\"a\": 1}\n{\"a\": 2}\n",
            "Two:\n{\"a\": 1}\n\n{\n\"a\": 2\n}",
            "One:\n```json\n{\"a\": 1}\n```\nTwo:\n```json\n{\"a\": 2}\n```",
        ] {
            assert_eq!(find(text), values(), "{text}");
        }
    }

    #[test]
    fn what_is_no_json() {
        for text in [
            "",
            "[FILE] a.txt\n[DIR] b",
            "[1] A reference\n[2] Another",
            "[1]: a note",
            "See [1]",
            "Everything is fine []",
            "{'id': 1}",
            "[{'id': 1}]",
            "{not json}",
            "Error: {\"code\": 404}",
            "10:30 worker: got {\"a\": 1}",
            "const x = {\"a\": 1};",
            "Options: {\"a\": 1}, {\"b\": 2}",
            "Name: x\nMeta: {\"a\": 1}\nSize: 3",
            "{\"a\": 1}\nthen\n{\"a\": 2}",
            "{\"a\": 1",
            "[[[[[[[[",
        ] {
            assert_eq!(find(text), Found::Nothing, "{text}");
        }
    }

    #[test]
    fn what_shows_code_is_a_page() {
        let page = format!("# API\n\n{}\n```json\n{{\"a\": 1}}\n```", "Many words. ".repeat(100));
        for text in [
            "```python\n{\"a\": 1}\n```",
            "```json\n{\"a\": 1}\n```\n```sh\nls\n```",
            "```json\n{\"a\": ...}\n```",
            "```json\n{\"a\": 1}",
            "```diff\n-{}\n+{\"a\": 1}\n```",
            "# A\n```json\n{\"a\": 1}\n```\n# B",
            &page,
        ] {
            assert_eq!(find(text), Found::Code, "{text}");
        }
    }

    #[test]
    fn prose_of_any_length_may_follow_a_long_value_in_a_fence() {
        let items: Vec<Value> = (0..200).map(|n| json!({"number": n})).collect();
        let text = format!("{}\n```json\n{}\n```", "Words. ".repeat(200), json!(items));
        assert_eq!(find(&text), Found::One(json!(items)));
    }
}
