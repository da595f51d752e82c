//! Street addresses, by their label or by how streets are named. Best effort.

use std::ops::Range;

use super::{Sink, labelled::Labelled, window};
use crate::{
    context::{Text, is_after_escape},
    kind::Builtin,
    lexicon::{Cues, Hit},
};

const MAX_LEN: usize = 160;

/// Returns the value under `address` or `street`, if it has a number and a name and is no other
/// address.
pub(super) fn by_label(labelled: &Labelled<'_>) -> Option<Range<usize>> {
    let around = labelled.around;
    let other = Cues::EMAIL | Cues::PLAIN | Cues::COUNT | Cues::PASSWORD | Cues::SECRET;
    if !around.nearest.any(Cues::ADDRESS) || around.says(other) {
        return None;
    }
    let range = if labelled.quoted {
        labelled.range.clone()
    } else {
        let start = labelled.range.start;
        let line = window(labelled.text, start, MAX_LEN).split([';', '|', '"', '{', '<']).next()?;
        if !line.starts_with(|c: char| c.is_ascii_digit()) {
            return None;
        }
        start..start + line.trim_end().len()
    };
    is_street(&labelled.text[range.clone()]).then_some(range)
}

fn is_street(value: &str) -> bool {
    let has_number = value
        .split([' ', ',', '\n'])
        .any(|word| word.starts_with(|c: char| c.is_ascii_digit()) && word.len() <= 6);
    let has_name = value.split(|c: char| !c.is_alphabetic()).any(|word| word.chars().count() >= 3);
    let plain = !value.contains(['@', '{', '=', '<', '_', '\\'])
        && !value.contains("://")
        && !value.starts_with("0x");
    (6..=MAX_LEN).contains(&value.len()) && has_number && has_name && plain && value.contains(' ')
}

/// Finds addresses like `221 Baker Street, Springfield, IL 62701`: a number, capitalised words, and a
/// word for a street.
pub(super) fn by_word(text: &Text<'_>, hit: &Hit, cues: Cues, found: &mut Sink<'_>) {
    if !cues.any(Cues::STREET) || !text.bytes[hit.start].is_ascii_uppercase() {
        return;
    }
    let Some(start) = house_number(text.str, hit.start) else { return };
    let end = place_end(text.str, hit.end);
    let ends_a_phrase =
        text.str[hit.end..].chars().next().is_none_or(|c| ",.\n\r\"'<;\\".contains(c));
    let telling = matches!(
        text.str[hit.start..hit.end].to_ascii_lowercase().as_str(),
        "street" | "avenue" | "boulevard" | "blvd" | "road" | "lane"
    );
    if telling || ends_a_phrase || end > hit.end {
        found(Builtin::Address, start..end);
    }
}

/// Returns where the house number stands that begins the name of this street, one to four words before.
fn house_number(text: &str, suffix: usize) -> Option<usize> {
    let mut at = suffix;
    for count in 0..5 {
        let head = text[..at].strip_suffix(' ')?;
        let start = head
            .rfind(|c: char| !c.is_alphanumeric() && !"'’-.".contains(c))
            .map_or(0, |place| place + head[place..].chars().next().map_or(1, char::len_utf8));
        let start = start + usize::from(is_after_escape(text.as_bytes(), start + 1));
        let word = head.get(start..)?;
        let digits = word.bytes().take_while(u8::is_ascii_digit).count();
        let is_number = (1..=6).contains(&digits) && word.len() <= digits + 1;
        if is_number {
            let begins =
                text[..start].chars().next_back().is_none_or(|c| " \n\t\"'(:,>".contains(c))
                    || is_after_escape(text.as_bytes(), start);
            return (count > 0 && begins).then_some(start);
        }
        let is_ordinal = digits > 0 && word.len() == digits + 2;
        if !(is_ordinal || word.starts_with(char::is_uppercase)) {
            return None;
        }
        at = start;
    }
    None
}

/// Returns the end of what follows a street: flat, town, state and code.
fn place_end(text: &str, from: usize) -> usize {
    let mut end = from;
    let rest = &text[from..];
    if rest.starts_with('.') && rest[1..].starts_with([',', ' ']) {
        end += 1;
    }
    for part in window(text, end, MAX_LEN).split(',').take(4) {
        let start = part.as_ptr() as usize - text.as_ptr() as usize;
        let length = part_length(part);
        if start + length <= end {
            if start > from || !part.is_empty() {
                break;
            }
            continue;
        }
        end = start + length;
        if length < part.len() {
            break;
        }
    }
    end
}

/// Returns how much of a part between commas belongs to an address: capitalised words and numbers.
fn part_length(part: &str) -> usize {
    let mut length = 0;
    for (count, word) in part.trim_start_matches(' ').split(' ').enumerate() {
        let trimmed = word.trim_end_matches(|c: char| !c.is_alphanumeric());
        let belongs = !trimmed.is_empty()
            && (trimmed.starts_with(char::is_uppercase)
                || trimmed.starts_with(|c: char| c.is_ascii_digit() || c == '#'))
            && trimmed.chars().all(|c| c.is_alphanumeric() || "#-'.".contains(c));
        if count == 5 || !belongs {
            break;
        }
        length = trimmed.as_ptr() as usize + trimmed.len() - part.as_ptr() as usize;
        if trimmed.len() < word.len() {
            break;
        }
    }
    length
}
