//! The scanner, which finds in a text what its settings ask for.

use std::{fmt, ops::Range, sync::Arc};

use aho_corasick::{AhoCorasick, MatchKind};
use phonenumber::country;
use regex::Regex;

use crate::{
    context::{Place, Text, around_key},
    detect::{self, Options},
    kind::{Builtin, Kind, kinds},
    settings::{Custom, CustomPattern, Settings, SettingsError, Urls},
    token::{is_name, tokens_in},
};

/// A finding: its kind, and where it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Found {
    pub kind: Kind,
    /// The range in bytes, on the borders of characters.
    pub range: Range<usize>,
}

/// A finder of personal data and secrets. Made once, used by all.
#[derive(Debug)]
pub struct Scanner {
    on: [bool; Builtin::ALL.len()],
    custom: Vec<OwnKind>,
    options: Options,
}

struct OwnKind {
    kind: Kind,
    finder: Finder,
}

enum Finder {
    Regex(Regex),
    Words(AhoCorasick),
}

impl fmt::Debug for OwnKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.kind)
    }
}

impl Scanner {
    /// Creates a scanner for what the settings ask for.
    pub fn new(settings: &Settings) -> Result<Self, SettingsError> {
        let custom = settings.custom.iter().map(own_kind).collect::<Result<Vec<_>, _>>()?;
        let known = |name: &str| {
            kinds().contains(&name) || custom.iter().any(|own| own.kind.as_str() == name)
        };
        if let Some(name) = settings.kinds.keys().find(|name| !known(name)) {
            return Err(SettingsError::UnknownKind { name: name.clone() });
        }
        let is_on = |name: &str| settings.kinds.get(name).is_none_or(|kind| kind.on);
        let region = settings.region.as_deref().unwrap_or("US");
        let region: country::Id = region
            .parse()
            .map_err(|_| SettingsError::UnknownRegion { region: region.to_owned() })?;
        Ok(Self {
            on: Builtin::ALL.map(|kind| is_on(kind.name())),
            custom: custom.into_iter().filter(|own| is_on(own.kind.as_str())).collect(),
            options: Options { region, all_urls: settings.urls == Urls::All },
        })
    }

    /// Finds what is in the text, sorted and without overlaps. `key` is the JSON key that the text
    /// stands under.
    pub fn find(&self, text: &str, key: Option<&str>) -> Vec<Found> {
        View::from(self).find(text, key)
    }

    /// Returns the same scanner without the kinds that `skip` names, for exceptions.
    pub fn with<'a>(&'a self, skip: &'a dyn Fn(&str) -> bool) -> View<'a> {
        View { scanner: self, skip: Some(skip) }
    }
}

/// A scanner with some kinds left out.
#[derive(Clone, Copy)]
pub struct View<'a> {
    scanner: &'a Scanner,
    skip: Option<&'a dyn Fn(&str) -> bool>,
}

impl fmt::Debug for View<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("View").field("scanner", self.scanner).finish_non_exhaustive()
    }
}

impl<'a> From<&'a Scanner> for View<'a> {
    fn from(scanner: &'a Scanner) -> Self {
        Self { scanner, skip: None }
    }
}

impl View<'_> {
    /// See [`Scanner::find`].
    pub fn find(&self, text: &str, key: Option<&str>) -> Vec<Found> {
        self.find_at(text, Place { key: key.map(around_key), among_personal: false })
    }

    pub(crate) fn find_at(&self, text: &str, place: Place) -> Vec<Found> {
        let scanner = self.scanner;
        let mut found = Vec::new();
        detect::all(&Text::new(text, place), &scanner.options, &mut |kind, range| {
            if scanner.on[kind as usize] && !self.skips(kind.name()) {
                found.push(Found { kind: kind.into(), range });
            }
        });
        for own in &scanner.custom {
            if !self.skips(own.kind.as_str()) {
                own.find(text, &mut found);
            }
        }
        if !found.is_empty() {
            let tokens: Vec<_> = tokens_in(text).map(|token| token.range).collect();
            if !tokens.is_empty() {
                found = found
                    .into_iter()
                    .flat_map(|found| beside_tokens(text, &tokens, found))
                    .collect();
            }
        }
        merge(found)
    }

    /// Tells whether the user has kinds of their own, of which nothing is known.
    pub(crate) fn has_own_kinds(&self) -> bool {
        !self.scanner.custom.is_empty()
    }

    fn skips(&self, kind: &str) -> bool {
        self.skip.is_some_and(|skip| skip(kind))
    }
}

