//! Finds JSON in a text: behind a label, in a fence, or line by line; also as Python writes it.

use serde_json::{Deserializer, Value};

use super::{around, keys, python};

/// The part of a text in which JSON without fences may begin.
const MAX_PROSE_LEN: usize = 500;
const MAX_LINES: usize = 6;
const MAX_INTRODUCTION_LEN: usize = 80;

/// The result of looking for JSON in a text.
#[derive(Debug, PartialEq)]
pub(super) enum FoundJson {
    One(Value),
    Many(Vec<Value>),
    /// A fenced block that is not JSON: the text is a page, whatever else is in it.
    Code,
    Nothing,
}

pub(super) fn find(text: &str) -> FoundJson {
    match Fences::of(text) {
        Some(fences) => fences.values().map_or(FoundJson::Code, found),
        None => plain(text).map_or(FoundJson::Nothing, found),
    }
}

fn found(mut values: Vec<Value>) -> FoundJson {
    match values.pop() {
        None => FoundJson::Nothing,
        Some(only) if values.is_empty() => FoundJson::One(only),
        Some(last) => {
            values.push(last);
            FoundJson::Many(values)
        }
    }
}

/// The fenced blocks of a text.
struct Fences<'a> {
    blocks: Vec<(&'a str, &'a str)>,
    before: &'a str,
    /// Whether there is text between two of them.
    between: bool,
    after: &'a str,
    closed: bool,
}

impl<'a> Fences<'a> {
    /// Finds the fences of a text; `None` if there are none.
    fn of(text: &'a str) -> Option<Self> {
        let mut fences =
            Self { blocks: Vec::new(), before: "", between: false, after: "", closed: true };
        let mut open: Option<(&str, &str, usize)> = None;
        let (mut at, mut ended) = (0, 0);
        for line in text.split_inclusive('\n') {
            let start = at;
            at += line.len();
            match (open, mark(line)) {
                (None, Some((mark, info))) => {
                    let beside = &text[ended..start];
                    if fences.blocks.is_empty() {
                        fences.before = beside;
                    } else {
                        fences.between |= !beside.trim().is_empty();
                    }
                    open = Some((mark, info, at));
                }
                (Some((opened, info, body)), Some((mark, ""))) if mark.starts_with(opened) => {
                    fences.blocks.push((info, &text[body..start]));
                    (open, ended) = (None, at);
                }
                _ => {}
            }
        }
        fences.closed = open.is_none();
        fences.after = &text[ended..];
        (!fences.blocks.is_empty() || !fences.closed).then_some(fences)
    }

    /// Returns the values of the blocks, if all are JSON and there is nothing else to read.
    fn values(&self) -> Option<Vec<Value>> {
        if !self.closed || self.between {
            return None;
        }
        let values: Vec<Value> =
            self.blocks.iter().map(|(info, body)| fenced(info, body)).collect::<Option<_>>()?;
        around::says_no_more(self.before, self.after, rows(&values)).then_some(values)
    }
}

/// Returns the number of rows, if the values are a list.
fn rows(values: &[Value]) -> Option<usize> {
    match values {
        [Value::Array(items)] => Some(items.len()),
        [_] => None,
        several => Some(several.len()),
    }
}

/// Returns the mark that opens or closes a fence, and the text behind it.
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

/// Returns the values in a text without fences.
fn plain(text: &str) -> Option<Vec<Value>> {
    let text = text.trim();
    let (before, values, after) = starts(text).find_map(|at| {
        let (before, rest) = text.split_at(at);
        let found = sequence(rest).or_else(|| written_by_python(rest));
        found.map(|(values, after)| (before, values, after))
    })?;
    is_about(before, &values, after).then_some(values)
}

/// Returns the places at which JSON may begin: the start of one of the first lines, or in the first
/// line behind a colon. They are few, so that a text full of brackets is not parsed again and again.
fn starts(text: &str) -> impl Iterator<Item = usize> {
    let mut at = 0;
    let lines = text.split_inclusive('\n').map(move |line| {
        at += line.len();
        (at - line.len(), line)
    });
    let lines = lines.filter(|(_, line)| !line.trim().is_empty()).take(MAX_LINES);
    lines.take_while(|(at, _)| *at <= MAX_PROSE_LEN).filter_map(|(at, line)| {
        if line.starts_with(['{', '[']) {
            return Some(at);
        }
        let colon = line.find(": {").or_else(|| line.find(": ["));
        colon.filter(|colon| at == 0 && introduces(&line[..*colon])).map(|colon| colon + 2)
    })
}

