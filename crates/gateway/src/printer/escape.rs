//! Escapes characters that a terminal would obey instead of show.
//!
//! Names of tools, descriptions, file names, errors of servers and the output of programs come from
//! outside. On a terminal an escape sequence in them could rewrite what stands above, hide an
//! argument that somebody is about to approve, or change the title of the window; a carriage return
//! could overwrite the line, and a bidirectional override show it in another order.

use std::{borrow::Cow, fmt::Write};

/// How a character that must not reach a terminal is written instead.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Notation {
    /// As in a string of Rust: `\x1b`, `\u{202e}`.
    Text,
    /// As in a string of JSON, where such characters are only in strings: it stays JSON.
    Json,
}

/// Returns the text as it can be shown on a terminal.
pub(super) fn escaped(text: &str, notation: Notation) -> Cow<'_, str> {
    if is_visible(text) {
        return Cow::Borrowed(text);
    }
    let mut visible = String::with_capacity(text.len() + 16);
    let mut letters = text.chars().peekable();
    while let Some(letter) = letters.next() {
        let ends_line = letter == '\r' && letters.peek() == Some(&'\n');
        if !is_obeyed(letter) || ends_line {
            visible.push(letter);
            continue;
        }
        let code = u32::from(letter);
        // Writing to a string does not fail.
        let _ = match (notation, letter) {
            (Notation::Text, '\r') => write!(visible, "\\r"),
            (Notation::Text, _) if code < 0x80 => write!(visible, "\\x{code:02x}"),
            (Notation::Text, _) => write!(visible, "\\u{{{code:x}}}"),
            (Notation::Json, _) => letter
                .encode_utf16(&mut [0; 2])
                .iter()
                .try_for_each(|unit| write!(visible, "\\u{unit:04x}")),
        };
    }
    Cow::Owned(visible)
}

/// Escapes a text that has colours already, and keeps its colours only.
pub(super) fn escaped_but_colors(text: &str) -> String {
    let mut visible = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('\x1b') {
        visible.push_str(&escaped(&rest[..at], Notation::Text));
        let length = color_length(&rest[at..]);
        match length {
            Some(length) => visible.push_str(&rest[at..at + length]),
            None => visible.push_str("\\x1b"),
        }
        rest = &rest[at + length.unwrap_or(1)..];
    }
    visible.push_str(&escaped(rest, Notation::Text));
    visible
}

/// Returns the length of the escape sequence at the beginning of a text, if it changes nothing but
/// colours.
fn color_length(text: &str) -> Option<usize> {
    let parameters = text.strip_prefix("\x1b[")?;
    let end = parameters.find(|letter: char| !letter.is_ascii_digit() && letter != ';')?;
    parameters[end..].starts_with('m').then_some("\x1b[".len() + end + 1)
}

/// Tells whether a text can be shown without escapes.
pub(super) fn is_visible(text: &str) -> bool {
    !text.chars().any(is_obeyed)
}

/// Tells whether a terminal obeys a character instead of showing it.
fn is_obeyed(letter: char) -> bool {
    match letter {
        '\n' | '\t' => false,
        // C0, DEL and C1: U+009B begins an escape sequence as ESC [ does.
        _ if letter.is_control() => true,
        // Embeddings, overrides and isolates of bidirectional text.
        '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => true,
        // Separators of lines and paragraphs.
        '\u{2028}' | '\u{2029}' => true,
        // Tags: invisible ASCII.
        '\u{e0000}'..='\u{e007f}' => true,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_terminal_obeys_nothing_that_comes_from_outside() {
        let text = |text| escaped(text, Notation::Text).into_owned();
        assert_eq!(text("\x1b[2J\x1b]0;title\x07"), r"\x1b[2J\x1b]0;title\x07");
        assert_eq!(text("safe\rrm -rf"), r"safe\rrm -rf");
        assert_eq!(text("\u{9b}31m \u{7f} \0"), r"\u{9b}31m \x7f \x00");
        assert_eq!(text("a\u{202e}cba\u{2066}"), r"a\u{202e}cba\u{2066}");
        assert_eq!(text("hidden\u{e0041}"), r"hidden\u{e0041}");
        assert_eq!(text("a\u{2028}b"), r"a\u{2028}b");
    }

    #[test]
    fn what_is_only_shown_stays_as_it_is() {
        let plain = "Größe\t日本語 👩‍👩‍👧 עברית\nnext line\r\nand another";
        assert_eq!(escaped(plain, Notation::Text), plain);
    }

    #[test]
    fn of_what_is_coloured_the_colours_stay() {
        let colored = "\x1b[2m12:00\x1b[0m \x1b[1;31mERROR\x1b[0m";
        assert_eq!(escaped_but_colors(colored), colored);
        assert_eq!(
            escaped_but_colors("a\x1b[2Jb\x1b]0;t\x07\r\u{202e}"),
            r"a\x1b[2Jb\x1b]0;t\x07\r\u{202e}"
        );
        assert_eq!(escaped_but_colors("\x1b[31\x1b"), r"\x1b[31\x1b");
    }

    #[test]
    fn json_stays_json() {
        let value = serde_json::json!({"a\u{202e}": "\u{9b}31m\u{7f}\u{e0041}\x1b"});
        let text = serde_json::to_string_pretty(&value).unwrap();
        let shown = escaped(&text, Notation::Json);
        assert!(shown.contains(r"\u202e") && !shown.chars().any(is_obeyed), "{shown}");
        assert_eq!(serde_json::from_str::<serde_json::Value>(&shown).unwrap(), value);
    }
}