fn own_kind(custom: &Custom) -> Result<OwnKind, SettingsError> {
    let kind = custom.kind.clone();
    if !is_name(&kind) {
        return Err(SettingsError::BadName { name: kind });
    }
    let finder = match &custom.pattern {
        CustomPattern::Regex(pattern) => {
            let regex = Regex::new(pattern).map_err(|source| SettingsError::BadRegex {
                kind: kind.clone(),
                source: Box::new(source),
            })?;
            if regex.is_match("") {
                return Err(SettingsError::EmptyMatch { kind });
            }
            Finder::Regex(regex)
        }
        CustomPattern::Words(words) => {
            if words.is_empty() || words.iter().any(|word| word.trim().is_empty()) {
                return Err(SettingsError::NoWords { kind });
            }
            let automaton = AhoCorasick::builder()
                .ascii_case_insensitive(true)
                .match_kind(MatchKind::LeftmostLongest)
                .build(words.iter().map(|word| word.trim()))
                .map_err(|source| SettingsError::TooManyWords {
                    kind: kind.clone(),
                    source: Box::new(source),
                })?;
            Finder::Words(automaton)
        }
    };
    Ok(OwnKind { kind: Kind::custom(Arc::from(kind)), finder })
}

impl OwnKind {
    fn find(&self, text: &str, found: &mut Vec<Found>) {
        let mut push = |range: Range<usize>| {
            if !range.is_empty() {
                found.push(Found { kind: self.kind.clone(), range });
            }
        };
        match &self.finder {
            Finder::Regex(regex) if regex.captures_len() > 1 => {
                for captures in regex.captures_iter(text) {
                    if let Some(value) = captures.get(1).or_else(|| captures.get(0)) {
                        push(value.range());
                    }
                }
            }
            Finder::Regex(regex) => regex.find_iter(text).for_each(|value| push(value.range())),
            Finder::Words(words) => words
                .find_iter(text)
                .map(|word| word.range())
                .filter(|range| stands_alone(text, range))
                .for_each(push),
        }
    }
}

/// Tells whether neither side of the range continues a word.
fn stands_alone(text: &str, range: &Range<usize>) -> bool {
    let continues = |c: Option<char>| c.is_some_and(|c| c.is_alphanumeric() || c == '_');
    !continues(text[..range.start].chars().next_back())
        && !continues(text[range.end..].chars().next())
}

/// Returns the parts of a finding that are beside the tokens of the text, which stay as they are. Parts
/// without a letter or digit say nothing, and stay too.
fn beside_tokens(text: &str, tokens: &[Range<usize>], found: Found) -> Vec<Found> {
    let mut start = found.range.start;
    let next = tokens.partition_point(|token| token.end <= start);
    if tokens.get(next).is_none_or(|token| token.start >= found.range.end) {
        return vec![found];
    }
    let mut parts = Vec::new();
    let overlapping = tokens[next..].iter().take_while(|token| token.start < found.range.end);
    for token in overlapping {
        parts.push(start..token.start.max(start));
        start = token.end;
    }
    parts.push(start..found.range.end.max(start));
    parts.retain(|part| text[part.clone()].contains(char::is_alphanumeric));
    parts.into_iter().map(|range| Found { kind: found.kind.clone(), range }).collect()
}

/// Merges findings that overlap, so that no part of any stays readable. The one that holds the other
/// names both; else the stronger kind does.
fn merge(mut found: Vec<Found>) -> Vec<Found> {
    found.sort_by_key(|found| (found.range.start, found.kind.rank()));
    let mut merged: Vec<Found> = Vec::with_capacity(found.len());
    for next in found {
        match merged.last_mut() {
            Some(last) if next.range.start < last.range.end => {
                let (a, b) = (&last.range, &next.range);
                let next_holds = b.start == a.start && b.end > a.end;
                let last_holds = a.end >= b.end && *a != *b;
                if next_holds || (!last_holds && next.kind.rank() < last.kind.rank()) {
                    last.kind = next.kind;
                }
                last.range.end = last.range.end.max(next.range.end);
            }
            _ => merged.push(next),
        }
    }
    merged
}