/// Tells whether words introduce a value: `Result`, `Here are the issues`; but not `Error`, nor `10:30
/// worker: got`.
fn introduces(words: &str) -> bool {
    words.len() <= MAX_INTRODUCTION_LEN && !words.contains(':') && !keys::is_remark(words)
}

/// Reads objects and lists that follow each other, each from the start of a line to the end of one.
/// Also returns the text behind them.
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

/// Reads a list or dict as Python writes it, up to the end of its line. Also returns the text behind
/// it.
fn written_by_python(text: &str) -> Option<(Vec<Value>, &str)> {
    let (value, after) = python::literal(text)?;
    let line_end = after.find('\n').unwrap_or(after.len());
    after[..line_end].trim().is_empty().then(|| (vec![value], after.trim_start()))
}

/// Tells whether a text consists of these values and does not only mention them.
fn is_about(before: &str, values: &[Value], after: &str) -> bool {
    if !around::says_no_more(before, after, rows(values)) {
        return false;
    }
    let has_objects = values.iter().all(|value| match value {
        Value::Object(fields) => !fields.is_empty(),
        Value::Array(items) => items.iter().any(Value::is_object),
        _ => false,
    });
    if has_objects {
        return true;
    }
    // Brackets with words or nothing in them are common in prose, so more evidence is needed.
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
            ("{\n  \"a\": {\"b\": \"}\"}\n}\n", json!({"a": {"b": "}"}})),
            ("[{\"a\": 1}]\n\nShowing 1 of 1.", json!([{"a": 1}])),
            ("Here it is:\n\n```json\n{\"a\": 1}\n```\n", json!({"a": 1})),
            ("```\n[1]\n```", json!([1])),
            ("~~~ JSON\r\n{\"a\": \"```\"}\r\n~~~\r\n", json!({"a": "```"})),
        ] {
            assert_eq!(find(text), FoundJson::One(value), "{text}");
        }
    }

    #[test]
    fn several_values_are_a_list() {
        let values = || FoundJson::Many(vec![json!({"a": 1}), json!({"a": 2})]);
        for text in [
            "{\"a\": 1}\n{\"a\": 2}\n",
            "Two:\n{\"a\": 1}\n\n{\n\"a\": 2\n}",
            "```json\n{\"a\": 1}\n```\n\n```json\n{\"a\": 2}\n```",
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
            "{'id': 1} and more",
            "{\"a\": 1}\n\nShowing 1 of 1.",
            "[{\"a\": 1}]\n\nShowing 1 of 30.",
            "[{\"a\": 1}]\nMore is at page 2.",
            "Found 30 issues:\n[{\"a\": 1}]",
            "Status: 200\nType: JSON\n\n{\"a\": 1}",
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
            assert_eq!(find(text), FoundJson::Nothing, "{text}");
        }
    }

    #[test]
    fn what_python_writes_is_read_like_json() {
        for (text, value) in [
            ("{'id': 1}", json!({"id": 1})),
            ("[{'id': 1, 'ok': None}]\n", json!([{"id": 1, "ok": null}])),
            ("Rows:\n[{'id': 1}, {'id': 2}]\n(2 rows)", json!([{"id": 1}, {"id": 2}])),
            ("Tables: ['a', 'b']", json!(["a", "b"])),
        ] {
            assert_eq!(find(text), FoundJson::One(value), "{text}");
        }
    }

    #[test]
    fn what_shows_code_is_a_page() {
        for text in [
            "```python\n{\"a\": 1}\n```",
            "```json\n{\"a\": 1}\n```\n```sh\nls\n```",
            "```json\n{\"a\": ...}\n```",
            "```json\n{\"a\": 1}",
            "```diff\n-{}\n+{\"a\": 1}\n```",
            "# A\n```json\n{\"a\": 1}\n```\n# B",
            "# API\n\nMany words.\n```json\n{\"a\": 1}\n```",
            "```json\n{\"a\": 1}\n```\nThat is all.",
            "One:\n```json\n{\"a\": 1}\n```\nTwo:\n```json\n{\"a\": 2}\n```",
        ] {
            assert_eq!(find(text), FoundJson::Code, "{text}");
        }
    }
}
