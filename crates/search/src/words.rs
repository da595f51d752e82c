//! Turns text into words: `snake_case` and `camelCase` taken apart, small letters, stems.

use std::collections::{HashMap, HashSet};

use rust_stemmers::{Algorithm, Stemmer};

/// Words that say nothing of what a tool does, in tools and in what people ask of them.
const STOP_WORDS: &str = "
    a an and are as at be by for from in is it of on or that the this to was with
    i me my we our us you your he she they them their its what which who how when where
    there here can could would should will may might do does did have has had am been
    being if then than so but not no into about these those such any some all more most
    also just too very
    please need want like help looking know let tell give provide additionally
    furthermore moreover finally lastly next firstly secondly after afterwards once
    interested get able using use";

/// Returns the runs of letters and digits in a text.
pub(crate) fn runs(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !c.is_alphanumeric()).filter(|run| !run.is_empty())
}

/// Splits a run into its parts: `getUserId` is get, User, Id and `HTTPServer` is HTTP, Server.
pub(crate) fn camel_parts(run: &str) -> Vec<&str> {
    let bytes = run.as_bytes();
    let mut parts = Vec::new();
    let mut start = 0;
    for at in 1..bytes.len() {
        let (before, here) = (bytes[at - 1], bytes[at]);
        let after_small = before.is_ascii_lowercase() || before.is_ascii_digit();
        let before_small = bytes.get(at + 1).is_some_and(u8::is_ascii_lowercase);
        let cut = here.is_ascii_uppercase()
            && (after_small || (before.is_ascii_uppercase() && before_small));
        if cut {
            parts.push(&run[start..at]);
            start = at;
        }
    }
    parts.push(&run[start..]);
    parts
}

/// Returns the words of a text in small letters; what is written as one is there as one, too.
pub fn words(text: &str) -> Vec<String> {
    let mut words = Vec::new();
    for run in runs(text) {
        let parts = camel_parts(run);
        words.extend(parts.iter().map(|part| part.to_lowercase()));
        if parts.len() > 1 {
            words.push(run.to_lowercase());
        }
    }
    words
}

/// Returns the stems of a text, without the words that say nothing.
pub fn stems(text: &str) -> Vec<String> {
    let mut stems = Stems::new();
    words(text).iter().filter_map(|word| stems.of(word).map(str::to_owned)).collect()
}

/// A stemmer that remembers its words: the same ones come again and again.
pub(crate) struct Stems {
    stemmer: Stemmer,
    stop_words: HashSet<&'static str>,
    known: HashMap<String, Option<Box<str>>>,
}

impl Stems {
    pub(crate) fn new() -> Self {
        Self {
            stemmer: Stemmer::create(Algorithm::English),
            stop_words: STOP_WORDS.split_whitespace().collect(),
            known: HashMap::new(),
        }
    }

    /// Returns the stem of a word, or `None` for a word that says nothing.
    pub(crate) fn of(&mut self, word: &str) -> Option<&str> {
        if !self.known.contains_key(word) {
            let says = !self.stop_words.contains(word);
            let stem = says.then(|| self.stemmer.stem(word).into());
            self.known.insert(word.to_owned(), stem);
        }
        self.known.get(word)?.as_deref()
    }

    /// Returns the different stems of a text, in the order in which they first occur.
    pub(crate) fn distinct(&mut self, text: &str) -> Vec<String> {
        let mut seen = HashSet::new();
        let mut stems = Vec::new();
        for word in words(text) {
            if let Some(stem) = self.of(&word)
                && seen.insert(stem.to_owned())
            {
                stems.push(stem.to_owned());
            }
        }
        stems
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_taken_apart_as_people_read_them() {
        for (name, expected) in [
            ("read_file", "read file"),
            ("read-file.v2", "read file v2"),
            ("getUserId", "get user id getuserid"),
            ("HTTPServer", "http server httpserver"),
            ("S3Bucket", "s3 bucket s3bucket"),
            ("OAuth2", "o auth2 oauth2"),
            ("größeÄndern", "größeändern"),
            ("", ""),
            ("--", ""),
        ] {
            assert_eq!(words(name).join(" "), expected, "{name}");
        }
    }

    #[test]
    fn endings_do_not_matter_and_empty_words_are_dropped() {
        assert_eq!(stems("please list the issues"), stems("listing issue"));
        assert_eq!(stems("could you please"), Vec::<String>::new());
    }
}
