//! Counts the values and the depth of a request's JSON before it is parsed.

use narrows_model::{JsonExcess, scan_json};
use thiserror::Error;

/// The deepest nesting. The parser has the same limit, but its error does not help the client.
const MAX_DEPTH: usize = 127;
/// The most values and keys of one request. A table of a hundred thousand rows with a few columns has
/// fewer.
const MAX_VALUES: usize = 1_000_000;

/// The reason why a text is refused before it is parsed.
#[derive(Debug, Error, PartialEq, Eq)]
pub(super) enum ScanError {
    #[error("the request is nested more than {MAX_DEPTH} deep; send flatter data")]
    TooDeep,
    #[error(
        "the request has more than {MAX_VALUES} JSON values and keys; send fewer, or send them as \
         text that the program parses"
    )]
    TooMany,
}

/// Checks a text against the limits, and returns how many values and keys it has.
pub(super) fn check(text: &[u8]) -> Result<usize, ScanError> {
    scan_json(text, MAX_DEPTH, MAX_VALUES).map_err(|excess| match excess {
        JsonExcess::Depth => ScanError::TooDeep,
        JsonExcess::Values => ScanError::TooMany,
    })
}
