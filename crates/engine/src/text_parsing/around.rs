//! Checks the text around a value: nothing must be lost when only the value is taken.
//!
//! A label (`Commit history:`) and the number of rows say no more than the value does. Anything else (a
//! remark, a reference to the next page, a note that something was left out) has to be read, so the
//! text stays a text.

use super::keys;

const MAX_LABEL_LEN: usize = 200;
/// The most labels: a tool may put its own before that of another.
const MAX_LABELS: usize = 2;
const MAX_COUNT_LEN: usize = 40;

/// The words that may stand beside the number of rows.
const COUNT_WORDS: &str = "\
    row rows result results record records item items entry entries match matches total count \
    found returned showing of in set";

/// Tells whether the texts before and after a value say no more than the value; `rows` is its length if
/// it is a list.
pub(super) fn says_no_more(before: &str, after: &str, rows: Option<usize>) -> bool {
    let lines = |text: &'_ str| text.lines().filter(|line| !line.trim().is_empty()).count();
    lines(before) <= MAX_LABELS
        && lines(after) <= 1
        && before.lines().all(|line| line.trim().is_empty() || is_label(line, rows))
        && is_count(after.trim(), rows)
}

/// Tells whether a line is a label: `Commit history:`, `## Weather` or, before two rows, `Found 2
/// issues:`; but not `Error:`.
pub(super) fn is_label(line: &str, rows: Option<usize>) -> bool {
    let line = line.trim();
    let is_title = line.starts_with('#') && line.trim_start_matches('#').starts_with(' ');
    let name = line.strip_suffix(':');
    line.len() <= MAX_LABEL_LEN
        && (is_title || name.is_some())
        && !name.is_some_and(keys::is_remark)
        && are_rows(line, rows)
}

/// Tells whether a line is empty or counts the rows: `2 rows` or `(2 rows)` after two rows.
fn is_count(line: &str, rows: Option<usize>) -> bool {
    let is_word = |word: &str| {
        let word = word.to_lowercase();
        number(&word).is_some() || COUNT_WORDS.split(' ').any(|known| known == word)
    };
    line.is_empty()
        || (line.len() <= MAX_COUNT_LEN
            && words(line).all(is_word)
            && numbers(line).next().is_some()
            && are_rows(line, rows))
}

/// Tells whether all numbers of a line are the number of rows.
fn are_rows(line: &str, rows: Option<usize>) -> bool {
    numbers(line).all(|number| number.is_some() && number == rows)
}

fn words(line: &str) -> impl Iterator<Item = &str> {
    let marks = |c: char| c.is_ascii_punctuation();
    line.split_whitespace()
        .map(move |word| word.trim_matches(marks))
        .filter(|word| !word.is_empty())
}

/// Returns the numbers of a line; `None` for one that is too large to be a number of rows.
fn numbers(line: &str) -> impl Iterator<Item = Option<usize>> {
    words(line).filter_map(number)
}

fn number(word: &str) -> Option<Option<usize>> {
    let is_number = word.starts_with(|c: char| c.is_ascii_digit())
        && word.bytes().all(|byte| byte.is_ascii_digit() || byte == b',' || byte == b'.');
    is_number.then(|| word.replace(',', "").parse().ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_and_right_numbers_say_no_more_than_the_value() {
        for (before, after) in [
            ("", ""),
            ("Commit history:\n", ""),
            ("## Weather\n\n", ""),
            ("Found 2 issues:", "\n"),
            ("Data as utf-8:\nContents of https://api.example/v1/items:\n", ""),
            ("", "2 rows"),
            ("Rows:", "\n(2 rows)\n"),
            ("", "Showing 2 of 2 results."),
        ] {
            assert!(says_no_more(before, after, Some(2)), "{before:?} {after:?}");
        }
    }

    #[test]
    fn all_else_has_to_be_read() {
        for (before, after) in [
            ("Found 3 issues:", ""),
            ("Found 12 issues:", ""),
            ("Error:", ""),
            ("Status: 200", ""),
            ("Two were found.", ""),
            ("One:\nTwo:\nThree:", ""),
            ("", "Done."),
            ("", "rows"),
            ("", "3 rows"),
            ("", "2 rows\n2 rows"),
            ("", "Showing 2 of 40 results"),
            ("", "Page 2 of 2"),
            ("", "Next: abc"),
            ("", "2.5 rows"),
        ] {
            assert!(!says_no_more(before, after, Some(2)), "{before:?} {after:?}");
        }
        assert!(!says_no_more("Issue 7:", "", None));
        assert!(!says_no_more("Version 2.5:", "", None));
        assert!(says_no_more("Issue:", "", None));
    }
}
