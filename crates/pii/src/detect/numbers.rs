//! Everything that has digits in it: looks at each number once, and asks what it may be.

use super::{
    Options, Sink, card,
    cluster::{Cluster, read_gap},
    date, email, iban, national, net, phone, ssn,
};
use crate::{
    context::{Around, Text, is_after_escape},
    kind::Builtin,
    lexicon::Cues,
};

/// No word that we look for is longer.
const MAX_WORD_LEN: usize = 64;
/// Shorter numbers are nobody's.
const MIN_NUMBER_LEN: usize = 6;

pub(super) fn find(text: &Text<'_>, options: &Options, found: &mut Sink<'_>) {
    let births = text.cues.any(Cues::BIRTH);
    let mut numbers = Numbers { text, options, births, done: 0, found };
    while let Some(mark) = next_mark(text.bytes, numbers.done) {
        numbers.done = match text.bytes[mark] {
            b'@' => numbers.email(mark),
            _ => numbers.number(mark),
        };
    }
}

/// Returns where the next digit or `@` is. Text without either is passed over in blocks.
fn next_mark(bytes: &[u8], from: usize) -> Option<usize> {
    let is_mark = |b: &u8| b.wrapping_sub(b'0') < 10 || *b == b'@';
    let mut at = from;
    for block in bytes[from..].chunks(32) {
        if block.iter().fold(false, |any, b| any | is_mark(b)) {
            return block.iter().position(is_mark).map(|place| at + place);
        }
        at += block.len();
    }
    None
}

struct Numbers<'a, 'f> {
    text: &'a Text<'a>,
    options: &'a Options,
    /// Whether a birth is spoken of somewhere.
    births: bool,
    /// The place up to which everything has been looked at.
    done: usize,
    found: &'a mut Sink<'f>,
}

impl Numbers<'_, '_> {
    fn email(&mut self, at: usize) -> usize {
        match email::around(self.text.str, at, at + 1) {
            Some(range) => {
                let end = range.end;
                (self.found)(Builtin::Email, range);
                end
            }
            None => at + 1,
        }
    }

    /// Looks at the number or word with its first digit at `mark`, and returns where to go on.
    fn number(&mut self, mark: usize) -> usize {
        let bytes = self.text.bytes;
        let mut word_start = mark
            - bytes[self.done..mark]
                .iter()
                .rev()
                .take(MAX_WORD_LEN)
                .take_while(|b| b.is_ascii_alphanumeric())
                .count();
        if word_start < mark && is_after_escape(bytes, word_start + 1) {
            word_start += 1;
        }
        let digits_end = mark + bytes[mark..].iter().take_while(|b| b.is_ascii_digit()).count();
        let word_end = digits_end
            + bytes[digits_end..].iter().take_while(|b| b.is_ascii_alphanumeric()).count();
        if let Some(end) = net::find(bytes, word_start, word_end, self.done, self.text, self.found)
        {
            return end;
        }
        if let Some(end) = skip_uuid(bytes, word_start, word_end) {
            return end;
        }
        if let Some(range) = national::letters::finland(bytes, word_start)
            && !self.numbers_things(&range)
        {
            let end = range.end;
            (self.found)(Builtin::NationalId, range);
            return end;
        }
        let is_short =
            digits_end - mark < MIN_NUMBER_LEN && word_start == mark && word_end == digits_end;
        if is_short && !self.births && read_gap(&bytes[digits_end..]).is_none() {
            return digits_end;
        }
        if word_start < mark || word_end > digits_end {
            if word_end - word_start <= MAX_WORD_LEN
                && let Some((kind, range)) = self.word(word_start, word_end)
            {
                let end = range.end;
                (self.found)(kind, range);
                return end;
            }
            // The digits may still be the beginning of `555-0100x12`, but not the end of a word.
            if word_start < mark {
                return word_end;
            }
        }
        let end = self.cluster(mark).unwrap_or(digits_end);
        // What is left of a mixed word is no number.
        if end < word_end { word_end } else { end }
    }

