//! The meaning of words: a vector for each word or piece of a word, trained by `scripts/train-search`
//! (see its README for data, licences and recipe).

use std::{collections::HashMap, sync::OnceLock};

use crate::{
    document::Document,
    words::{Stems, camel_parts, runs},
};

const BYTES: &[u8] = include_bytes!("table.bin");
const MAGIC: &[u8] = b"NRWSEMB1";
const HEAD: usize = MAGIC.len() + 3 * 4;
/// How much of a description counts: the beginning says what the tool does.
const DESCRIPTION_CHARS: usize = 400;
/// The length of a vector that is a direction. Whole numbers can be multiplied many at once on any
/// processor, and the sum of their products stays within 32 bits.
const ONE: f32 = 4_095.0;

/// The vectors, by word. A piece that continues a word begins with `##`.
#[derive(Debug)]
pub(crate) struct Table {
    rows: HashMap<&'static str, u32>,
    scales: Vec<f32>,
    /// Row after row.
    values: &'static [u8],
    pub(crate) columns: usize,
}

impl Table {
    /// Returns the table that is part of the program.
    pub(crate) fn shared() -> &'static Self {
        static TABLE: OnceLock<Table> = OnceLock::new();
        TABLE.get_or_init(|| {
            // The table is built in, and a test reads it, so this does not fail.
            Self::read(BYTES).unwrap_or_else(|| Self {
                rows: HashMap::new(),
                scales: Vec::new(),
                values: &[],
                columns: 0,
            })
        })
    }

    /// Reads a table: magic, rows, columns and the length of all tokens; then the length of each token,
    /// the tokens, a scale for each row and the rows in bytes. All little endian.
    fn read(bytes: &'static [u8]) -> Option<Self> {
        let number = |at: usize| {
            let bytes = bytes.get(at..at + 4)?;
            Some(u32::from_le_bytes(bytes.try_into().ok()?) as usize)
        };
        if !bytes.starts_with(MAGIC) {
            return None;
        }
        let (count, columns, blob) =
            (number(MAGIC.len())?, number(MAGIC.len() + 4)?, number(MAGIC.len() + 8)?);
        let (lengths, rest) = bytes.get(HEAD..)?.split_at_checked(count)?;
        let (tokens, rest) = rest.split_at_checked(blob)?;
        let (scales, values) = rest.split_at_checked(4 * count)?;
        if values.len() != count * columns {
            return None;
        }
        let mut rows = HashMap::with_capacity(count);
        let mut at = 0;
        for (row, length) in lengths.iter().enumerate() {
            let token = tokens.get(at..at + usize::from(*length))?;
            rows.insert(std::str::from_utf8(token).ok()?, u32::try_from(row).ok()?);
            at += token.len();
        }
        let scales = scales.as_chunks::<4>().0.iter().map(|four| f32::from_le_bytes(*four));
        Some(Self { rows, scales: scales.collect(), values, columns })
    }

    /// Returns the direction in which a text points: the sum of its words.
    pub(crate) fn vector(&self, text: &str) -> Vec<i16> {
        let mut sum = vec![0.0; self.columns];
        for run in runs(text) {
            self.add_run(run, &mut sum);
        }
        let length = sum.iter().map(|value| value * value).sum::<f32>().sqrt();
        let scale = if length > 0.0 { ONE / length } else { 0.0 };
        sum.iter().map(|value| (value * scale).round() as i16).collect()
    }

    /// Returns the direction of a tool. What it is called counts twice.
    pub(crate) fn vector_of(&self, document: &Document) -> Vec<i16> {
        let description = document.description.split_whitespace().collect::<Vec<_>>().join(" ");
        let end = description.char_indices().nth(DESCRIPTION_CHARS);
        let beginning = &description[..end.map_or(description.len(), |(at, _)| at)];
        let Document { name, server, .. } = document;
        self.vector(&format!("{server} {name} {name} {beginning}"))
    }

    fn add_run(&self, run: &str, sum: &mut [f32]) {
        if let Some(row) = self.rows.get(run.to_lowercase().as_str()) {
            return self.add(*row, sum);
        }
        for part in camel_parts(run) {
            for row in self.pieces(&part.to_lowercase()) {
                self.add(row, sum);
            }
        }
    }

    /// Tells whether the table has some word of a text whole, one that says something.
    pub(crate) fn knows(&self, text: &str, stems: &mut Stems) -> bool {
        runs(text).map(str::to_lowercase).any(|word| {
            word.chars().count() >= 3
                && self.rows.contains_key(word.as_str())
                && stems.of(&word).is_some()
        })
    }

    /// Returns the rows of a word, or of the longest pieces that make it; none if some of it is in no
    /// piece. Numbers and identifiers say nothing.
    fn pieces(&self, word: &str) -> Vec<u32> {
        if let Some(row) = self.rows.get(word) {
            return vec![*row];
        }
        let mut rows = Vec::new();
        if word.bytes().any(|byte| byte.is_ascii_digit()) {
            return rows;
        }
        let mut start = 0;
        while start < word.len() {
            let mut ends = (start + 1..=word.len()).rev().filter(|end| word.is_char_boundary(*end));
            let found = ends.find_map(|end| {
                let row = match start {
                    0 => self.rows.get(&word[..end]),
                    _ => self.rows.get(format!("##{}", &word[start..end]).as_str()),
                };
                row.map(|row| (*row, end))
            });
            let Some((row, end)) = found else { return Vec::new() };
            rows.push(row);
            start = end;
        }
        rows
    }

    fn add(&self, row: u32, sum: &mut [f32]) {
        let row = row as usize;
        let Some(scale) = self.scales.get(row) else { return };
        let values = &self.values[row * self.columns..(row + 1) * self.columns];
        for (sum, value) in sum.iter_mut().zip(values) {
            *sum += scale * f32::from(value.cast_signed());
        }
    }
}

