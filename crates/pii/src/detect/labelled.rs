//! Values that are told by their label: `password=…`, `"api_key": "…"`, `first_name: …`.

use std::ops::Range;

use memchr::memchr;

use super::{
    Sink, address, person,
    secret::{Body, entropy},
};
use crate::{
    context::{Around, Text},
    kind::Builtin,
    lexicon::{Cues, Hit, Word},
};

const MAX_LABEL_LEN: usize = 48;
const MAX_VALUE_LEN: usize = 512;
const MAX_PLACEHOLDER_LEN: usize = 64;

/// A value with what its label says.
pub(super) struct Labelled<'t> {
    pub(super) text: &'t str,
    pub(super) range: Range<usize>,
    pub(super) around: Around,
    /// Quotes say where it ends; without them only the next space does.
    pub(super) quoted: bool,
    /// The label is a key of JSON or of a dict, in the text or around it: `"key": "value"`.
    pub(super) keyed: bool,
}

impl<'t> Labelled<'t> {
    pub(super) fn value(&self) -> &'t str {
        &self.text[self.range.clone()]
    }
}

pub(super) fn find(text: &Text<'_>, found: &mut Sink<'_>) {
    if let Some(around) = text.key.filter(|_| text.str.len() <= MAX_VALUE_LEN) {
        let trimmed = text.str.trim();
        let start = text.str.len() - text.str.trim_start().len();
        let range = start..start + trimmed.len();
        judge(text, &Labelled { text: text.str, range, around, quoted: true, keyed: true }, found);
    }
    let mut done = 0;
    for hit in &text.hits {
        let Word::Cue(cues) = hit.word else { continue };
        if hit.start < done {
            continue;
        }
        if cues.any(Cues::BEARER)
            && let Some(range) = bearer(text.str, hit.end)
        {
            found(Builtin::ApiKey, range);
        }
        if !cues.any(Cues::OF_LABELS) {
            continue;
        }
        if let Some((label_end, labelled)) = after_label(text, hit) {
            done = label_end;
            judge(text, &labelled, found);
        }
    }
}

fn judge(text: &Text<'_>, labelled: &Labelled<'_>, found: &mut Sink<'_>) {
    let telling = labelled.around.says(Cues::OF_LABELS) && !labelled.range.is_empty();
    if !telling || is_placeholder(labelled.value()) {
        return;
    }
    if is_secret(labelled) {
        found(Builtin::ApiKey, labelled.range.clone());
    }
    if let Some(range) = person::by_label(labelled, text) {
        found(Builtin::Person, range);
    }
    if let Some(range) = address::by_label(labelled) {
        found(Builtin::Address, range);
    }
}

/// Returns the value after the label that this word is in, and where the label ends.
fn after_label<'t>(text: &Text<'t>, hit: &Hit) -> Option<(usize, Labelled<'t>)> {
    let bytes = text.bytes;
    let in_label = |b: &u8| b.is_ascii_alphanumeric() || b"_-.".contains(b);
    let start = hit.start
        - bytes[..hit.start].iter().rev().take(MAX_LABEL_LEN).take_while(|b| in_label(b)).count();
    let mut end =
        hit.end + bytes[hit.end..].iter().take(MAX_LABEL_LEN).take_while(|b| in_label(b)).count();
    let label_end = end;
    end += bytes[end..].iter().take(4).take_while(|b| b" \t\"'\\`])*".contains(b)).count();
    let sign = bytes[end..].iter().take(3).take_while(|b| b":=>".contains(b)).count();
    if sign == 0 {
        return None;
    }
    end += sign;
    end += bytes[end..].iter().take(4).take_while(|b| b" \t*".contains(b)).count();
    let quote = bytes[end..].iter().take(3).take_while(|b| b"\\\"'`".contains(b)).count();
    let escaped = quote > 0 && bytes[end] == b'\\';
    let value = end + quote;
    let window = &bytes[value..bytes.len().min(value + MAX_VALUE_LEN)];
    let line = &window[..memchr(b'\n', window).unwrap_or(window.len())];
    let length = if quote > 0 {
        quoted_length(line, bytes[value - 1], escaped)?
    } else {
        line.iter().position(|b| b" \t\r,;&)}]|\"'<>`\\".contains(b)).unwrap_or(line.len())
    };
    let around = text.sum(start..label_end, true);
    let range = value..value + length;
    text.str.get(range.clone())?;
    let quoted = quote > 0;
    let keyed = quoted && start > 0 && b"\"'".contains(&bytes[start - 1]);
    Some((label_end, Labelled { text: text.str, range, around, quoted, keyed }))
}