    /// Finds what a word of letters and digits is.
    fn word(&self, start: usize, end: usize) -> Option<(Builtin, std::ops::Range<usize>)> {
        let bytes = self.text.bytes;
        if let Some(range) = iban::at(bytes, start) {
            return Some((Builtin::Iban, range));
        }
        if let Some(range) = national::letters::at(bytes, start, end, || self.text.before(start)) {
            return Some((Builtin::NationalId, range));
        }
        let digits = bytes[start..end].iter().filter(|b| b.is_ascii_digit()).count();
        let document = (6..=18).contains(&(end - start))
            && digits >= 4
            && self.text.cues.any(Cues::DOCUMENT)
            && self.text.before(start).says(Cues::DOCUMENT);
        document.then_some((Builtin::NationalId, start..end))
    }

    /// Tells whether what is written like a national id numbers an invoice or a shipment.
    fn numbers_things(&self, range: &std::ops::Range<usize>) -> bool {
        let around = self.text.before(range.start);
        let is_announced = around.says(Cues::NATIONAL | Cues::DOCUMENT | Cues::BIRTH);
        !is_announced && (around.is_of_things() || self.is_in_column_of_things(range.start))
    }

    /// Tells whether the name of the column says that what is in it are numbers of things. It is asked
    /// last, of what would be found.
    fn is_in_column_of_things(&self, start: usize) -> bool {
        self.text.cues.any(Cues::THING | Cues::GOODS | Cues::VERSION)
            && self.text.column(start).is_some_and(|name| name.is_of_things())
    }

    /// Looks at groups of digits. Returns where to go on if something is known about them.
    fn cluster(&mut self, mark: usize) -> Option<usize> {
        let bytes = self.text.bytes;
        let before = Neighbours::before(bytes, mark);
        if let Some(end) = date::at(bytes, mark) {
            if self.births && self.text.before(mark).says(Cues::BIRTH) {
                (self.found)(Builtin::DateOfBirth, mark..end);
            }
            return Some(end);
        }
        if self.births
            && let Some(range) = date::with_month(self.text, mark)
        {
            let end = range.end;
            (self.found)(Builtin::DateOfBirth, range);
            return Some(end);
        }
        let cluster = Cluster::read(bytes, mark)?;
        if cluster.digits(cluster.groups()).len() < MIN_NUMBER_LEN || before == Neighbours::Digit {
            return None;
        }
        if let Some(end) = phone::coordinates(bytes, &cluster) {
            return Some(end);
        }
        let around = self.text.before(cluster.start());
        let (kind, range) = self.what(&cluster, &around, before)?;
        if !is_announced(kind, &around, cluster.plus) && self.is_in_column_of_things(mark) {
            // No part of the number is looked at either: all of it stands in the same column.
            return Some(cluster.end(cluster.groups()));
        }
        let end = range.end;
        (self.found)(kind, range);
        Some(end)
    }

    fn what(
        &self,
        cluster: &Cluster,
        around: &Around,
        before: Neighbours,
    ) -> Option<(Builtin, std::ops::Range<usize>)> {
        let bytes = self.text.bytes;
        let ends = |range: &std::ops::Range<usize>| ends_well(bytes, range.end);
        let cluster_end = cluster.end(cluster.groups());
        // What the label says, or the words beside it.
        let beside_goods =
            around.says(Cues::GOODS) || self.text.after(cluster_end).any(Cues::GOODS);
        let labels_things = around.label && around.is_of_things();
        let near = if around.says(Cues::CARD) {
            card::Near::Card
        } else if beside_goods || labels_things {
            card::Near::Things
        } else if self.text.among_personal && !around.is_label_of_count() {
            card::Near::Personal
        } else {
            card::Near::Nothing
        };
        if let Some(range) = card::find(cluster, near, ends) {
            return Some((Builtin::CreditCard, range));
        }
        let near_ssn = around.says(Cues::SSN);
        // In tables the word is in the head, so the whole text counts.
        let cues = self.text.cues;
        let numbers_goods = !near_ssn
            && (beside_goods
                || labels_things
                || (cues.any(Cues::GOODS) && !cues.any(Cues::PERSONAL)));
        if let Some(range) = ssn::find(cluster, near_ssn, numbers_goods).filter(ends) {
            return Some((Builtin::UsSsn, range));
        }
        let is_meant = cluster.plus || around.says(Cues::PHONE | Cues::CALL | Cues::NATIONAL);
        if numbers_goods && !is_meant {
            return None;
        }
        if before == Neighbours::Letter && !around.label {
            return None;
        }
        if let Some(range) = national::find(cluster, around).filter(ends) {
            return Some((Builtin::NationalId, range));
        }
        if around.says(Cues::BIRTH) && around.label && date::is_compact(cluster.digits(1)) {
            return Some((Builtin::DateOfBirth, cluster.range(1)));
        }
        phone::find(self.text, cluster, around, &self.options.region)
            .map(|range| (Builtin::Phone, range))
    }
}

