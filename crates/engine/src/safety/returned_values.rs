//! Recognises values that tools were given recently when they come back, also where a value stands too
//! close to other letters for the scanner to find it, and in the forms in which tools commonly return
//! things.

use std::{
    borrow::Cow,
    collections::{HashMap, HashSet, VecDeque},
    ops::Range,
    sync::{Arc, Mutex, PoisonError},
};

use aho_corasick::{AhoCorasick, MatchKind};
use base64::{
    Engine,
    prelude::{BASE64_STANDARD_NO_PAD, BASE64_URL_SAFE_NO_PAD},
};
use narrows_pii::Form;

use crate::hex::hex;

/// Shorter values would be found by chance.
const MIN_BYTES: usize = 5;
/// The values in one group. Adding a value rebuilds the automaton of the last group only; full groups
/// stay as they are.
const GROUP_VALUES: usize = 512;
/// The most groups of each namespace. Who wants an earlier value to be forgotten must first send 8,192
/// others through tools. All groups take some megabytes.
const MAX_GROUPS: usize = 16;

/// The values of all namespaces.
#[derive(Debug, Default)]
pub(super) struct ReturnedValues(Mutex<HashMap<String, RecentValues>>);

/// A value that a tool was given in the place of its token.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Echo {
    pub(super) kind: String,
    pub(super) value: String,
    pub(super) form: Form,
}

#[derive(Debug, Default)]
struct RecentValues {
    /// All values, so that none is added twice.
    known: HashSet<Arc<Echo>>,
    /// The oldest first; new values are added to the last.
    groups: VecDeque<ValueGroup>,
    /// Made when it is needed.
    finder: Option<Arc<ValueMatcher>>,
}

#[derive(Debug, Default)]
struct ValueGroup {
    values: Vec<Arc<Echo>>,
    /// Made when it is needed.
    words: Option<Arc<GroupWords>>,
}

/// Returns the token that replaces a value: the reader's own, whoever sent the value.
pub(super) type TokenOf<'a> = dyn Fn(&Echo) -> String + 'a;

/// The matcher for all values of a namespace.
#[derive(Debug)]
pub(super) struct ValueMatcher(Vec<Arc<GroupWords>>);

/// The automata that find the values of one group.
#[derive(Debug)]
struct GroupWords {
    /// The values as they are.
    plain: Words,
    /// The values in all forms of [`forms`].
    forms: Words,
    /// The forms that may be broken into lines: base64 and hexadecimal.
    encoded: Words,
}

#[derive(Debug)]
struct Words {
    automaton: AhoCorasick,
    /// The value that each pattern is a form of.
    returned_values: Vec<Arc<Echo>>,
}

impl ReturnedValues {
    /// Adds a value that a tool was given in the place of its token.
    pub(super) fn add(&self, namespace: &str, echo: Echo) {
        if echo.value.len() < MIN_BYTES {
            return;
        }
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        all.entry(namespace.to_owned()).or_default().add(Arc::new(echo));
    }

    /// Returns the matcher for the values of a namespace, if there are any.
    pub(super) fn finder(&self, namespace: &str) -> Option<Arc<ValueMatcher>> {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        Some(all.get_mut(namespace)?.finder())
    }
}

impl RecentValues {
    fn add(&mut self, echo: Arc<Echo>) {
        if !self.known.insert(Arc::clone(&echo)) {
            return;
        }
        if self.groups.back().is_none_or(|group| group.values.len() == GROUP_VALUES) {
            self.groups.push_back(ValueGroup::default());
        }
        if self.groups.len() > MAX_GROUPS
            && let Some(oldest) = self.groups.pop_front()
        {
            oldest.values.iter().for_each(|echo| _ = self.known.remove(echo));
        }
        if let Some(group) = self.groups.back_mut() {
            group.values.push(echo);
            group.words = None;
        }
        self.finder = None;
    }

    fn finder(&mut self) -> Arc<ValueMatcher> {
        let groups = &mut self.groups;
        let finder = self.finder.get_or_insert_with(|| {
            Arc::new(ValueMatcher(groups.iter_mut().filter_map(ValueGroup::words).collect()))
        });
        Arc::clone(finder)
    }
}

impl ValueGroup {
    fn words(&mut self) -> Option<Arc<GroupWords>> {
        if self.words.is_none() {
            self.words = GroupWords::new(&self.values).map(Arc::new);
        }
        self.words.clone()
    }
}

