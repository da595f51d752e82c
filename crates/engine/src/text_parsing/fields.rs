//! Reads `key: value` lines as a list of records.
//!
//! Records are separated by empty lines, by rules, or by their first key. One record is a list of one,
//! so that the type does not depend on the number of records.

use std::collections::HashSet;

use serde_json::Value;

use super::{around, cells, keys};

/// The least keys that one of the records must have; fewer are a remark or a conversation. The keys of
/// all records together do not count, because they grow with the number of records.
const MIN_KEYS: usize = 3;
/// The least keys of every record, since not every record has every field.
const MIN_KEYS_OF_A_RECORD: usize = 2;
/// The least keys of records without anything between them: two lines by turns are more often a
/// conversation.
const MIN_KEYS_IN_A_ROW: usize = 3;
/// A value with so many words that ends like a sentence is a sentence.
const WORDS_OF_A_SENTENCE: usize = 8;

/// A key and its value.
type Pair<'a> = (&'a str, &'a str);

pub(super) fn find(text: &str) -> Option<Value> {
    let text = text.trim();
    find_below("", text).or_else(|| {
        let (label, lines) = text.split_once('\n')?;
        find_below(label, lines)
    })
}

/// Reads the records in lines, which may stand below a label.
fn find_below(label: &str, lines: &str) -> Option<Value> {
    let blocks = blocks(lines)?;
    let all: Vec<Pair<'_>> = blocks.concat();
    let keys: HashSet<&str> = all.iter().map(|(key, _)| *key).collect();
    if keys.len() < MIN_KEYS || !are_values(&blocks) {
        return None;
    }
    let is_one = keys.len() == all.len();
    let records = if is_one { vec![all.as_slice()] } else { records(&blocks, &all)? };
    if records.iter().all(|record| record.len() < MIN_KEYS) {
        return None;
    }
    let is_all = label.is_empty() || around::is_label(label, Some(records.len()));
    let list = || cells::records(&records).into_iter().map(Value::Object).collect();
    is_all.then(|| Value::Array(list()))
}

/// Splits lines into blocks of pairs, at empty lines and rules. `None` if any line is not a pair.
fn blocks(lines: &str) -> Option<Vec<Vec<Pair<'_>>>> {
    let mut blocks = Vec::new();
    let mut block = Vec::new();
    let mut bullets = None;
    let mut seen = HashSet::new();
    for line in lines.lines() {
        if is_parting(line) {
            if !block.is_empty() {
                blocks.push(std::mem::take(&mut block));
            }
            continue;
        }
        let (bullet, line) = without_bullet(line);
        // Either all lines have bullets, or none.
        if *bullets.get_or_insert(bullet) != bullet {
            return None;
        }
        let (key, value) = pair(line)?;
        if seen.insert(key) && !keys::is_key(key) {
            return None;
        }
        block.push((key, value));
    }
    if !block.is_empty() {
        blocks.push(block);
    }
    Some(blocks)
}

fn is_parting(line: &str) -> bool {
    let line = line.trim();
    let is_rule = |mark: u8| line.len() >= 3 && line.bytes().all(|byte| byte == mark);
    line.is_empty() || is_rule(b'-') || is_rule(b'=') || is_rule(b'*') || is_rule(b'_')
}

fn without_bullet(line: &str) -> (Option<char>, &str) {
    let mark = line.chars().next().filter(|c| matches!(c, '-' | '*' | '•'));
    let rest = mark.and_then(|mark| line.strip_prefix(mark)?.strip_prefix(' '));
    rest.map_or((None, line), |rest| (mark, rest))
}

/// Reads `Key: value`, `**Key:** value` or `**Key**: value`. A key without a value needs a space behind
/// it, as templates leave it there; `Key:` alone is a heading.
fn pair(line: &str) -> Option<Pair<'_>> {
    let bold = line.strip_prefix("**").and_then(|line| line.split_once("**"));
    let (key, value) = match bold {
        Some((key, value)) => match key.strip_suffix(':') {
            Some(key) => (key, value),
            None => (key, value.strip_prefix(':')?),
        },
        None => line.split_once(':')?,
    };
    value.starts_with([' ', '\t']).then(|| (key.trim_end(), value.trim()))
}

