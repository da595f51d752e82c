//! How long names and how large values may be, and the checks of it.
//!
//! Each limit stops one caller from filling the database, or the memory of whoever reads it, for
//! all others.

use serde_json::Value;

use crate::StoreError;

/// Names of namespaces, skills, boards, keys, sessions and principals.
pub const NAME_BYTES: usize = 256;
/// Paths of workspace files. An index entry of PostgreSQL holds 2,704 bytes.
pub const PATH_BYTES: usize = 1024;
/// A shared value or the body of a message, as JSON; the texts and pins of a skill, each; a sealed
/// value of the vault.
pub const VALUE_BYTES: usize = 1 << 20;
/// The code of a skill.
pub const CODE_BYTES: usize = 1 << 20;
/// The state of a session.
pub const STATE_BYTES: usize = 64 << 20;
/// The text that a person reads before deciding on an approval: all of it, or it would mean nothing.
pub const SHOWN_BYTES: usize = 64 << 10;
/// The approvals of one principal that wait for a person at the same time.
pub(crate) const PENDING_APPROVALS: i64 = 100;
/// The newest messages of a board that are kept.
pub const BOARD_KEEPS: i64 = 10_000;

pub(crate) fn name(what: &'static str, name: &str) -> Result<(), StoreError> {
    bounded_name(what, name, NAME_BYTES)
}

pub(crate) fn path(path: &str) -> Result<(), StoreError> {
    bounded_name("path", path, PATH_BYTES)
}

/// Checks the name of a server and one of its tools.
pub(crate) fn tool(tool: &str) -> Result<(), StoreError> {
    bounded_name("name of the tool", tool, PATH_BYTES)
}

fn bounded_name(what: &'static str, name: &str, limit: usize) -> Result<(), StoreError> {
    let problem = if name.is_empty() {
        "is empty".to_owned()
    } else if name.len() > limit {
        format!("has {} bytes, more than {limit}", name.len())
    } else if let Some(c) = name.chars().find(|c| c.is_control()) {
        format!("holds the control character U+{:04X}", u32::from(c))
    } else {
        return Ok(());
    };
    Err(StoreError::Name { what, problem })
}

/// Checks that both databases can hold a text: PostgreSQL has no NUL characters.
pub(crate) fn text(what: &'static str, text: &str, limit: usize) -> Result<(), StoreError> {
    if text.contains('\0') {
        return Err(StoreError::Nul { what });
    }
    size(what, text.len(), limit)
}

pub(crate) fn size(what: &'static str, bytes: usize, limit: usize) -> Result<(), StoreError> {
    if bytes > limit { Err(StoreError::TooLarge { what, bytes, limit }) } else { Ok(()) }
}

/// Returns the value as JSON, if it is not too large.
pub(crate) fn json(what: &'static str, value: &Value) -> Result<String, StoreError> {
    let text = value.to_string();
    size(what, text.len(), VALUE_BYTES)?;
    Ok(text)
}

/// Returns the least text that is greater than all that begin with the prefix, or `None` if there is
/// none.
pub(crate) fn after_prefix(prefix: &str) -> Option<String> {
    let mut end = prefix.to_owned();
    while let Some(last) = end.pop() {
        if let Some(next) = (last..=char::MAX).nth(1) {
            end.push(next);
            return Some(end);
        }
    }
    None
}

/// Converts a number of rows to the type of the databases.
pub(crate) fn rows(limit: usize) -> i64 {
    i64::try_from(limit).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_prefix_ends_before_the_next_text_that_does_not_have_it() {
        assert_eq!(after_prefix("job/").as_deref(), Some("job0"));
        assert_eq!(after_prefix("a\u{d7ff}").as_deref(), Some("a\u{e000}"));
        assert_eq!(after_prefix("a\u{10ffff}").as_deref(), Some("b"));
        assert_eq!(after_prefix("\u{10ffff}"), None);
        assert_eq!(after_prefix(""), None);
    }
}