/// Returns how long a quoted value is. Without its closing quote it is none: it is cut off, or there
/// was no quote.
fn quoted_length(line: &[u8], quote: u8, escaped: bool) -> Option<usize> {
    let mut at = 0;
    loop {
        at += memchr(quote, &line[at..])?;
        let slashes = line[..at].iter().rev().take_while(|b| **b == b'\\').count();
        match (escaped, slashes) {
            (false, slashes) if slashes % 2 == 0 => return Some(at),
            (true, 1) => return Some(at - 1),
            _ => at += 1,
        }
    }
}

fn is_secret(labelled: &Labelled<'_>) -> bool {
    let value = labelled.value();
    let around = labelled.around;
    if value.contains(char::is_whitespace) || around.says(Cues::PAGING) || is_code(value) {
        return false;
    }
    if around.nearest.any(Cues::PASSWORD) {
        return is_password(value, labelled);
    }
    let drawn = |min: usize, bits: f64| {
        value.len() >= min
            && value.bytes().all(|b| Body::Any.holds(b) || b"!@#$%^&*:".contains(&b))
            && value.bytes().any(|b| b.is_ascii_digit())
            && value.bytes().any(|b| b.is_ascii_alphabetic())
            && entropy(value.as_bytes()) >= bits
    };
    if around.nearest.any(Cues::SECRET) {
        return if labelled.quoted { drawn(10, 2.8) } else { drawn(16, 3.0) };
    }
    around.says(Cues::PROVIDER)
        && !around.nearest.any(Cues::COUNT | Cues::PLAIN)
        && (15..=80).contains(&value.len())
        && value.bytes().all(|b| Body::Word.holds(b))
        && !is_checksum(value)
        && drawn(15, 3.0)
}

/// Tells whether a value may be a password. Under a key anything but a common word may be one;
/// elsewhere it takes a digit or a sign.
fn is_password(value: &str, labelled: &Labelled<'_>) -> bool {
    let mixed = value.bytes().any(|b| b.is_ascii_digit())
        || value.bytes().any(|b| b"!@#$%^&*?~+".contains(&b));
    (4..=128).contains(&value.len()) && (labelled.keyed || mixed)
}

/// Tells whether a value is a commit or a UUID: beside the name of a service it is an id of something.
fn is_checksum(value: &str) -> bool {
    let hex = value.bytes().all(|b| b.is_ascii_hexdigit() || b == b'-');
    hex && (value.len() == 40 || value.contains('-'))
}

/// Tells whether a value is what stands in programs where it comes from elsewhere, or the address of a
/// page.
fn is_code(value: &str) -> bool {
    value.contains(['(', '<', '{', '['])
        || value.starts_with(['$', '%', '/', '.'])
        || value.contains("://")
        || value.starts_with("arn:")
        || value.contains("environ")
        || value.contains("process.env")
}

/// Tells whether a value is a word that shows where one goes.
pub(super) fn is_placeholder(value: &str) -> bool {
    const WHOLE: [&str; 24] = [
        "string",
        "str",
        "text",
        "number",
        "integer",
        "boolean",
        "object",
        "array",
        "null",
        "none",
        "nil",
        "true",
        "false",
        "undefined",
        "unknown",
        "required",
        "optional",
        "password",
        "pass",
        "passwd",
        "secret",
        "token",
        "pwd",
        "anonymous",
    ];
    const PARTS: [&str; 9] =
        ["your", "example", "placeholder", "xxxx", "****", "...", "redacted", "changeme", "<"];
    if value.len() > MAX_PLACEHOLDER_LEN {
        return false;
    }
    let lower = value.to_ascii_lowercase();
    WHOLE.contains(&lower.as_str())
        || (!lower.contains('@') && PARTS.iter().any(|part| lower.contains(part)))
        || lower.bytes().all(|b| b == b'*' || b == b'x' || b == b'.')
}

/// Returns what follows `Bearer` or `Authorization: Basic`.
fn bearer(text: &str, end: usize) -> Option<Range<usize>> {
    let bytes = text.as_bytes();
    let gap = bytes[end..].iter().take(2).take_while(|b| **b == b' ').count();
    let start = end + gap;
    let length = bytes[start..].iter().take_while(|b| Body::Any.holds(**b)).count();
    let value = &bytes[start..start + length];
    let drawn = gap > 0
        && length >= 12
        && value.iter().any(u8::is_ascii_digit)
        && value.iter().any(u8::is_ascii_alphabetic)
        && entropy(value) >= 2.8
        && !is_placeholder(&text[start..start + length]);
    drawn.then_some(start..start + length)
}
