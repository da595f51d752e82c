//! Phone numbers: shapes first, then words around them, then libphonenumber.

use std::ops::Range;

use phonenumber::country;

use super::{
    cluster::{Cluster, Gap},
    numbers::is_grouping,
};
use crate::{
    context::{Around, Text, starts_word},
    lexicon::Cues,
};

/// E.164 allows no more.
const MAX_DIGITS: usize = 15;
/// Where a number with a leading zero may be from, apart from the region of the settings.
const ZERO_REGIONS: [country::Id; 3] = [country::GB, country::FR, country::AU];

/// Returns the phone number that the cluster begins with.
pub(super) fn find(
    text: &Text<'_>,
    cluster: &Cluster,
    around: &Around,
    region: &country::Id,
) -> Option<Range<usize>> {
    let candidate = Candidate::new(text, cluster, around)?;
    let right = if cluster.plus {
        candidate.is_international()
    } else {
        candidate.is_near_phone(region)
            || (!around.is_label_of_count() && candidate.has_shape(region))
    };
    right.then(|| cluster.start()..candidate.end())
}

/// Returns the end of coordinates such as `32.0853 34.7818`, also with a comma: two numbers with
/// decimals, as places on a map are written. Phone numbers have no such form.
pub(super) fn coordinates(bytes: &[u8], cluster: &Cluster) -> Option<usize> {
    if cluster.plus
        || cluster.groups() < 2
        || cluster.gaps(2) != [Gap::Dot]
        || cluster.group_length(0) > 3
        || cluster.group_length(1) < 3
    {
        return None;
    }
    let digits = |bytes: &[u8]| bytes.iter().take_while(|b| b.is_ascii_digit()).count();
    let rest = &bytes[cluster.end(2)..];
    let gap = rest.iter().take(3).take_while(|b| b", -".contains(b)).count();
    let second = &rest[gap..];
    let whole = digits(second);
    if gap == 0 || !(1..=3).contains(&whole) || second.get(whole) != Some(&b'.') {
        return None;
    }
    let decimals = digits(&second[whole + 1..]);
    (decimals >= 3).then(|| cluster.end(2) + gap + whole + 1 + decimals)
}

struct Candidate<'a> {
    text: &'a Text<'a>,
    cluster: &'a Cluster,
    around: &'a Around,
    /// How many groups belong to it.
    count: usize,
}

impl<'a> Candidate<'a> {
    fn new(text: &'a Text<'a>, cluster: &'a Cluster, around: &'a Around) -> Option<Self> {
        let mut count = (1..=cluster.groups())
            .rev()
            .find(|count| cluster.digits(*count).len() <= MAX_DIGITS)?;
        // `555 0100 2 times`
        while count > 1
            && cluster.group_length(count - 1) == 1
            && cluster.gaps(count).last() == Some(&Gap::Space)
        {
            count -= 1;
        }
        let candidate = Self { text, cluster, around, count };
        let bytes = text.bytes;
        let end = cluster.end(count);
        let in_word = bytes.get(end).is_some_and(|b| b.is_ascii_alphanumeric() || *b == b'_')
            && candidate.extension() == 0;
        let goes_on = match bytes.get(end) {
            Some(b':' | b'.') => bytes.get(end + 1).is_some_and(u8::is_ascii_digit),
            Some(b',') => is_grouping(bytes, end),
            _ => false,
        };
        let after_word = !starts_word(bytes, cluster.start());
        (!in_word && !goes_on && !after_word && bytes.get(end) != Some(&b'%')).then_some(candidate)
    }

    fn digits(&self) -> &[u8] {
        self.cluster.digits(self.count)
    }

    fn written(&self) -> &str {
        &self.text.str[self.cluster.range(self.count)]
    }

    fn end(&self) -> usize {
        self.cluster.end(self.count) + self.extension()
    }

    /// Returns how long the extension is, if there is one: `x12`, ` ext. 12`.
    fn extension(&self) -> usize {
        let rest = &self.text.bytes[self.cluster.end(self.count)..];
        let spaces = rest.iter().take(2).take_while(|b| **b == b' ').count();
        let names: [&[u8]; 5] = [b"extension", b"ext.", b"ext", b"x.", b"x"];
        let named = names.iter().find(|name| {
            rest[spaces..].get(..name.len()).is_some_and(|start| start.eq_ignore_ascii_case(name))
        });
        let Some(name) = named else { return 0 };
        let at = spaces + name.len();
        let gap = rest[at..].iter().take(1).take_while(|b| **b == b' ').count();
        let digits = rest[at + gap..].iter().take(7).take_while(|b| b.is_ascii_digit()).count();
        let goes_on = rest.get(at + gap + digits).is_some_and(u8::is_ascii_alphanumeric);
        if (1..=6).contains(&digits) && !goes_on { at + gap + digits } else { 0 }
    }

