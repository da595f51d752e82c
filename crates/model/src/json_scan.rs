//! Counts the values of a JSON text, and how deep they are nested, before it is parsed.
//!
//! A parsed value takes a hundred times the memory of the three bytes that it can be written with: 14
//! MB of `[[],[],…]` took over a gigabyte. The scan is one pass without allocations, and leaves it to
//! the parser whether the text is JSON.

use thiserror::Error;

/// The limit that a JSON text exceeds.
#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
pub enum JsonExcess {
    #[error("nested too deep")]
    Depth,
    #[error("too many values")]
    Values,
}

/// Checks how deep a text is nested, and how many values and keys it has. Returns their number.
pub fn scan_json(text: &[u8], max_depth: usize, max_values: usize) -> Result<usize, JsonExcess> {
    let mut rest = text.iter();
    let (mut depth, mut values) = (0usize, 1usize);
    while let Some(byte) = rest.next() {
        match byte {
            b'"' => skip_string(&mut rest),
            b'[' | b'{' => {
                depth += 1;
                values += 1;
                if depth > max_depth {
                    return Err(JsonExcess::Depth);
                }
            }
            b']' | b'}' => depth = depth.saturating_sub(1),
            b',' | b':' => values += 1,
            _ => {}
        }
        if values > max_values {
            return Err(JsonExcess::Values);
        }
    }
    Ok(values)
}

/// Skips to the position after the quote that ends a string.
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

    fn small(text: &str) -> Result<(), JsonExcess> {
        scan_json(text.as_bytes(), 3, 8).map(drop)
    }

    #[test]
    fn values_and_keys_are_counted() {
        assert_eq!(scan_json(br#"{"a":[1,2]}"#, 3, 8), Ok(5));
    }

    #[test]
    fn depth_and_number_of_values_are_bounded() {
        assert_eq!(small("[[[]]]"), Ok(()));
        assert_eq!(small("[[[[]]]]"), Err(JsonExcess::Depth));
        assert_eq!(small(r#"[{"a":[{"#), Err(JsonExcess::Depth));
        assert_eq!(small("[[],[],[]]"), Ok(()));
        assert_eq!(small("[[],[],[],[]]"), Err(JsonExcess::Values));
        assert_eq!(small(r#"{"a":1,"a":1,"a":1}"#), Ok(()));
        assert_eq!(small(r#"{"a":1,"a":1,"a":1,"a":1,"a":1}"#), Err(JsonExcess::Values));
    }

    #[test]
    fn what_is_in_strings_does_not_count() {
        assert_eq!(small(r#"["[[[[{{{{,,,,,,,,::::::"]"#), Ok(()));
        assert_eq!(small(r#"["\"[[[[[", "\\", "[[[[[["]"#), Ok(()));
        // A string that ends counts again what follows, whatever its last letter is.
        assert_eq!(small(r#"["\\",[[[]]]]"#), Err(JsonExcess::Depth));
        assert_eq!(small(r#"["\"#), Ok(()));
    }
}
