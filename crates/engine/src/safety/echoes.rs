//! Values that tools were given lately. Whatever comes back with one of them inside is recognised,
//! also where it stands too close to other letters to be found by itself, and in the forms that
//! tools commonly give things back in.

use std::{
    borrow::Cow,
    collections::{HashMap, VecDeque},
    sync::{Arc, Mutex, PoisonError},
};

use aho_corasick::{AhoCorasick, MatchKind};
use base64::{Engine, prelude::BASE64_STANDARD_NO_PAD};

/// Shorter values are met by chance.
const LEAST_BYTES: usize = 5;
/// So many are remembered of each namespace.
const MOST_VALUES: usize = 500;

/// The values of all namespaces.
#[derive(Debug, Default)]
pub(super) struct Echoes(Mutex<HashMap<String, Lately>>);

#[derive(Debug, Default)]
struct Lately {
    /// Values and their tokens, the oldest first.
    values: VecDeque<(String, String)>,
    /// Made when it is needed.
    finder: Option<Arc<Finder>>,
}

/// Finds them all at once.
#[derive(Debug)]
pub(super) struct Finder {
    automaton: AhoCorasick,
    tokens: Vec<String>,
}

impl Echoes {
    /// A tool was given a value in the place of its token.
    pub(super) fn add(&self, namespace: &str, value: &str, token: &str) {
        if value.len() < LEAST_BYTES {
            return;
        }
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let lately = all.entry(namespace.to_owned()).or_default();
        if lately.values.iter().any(|(known, _)| known == value) {
            return;
        }
        if lately.values.len() == MOST_VALUES {
            lately.values.pop_front();
        }
        lately.values.push_back((value.to_owned(), token.to_owned()));
        lately.finder = None;
    }

    /// What finds the values of a namespace, if there are any.
    pub(super) fn finder(&self, namespace: &str) -> Option<Arc<Finder>> {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let lately = all.get_mut(namespace)?;
        if lately.finder.is_none() {
            lately.finder = Finder::new(&lately.values).map(Arc::new);
        }
        lately.finder.clone()
    }
}

impl Finder {
    fn new(values: &VecDeque<(String, String)>) -> Option<Self> {
        let mut patterns = Vec::new();
        let mut tokens = Vec::new();
        for (value, token) in values {
            for form in forms(value) {
                patterns.push(form);
                tokens.push(token.clone());
            }
        }
        let automaton = AhoCorasick::builder()
            .ascii_case_insensitive(true)
            .match_kind(MatchKind::LeftmostLongest)
            .build(patterns)
            .ok()?;
        Some(Self { automaton, tokens })
    }

    /// The text with tokens in the place of these values.
    pub(super) fn replace<'t>(&self, text: &'t str) -> Cow<'t, str> {
        let mut told = String::new();
        let mut at = 0;
        for found in self.automaton.find_iter(text) {
            told.push_str(&text[at..found.start()]);
            told.push_str(&self.tokens[found.pattern().as_usize()]);
            at = found.end();
        }
        if at == 0 && told.is_empty() {
            return Cow::Borrowed(text);
        }
        told.push_str(&text[at..]);
        Cow::Owned(told)
    }
}

/// A value as it may come back: as it is (in any case), reversed, in hexadecimal, in an address, in
/// base64 wherever it begins.
fn forms(value: &str) -> Vec<String> {
    let bytes = value.as_bytes();
    let hex: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    let percent: String = value
        .chars()
        .map(|letter| match letter {
            'a'..='z' | 'A'..='Z' | '0'..='9' | '-' | '_' | '.' | '~' => letter.to_string(),
            other => other.to_string().bytes().map(|byte| format!("%{byte:02X}")).collect(),
        })
        .collect();
    let mut forms = vec![value.to_owned(), value.chars().rev().collect(), hex, percent];
    for before in 0..3 {
        // What stands before and after changes the letters at the edges; those between are sure.
        let padded = [&vec![0; before], bytes].concat();
        let text = BASE64_STANDARD_NO_PAD.encode(&padded);
        let (start, end) = ((before * 8).div_ceil(6), padded.len() * 8 / 6);
        if end > start + 6 {
            forms.push(text[start..end].to_owned());
        }
    }
    forms.dedup();
    forms
}

#[cfg(test)]
mod tests {
    use base64::prelude::BASE64_STANDARD;

    use super::*;

    fn replaced(text: &str) -> String {
        let echoes = Echoes::default();
        echoes.add("team", "ada@example.com", "[EMAIL_a]");
        echoes.finder("team").unwrap().replace(text).into_owned()
    }

    #[test]
    fn a_value_is_found_whatever_stands_around_it() {
        assert_eq!(replaced("7ada@example.com7"), "7[EMAIL_a]7");
        assert_eq!(replaced("ADA@EXAMPLE.COMx"), "[EMAIL_a]x");
        assert_eq!(replaced("nothing"), "nothing");
    }

    #[test]
    fn a_value_is_found_in_the_forms_that_tools_give_back() {
        for text in ["", "x", "xy", "xyz"] {
            let whole = format!("{text}ada@example.com{text}");
            let encoded = BASE64_STANDARD.encode(&whole);
            assert!(replaced(&encoded).contains("[EMAIL_a]"), "{encoded}");
        }
        assert_eq!(replaced("6164614065786d"), "6164614065786d");
        assert_eq!(replaced("q=ada%40example.com&"), "q=[EMAIL_a]&");
        assert_eq!(replaced("moc.elpmaxe@ada"), "[EMAIL_a]");
    }

    #[test]
    fn namespaces_do_not_know_of_each_other() {
        let echoes = Echoes::default();
        echoes.add("team", "ada@example.com", "[EMAIL_a]");
        assert!(echoes.finder("other").is_none());
    }
}