/// Tells whether the words right before a number say that it is of this kind, whatever the name of its
/// column is.
fn is_announced(kind: Builtin, around: &Around, plus: bool) -> bool {
    let cues = match kind {
        Builtin::CreditCard => Cues::CARD,
        Builtin::UsSsn => Cues::SSN,
        Builtin::Phone => Cues::PHONE | Cues::CALL,
        _ => Cues::NATIONAL | Cues::DOCUMENT | Cues::BIRTH,
    };
    plus || around.says(cues)
}

/// The text that a number is glued to on its left.
#[derive(Clone, Copy, PartialEq)]
enum Neighbours {
    Nothing,
    /// The end of a name: `INV-2024`, `file_1234`.
    Letter,
    /// Another number, of which it is the rest: `3.14159`.
    Digit,
}

impl Neighbours {
    fn before(bytes: &[u8], at: usize) -> Self {
        let Some(previous) = at.checked_sub(1).map(|place| bytes[place]) else {
            return Self::Nothing;
        };
        if !b"-._$,".contains(&previous) {
            return Self::Nothing;
        }
        match at.checked_sub(2).map(|place| bytes[place]) {
            Some(b) if b.is_ascii_digit() && previous == b',' && !is_grouping(bytes, at - 1) => {
                Self::Nothing
            }
            Some(b) if b.is_ascii_digit() => Self::Digit,
            Some(b) if (b.is_ascii_alphanumeric() || b == b'_') && previous != b',' => Self::Letter,
            _ if previous == b'$' => Self::Digit,
            _ => Self::Nothing,
        }
    }
}

/// Tells whether a comma after a digit is within a number: `12,345`. Otherwise two numbers are beside
/// each other, as in a line of CSV or a list, or it ends a part of a sentence.
pub(super) fn is_grouping(bytes: &[u8], comma: usize) -> bool {
    let before = bytes[..comma].iter().rev().take(4).take_while(|b| b.is_ascii_digit()).count();
    let rest = &bytes[comma + 1..];
    let after = rest.iter().take(4).take_while(|b| b.is_ascii_digit()).count();
    before <= 3 && after == 3 && rest.get(3) != Some(&b'-')
}

/// Tells whether a number may end here: not in the middle of a word or a decimal.
fn ends_well(bytes: &[u8], end: usize) -> bool {
    match bytes.get(end) {
        None => true,
        Some(b) if b.is_ascii_alphanumeric() || *b == b'_' => false,
        Some(b',') => !is_grouping(bytes, end),
        Some(b'.' | b'-') => !bytes.get(end + 1).is_some_and(u8::is_ascii_digit),
        Some(_) => true,
    }
}

/// Returns the end of the UUID that this word is a part of.
fn skip_uuid(bytes: &[u8], start: usize, end: usize) -> Option<usize> {
    const LENGTHS: [usize; 5] = [8, 4, 4, 4, 12];
    // The word may be any of the five groups.
    let offsets = [0, 9, 14, 19, 24];
    let dashed = bytes.get(end) == Some(&b'-')
        || start.checked_sub(1).is_some_and(|place| bytes[place] == b'-');
    if !dashed || !LENGTHS.contains(&(end - start)) {
        return None;
    }
    offsets.iter().find_map(|offset| {
        let first = start.checked_sub(*offset)?;
        let uuid = bytes.get(first..first + 36)?;
        uuid.iter()
            .enumerate()
            .all(|(place, b)| match place {
                8 | 13 | 18 | 23 => *b == b'-',
                _ => b.is_ascii_hexdigit(),
            })
            .then_some(first + 36)
    })
}
