//! Statistics of a column's values, and the type that follows from them.

use super::{
    column::Kind,
    number::{self, Number, is_exact},
};

/// The number of values of each kind.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(in crate::ingest) struct Facts {
    pub(in crate::ingest) bools: usize,
    pub(in crate::ingest) ints: usize,
    pub(in crate::ingest) floats: usize,
    pub(in crate::ingest) texts: usize,
    pub(in crate::ingest) jsons: usize,
    /// Whether there are integers that a float cannot hold.
    pub(in crate::ingest) inexact: bool,
    /// Whether there are integers of more than 64 bits.
    pub(in crate::ingest) huge: bool,
    /// Texts that are numbers, counted as long as there are no other texts.
    numeric: usize,
    /// Texts that stand for "nothing", counted as long as there are no other texts.
    missing: usize,
    /// Whether there are texts that are numbers but not integers.
    fractional: bool,
    /// Whether there are texts that are neither numbers nor stand for "nothing".
    other: bool,
}

/// The type of a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::ingest) enum Type {
    Bool,
    Int,
    Float,
    Text,
    /// JSON, as text.
    Json,
}

impl Facts {
    pub(in crate::ingest) fn see(&mut self, kind: Kind, text: &[u8]) {
        match kind {
            Kind::Null => {}
            Kind::Bool => self.bools += 1,
            Kind::Float => self.floats += 1,
            Kind::Json => self.jsons += 1,
            Kind::Text => self.text(text),
            Kind::Int => {
                self.ints += 1;
                self.number(number_in(text));
            }
        }
    }

    pub(in crate::ingest) fn text(&mut self, text: &[u8]) {
        self.texts += 1;
        // One value that is nothing but text makes all of them texts.
        if self.other {
            return;
        }
        let number = number_in(text);
        if number.is_some() {
            self.numeric += 1;
            self.number(number);
        } else if str::from_utf8(text).is_ok_and(number::is_missing) {
            self.missing += 1;
        } else {
            self.other = true;
        }
    }

    fn number(&mut self, number: Option<Number>) {
        match number {
            Some(Number::Int(value)) => self.inexact |= !is_exact(value),
            Some(Number::Float(_)) => self.fractional = true,
            Some(Number::Huge) | None => self.huge = true,
        }
    }

    pub(in crate::ingest) fn add(&mut self, other: &Self) {
        self.bools += other.bools;
        self.ints += other.ints;
        self.floats += other.floats;
        self.texts += other.texts;
        self.jsons += other.jsons;
        self.inexact |= other.inexact;
        self.huge |= other.huge;
        self.numeric += other.numeric;
        self.missing += other.missing;
        self.fractional |= other.fractional;
        self.other |= other.other;
    }

    pub(in crate::ingest) fn is_empty(&self) -> bool {
        self.bools + self.numbers() + self.texts + self.jsons == 0
    }

    fn numbers(&self) -> usize {
        self.ints + self.floats
    }

    /// Tells whether there is anything but text.
    pub(in crate::ingest) fn is_not_text(&self) -> bool {
        self.bools + self.numbers() + self.jsons > 0
    }

    /// Decides the type of the column. Returns a note on what was done to its values for it.
    pub(in crate::ingest) fn decide(&self) -> (Type, Option<String>) {
        let (bools, numbers, texts) = (self.bools, self.numbers(), self.texts);
        match (self.jsons, bools, numbers, texts) {
            (0, 0, 0, _) => (Type::Text, None),
            (0, _, 0, 0) => (Type::Bool, None),
            (0, 0, _, 0) => self.number_type(),
            (0, 0, _, _) if !self.other => self.mended_numbers(),
            (0, _, 0, _) if self.missing == texts => {
                (Type::Bool, Some(format!("{} read as missing", count(texts, "text"))))
            }
            (0, ..) => {
                let kinds = list([(bools, "boolean"), (numbers, "number"), (texts, "text")]);
                (Type::Text, Some(format!("{kinds}: all kept as text")))
            }
            (_, 0, 0, 0) => (Type::Json, None),
            (jsons, ..) => {
                let lists = if jsons == 1 { "list or object" } else { "lists or objects" };
                let plain = count(bools + numbers + texts, "plain value");
                (
                    Type::Json,
                    Some(format!(
                        "{} {lists} and {plain}: all kept as JSON text",
                        thousands(jsons)
                    )),
                )
            }
        }
    }

    fn number_type(&self) -> (Type, Option<String>) {
        let fractional = self.floats > 0 || self.fractional;
        if self.huge {
            let note = "whole numbers of more than 64 bits: all kept as text, to be exact";
            (Type::Text, Some(note.to_owned()))
        } else if fractional && self.inexact {
            let note =
                "decimal numbers and whole numbers beyond 2^53: all kept as text, to be exact";
            (Type::Text, Some(note.to_owned()))
        } else if fractional {
            (Type::Float, None)
        } else {
            (Type::Int, None)
        }
    }

    /// Decides the type of numbers with texts among them that can be read as numbers or as missing.
    fn mended_numbers(&self) -> (Type, Option<String>) {
        let (kind, note) = self.number_type();
        let what = match (self.numeric, self.missing) {
            (numeric, 0) => format!("{} read as numbers", count(numeric, "text")),
            (0, missing) => format!("{} read as missing", count(missing, "text")),
            (numeric, missing) => {
                format!(
                    "{} read as numbers, {} as missing",
                    count(numeric, "text"),
                    thousands(missing)
                )
            }
        };
        (kind, note.or(Some(what)))
    }
}

