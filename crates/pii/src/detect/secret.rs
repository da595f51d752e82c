//! Keys of services by their beginning, and JSON Web Tokens.

mod table;

use std::ops::Range;

use table::Secret;

pub(super) use table::Body;
pub(crate) use table::SECRETS;

use crate::{
    context::{Text, is_after_escape},
    lexicon::Hit,
};

/// No key is longer.
const MAX_LEN: usize = 1024;

/// Returns the key that begins with this word.
pub(super) fn known(text: &Text<'_>, hit: &Hit, secret: &Secret) -> Option<Range<usize>> {
    let bytes = text.bytes;
    if &text.str[hit.start..hit.end] != secret.prefix || !begins(bytes, hit.start) {
        return None;
    }
    let mut length =
        bytes[hit.end..].iter().take(MAX_LEN).take_while(|b| secret.body.holds(**b)).count();
    while length > 0 && bytes[hit.end + length - 1] == b'.' {
        length -= 1;
    }
    let body = &bytes[hit.end..hit.end + length];
    // What goes on with other letters is a longer word and no key.
    let goes_on = bytes.get(hit.end + length).is_some_and(u8::is_ascii_alphanumeric);
    if length < secret.min || goes_on || !is_random(body, secret.body) {
        return None;
    }
    Some(hit.start..hit.end + length)
}

/// Returns the JSON Web Token that begins here: parts of base64 with dots between them, the first two
/// of JSON.
pub(super) fn jwt(bytes: &[u8], start: usize) -> Option<Range<usize>> {
    if !matches!(&bytes[start..start + 3], b"eyJ" | b"ewo") || !begins(bytes, start) {
        return None;
    }
    let mut end = start;
    let mut parts = 0;
    while parts < 5 {
        let part = bytes[end..].iter().take_while(|b| Body::Word.holds(**b)).count();
        // The key of an encrypted token may be empty; nothing else may.
        if part < 10 && parts != 1 {
            break;
        }
        end += part;
        parts += 1;
        if bytes.get(end) != Some(&b'.') || parts == 5 {
            break;
        }
        end += 1;
    }
    (parts >= 3).then(|| start..end - usize::from(bytes[end - 1] == b'.'))
}

/// Tells whether a key may begin here, and is not the middle of something longer.
fn begins(bytes: &[u8], start: usize) -> bool {
    start == 0
        || !(bytes[start - 1].is_ascii_alphanumeric() || b"_-+".contains(&bytes[start - 1]))
        || is_after_escape(bytes, start)
}

/// Tells whether these characters were drawn by chance, and are not `xxxxxxxx` or `your_key_here`.
fn is_random(body: &[u8], alphabet: Body) -> bool {
    let digits = body.iter().any(u8::is_ascii_digit) || alphabet == Body::Letters;
    digits && entropy(body) >= 2.5
}

/// Returns the bits for each character, if characters were independent.
pub(super) fn entropy(bytes: &[u8]) -> f64 {
    let mut counts = [0_u32; 256];
    for byte in bytes {
        counts[usize::from(*byte)] += 1;
    }
    let length = bytes.len() as f64;
    let part = |count: &u32| {
        let share = f64::from(*count) / length;
        -share * share.log2()
    };
    counts.iter().filter(|count| **count > 0).map(part).sum()
}
