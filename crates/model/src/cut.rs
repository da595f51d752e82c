//! Cuts texts without cutting through a value.
//!
//! Personal data is detected when a text is given to a client. A text that is cut before that must not
//! end in half of an address, which would not be detected and can still be read. So a cut goes through
//! no word that may be part of a value, no row of numbers, and no quoted text after a label, which may
//! be a password of letters or a name.

/// The bytes on either side of a part of a text that are scanned with it, so that a value which crosses
/// the cut is found whole.
pub const MARGIN: u64 = 16 << 10;

/// Characters that are never inside a value: those of JSON, lists and tables.
const FIRM: &str = ",;\"'{}[]<>|";

/// Quoted texts that are longer are not values which only their label identifies.
const LONGEST_QUOTED: usize = 512;

/// Returns the beginning of a text, of at most `max_bytes`, cut at a place that is not inside a value.
pub fn head(text: &str, max_bytes: usize) -> &str {
    if text.len() <= max_bytes {
        return text;
    }
    let (mut head, rest) = text.split_at(text.floor_char_boundary(max_bytes));
    if let Some(quoted) = Quoted::open_at_the_end(head) {
        return &head[..quoted.start];
    }
    let (start, end) = (last_word(head), first_word(rest));
    if is_telling(start, end) {
        head = &head[..head.len() - start.len()];
    }
    loop {
        let before = head.trim_end_matches(is_loose);
        let word = last_word(before);
        if !is_number(word) {
            return head;
        }
        head = &before[..before.len() - word.len()];
    }
}

/// Returns the end of a text, of at most `max_bytes`, cut at a place that is not inside a value.
pub fn tail(text: &str, max_bytes: usize) -> &str {
    if text.len() <= max_bytes {
        return text;
    }
    let (rest, mut tail) = text.split_at(text.ceil_char_boundary(text.len() - max_bytes));
    if let Some(quoted) = Quoted::open_at_the_end(rest) {
        let limit = text.floor_char_boundary(rest.len() + LONGEST_QUOTED);
        if let Some(length) = quoted.end_in(&text[quoted.start..limit]) {
            return &text[quoted.start + length..];
        }
    }
    let (start, end) = (last_word(rest), first_word(tail));
    if is_telling(start, end) {
        tail = &tail[end.len()..];
    }
    loop {
        let after = tail.trim_start_matches(is_loose);
        let word = first_word(after);
        if !is_number(word) {
            return tail;
        }
        tail = &after[word.len()..];
    }
}

/// The beginning of a quoted text with a label: `"password": "corr`, `name='Ada Lo`.
#[derive(Clone, Copy)]
struct Quoted {
    /// The position after the opening quote.
    start: usize,
    quote: u8,
    /// Whether the quotes have backslashes before them, as in JSON within a text.
    is_escaped: bool,
}

impl Quoted {
    /// Finds the quoted text that is still open at the end of a text.
    fn open_at_the_end(text: &str) -> Option<Self> {
        let floor = text.ceil_char_boundary(text.len().saturating_sub(LONGEST_QUOTED));
        let bytes = text.as_bytes();
        let opening = (floor..text.len()).rev().find_map(|at| {
            let quote = Some(bytes[at]).filter(|byte| b"\"'`".contains(byte))?;
            let before = text[..at].trim_end_matches('\\');
            let is_escaped = before.len() < at;
            let labels = before.trim_end_matches([' ', '\t']).ends_with([':', '=']);
            labels.then_some(Self { start: at + 1, quote, is_escaped })
        })?;
        let rest = &text[opening.start..];
        (!rest.contains('\n') && opening.end_in(rest).is_none()).then_some(opening)
    }

    /// Returns the position of its closing quote.
    fn end_in(self, text: &str) -> Option<usize> {
        let bytes = text.as_bytes();
        (0..bytes.len()).find(|at| {
            let slashes = bytes[..*at].iter().rev().take_while(|byte| **byte == b'\\').count();
            // An escaped quote does not close it.
            let ends = if self.is_escaped { slashes == 1 } else { slashes % 2 == 0 };
            bytes[*at] == self.quote && ends
        })
    }
}

