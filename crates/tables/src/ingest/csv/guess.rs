//! Guesses the type of a column of text.

use crate::ingest::columns::{
    column_stats::{Type, count, list},
    number::{self, Number, is_exact},
};

/// The number of cells of a column that can be read as each type.
#[derive(Clone, Debug, Default)]
pub(super) struct Guess {
    ints: usize,
    floats: usize,
    bools: usize,
    /// Texts that stand for "nothing".
    missing: usize,
    /// Whether there are integers that a float cannot hold.
    inexact: bool,
    /// Integers of more than 64 bits.
    huge: usize,
    /// Texts that are nothing but text.
    texts: usize,
}

impl Guess {
    #[inline]
    pub(super) fn see(&mut self, cell: &str) {
        if cell.is_empty() {
            return;
        }
        match number::parse(cell) {
            Some(Number::Int(value)) => {
                self.ints += 1;
                self.inexact |= !is_exact(value);
            }
            Some(Number::Float(_)) => self.floats += 1,
            Some(Number::Huge) => self.huge += 1,
            None => self.see_text(cell),
        }
    }

    fn see_text(&mut self, cell: &str) {
        if number::parse_bool(cell).is_some() {
            self.bools += 1;
        } else if cell.trim_ascii().is_empty() {
        } else if number::is_missing(cell) {
            self.missing += 1;
        } else {
            self.texts += 1;
        }
    }

    pub(super) fn add(&mut self, other: &Self) {
        self.ints += other.ints;
        self.floats += other.floats;
        self.bools += other.bools;
        self.missing += other.missing;
        self.inexact |= other.inexact;
        self.huge += other.huge;
        self.texts += other.texts;
    }

    /// Decides the type of the column. Returns a note on what was done to its values for it.
    pub(super) fn decide(&self) -> (Type, Option<String>) {
        let (bools, numbers) = (self.bools, self.ints + self.floats + self.huge);
        if bools + numbers == 0 {
            return (Type::Text, None);
        }
        // One cell that is nothing but text makes all of them texts.
        if self.texts > 0 || (bools > 0 && numbers > 0) {
            let texts = self.texts + self.missing;
            let kinds = list([(bools, "boolean"), (numbers, "number"), (texts, "text")]);
            return (Type::Text, Some(format!("{kinds}: all kept as text")));
        }
        let missing = || format!("{} read as missing", count(self.missing, "text"));
        let missing = (self.missing > 0).then(missing);
        if self.huge > 0 || (self.floats > 0 && self.inexact) {
            let note = "numbers with too many digits: kept as text, to be exact";
            (Type::Text, Some(note.to_owned()))
        } else if self.floats > 0 {
            (Type::Float, missing)
        } else if self.ints > 0 {
            (Type::Int, missing)
        } else {
            (Type::Bool, missing)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn guess(cells: &[&str]) -> (Type, Option<String>) {
        let mut guess = Guess::default();
        cells.iter().for_each(|cell| guess.see(cell));
        guess.decide()
    }

    #[test]
    fn columns_get_the_narrowest_type() {
        assert_eq!(guess(&["1", "-2", ""]), (Type::Int, None));
        assert_eq!(guess(&["1", "2.5", " 3 "]), (Type::Float, None));
        assert_eq!(guess(&["true", "FALSE", ""]), (Type::Bool, None));
        assert_eq!(guess(&["007", "x"]), (Type::Text, None));
        assert_eq!(guess(&["2024-01-01"]), (Type::Text, None));
        assert_eq!(guess(&["", " "]), (Type::Text, None));
        assert_eq!(guess(&["N/A", "-"]), (Type::Text, None));
        assert_eq!(guess(&["1", "N/A", "-"]), (Type::Int, Some("2 texts read as missing".into())));
    }

    #[test]
    fn mixed_columns_are_text_and_noted() {
        for (cells, note) in [
            (&["9", "10", "100", "unknown"][..], "3 numbers and 1 text"),
            (&["unknown", "9", "N/A", "", "2.5"], "2 numbers and 2 texts"),
            (&["18446744073709551616", "x"], "1 number and 1 text"),
            (&["007", "8"], "1 number and 1 text"),
            (&["true", "1"], "1 boolean and 1 number"),
            (&["true", "maybe", "false"], "2 booleans and 1 text"),
            (&["x", "1", "true"], "1 boolean, 1 number and 1 text"),
        ] {
            let note = format!("{note}: all kept as text");
            assert_eq!(guess(cells), (Type::Text, Some(note)), "{cells:?}");
        }
    }

    #[test]
    fn no_digit_is_lost() {
        for cells in [&["18446744073709551616", "1"][..], &["9007199254740993", "0.5"]] {
            let (kind, note) = guess(cells);
            assert_eq!(kind, Type::Text);
            assert!(note.is_some_and(|note| note.contains("exact")));
        }
        assert_eq!(guess(&["9007199254740993"]), (Type::Int, None));
    }
}