fn number_in(text: &[u8]) -> Option<Number> {
    number::parse(str::from_utf8(text).ok()?)
}

/// Lists kinds with their numbers: "2 booleans, 1 number and 3 texts"
pub(in crate::ingest) fn list<const N: usize>(kinds: [(usize, &str); N]) -> String {
    let present: Vec<String> =
        kinds.into_iter().filter(|(n, _)| *n > 0).map(|(n, name)| count(n, name)).collect();
    match present.split_last() {
        Some((last, rest)) if !rest.is_empty() => format!("{} and {last}", rest.join(", ")),
        _ => present.concat(),
    }
}

/// Writes a count with its noun: "1 text", "2,000 texts"
pub(in crate::ingest) fn count(number: usize, name: &str) -> String {
    format!("{} {name}{}", thousands(number), if number == 1 { "" } else { "s" })
}

fn thousands(number: usize) -> String {
    let digits = number.to_string();
    let groups: Vec<&str> = digits
        .as_bytes()
        .rchunks(3)
        .rev()
        .map(|group| str::from_utf8(group).unwrap_or_default())
        .collect();
    groups.join(",")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn facts(cells: &[(Kind, &str)]) -> Facts {
        let mut facts = Facts::default();
        for (kind, text) in cells {
            facts.see(*kind, text.as_bytes());
        }
        facts
    }

    fn decided(cells: &[(Kind, &str)]) -> (Type, String) {
        let (kind, note) = facts(cells).decide();
        (kind, note.unwrap_or_default())
    }

    use Kind::{Bool, Float, Int, Json, Text};

    #[test]
    fn clean_columns_need_no_note() {
        let clean = [
            (&[][..], Type::Text),
            (&[(Bool, "true")], Type::Bool),
            (&[(Int, "1"), (Int, "9223372036854775807")], Type::Int),
            (&[(Int, "1"), (Float, "1.5")], Type::Float),
            (&[(Text, "1"), (Text, "2")], Type::Text),
            (&[(Text, "N/A")], Type::Text),
            (&[(Json, "[]")], Type::Json),
        ];
        for (cells, kind) in clean {
            assert_eq!(decided(cells), (kind, String::new()), "{cells:?}");
        }
    }

    #[test]
    fn dirty_columns_are_mended_and_noted() {
        let dirty = [
            (&[(Int, "1"), (Text, "2")][..], Type::Int, "1 text read as numbers"),
            (&[(Int, "1"), (Text, "2.5")], Type::Float, "1 text read as numbers"),
            (&[(Float, "1"), (Text, "")], Type::Float, "1 text read as missing"),
            (
                &[(Int, "1"), (Text, "2"), (Text, "n/a"), (Text, "-")],
                Type::Int,
                "1 text read as numbers, 2 as missing",
            ),
            (&[(Int, "1"), (Text, "abc")], Type::Text, "1 number and 1 text: all kept as text"),
            (&[(Int, "1"), (Text, "007")], Type::Text, "1 number and 1 text: all kept as text"),
            (&[(Bool, "true"), (Int, "1")], Type::Text, "1 boolean and 1 number: all kept as text"),
            (&[(Bool, "true"), (Text, "N/A")], Type::Bool, "1 text read as missing"),
            (
                &[(Bool, "true"), (Text, "maybe")],
                Type::Text,
                "1 boolean and 1 text: all kept as text",
            ),
            (
                &[(Json, "[]"), (Json, "{}"), (Int, "1")],
                Type::Json,
                "2 lists or objects and 1 plain value: all kept as JSON text",
            ),
        ];
        for (cells, kind, note) in dirty {
            assert_eq!(decided(cells), (kind, note.to_owned()), "{cells:?}");
        }
    }

    #[test]
    fn no_digit_is_lost() {
        let (kind, note) = decided(&[(Int, "9007199254740993"), (Float, "0.5")]);
        assert_eq!(kind, Type::Text);
        assert!(note.contains("2^53"), "{note}");
        let (kind, note) = decided(&[(Int, "18446744073709551616")]);
        assert_eq!(kind, Type::Text);
        assert!(note.contains("64 bits"), "{note}");
        let (kind, _) = decided(&[(Int, "1"), (Text, "18446744073709551616")]);
        assert_eq!(kind, Type::Text);
        let (kind, _) = decided(&[(Text, "18446744073709551616"), (Text, "x"), (Int, "1")]);
        assert_eq!(kind, Type::Text);
    }

    #[test]
    fn pieces_add_up_in_any_order() {
        let cells =
            [(Int, "1"), (Text, "2.5"), (Text, "-"), (Text, "x"), (Bool, "true"), (Json, "[]")];
        for split in 0..cells.len() {
            let (mut left, right) = (facts(&cells[..split]), facts(&cells[split..]));
            left.add(&right);
            assert_eq!(left.decide(), facts(&cells).decide());
        }
    }

    #[test]
    fn counts_read_well() {
        assert_eq!(count(1, "text"), "1 text");
        assert_eq!(count(1_234_567, "text"), "1,234,567 texts");
        assert_eq!(count(100, "text"), "100 texts");
    }
}