/// Tells whether the right sides are values, and not lines of a program, of nested data or of prose.
fn are_values(blocks: &[Vec<Pair<'_>>]) -> bool {
    let values = || blocks.iter().flatten().map(|(_, value)| *value);
    let is_opening = |value: &str| {
        value.ends_with('{') || matches!(value, "[" | "(" | "|" | ">" | "|-" | ">-" | "|+" | ">+")
    };
    // Comments, anchors and tags of YAML, and marks of omitted code.
    let is_foreign = |value: &str| {
        let is_marked = |mark| {
            value
                .strip_prefix(mark)
                .is_some_and(|rest: &str| rest.starts_with(|c: char| c.is_alphanumeric()))
        };
        let is_comment = value.starts_with("# ") || value.contains(" # ");
        is_comment || is_marked('&') || is_marked('*') || is_marked('!') || value == "..."
    };
    let is_sentence = |value: &str| {
        value.ends_with(['.', '!', '?'])
            && value.split_whitespace().nth(WORDS_OF_A_SENTENCE - 1).is_some()
    };
    let sentences = values().filter(|value| is_sentence(value)).count();
    values().any(|value| !value.is_empty())
        && !values().any(|value| is_opening(value) || is_foreign(value))
        && !values().all(|value| value.ends_with([';', ',']))
        && sentences * 2 <= values().count()
}

fn are_unique(pairs: &[Pair<'_>]) -> bool {
    let mut keys = HashSet::with_capacity(pairs.len());
    pairs.iter().all(|(key, _)| keys.insert(*key))
}

/// Returns the records of a text in which keys recur. All of them begin with the same key.
fn records<'b, 'a>(
    blocks: &'b [Vec<Pair<'a>>],
    all: &'b [Pair<'a>],
) -> Option<Vec<&'b [Pair<'a>]>> {
    let (first, _) = *all.first()?;
    let records: Vec<&[Pair<'a>]> = if blocks.len() > 1 {
        blocks.iter().map(Vec::as_slice).collect()
    } else {
        all.chunk_by(|_, (key, _)| *key != first).collect()
    };
    let fewest = if blocks.len() > 1 { MIN_KEYS_OF_A_RECORD } else { MIN_KEYS_IN_A_ROW };
    let are_records = records
        .iter()
        .all(|record| record.len() >= fewest && record[0].0 == first && are_unique(record));
    are_records.then_some(records)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used)]
    use serde_json::json;

    use super::*;

    #[test]
    fn one_record_is_a_list_too() {
        let value = json!([{"Name": "a b", "Size": 3, "Url": "https://x.example/y?z=1: 2"}]);
        for text in [
            "Name: a b\nSize: 3\nUrl: https://x.example/y?z=1: 2",
            "# File\n\nName: a b\nSize:\t3\n\nUrl: https://x.example/y?z=1: 2\n",
            "File:\r\n- Name: a b\r\n- Size: 3\r\n- Url: https://x.example/y?z=1: 2\r\n",
            "* **Name:** a b\n* **Size**: 3\n* **Url:** https://x.example/y?z=1: 2",
        ] {
            assert_eq!(find(text), Some(value.clone()), "{text}");
        }
        assert_eq!(find("a: 1\nb: \nc: true").unwrap(), json!([{"a": 1, "b": null, "c": true}]));
    }

    #[test]
    fn many_records() {
        let value = json!([{"Id": 1, "Tag": "1.9", "Ok": true}, {"Id": 2, "Tag": "1.10"}]);
        for text in [
            "Id: 1\nTag: 1.9\nOk: true\n\nId: 2\nTag: 1.10",
            "Tags:\nId: 1\nTag: 1.9\nOk: true\n---\nId: 2\nTag: 1.10\n---\n",
            "2 tags:\nId: 1\nTag: 1.9\nOk: true\n---\nId: 2\nTag: 1.10\n---\n",
        ] {
            assert_eq!(find(text), Some(value.clone()), "{text}");
        }
        assert_eq!(
            find("A: x\nB: 1\nC: p\nA: y\nB: 2\nC: q\nD: 3").unwrap(),
            json!([{"A": "x", "B": 1, "C": "p"}, {"A": "y", "B": 2, "C": "q", "D": 3}])
        );
    }

    /// The type does not depend on the number of rows: a tool's text is always a list or always a text.
    #[test]
    fn the_number_of_records_changes_no_type() {
        for record in ["a: x\nb: y\nc: z", "a: 1\nb: 2", "**A:** 1\n**B:** 2.50\n**C:** y"] {
            let type_of = |records: usize| {
                let text = vec![record; records].join("\n\n");
                find(&text).map(|list| list[0].clone())
            };
            assert_eq!(type_of(1), type_of(2), "{record}");
            assert_eq!(type_of(1), type_of(30), "{record}");
        }
    }

    /// Records of two fields, of which the second is another one by turns, are a text however many
    /// there are.
    #[test]
    fn what_all_records_have_together_changes_no_type() {
        let records = ["a: x\nb: y", "a: x\nc: y", "a: x\nd: y"];
        for count in 1..=3 {
            assert_eq!(find(&records[..count].join("\n\n")), None, "{count}");
        }
    }

    #[test]
    fn what_are_no_fields() {
        for text in [
            "",
            "Echo: hello",
            "Heading:\na: 1\nb: 2",
            "a: 1\nb: 2",
            "3 tags:\nId: 1\nTag: 1.9\nOk: true",
            "Error:\nId: 1\nTag: 1.9\nOk: true",
            "INFO: started\nINFO: listening",
            "Error: no such file\nPath: /x\nCode: 2",
            "Note: this\nBut: that",
            "12:30: standup\n13:00: lunch",
            "https://a.example\nhttps://b.example",
            "Alice: hi\nBob: hello\nAlice: how are you\nBob: fine",
            "server:\n  port: 80\n  host: x",
            "name: x\nitems:\n- a: 1\n- a: 2",
            "name: x\ntext: |\n  more",
            "name: x\ndata: {",
            "name: x # a comment\nsize: 3",
            "name: &anchor x\nother: *anchor",
            "try: ...\nexcept Exception: ...",
            "color: red;\nmargin: 0;",
            "a: 1,\nb: 2,",
            "- feat: one\n- fix: two\n- test: three",
            "- a: 1\nb: 2\nc: 3",
            "a: 1\nb: 2\na: 3\nb: 4",
            "a: 1\n\nb: 2\n\na: 3",
            "The plan: go\nThe way: long\nThe end: near",
            "Name: a\nSize: 3\nand more",
            "Tonight:\nTemperature: 45\nWind: 5 mph\n---\nMonday:\nTemperature: 40\nWind: 3 mph",
            "Summary: This is a rather long text that says a lot.\n\
             Conclusion: And this is what follows from all of that.",
        ] {
            assert_eq!(find(text), None, "{text}");
        }
    }
}
