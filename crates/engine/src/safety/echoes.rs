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
use narrows_pii::Form;

use crate::hex::hex;

/// Shorter values are met by chance.
const LEAST_BYTES: usize = 5;
/// So many are remembered of each namespace.
const MOST_VALUES: usize = 500;

/// The values of all namespaces.
#[derive(Debug, Default)]
pub(super) struct Echoes(Mutex<HashMap<String, Lately>>);

/// A value that a tool was given for a token.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Echo {
    pub(super) kind: String,
    pub(super) value: String,
    pub(super) form: Form,
}

#[derive(Debug, Default)]
struct Lately {
    /// The oldest first.
    values: VecDeque<Arc<Echo>>,
    /// Made when it is needed.
    finder: Option<Arc<Finder>>,
}

/// Gives the token that a reader is shown in the place of a value: its own, whoever sent the value.
pub(super) type TokenOf<'a> = dyn Fn(&Echo) -> String + 'a;

/// Finds them all at once.
#[derive(Debug)]
pub(super) struct Finder {
    /// As they are.
    plain: Words,
    /// In all their forms.
    forms: Words,
}

#[derive(Debug)]
struct Words {
    automaton: AhoCorasick,
    /// What each pattern is a form of.
    echoes: Vec<Arc<Echo>>,
}

impl Echoes {
    /// A tool was given a value in the place of its token.
    pub(super) fn add(&self, namespace: &str, echo: Echo) {
        if echo.value.len() < LEAST_BYTES {
            return;
        }
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let lately = all.entry(namespace.to_owned()).or_default();
        if lately.values.iter().any(|known| **known == echo) {
            return;
        }
        if lately.values.len() == MOST_VALUES {
            lately.values.pop_front();
        }
        lately.values.push_back(Arc::new(echo));
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
    fn new(values: &VecDeque<Arc<Echo>>) -> Option<Self> {
        let plain = values.iter().map(|echo| (echo.value.clone(), echo));
        let forms = values.iter().flat_map(|echo| {
            let forms = forms(&echo.value).into_iter();
            forms.map(move |form| (form, echo))
        });
        Some(Self { plain: Words::new(plain, false)?, forms: Words::new(forms, true)? })
    }

    /// The text with tokens in the place of these values; `token` gives that of each.
    pub(super) fn replace<'t>(&self, text: &'t str, token: &TokenOf<'_>) -> Cow<'t, str> {
        self.plain.replace(text, token)
    }

    /// The same for what a server says, in whatever form it says it.
    pub(super) fn replace_forms<'t>(&self, text: &'t str, token: &TokenOf<'_>) -> Cow<'t, str> {
        self.forms.replace(text, token)
    }
}

impl Words {
    fn new<'a>(
        words: impl Iterator<Item = (String, &'a Arc<Echo>)>,
        any_case: bool,
    ) -> Option<Self> {
        let (patterns, echoes): (Vec<String>, Vec<Arc<Echo>>) =
            words.map(|(word, echo)| (word, Arc::clone(echo))).unzip();
        let automaton = AhoCorasick::builder()
            .ascii_case_insensitive(any_case)
            .match_kind(MatchKind::LeftmostLongest)
            .build(patterns)
            .ok()?;
        Some(Self { automaton, echoes })
    }

    fn replace<'t>(&self, text: &'t str, token: &TokenOf<'_>) -> Cow<'t, str> {
        let mut told = String::new();
        let mut at = 0;
        for found in self.automaton.find_iter(text) {
            let echo = &self.echoes[found.pattern().as_usize()];
            told.push_str(&text[at..found.start()]);
            told.push_str(&token(echo));
            at = found.end();
        }
        if at == 0 {
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
    let percent: String = value
        .chars()
        .map(|letter| match letter {
            'a'..='z' | 'A'..='Z' | '0'..='9' | '-' | '_' | '.' | '~' => letter.to_string(),
            other => other.to_string().bytes().map(|byte| format!("%{byte:02X}")).collect(),
        })
        .collect();
    let mut forms = vec![value.to_owned(), value.chars().rev().collect(), hex(bytes), percent];
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

    fn ada() -> Echo {
        Echo {
            kind: "EMAIL".to_owned(),
            value: "ada@example.com".to_owned(),
            form: Form::Text,
        }
    }

    fn token(_: &Echo) -> String {
        "[EMAIL_a]".to_owned()
    }

    fn replaced(text: &str) -> String {
        let echoes = Echoes::default();
        echoes.add("team", ada());
        echoes.finder("team").unwrap().replace_forms(text, &token).into_owned()
    }

    #[test]
    fn a_value_is_found_whatever_stands_around_it() {
        assert_eq!(replaced("7ada@example.com7"), "7[EMAIL_a]7");
        assert_eq!(replaced("ADA@EXAMPLE.COMx"), "[EMAIL_a]x");
        assert_eq!(replaced("nothing"), "nothing");
        let echoes = Echoes::default();
        echoes.add("team", ada());
        let finder = echoes.finder("team").unwrap();
        assert_eq!(finder.replace("7ada@example.com7", &token), "7[EMAIL_a]7");
        assert_eq!(finder.replace("Ada@example.com", &token), "Ada@example.com");
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
        echoes.add("team", ada());
        assert!(echoes.finder("other").is_none());
    }
}