/// Tells whether the word that a cut goes through may be part of a value; letters alone are not.
fn is_telling(start: &str, end: &str) -> bool {
    let is_cut = !start.is_empty() && !end.is_empty();
    is_cut && !start.chars().chain(end.chars()).all(char::is_alphabetic)
}

/// Tells whether a word may be part of a number that is written in groups.
fn is_number(word: &str) -> bool {
    word.contains(char::is_numeric)
}

/// Tells whether a value may continue after this character: `(030) 12 34 56`.
fn is_loose(c: char) -> bool {
    c.is_whitespace() || matches!(c, '(' | ')')
}

fn is_break(c: char) -> bool {
    is_loose(c) || FIRM.contains(c)
}

fn last_word(text: &str) -> &str {
    text.rfind(is_break).map_or(text, |at| {
        let length = text[at..].chars().next().map_or(0, char::len_utf8);
        &text[at + length..]
    })
}

fn first_word(text: &str) -> &str {
    text.find(is_break).map_or(text, |at| &text[..at])
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Values of all usual forms, cut at every place: no part of one is left.
    #[test]
    fn no_half_of_a_value_is_left_at_a_cut() {
        for value in [
            "ada.lovelace@example.com",
            "4111 1111 1111 1111",
            "+49 (30) 1234 5678",
            "DE89 3704 0044 0532 0130 00",
            "078-05-1120",
            "sk-abcdefghijklmnop_QRSTUV",
            "eyJhbGciOi.eyJzdWIiOi.SflKxw",
            "192.0.2.17",
        ] {
            for (before, after) in [("write to ", " today"), ("{\"a\":\"", "\",\"b\":1}")] {
                let text = format!("{before}{value}{after}");
                let parts: Vec<&str> = value.split([' ', '(', ')']).collect();
                let is_whole = |cut: &str| cut.contains(value);
                let has_part = |cut: &str| {
                    parts.iter().filter(|part| !part.is_empty()).any(|part| {
                        let some = part.len().min(3);
                        cut.contains(&part[..some]) || cut.contains(&part[part.len() - some..])
                    })
                };
                for bytes in 0..text.len() {
                    for cut in [head(&text, bytes), tail(&text, bytes)] {
                        assert!(cut.len() <= bytes);
                        assert!(is_whole(cut) || !has_part(cut), "{text:?} at {bytes}: {cut:?}");
                    }
                }
            }
        }
    }

    /// Only the label tells that quoted words are a value, so nothing is left of one that is cut
    /// through.
    #[test]
    fn no_half_of_a_text_in_quotes_is_left_at_a_cut() {
        for (before, after) in [
            ("{\"password\": \"", "\", \"n\": 1}"),
            ("{\"password\":\"", "\"}"),
            ("said \"{\\\"password\\\": \\\"", "\\\"}\" in the end"),
            ("set name='", "' and go"),
        ] {
            for value in ["correcthorsebatterystaple", "correct horse", "a horse"] {
                let text = format!("{before}{value}{after}");
                for bytes in before.len() + 1..before.len() + value.len() {
                    assert_eq!(head(&text, bytes), before, "{text:?} at {bytes}");
                }
                for bytes in after.len() + 1..after.len() + value.len() {
                    let cut = tail(&text, bytes);
                    assert!(after.ends_with(cut), "{text:?} at {bytes}: {cut:?}");
                }
            }
        }
        // Long texts are no values of this kind, and what is in prose is cut as words are.
        let long = format!("{{\"text\": \"{}\"}}", "some words ".repeat(100));
        assert_eq!(head(&long, 1000).len(), 1000);
        assert_eq!(head("it's said: don't worry about it", 22), "it's said: don't worry");
    }

    #[test]
    fn what_is_surely_no_value_is_cut_where_it_is_too_long() {
        assert_eq!(head("short", 10), "short");
        assert_eq!(head("some longer words", 8), "some lon");
        assert_eq!(tail("some longer words", 8), "er words");
        let letters = "é".repeat(1000);
        assert_eq!(head(&letters, 101), "é".repeat(50));
        assert_eq!(head("[1,2,3,4]", 6), "[1,2,");
        assert_eq!(head("[10,20,30]", 5), "[10,");
        assert_eq!(head("rows 12 13 14 15", 12), "rows ");
    }
}
