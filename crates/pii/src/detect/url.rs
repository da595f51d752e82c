//! Addresses of pages, and credentials in them.

use std::ops::Range;

use crate::context::is_after_escape;

/// Longer than any address that is of use.
const MAX_LEN: usize = 2048;
const MAX_SCHEME_LEN: usize = 20;

pub(super) struct Url {
    pub(super) range: Range<usize>,
    pub(super) has_credentials: bool,
}

/// Returns the address with `://` or `www.` at `mark`.
pub(super) fn at(text: &str, mark: usize) -> Option<Url> {
    let bytes = text.as_bytes();
    let has_scheme = bytes[mark] == b':';
    let start = if has_scheme { scheme_start(bytes, mark)? } else { mark };
    let authority = if has_scheme { mark + 3 } else { mark };
    let length = text[authority..]
        .char_indices()
        .take(MAX_LEN)
        .find(|(_, c)| c.is_whitespace() || c.is_control() || "\"'<>\\`|^{}".contains(*c))
        .map_or_else(|| MAX_LEN.min(text.len() - authority), |(place, _)| place);
    let mut end = authority + length;
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    let rest = text[authority..end].trim_end_matches(|c| ".,;:!?)]*".contains(c));
    let host = rest.split(['/', '?', '#']).next().unwrap_or_default();
    let range = start..authority + rest.len();
    if !host.contains(|c: char| c.is_alphanumeric())
        || (!has_scheme && !host.get(4..).is_some_and(|name| name.contains('.')))
    {
        return None;
    }
    Some(Url {
        range,
        has_credentials: host.rsplit_once('@').is_some_and(|(user, _)| is_credential(user)),
    })
}

fn scheme_start(bytes: &[u8], mark: usize) -> Option<usize> {
    let length = bytes[..mark]
        .iter()
        .rev()
        .take(MAX_SCHEME_LEN)
        .take_while(|b| b.is_ascii_alphanumeric() || b"+.-".contains(b))
        .count();
    let start = mark - length;
    let skipped = bytes[start..mark].iter().position(u8::is_ascii_alphabetic)?;
    let start = start + skipped;
    Some(start + usize::from(start + 1 < mark && is_after_escape(bytes, start + 1)))
}

/// Tells whether this is a user with a password, or a token in place of a user. Words that only show
/// where they go do not count.
fn is_credential(user: &str) -> bool {
    match user.split_once(':') {
        Some((_, password)) => {
            password.len() >= 3
                && !super::labelled::is_placeholder(password)
                && !password.starts_with(['$', '[', '%'])
        }
        None => user.len() >= 20 && user.contains(|c: char| c.is_ascii_digit()),
    }
}
