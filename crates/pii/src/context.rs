//! The context of a value: the words before it, the label or key it has.

use std::ops::Range;

use memchr::{memchr, memrchr};

use crate::lexicon::{Cues, Hit, Word, hits};

/// Words further away than this say nothing about a value.
const REACH: usize = 48;
/// A key says something about a whole value, not about a number deep inside of a long text.
const SHORT_TEXT: usize = 96;
/// How far the names of columns are looked for: a line that is made to be long is not read again for
/// each number in it.
const LONGEST_ROW: usize = 512;
const MOST_LINES_OF_A_HEAD: usize = 3;

/// Tells whether something may begin here: it does not go on with a word before it. The letter of a
/// line break that is written out, as in JSON, is no part of a word.
pub(crate) fn starts_word(bytes: &[u8], at: usize) -> bool {
    at == 0
        || !(bytes[at - 1].is_ascii_alphanumeric() || bytes[at - 1] == b'_')
        || is_after_escape(bytes, at)
}

/// Tells whether `\n`, `\r` or `\t` stands before this place, written out.
pub(crate) fn is_after_escape(bytes: &[u8], at: usize) -> bool {
    at >= 2 && bytes[at - 2] == b'\\' && b"nrt".contains(&bytes[at - 1])
}

/// Where a text stands.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Place {
    /// What the key says, if there is one.
    pub(crate) key: Option<Around>,
    /// There are personal data beside it, so a `name` is that of a person.
    pub(crate) among_personal: bool,
}

/// A text with its words.
#[derive(Debug)]
pub(crate) struct Text<'t> {
    pub(crate) str: &'t str,
    pub(crate) bytes: &'t [u8],
    pub(crate) hits: Vec<Hit>,
    /// The cues of all its words, and of its key.
    pub(crate) cues: Cues,
    /// What the key says, if there is one.
    pub(crate) key: Option<Around>,
    pub(crate) among_personal: bool,
}

/// The cues of the words around a value.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Around {
    pub(crate) all: Cues,
    /// The nearest word.
    pub(crate) nearest: Cues,
    /// Whether a label or a key says it: `phone: …`, not just words before.
    pub(crate) label: bool,
}

impl Around {
    pub(crate) fn says(&self, cues: Cues) -> bool {
        self.all.any(cues)
    }

    /// Tells whether the words are for what has numbers, and none for what people have: `part no`, not
    /// `card no`.
    pub(crate) fn is_of_things(&self) -> bool {
        self.says(Cues::THING | Cues::GOODS | Cues::VERSION)
            && !self.says(Cues::PERSONAL | Cues::CALL)
    }

    /// Tells whether a label names a number of another kind: `order_id`, not `order_phone`.
    pub(crate) fn is_label_of_count(&self) -> bool {
        self.label && self.nearest.any(Cues::COUNT | Cues::VERSION)
    }
}

pub(crate) fn around_key(key: &str) -> Around {
    let mut around = Around { label: true, ..Around::default() };
    for hit in hits(key) {
        if let Word::Cue(cues) = hit.word {
            around.all |= cues;
            around.nearest = cues;
        }
    }
    around
}

impl<'t> Text<'t> {
    pub(crate) fn new(text: &'t str, place: Place) -> Self {
        let hits = hits(text);
        let of_key = place.key.map_or(Cues::NONE, |key| key.all);
        let cues = hits.iter().fold(of_key, |sum, hit| match hit.word {
            Word::Cue(cues) => sum | cues,
            _ => sum,
        });
        Self {
            str: text,
            bytes: text.as_bytes(),
            hits,
            cues,
            key: place.key,
            among_personal: place.among_personal,
        }
    }

    /// Returns the cues within a range, from left to right.
    pub(crate) fn cues_in(&self, range: Range<usize>) -> impl Iterator<Item = (&Hit, Cues)> {
        let first = self.hits.partition_point(|hit| hit.start < range.start);
        self.hits[first..].iter().take_while(move |hit| hit.end <= range.end).filter_map(|hit| {
            match hit.word {
                Word::Cue(cues) => Some((hit, cues)),
                _ => None,
            }
        })
    }

