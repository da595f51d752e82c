//! Counts what a JSON text consists of, before it is parsed.
//!
//! A value takes a hundred times the memory of the three bytes that it can be written with: 14 MB of
//! `[[],[],…]` were over a gigabyte. The scan is one pass that allocates nothing, and does not judge
//! whether the text is JSON; the parser does.

use thiserror::Error;

/// The parser's own limit, which it enforces without saying so to the client in its terms.
const MAX_DEPTH: usize = 127;
/// Values and keys of one request: a table of a hundred thousand rows with a few columns has fewer.
const MAX_VALUES: usize = 1_000_000;

/// Why a text is not parsed.
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

/// Checks a text against the limits.
pub(super) fn check(text: &[u8]) -> Result<(), ScanError> {
    scan(text, MAX_DEPTH, MAX_VALUES)
}

fn scan(text: &[u8], max_depth: usize, max_values: usize) -> Result<(), ScanError> {
    let mut rest = text.iter();
    let (mut depth, mut values) = (0usize, 1usize);
    while let Some(byte) = rest.next() {
        match byte {
            b'"' => skip_string(&mut rest),
            b'[' | b'{' => {
                depth += 1;
                values += 1;
                if depth > max_depth {
                    return Err(ScanError::TooDeep);
                }
            }
            b']' | b'}' => depth = depth.saturating_sub(1),
            b',' | b':' => values += 1,
            _ => {}
        }
        if values > max_values {
            return Err(ScanError::TooMany);
        }
    }
    Ok(())
}

/// Goes on behind the quote that ends a string.
fn skip_string(rest: &mut std::slice::Iter<'_, u8>) {
    while let Some(byte) = rest.find(|byte| matches!(byte, b'"' | b'\\')) {
        if *byte == b'"' {
            return;
        }
        rest.next();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn small(text: &str) -> Result<(), ScanError> {
        scan(text.as_bytes(), 3, 8)
    }

    #[test]
    fn depth_and_number_of_values_are_bounded() {
        assert_eq!(small("[[[]]]"), Ok(()));
        assert_eq!(small("[[[[]]]]"), Err(ScanError::TooDeep));
        assert_eq!(small(r#"[{"a":[{"#), Err(ScanError::TooDeep));
        assert_eq!(small("[[],[],[]]"), Ok(()));
        assert_eq!(small("[[],[],[],[]]"), Err(ScanError::TooMany));
        assert_eq!(small(r#"{"a":1,"a":1,"a":1}"#), Ok(()));
        assert_eq!(small(r#"{"a":1,"a":1,"a":1,"a":1,"a":1}"#), Err(ScanError::TooMany));
    }

    #[test]
    fn what_is_in_strings_does_not_count() {
        assert_eq!(small(r#"["[[[[{{{{,,,,,,,,::::::"]"#), Ok(()));
        assert_eq!(small(r#"["\"[[[[[", "\\", "[[[[[["]"#), Ok(()));
        // A string that ends counts again what follows, whatever its last letter is.
        assert_eq!(small(r#"["\\",[[[]]]]"#), Err(ScanError::TooDeep));
        assert_eq!(small(r#"["\"#), Ok(()));
    }
}