    fn is_grouped(&self) -> bool {
        self.count > 1
    }

    fn is_valid_in(&self, region: Option<country::Id>) -> bool {
        phonenumber::parse(region, self.written()).is_ok_and(|number| number.is_valid())
    }

    /// Tells whether the number after a `+` exists, or is long enough to be meant as one.
    fn is_international(&self) -> bool {
        let digits = self.digits().len();
        let near = self.around.says(Cues::PHONE | Cues::CALL);
        let meant = self.digits()[0] != 0 && (digits >= 10 || (near && digits >= 7));
        digits >= 7 && (meant || self.is_valid_in(None))
    }

    /// Tells whether words before or after it say that it is one.
    fn is_near_phone(&self, region: &country::Id) -> bool {
        let digits = self.digits().len();
        let around = self.around;
        if around.nearest.any(Cues::COUNT | Cues::VERSION) && !around.nearest.any(Cues::PHONE) {
            return false;
        }
        let slashes = self.cluster.gaps(self.count).contains(&Gap::Slash) && digits < 9;
        if slashes || self.digits().iter().all(|digit| *digit == 0) {
            return false;
        }
        let enough = |bare| if self.is_grouped() { digits >= 6 } else { digits >= bare };
        let after = self.text.after(self.end());
        (around.says(Cues::PHONE) && enough(if around.label { 7 } else { 9 }))
            || (around.says(Cues::CALL)
                && !around.label
                && enough(10)
                // `call` and `office` stand before many other numbers.
                && (self.is_grouped() || self.is_valid_in(Some(*region))))
            || (after.any(Cues::PHONE | Cues::CALL) && enough(9))
    }

    /// Tells whether it is written as phone numbers are, though nothing says so.
    fn has_shape(&self, region: &country::Id) -> bool {
        self.is_north_american() || self.is_in_pairs() || self.is_national(region)
    }

    /// Tells whether it is written like `(212) 555-0147`, `212-555-0147`, `1-212-555-0147` or `001 212
    /// 555 0147`.
    fn is_north_american(&self) -> bool {
        let skip = match self.digits() {
            [1, ..] if self.cluster.group_length(0) == 1 => 1,
            [0, 0, 1, ..] if self.cluster.group_length(0) == 3 => 1,
            _ => 0,
        };
        let lengths: Vec<_> =
            (skip..self.count).map(|place| self.cluster.group_length(place)).collect();
        if lengths != [3, 3, 4] {
            return false;
        }
        let gaps = &self.cluster.gaps(self.count)[skip..];
        let area = self.digits()[self.digits().len() - 10];
        match gaps {
            [Gap::Mixed, Gap::Dash | Gap::Space | Gap::Dot] => true,
            [Gap::Space, Gap::Dash] | [Gap::Dash, Gap::Dash] => true,
            [Gap::Dot, Gap::Dot] => area >= 2,
            [Gap::Space, Gap::Space] => area >= 2 && self.is_valid_in(Some(country::US)),
            _ => false,
        }
    }

    /// Tells whether it is written like `01 23 45 67 89`, as in France.
    fn is_in_pairs(&self) -> bool {
        let gaps = self.cluster.gaps(self.count);
        self.count == 5
            && (0..5).all(|place| self.cluster.group_length(place) == 2)
            && matches!(self.digits(), [0, 1..=9, ..])
            && gaps
                .iter()
                .all(|gap| *gap == gaps[0] && matches!(gap, Gap::Space | Gap::Dot | Gap::Dash))
    }

    /// Tells whether it is a number with its trunk zero or its area in parentheses, that exists.
    fn is_national(&self, region: &country::Id) -> bool {
        let digits = self.digits();
        if !self.is_grouped() || self.count > 5 || !(9..=12).contains(&digits.len()) {
            return false;
        }
        if matches!(digits, [0, 0, ..]) {
            // The country's number is in the group of the zeros, or follows them.
            if self.cluster.group_length(0) > 5 {
                return false;
            }
            // From the digits: a separator of several bytes may stand between the zeros.
            let mut international = String::from("+");
            international.extend(digits[2..].iter().map(|digit| char::from(b'0' + digit)));
            return phonenumber::parse(None, international).is_ok_and(|number| number.is_valid());
        }
        let marked = digits[0] == 0 || self.cluster.paren;
        let dots = self.cluster.gaps(self.count).contains(&Gap::Dot);
        marked
            && !dots
            && (self.is_valid_in(Some(*region))
                || ZERO_REGIONS.iter().any(|region| self.is_valid_in(Some(*region))))
    }
}
