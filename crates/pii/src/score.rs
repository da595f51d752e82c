//! How well the scanner does on labelled texts.
//!
//! A finding is right if a label of the same kind covers it and is covered by it by at least half.
//! A label that no finding touches, of whatever kind, has leaked.

use std::{collections::BTreeMap, ops::Range};

use serde::{Deserialize, Serialize};

use crate::{Found, Scanner};

/// The kinds that a pattern tells. The others depend on context, and are not part of the total.
pub const PATTERN_KINDS: [&str; 8] =
    ["EMAIL", "PHONE", "US_SSN", "NATIONAL_ID", "CREDIT_CARD", "IBAN", "IP", "URL"];

/// A labelled text, as in the data sets of presidio-research.
#[derive(Clone, Debug, Deserialize)]
pub struct Sample {
    pub full_text: String,
    pub spans: Vec<Span>,
}

/// A label. Its positions count characters.
#[derive(Clone, Debug, Deserialize)]
pub struct Span {
    pub entity_type: String,
    pub start_position: usize,
    pub end_position: usize,
}

/// The result of scoring a scanner.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Score {
    pub texts: usize,
    pub bytes: usize,
    /// Over the kinds that a pattern tells.
    pub micro: Tally,
    /// Labels of such kinds that nothing was found in.
    pub leaks: usize,
    pub kinds: BTreeMap<String, Tally>,
}

impl Score {
    /// Returns the part of the labels that leaked.
    pub fn leak_rate(&self) -> f64 {
        ratio(self.leaks, self.micro.right + self.micro.missed)
    }
}

/// Counts, and what follows from them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Tally {
    pub right: usize,
    pub wrong: usize,
    pub missed: usize,
    pub precision: f64,
    pub recall: f64,
    pub f1: f64,
}

impl Tally {
    fn settle(&mut self) {
        self.precision = ratio(self.right, self.right + self.wrong);
        self.recall = ratio(self.right, self.right + self.missed);
        self.f1 = ratio(2 * self.right, 2 * self.right + self.wrong + self.missed);
    }
}

/// Returns a part of a whole. Of nothing, all is right.
fn ratio(part: usize, whole: usize) -> f64 {
    if whole == 0 { 1.0 } else { part as f64 / whole as f64 }
}

/// Scores the scanner on labelled texts. Use one with [`crate::Urls::All`]: the data sets label
/// all addresses of pages.
pub fn score(scanner: &Scanner, samples: &[Sample]) -> Score {
    let mut score = Score { texts: samples.len(), ..Score::default() };
    for sample in samples {
        score.bytes += sample.full_text.len();
        score.add(&labels(sample), &scanner.find(&sample.full_text, None));
    }
    for (kind, tally) in &mut score.kinds {
        tally.settle();
        if is_pattern(kind) {
            score.micro.right += tally.right;
            score.micro.wrong += tally.wrong;
            score.micro.missed += tally.missed;
        }
    }
    score.micro.settle();
    score
}

impl Score {
    fn add(&mut self, labels: &[(&'static str, Range<usize>)], found: &[Found]) {
        let mut taken = vec![false; found.len()];
        for (kind, range) in labels {
            let tally = self.kinds.entry((*kind).to_owned()).or_default();
            let matching = found.iter().enumerate().position(|(place, found)| {
                !taken[place] && found.kind.as_str() == *kind && half_overlaps(&found.range, range)
            });
            match matching {
                Some(place) => {
                    taken[place] = true;
                    tally.right += 1;
                }
                None => tally.missed += 1,
            }
            if is_pattern(kind) && found.iter().all(|found| overlap(&found.range, range) == 0) {
                self.leaks += 1;
            }
        }
        for found in found.iter().zip(taken).filter_map(|(found, taken)| (!taken).then_some(found))
        {
            self.kinds.entry(found.kind.as_str().to_owned()).or_default().wrong += 1;
        }
    }
}

fn is_pattern(kind: &str) -> bool {
    PATTERN_KINDS.contains(&kind)
}

fn overlap(a: &Range<usize>, b: &Range<usize>) -> usize {
    a.end.min(b.end).saturating_sub(a.start.max(b.start))
}

fn half_overlaps(a: &Range<usize>, b: &Range<usize>) -> bool {
    overlap(a, b) * 2 >= a.len().max(b.len())
}

/// Returns the labels of a text that we have a kind for, in bytes.
fn labels(sample: &Sample) -> Vec<(&'static str, Range<usize>)> {
    let mut borders: Vec<_> = sample.full_text.char_indices().map(|(place, _)| place).collect();
    borders.push(sample.full_text.len());
    let byte = |position: usize| borders[position.min(borders.len() - 1)];
    sample
        .spans
        .iter()
        .filter_map(|span| {
            Some((our_kind(&span.entity_type)?, byte(span.start_position)..byte(span.end_position)))
        })
        .collect()
}

/// Returns the name that we have for a label of the data sets.
fn our_kind(label: &str) -> Option<&'static str> {
    Some(match label {
        "EMAIL" | "EMAIL_ADDRESS" => "EMAIL",
        "PHONE" | "PHONE_NUMBER" => "PHONE",
        "US_SSN" | "SSN" => "US_SSN",
        "US_DRIVER_LICENSE" | "US_PASSPORT" | "NATIONAL_ID" | "US_ITIN" | "UK_NHS" => "NATIONAL_ID",
        "CREDIT_CARD" => "CREDIT_CARD",
        "IBAN" | "IBAN_CODE" => "IBAN",
        "IP" | "IP_ADDRESS" => "IP",
        "URL" | "DOMAIN_NAME" => "URL",
        "MAC" | "MAC_ADDRESS" => "MAC",
        "PERSON" => "PERSON",
        "ADDRESS" | "STREET_ADDRESS" => "ADDRESS",
        "DATE_OF_BIRTH" => "DATE_OF_BIRTH",
        _ => return None,
    })
}
