//! Writes nested values that are not split into columns as JSON text, or skips them.

use super::number;
use crate::ingest::memory_budget::Budget;
use crate::{
    flaw::{Flaw, Result},
    reader::{Reader, Token},
};

/// The deepest nesting. Stops data from overflowing the stack.
const MAX_DEPTH: usize = 128;

/// Decodes a key. Keys are UTF-8, except where Python wrote something else.
pub(in crate::ingest) fn key_text(key: &[u8]) -> String {
    String::from_utf8_lossy(key).into_owned()
}

/// Writes the rest of a list as JSON.
pub(in crate::ingest) fn list_json<R: Reader>(
    reader: &mut R,
    budget: &mut Budget,
    out: &mut Vec<u8>,
    depth: usize,
) -> Result<()> {
    out.push(b'[');
    let mut first = true;
    while reader.element()? {
        if !std::mem::take(&mut first) {
            out.push(b',');
        }
        value_json(reader, budget, out, depth)?;
    }
    out.push(b']');
    Ok(())
}

/// Writes the rest of an object as JSON.
pub(in crate::ingest) fn object_json<R: Reader>(
    reader: &mut R,
    budget: &mut Budget,
    out: &mut Vec<u8>,
    depth: usize,
) -> Result<()> {
    out.push(b'{');
    let mut first = true;
    while let Some(key) = reader.key()? {
        if !std::mem::take(&mut first) {
            out.push(b',');
        }
        text_json(&String::from_utf8_lossy(key), out);
        out.push(b':');
        value_json(reader, budget, out, depth)?;
    }
    out.push(b'}');
    Ok(())
}

fn value_json<R: Reader>(
    reader: &mut R,
    budget: &mut Budget,
    out: &mut Vec<u8>,
    depth: usize,
) -> Result<()> {
    budget.spend(1)?;
    let before = out.len();
    match reader.value()? {
        Token::List => return list_json(reader, budget, out, deeper(depth)?),
        Token::Object => return object_json(reader, budget, out, deeper(depth)?),
        Token::Null => out.extend_from_slice(b"null"),
        Token::Bool(value) => out.extend_from_slice(if value { b"true" } else { b"false" }),
        Token::Int(value) => number::write_int(value, out),
        Token::Big(digits) => out.extend_from_slice(digits.as_bytes()),
        Token::Float(value) if value.is_finite() => number::write_float(value, out),
        Token::Float(_) => out.extend_from_slice(b"null"),
        Token::Text(text) => text_json(text, out),
    }
    budget.spend(out.len() - before)
}

/// Skips a value.
pub(in crate::ingest) fn skip<R: Reader>(
    reader: &mut R,
    budget: &mut Budget,
    depth: usize,
) -> Result<()> {
    budget.spend(1)?;
    match reader.value()? {
        Token::List => {
            while reader.element()? {
                skip(reader, budget, deeper(depth)?)?;
            }
        }
        Token::Object => {
            while reader.key()?.is_some() {
                skip(reader, budget, deeper(depth)?)?;
            }
        }
        _ => {}
    }
    Ok(())
}

fn deeper(depth: usize) -> Result<usize> {
    if depth < MAX_DEPTH {
        Ok(depth + 1)
    } else {
        Err(Flaw::data(format!("values are nested more than {MAX_DEPTH} levels deep")))
    }
}

pub(in crate::ingest) fn text_json(text: &str, out: &mut Vec<u8>) {
    out.push(b'"');
    let mut plain = 0;
    for (index, byte) in text.bytes().enumerate() {
        if byte >= b' ' && byte != b'"' && byte != b'\\' {
            continue;
        }
        out.extend_from_slice(&text.as_bytes()[plain..index]);
        plain = index + 1;
        match byte {
            b'"' | b'\\' => out.extend_from_slice(&[b'\\', byte]),
            b'\n' => out.extend_from_slice(b"\\n"),
            b'\r' => out.extend_from_slice(b"\\r"),
            b'\t' => out.extend_from_slice(b"\\t"),
            _ => out.extend_from_slice(format!("\\u{byte:04x}").as_bytes()),
        }
    }
    out.extend_from_slice(&text.as_bytes()[plain..]);
    out.push(b'"');
}
