//! Groups of digits with something between them, which may be one number: `+1 (212) 555-0147`.

use std::ops::Range;

const MAX_GROUPS: usize = 20;
const MAX_DIGITS: usize = 24;

/// The separator between two groups.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Gap {
    Space,
    Dash,
    Dot,
    Slash,
    /// Anything with parentheses, or several of the others.
    Mixed,
}

/// Groups of digits, at least one.
#[derive(Debug)]
pub(super) struct Cluster {
    /// Where it begins, with its `+` or parenthesis.
    start: usize,
    pub(super) plus: bool,
    /// A parenthesis before the first digit.
    pub(super) paren: bool,
    bounds: [(usize, usize); MAX_GROUPS],
    gaps: [Gap; MAX_GROUPS],
    groups: usize,
    /// How many digits there are up to the end of each group.
    totals: [usize; MAX_GROUPS],
    digits: [u8; MAX_DIGITS],
}

impl Cluster {
    /// Reads the cluster whose first digit is at `at`. Returns `None` if it begins with more digits
    /// than any number has that we look for.
    pub(super) fn read(bytes: &[u8], at: usize) -> Option<Self> {
        let mut cluster = Self {
            start: at,
            plus: false,
            paren: false,
            bounds: [(0, 0); MAX_GROUPS],
            gaps: [Gap::Mixed; MAX_GROUPS],
            groups: 0,
            totals: [0; MAX_GROUPS],
            digits: [0; MAX_DIGITS],
        };
        cluster.read_sign(bytes);
        let (mut at, mut total) = (at, 0);
        while cluster.groups < MAX_GROUPS {
            let length =
                bytes[at..].iter().take(MAX_DIGITS + 1).take_while(|b| b.is_ascii_digit()).count();
            if length == 0 || total + length > MAX_DIGITS {
                break;
            }
            for (place, byte) in bytes[at..at + length].iter().enumerate() {
                cluster.digits[total + place] = byte - b'0';
            }
            total += length;
            cluster.bounds[cluster.groups] = (at, at + length);
            cluster.totals[cluster.groups] = total;
            cluster.groups += 1;
            at += length;
            let Some((gap, width)) = read_gap(&bytes[at..]) else { break };
            cluster.gaps[cluster.groups - 1] = gap;
            at += width;
        }
        if cluster.groups == 0 {
            return None;
        }
        cluster.drop_open_paren(bytes);
        Some(cluster)
    }

    /// Reads a `+` or parenthesis before the first digit.
    fn read_sign(&mut self, bytes: &[u8]) {
        if self.start > 0 && bytes[self.start - 1] == b'(' {
            self.start -= 1;
            self.paren = true;
        }
        if self.start > 0 && bytes[self.start - 1] == b'+' {
            self.start -= 1;
            self.plus = true;
            // `(+49) 30 …`
            if !self.paren && self.start > 0 && bytes[self.start - 1] == b'(' {
                self.start -= 1;
            }
        }
    }

    /// Drops a parenthesis that does not close inside of the number: it does not belong to it.
    fn drop_open_paren(&mut self, bytes: &[u8]) {
        let closes = bytes[self.start..self.end(self.groups)].contains(&b')');
        if bytes[self.start] == b'(' && !closes {
            self.start += 1;
            self.paren = false;
        }
    }

    pub(super) fn start(&self) -> usize {
        self.start
    }

    pub(super) fn groups(&self) -> usize {
        self.groups
    }

    /// Returns where the first `count` groups end.
    pub(super) fn end(&self, count: usize) -> usize {
        self.bounds[count.max(1) - 1].1
    }

    pub(super) fn range(&self, count: usize) -> Range<usize> {
        self.start..self.end(count)
    }

    pub(super) fn group_length(&self, place: usize) -> usize {
        self.bounds[place].1 - self.bounds[place].0
    }

    /// Returns the digits of the first `count` groups, as numbers.
    pub(super) fn digits(&self, count: usize) -> &[u8] {
        &self.digits[..self.totals[count.max(1) - 1]]
    }

    /// Returns what stands between the first `count` groups.
    pub(super) fn gaps(&self, count: usize) -> &[Gap] {
        &self.gaps[..count.max(1) - 1]
    }

    pub(super) fn starts_with_groups(&self, lengths: &[usize]) -> bool {
        self.groups >= lengths.len()
            && lengths.iter().enumerate().all(|(place, length)| self.group_length(place) == *length)
    }
}

/// Reads what stands before the next digit, if it may be inside of a number, and its width.
pub(super) fn read_gap(bytes: &[u8]) -> Option<(Gap, usize)> {
    let mut width = 0;
    let mut gap = None;
    for _ in 0..3 {
        let (next, length) = match *bytes.get(width)? {
            b' ' => (Gap::Space, 1),
            b'-' => (Gap::Dash, 1),
            b'.' => (Gap::Dot, 1),
            b'/' => (Gap::Slash, 1),
            b'(' | b')' => (Gap::Mixed, 1),
            // Spaces and dashes that do not break a line.
            0xc2 if bytes.get(width + 1) == Some(&0xa0) => (Gap::Space, 2),
            0xe2 if bytes[width + 1..].starts_with(&[0x80, 0xaf]) => (Gap::Space, 3),
            0xe2 if bytes.len() > width + 2
                && bytes[width + 1] == 0x80
                && (0x90..=0x93).contains(&bytes[width + 2]) =>
            {
                (Gap::Dash, 3)
            }
            _ => break,
        };
        gap = match gap {
            None => Some(next),
            Some(Gap::Space) if next == Gap::Space => Some(Gap::Space),
            Some(_) => Some(Gap::Mixed),
        };
        width += length;
    }
    let goes_on = bytes.get(width).is_some_and(u8::is_ascii_digit);
    gap.filter(|_| goes_on).map(|gap| (gap, width))
}