impl GroupWords {
    fn new(values: &[Arc<Echo>]) -> Option<Self> {
        let plain = values.iter().map(|echo| (echo.value.clone(), echo));
        let all = |forms: fn(&str) -> Vec<String>| {
            values.iter().flat_map(move |echo| forms_of(echo, forms))
        };
        Some(Self {
            plain: Words::new(plain, false)?,
            forms: Words::new(all(forms), true)?,
            encoded: Words::new(all(encoded), true)?,
        })
    }
}

/// Returns the forms of a value, each with the value itself.
fn forms_of(
    echo: &Arc<Echo>,
    forms: fn(&str) -> Vec<String>,
) -> impl Iterator<Item = (String, &Arc<Echo>)> {
    forms(&echo.value).into_iter().map(move |form| (form, echo))
}

impl ValueMatcher {
    /// Replaces these values in a text by tokens, which `token` returns.
    pub(super) fn replace<'t>(&self, text: &'t str, token: &TokenOf<'_>) -> Cow<'t, str> {
        self.each(text, |words, text| words.plain.replace(text, token))
    }

    /// Replaces these values in all their forms, for text that a server wrote.
    pub(super) fn replace_forms<'t>(&self, text: &'t str, token: &TokenOf<'_>) -> Cow<'t, str> {
        let replaced = self.each(text, |words, text| words.forms.replace(text, token));
        if !replaced.contains('\n') {
            return replaced;
        }
        let unbroken =
            self.each(&replaced, |words, text| words.encoded.replace_broken(text, token));
        match unbroken {
            Cow::Owned(unbroken) => Cow::Owned(unbroken),
            Cow::Borrowed(_) => replaced,
        }
    }

    /// Lets each group replace what it finds.
    fn each<'t>(
        &self,
        text: &'t str,
        replace: impl for<'a> Fn(&GroupWords, &'a str) -> Cow<'a, str>,
    ) -> Cow<'t, str> {
        self.0.iter().fold(Cow::Borrowed(text), |text, words| match text {
            Cow::Borrowed(text) => replace(words, text),
            Cow::Owned(text) => match replace(words, &text) {
                Cow::Owned(replaced) => Cow::Owned(replaced),
                Cow::Borrowed(_) => Cow::Owned(text),
            },
        })
    }
}

impl Words {
    fn new<'a>(
        words: impl Iterator<Item = (String, &'a Arc<Echo>)>,
        any_case: bool,
    ) -> Option<Self> {
        let (patterns, returned_values): (Vec<String>, Vec<Arc<Echo>>) =
            words.map(|(word, echo)| (word, Arc::clone(echo))).unzip();
        let automaton = AhoCorasick::builder()
            .ascii_case_insensitive(any_case)
            .match_kind(MatchKind::LeftmostLongest)
            .build(patterns)
            .ok()?;
        Some(Self { automaton, returned_values })
    }

    fn replace<'t>(&self, text: &'t str, token: &TokenOf<'_>) -> Cow<'t, str> {
        let found = self.automaton.find_iter(text);
        let found = found.map(|found| (found.range(), found.pattern().as_usize()));
        self.put(text, found, token)
    }

    /// Replaces forms that are broken into lines, as base64 in mails is.
    fn replace_broken<'t>(&self, text: &'t str, token: &TokenOf<'_>) -> Cow<'t, str> {
        let (mut unbroken, mut places) = (String::with_capacity(text.len()), Vec::new());
        for (place, letter) in text.char_indices().filter(|(_, c)| !c.is_ascii_whitespace()) {
            unbroken.push(letter);
            places.resize(unbroken.len(), place);
        }
        let found = self.automaton.find_iter(&unbroken).map(|found| {
            // A match begins and ends with ASCII letters, so these are character boundaries.
            let range = places[found.start()]..places[found.end() - 1] + 1;
            (range, found.pattern().as_usize())
        });
        self.put(text, found, token)
    }

    fn put<'t>(
        &self,
        text: &'t str,
        found: impl Iterator<Item = (Range<usize>, usize)>,
        token: &TokenOf<'_>,
    ) -> Cow<'t, str> {
        let mut told = String::new();
        let mut at = 0;
        for (range, pattern) in found {
            told.push_str(&text[at..range.start]);
            told.push_str(&token(&self.returned_values[pattern]));
            at = range.end;
        }
        if at == 0 {
            return Cow::Borrowed(text);
        }
        told.push_str(&text[at..]);
        Cow::Owned(told)
    }
}

