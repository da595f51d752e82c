//! Private keys in their armor, over many lines or with `\n` written out.

use std::ops::Range;

use memchr::memmem;

const DASHES: &[u8] = b"-----";
/// The first line of a key, after its dashes.
const MAX_TITLE_LEN: usize = 80;
/// Lines of a key are longer than any word of a sentence.
const MIN_LINE_LEN: usize = 24;

/// Returns the private key whose `-----BEGIN` is at `start`. One that is cut off counts as far as it
/// goes.
pub(super) fn private_key(text: &str, start: usize) -> Option<Range<usize>> {
    let body = title_end(text, start)?;
    let bytes = text.as_bytes();
    let next = memmem::find(&bytes[body..], DASHES).map(|place| body + place);
    if let Some(end) = next.filter(|next| bytes[*next..].starts_with(b"-----END")) {
        let closing = end + DASHES.len();
        let line = &bytes[closing..bytes.len().min(closing + MAX_TITLE_LEN)];
        let closed =
            memmem::find(line, DASHES).map_or(closing, |place| closing + place + DASHES.len());
        return Some(start..closed);
    }
    let (lines, end) = read_body(&bytes[..next.unwrap_or(bytes.len())], body);
    (lines > 0).then_some(start..end)
}

/// Returns where a private key begins that goes on until the end of the text, and may go on after it.
pub(crate) fn open_private_key(text: &str) -> Option<usize> {
    let start = memmem::rfind(text.as_bytes(), b"-----BEGIN ")?;
    let rest = &text[start..];
    if !rest[11..].contains(['\n', '\\']) {
        // The first line is not whole yet.
        return (rest.len() < MAX_TITLE_LEN + 16).then_some(start);
    }
    let body = title_end(text, start)?;
    let bytes = text.as_bytes();
    let closing = memmem::find(&bytes[body..], DASHES).map(|place| body + place);
    match closing {
        // The last line has begun, and is not whole yet.
        Some(closing) => {
            let begun = b"-----END ".iter().zip(&bytes[closing..]).all(|(a, b)| a == b);
            (begun && !bytes[closing..].contains(&b'\n')).then_some(start)
        }
        None => may_go_on(&bytes[read_body(bytes, body).1..]).then_some(start),
    }
}

/// Returns where the title line of a private key ends: `-----BEGIN RSA PRIVATE KEY-----`.
fn title_end(text: &str, start: usize) -> Option<usize> {
    let bytes = text.as_bytes();
    let title = start + DASHES.len();
    let line = &bytes[title..bytes.len().min(title + MAX_TITLE_LEN)];
    let length = memmem::find(line, DASHES)?;
    memmem::find(&line[..length], b"PRIVATE KEY")?;
    Some(title + length + DASHES.len())
}

/// Reads lines of a key (and headers like `Proc-Type: …`) from `at`: how many, and where they end.
fn read_body(bytes: &[u8], mut at: usize) -> (usize, usize) {
    let mut lines = 0;
    loop {
        at += bytes[at..].iter().take_while(|b| b.is_ascii_whitespace()).count();
        if bytes[at..].starts_with(b"\\n") || bytes[at..].starts_with(b"\\r") {
            at += 2;
            continue;
        }
        let line = bytes[at..].iter().take_while(|b| is_base64(**b)).count();
        let last = at + line == bytes.len();
        if line >= MIN_LINE_LEN || (lines > 0 && line > 0 && (last || bytes[at + line - 1] == b'='))
        {
            lines += 1;
            at += line;
        } else if let Some(end) = header_end(bytes, at) {
            at = end;
        } else {
            return (lines, at);
        }
    }
}

/// The headers that a key may have before its lines.
const HEADERS: [&[u8]; 6] =
    [b"Proc-Type:", b"DEK-Info:", b"Version:", b"Comment:", b"Hash:", b"Charset:"];

fn header_end(bytes: &[u8], at: usize) -> Option<usize> {
    HEADERS.iter().find(|name| bytes[at..].starts_with(name))?;
    let end = bytes[at..].iter().position(|b| b"\n\\".contains(b)).unwrap_or(bytes.len() - at);
    Some(at + end)
}

/// Tells whether this may be the beginning of a line of a key: of a header, of the body or of its end.
/// The last line of the body may be short, and the end may follow it.
fn may_go_on(rest: &[u8]) -> bool {
    let dashes = rest.iter().rev().take_while(|b| **b == b'-').count();
    rest[..rest.len() - dashes].trim_ascii_end().iter().all(|b| is_base64(*b))
        || HEADERS.iter().any(|header| header.starts_with(rest))
}

fn is_base64(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"+/=".contains(&byte)
}