    /// Returns what the words within a range say together.
    pub(crate) fn sum(&self, range: Range<usize>, label: bool) -> Around {
        let mut around = Around::default();
        for (_, cues) in self.cues_in(range) {
            around = Around { all: around.all | cues, nearest: cues, label };
        }
        around
    }

    /// Returns what stands before a value. Its label decides if it has one; else the words before it.
    pub(crate) fn before(&self, start: usize) -> Around {
        if !self.cues.any(Cues::OF_NUMBERS) {
            return Around::default();
        }
        if let Some(label) = self.label_before(start) {
            return self.sum(label, true);
        }
        if let Some(key) = self.key.filter(|_| self.bytes.len() <= SHORT_TEXT) {
            return key;
        }
        self.sum(self.words_before(start), false)
    }

    /// Returns what the word right after a value says: `555-0100 (mobile)`.
    pub(crate) fn after(&self, end: usize) -> Cues {
        let gap = self.bytes[end..].iter().take(3).take_while(|b| b" -(,/".contains(b)).count();
        self.hits[self.hits.partition_point(|hit| hit.start < end + gap)..]
            .first()
            .filter(|hit| hit.start == end + gap)
            .map_or(Cues::NONE, |hit| match hit.word {
                Word::Cue(cues) => cues,
                _ => Cues::NONE,
            })
    }

    /// Returns what the name of a value's column says, if the text is a table with a line of names: one
    /// of its first lines has as many separators as the line of the value.
    pub(crate) fn column(&self, start: usize) -> Option<Around> {
        let floor = start.saturating_sub(LONGEST_ROW);
        let row = floor + memrchr(b'\n', &self.bytes[floor..start])? + 1;
        let end = self.bytes.len().min(start + LONGEST_ROW);
        let row_end = memchr(b'\n', &self.bytes[start..end]).map_or(end, |length| start + length);
        let mut name_start = 0;
        for line in self.bytes[..row].split_inclusive(|b| *b == b'\n').take(MOST_LINES_OF_A_HEAD) {
            if line.len() > LONGEST_ROW {
                return None;
            }
            if let Some(separator) = b"\t;|,".iter().find(|separator| line.contains(separator)) {
                let count = |bytes: &[u8]| bytes.iter().filter(|b| *b == separator).count();
                let fits = count(line) == count(&self.bytes[row..row_end]);
                let name = line.split(|b| b == separator).nth(count(&self.bytes[row..start]))?;
                let offset = name.as_ptr() as usize - line.as_ptr() as usize;
                let range = name_start + offset..name_start + offset + name.len();
                return fits.then(|| self.sum(range, true));
            }
            name_start += line.len();
        }
        None
    }

    /// Returns the label right before a value, as in `"phone": "`, `phone=`, `my phone: ` or `<phone>`.
    pub(crate) fn label_before(&self, start: usize) -> Option<Range<usize>> {
        let floor = start.saturating_sub(REACH);
        let back = |mut at: usize, skipped: &[u8]| {
            while at > floor && skipped.contains(&self.bytes[at - 1]) {
                at -= 1;
            }
            at
        };
        let mut end = back(start, b" \t\"'\\([+#`");
        let sign = *self.bytes[floor..end].last()?;
        if !b":=>".contains(&sign) {
            return None;
        }
        end = back(end, b":=> \t\"'\\*]`");
        let label =
            self.bytes[floor..end].iter().rposition(|b| b",;{}[]()<>\"'`\n\r\t|\\?&".contains(b));
        let begin = label.map_or(floor, |place| floor + place + 1);
        (begin < end).then_some(begin..end)
    }

    /// Returns the words before a value that may speak of it: of the same line, up to another number or
    /// the end of what they belong to.
    fn words_before(&self, start: usize) -> Range<usize> {
        let floor = start.saturating_sub(REACH);
        let mut digits = 0;
        for at in (floor..start).rev() {
            let byte = self.bytes[at];
            digits = if byte.is_ascii_digit() { digits + 1 } else { 0 };
            if digits == 3 || b"\n\r\t{}[]<>|;".contains(&byte) {
                return at + 1..start;
            }
            if is_after_escape(self.bytes, at) {
                return at..start;
            }
        }
        floor..start
    }
}