/// Returns the forms in which a value may come back: unchanged (in any case), reversed,
/// percent-encoded, in hexadecimal, and in base64 at any offset.
fn forms(value: &str) -> Vec<String> {
    let percent: String = value
        .chars()
        .map(|letter| match letter {
            'a'..='z' | 'A'..='Z' | '0'..='9' | '-' | '_' | '.' | '~' => letter.to_string(),
            other => other.to_string().bytes().map(|byte| format!("%{byte:02X}")).collect(),
        })
        .collect();
    let mut forms = vec![value.to_owned(), value.chars().rev().collect(), percent];
    forms.extend(encoded(value));
    forms.dedup();
    forms
}

/// Returns a value in hexadecimal, and in base64 of both alphabets at any offset.
fn encoded(value: &str) -> Vec<String> {
    let bytes = value.as_bytes();
    let mut forms = vec![hex(bytes)];
    for before in 0..3 {
        // Neighbouring bytes change the letters at the edges; only those between are certain.
        let padded = [&vec![0; before], bytes].concat();
        let (start, end) = ((before * 8).div_ceil(6), padded.len() * 8 / 6);
        if end > start + 6 {
            let (standard, url) =
                (BASE64_STANDARD_NO_PAD.encode(&padded), BASE64_URL_SAFE_NO_PAD.encode(&padded));
            forms.push(standard[start..end].to_owned());
            if url != standard {
                forms.push(url[start..end].to_owned());
            }
        }
    }
    forms
}

#[cfg(test)]
mod tests {
    use base64::prelude::BASE64_STANDARD;

    use super::*;

    fn ada() -> Echo {
        Echo { kind: "EMAIL".to_owned(), value: "ada@example.com".to_owned(), form: Form::Text }
    }

    fn token(_: &Echo) -> String {
        "[EMAIL_a]".to_owned()
    }

    fn replaced(text: &str) -> String {
        let returned_values = ReturnedValues::default();
        returned_values.add("team", ada());
        returned_values.finder("team").unwrap().replace_forms(text, &token).into_owned()
    }

    #[test]
    fn a_value_is_found_whatever_stands_around_it() {
        assert_eq!(replaced("7ada@example.com7"), "7[EMAIL_a]7");
        assert_eq!(replaced("ADA@EXAMPLE.COMx"), "[EMAIL_a]x");
        assert_eq!(replaced("nothing"), "nothing");
        let returned_values = ReturnedValues::default();
        returned_values.add("team", ada());
        let finder = returned_values.finder("team").unwrap();
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
    fn a_value_is_found_in_base64_with_line_breaks_and_of_urls() {
        let whole = format!("{} ada@example.com {}", "x".repeat(50), "y".repeat(50));
        let mut lines = BASE64_STANDARD.encode(&whole);
        for line in (1..lines.len() / 76 + 1).rev() {
            lines.insert_str(line * 76, "\r\n");
        }
        let told = replaced(&lines);
        assert!(lines.contains('\n') && told.contains("[EMAIL_a]"), "{told}");
        // The positive control: lines of other things stay as they are.
        assert_eq!(replaced("one\ntwo\nada"), "one\ntwo\nada");

        let returned_values = ReturnedValues::default();
        let echo = Echo { value: "key???>>>~~~value".to_owned(), ..ada() };
        returned_values.add("team", echo.clone());
        let url = BASE64_URL_SAFE_NO_PAD.encode(&echo.value);
        assert!(url.contains(['-', '_']), "{url}");
        let told = returned_values.finder("team").unwrap().replace_forms(&url, &token).into_owned();
        assert!(told.contains("[EMAIL_a]"), "{told}");
    }

    #[test]
    fn a_value_is_found_after_many_others_and_they_have_an_end() {
        let returned_values = ReturnedValues::default();
        let echo = |number: usize| Echo { value: format!("value {number:06}"), ..ada() };
        (0..2 * GROUP_VALUES).for_each(|number| returned_values.add("team", echo(number)));
        let finder = returned_values.finder("team").unwrap();
        for number in [0, 1, GROUP_VALUES - 1, GROUP_VALUES, 2 * GROUP_VALUES - 1] {
            assert_eq!(finder.replace(&format!("x{}x", echo(number).value), &token), "x[EMAIL_a]x");
        }
        let mut lately = RecentValues::default();
        (0..MAX_GROUPS * GROUP_VALUES + 1).for_each(|number| lately.add(Arc::new(echo(number))));
        assert_eq!(lately.groups.len(), MAX_GROUPS);
        assert_eq!(lately.known.len(), (MAX_GROUPS - 1) * GROUP_VALUES + 1);
    }

    #[test]
    fn namespaces_do_not_know_of_each_other() {
        let returned_values = ReturnedValues::default();
        returned_values.add("team", ada());
        assert!(returned_values.finder("other").is_none());
    }
}