/// Returns how far two directions agree, from -1 to 1.
pub(crate) fn cosine(a: &[i16], b: &[i16]) -> f32 {
    // Sixteen sums beside each other, and without checks for an overflow that cannot be: so the
    // processor does many at once.
    let ((a, a_rest), (b, b_rest)) = (a.as_chunks::<16>(), b.as_chunks::<16>());
    let product = |a: i16, b: i16| i32::from(a).wrapping_mul(i32::from(b));
    let mut sums = [0_i32; 16];
    for (a, b) in a.iter().zip(b) {
        for lane in 0..16 {
            sums[lane] = sums[lane].wrapping_add(product(a[lane], b[lane]));
        }
    }
    let rest = a_rest.iter().zip(b_rest).map(|(a, b)| product(*a, *b));
    sums.into_iter().chain(rest).fold(0, i32::wrapping_add) as f32 / (ONE * ONE)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn the_table_can_be_read_and_is_small() {
        let table = Table::read(BYTES).unwrap();
        assert!(table.rows.len() > 10_000 && table.columns >= 64);
        assert!(BYTES.len() <= 4 << 20, "{} bytes", BYTES.len());
    }

    #[test]
    fn a_broken_table_is_none() {
        for end in [0, 7, 19, 100, BYTES.len() - 1] {
            assert!(Table::read(&BYTES[..end]).is_none());
        }
    }

    #[test]
    fn texts_that_mean_the_same_point_the_same_way() {
        let table = Table::shared();
        let alike = |a: &str, b: &str| cosine(&table.vector(a), &table.vector(b));
        let same = alike("send an email", "deliver mail message");
        let other = alike("send an email", "resize a picture");
        assert!(same > other + 0.1, "{same} and {other}");
        assert!((alike("x", "x") - 1.0).abs() < 2e-3);
        assert_eq!(alike("", "x"), 0.0);
    }
}
