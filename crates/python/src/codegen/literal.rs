//! JSON values and text as Python source.

use std::fmt::Write as _;

use serde_json::Value;

/// Writes a JSON value as a Python literal.
pub(super) fn value(json: &Value) -> String {
    match json {
        Value::Null => "None".to_owned(),
        Value::Bool(true) => "True".to_owned(),
        Value::Bool(false) => "False".to_owned(),
        Value::Number(number) => number.to_string(),
        Value::String(text) => string(text),
        Value::Array(items) => {
            format!("[{}]", items.iter().map(value).collect::<Vec<_>>().join(", "))
        }
        Value::Object(entries) => {
            let entries: Vec<String> =
                entries.iter().map(|(k, v)| format!("{}: {}", string(k), value(v))).collect();
            format!("{{{}}}", entries.join(", "))
        }
    }
}

/// Writes a string literal in double quotes, on one line.
pub(super) fn string(text: &str) -> String {
    let mut literal = String::with_capacity(text.len() + 2);
    literal.push('"');
    for c in text.chars() {
        match c {
            '"' => literal.push_str("\\\""),
            '\n' => literal.push_str("\\n"),
            '\t' => literal.push_str("\\t"),
            _ => push_escaped(&mut literal, c),
        }
    }
    literal.push('"');
    literal
}

/// Writes a docstring, with its quotes, for a body that is indented by four spaces.
pub(super) fn docstring(text: &str) -> String {
    const INDENT: &str = "    ";
    let text = text.replace("\r\n", "\n").replace('\r', "\n");
    let lines: Vec<&str> = text.trim().lines().map(str::trim_end).collect();
    let mut literal = format!("{INDENT}\"\"\"");
    for (number, line) in lines.iter().enumerate() {
        if number > 0 {
            literal.push('\n');
            if !line.is_empty() {
                literal.push_str(INDENT);
            }
        }
        // Only three quotes in a row would end the docstring, or one at the very end.
        let quotes_matter = line.contains("\"\"\"") || line.ends_with('"');
        for c in line.chars() {
            match c {
                '"' if quotes_matter => literal.push_str("\\\""),
                '\t' => literal.push('\t'),
                _ => push_escaped(&mut literal, c),
            }
        }
    }
    if lines.len() > 1 {
        literal.push('\n');
        literal.push_str(INDENT);
    }
    literal.push_str("\"\"\"");
    literal
}

/// Makes a text safe for a comment or a line of its own: collapses white space, and removes everything
/// that ends the line or changes the direction of text.
pub(super) fn line(text: &str) -> String {
    let mut line = String::with_capacity(text.len());
    for word in text.split_whitespace() {
        if !line.is_empty() {
            line.push(' ');
        }
        line.extend(word.chars().filter(|c| !is_hidden(*c)));
    }
    line
}

fn push_escaped(literal: &mut String, c: char) {
    match c {
        '\\' => literal.push_str("\\\\"),
        c if is_hidden(c) => {
            let code = u32::from(c);
            let result = if code <= 0xff {
                write!(literal, "\\x{code:02x}")
            } else {
                write!(literal, "\\u{code:04x}")
            };
            debug_assert!(result.is_ok(), "writing to a string cannot fail");
        }
        c => literal.push(c),
    }
}

/// Tells whether a character must not be shown: control characters, which Python refuses or a terminal
/// obeys, and those that reorder text, with which source can look different from what it does.
fn is_hidden(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{2028}' | '\u{2029}' | '\u{202a}'..='\u{202e}')
        || matches!(c, '\u{2066}'..='\u{2069}' | '\u{feff}')
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn values_are_python() {
        let json = json!({"a": [1, -2.5, 1e300, true, false, null], "b\"\n": {"c": []}});
        assert_eq!(
            value(&json),
            r#"{"a": [1, -2.5, 1e+300, True, False, None], "b\"\n": {"c": []}}"#
        );
    }

    #[test]
    fn strings_cannot_get_out_of_their_quotes() {
        assert_eq!(string("a\\\"\r\0\u{202e}ü"), r#""a\\\"\x0d\x00\u202eü""#);
    }

    #[test]
    fn docstrings_cannot_get_out_of_their_quotes() {
        assert_eq!(docstring("say \"hi\""), r#"    """say \"hi\"""""#);
        assert_eq!(docstring("a \"b\" c"), r#"    """a "b" c""""#);
        assert_eq!(docstring("a\"\"\"\r\nb\\"), "    \"\"\"a\\\"\\\"\\\"\n    b\\\\\n    \"\"\"");
    }

    #[test]
    fn a_line_is_one_line() {
        assert_eq!(line(" a\r\n\tb\u{2028}c\0d "), "a b cd");
    }
}
