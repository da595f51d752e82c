//! Names of persons, by the words and labels before them. Best effort: a name that nothing
//! announces is not found.

use std::ops::Range;

use super::{Sink, given_names::is_given_name, labelled::Labelled, window};
use crate::{
    context::Text,
    kind::Builtin,
    lexicon::{Cues, Hit},
};

const MAX_NAME_LEN: usize = 64;

/// Words by which people are greeted without being named.
const NOBODY: [&str; 22] = [
    "Sir",
    "Madam",
    "All",
    "Team",
    "Customer",
    "Customers",
    "Friend",
    "Friends",
    "Colleague",
    "Colleagues",
    "Hiring",
    "User",
    "Users",
    "Everyone",
    "Valued",
    "Client",
    "Support",
    "God",
    "The",
    "This",
    "Reader",
    "Recipient",
];

/// Finds a name after `Mr.`, `Dear` or `my name is`.
pub(super) fn by_word(text: &Text<'_>, hit: &Hit, cues: Cues, found: &mut Sink<'_>) {
    let word = &text.str[hit.start..hit.end];
    let mut chars = word.chars();
    let is_capitalised =
        chars.next().is_some_and(char::is_uppercase) && chars.all(|c| !c.is_uppercase());
    let announced = (cues.any(Cues::TITLE) && is_capitalised)
        || (cues.any(Cues::GREETING) && (is_capitalised || word.contains(' ')));
    if !announced {
        return;
    }
    let rest = window(text.str, hit.end, MAX_NAME_LEN);
    let rest = rest.strip_prefix('.').unwrap_or(rest);
    let Some(rest) = rest.strip_prefix(' ') else { return };
    let start = rest.as_ptr() as usize - text.str.as_ptr() as usize;
    let words = names(rest);
    let first = rest[..words].split(' ').next().unwrap_or_default();
    if words > 0 && !NOBODY.contains(&first) {
        found(Builtin::Person, start..start + words);
    }
}

/// Returns the length of the one to four words here that are written like names.
fn names(text: &str) -> usize {
    let mut end = 0;
    for (count, word) in text.split(' ').enumerate() {
        let trimmed = word.trim_end_matches(|c: char| !c.is_alphanumeric());
        let particle = count > 0
            && ["van", "von", "de", "der", "da", "di", "del", "la", "le", "bin", "al"]
                .contains(&trimmed);
        if count == 4 || end + word.len() > MAX_NAME_LEN || !(particle || is_name_word(trimmed)) {
            break;
        }
        let start = word.as_ptr() as usize - text.as_ptr() as usize;
        if !particle {
            end = start + trimmed.len();
        }
        // A comma or a stop ends a name, but not that of an initial.
        if trimmed.len() < word.len() && !(word.ends_with('.') && trimmed.chars().count() == 1) {
            break;
        }
    }
    end
}

/// Tells whether a word is capitalised, and of letters.
fn is_name_word(word: &str) -> bool {
    word.chars().next().is_some_and(char::is_uppercase)
        && word.chars().all(|c| c.is_alphabetic() || "'’-.".contains(c))
        && (word.chars().count() == 1
            || word.chars().any(char::is_lowercase)
            || word.chars().count() <= 3)
}

/// Returns the value under a label such as `first_name`, or under `name` where a person is spoken of.
pub(super) fn by_label(labelled: &Labelled<'_>, text: &Text<'_>) -> Option<Range<usize>> {
    let around = labelled.around;
    if around.nearest.any(Cues::PERSON) {
        let range = value_range(labelled)?;
        let value = &labelled.text[range.clone()];
        let lower_is_fine = labelled.quoted;
        return is_name(value, lower_is_fine).then_some(range);
    }
    let bare = around.nearest.any(Cues::NAME)
        && !around.says(Cues::PLAIN | Cues::COUNT | Cues::PROVIDER | Cues::VERSION);
    if !bare {
        return None;
    }
    let range = value_range(labelled)?;
    let value = &labelled.text[range.clone()];
    let words = value.split(' ').count();
    let first = value.split(' ').next().unwrap_or_default();
    let told = text.among_personal || is_given_name(first) || has_personal_label(labelled, text);
    ((2..=4).contains(&words) && names(value) == value.len() && told).then_some(range)
}

/// Returns all of a quoted value, or the words of an unquoted one that are written like names.
fn value_range(labelled: &Labelled<'_>) -> Option<Range<usize>> {
    if labelled.quoted {
        let value = labelled.value();
        return (value.len() <= MAX_NAME_LEN && !value.is_empty()).then(|| labelled.range.clone());
    }
    let start = labelled.range.start;
    let length = names(window(labelled.text, start, MAX_NAME_LEN));
    (length > 0).then(|| start..start + length)
}

fn is_name(value: &str, lower_is_fine: bool) -> bool {
    let letters = value.chars().filter(|c| c.is_alphabetic()).count();
    let written = value.chars().all(|c| c.is_alphabetic() || " '’-.,".contains(c));
    let short = value.split_whitespace().count() <= 5;
    letters >= 2 && written && short && (lower_is_fine || names(value) == value.len())
}

/// Tells whether the same line has labels of personal data: `{"name": "…", "email": "…"}`.
fn has_personal_label(labelled: &Labelled<'_>, text: &Text<'_>) -> bool {
    const NEAR: usize = 200;
    let bytes = text.bytes;
    let (start, end) = (labelled.range.start, labelled.range.end);
    let back = bytes[..start].iter().rev().take(NEAR).take_while(|b| !b"\n{[".contains(b)).count();
    let on = bytes[end..].iter().take(NEAR).take_while(|b| !b"\n}]".contains(b)).count();
    let is_label = |hit: &Hit| bytes[hit.end..].iter().take(3).any(|b| b":=".contains(b));
    text.cues_in(start - back..end + on)
        .any(|(hit, cues)| cues.any(Cues::PERSONAL) && is_label(hit))
}
