//! Tells names apart from misspellings of other names.

use strsim::damerau_levenshtein;

use narrows_model::{MAX_NAME_BYTES, nearest};

/// Tells whether a text is short enough to be a name that is worth a message.
pub(crate) fn is_name(text: &str) -> bool {
    text.len() <= MAX_NAME_BYTES
}

/// The certainty that an object has no other fields than the known ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum FieldTrust {
    /// Other fields may well exist: they were not seen so far, or the schema allows them.
    Seen,
    /// The schema lists the fields, and says nothing of others.
    Listed,
    /// The schema refuses others.
    Closed,
}

/// Returns the known name that `name` is a misspelling of, if it surely is one.
pub(crate) fn meant<'n>(
    name: &str,
    known: impl Iterator<Item = &'n str> + Clone,
    trust: FieldTrust,
) -> Option<&'n str> {
    if !is_name(name) {
        return None;
    }
    if let Some(same) = known.clone().find(|candidate| folded(candidate) == folded(name)) {
        return Some(same);
    }
    let words = words(name);
    let near = known.clone().filter_map(|candidate| {
        let edits = slip(&words, &self::words(candidate), trust)?;
        Some((edits, candidate))
    });
    near.min_by_key(|(edits, _)| *edits).map(|(_, candidate)| candidate).or_else(|| {
        let nearest = nearest(name, known.clone()).0.into_iter().next();
        let nearest = nearest.filter(|_| trust == FieldTrust::Closed)?;
        known.clone().find(|candidate| *candidate == nearest)
    })
}

/// Tells whether a name of a program is surely a misspelling of this builtin: `row` is not meant as
/// `pow`, nor `item` as `iter`, nor `inputs` as `input`.
pub(crate) fn is_misspelt(name: &str, candidate: &str) -> bool {
    if !is_name(name) || candidate.len().abs_diff(name.len()) > 2 {
        return false;
    }
    let (a, b) = (folded(name), folded(candidate));
    let length = a.chars().count().max(b.chars().count());
    let is_plural = a.strip_suffix('s') == Some(&b) && !candidate.contains('_');
    let is_replaced = a.chars().count() == b.chars().count() && strsim::levenshtein(&a, &b) == 1;
    match damerau_levenshtein(&a, &b) {
        0 => true,
        1 if length >= 6 => !is_plural,
        1 => length >= 4 && a.chars().next() == b.chars().next() && !is_plural && !is_replaced,
        2 => length >= 7,
        _ => false,
    }
}

/// Returns the number of edits, if only one word differs, and by so little that it is a slip rather
/// than another word. `created_at` and `updated_at`, or `min_value` and `max_value`, are two names.
fn slip(name: &[String], candidate: &[String], trust: FieldTrust) -> Option<usize> {
    if name.len() != candidate.len() {
        return None;
    }
    let mut differing = name.iter().zip(candidate).filter(|(a, b)| a != b);
    let (a, b) = differing.next()?;
    if differing.next().is_some() || a.bytes().chain(b.bytes()).any(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let edits = damerau_levenshtein(a, b);
    let length = a.chars().count().max(b.chars().count());
    let certain = match trust {
        FieldTrust::Seen => edits == 1 && is_no_word(a, b, length),
        FieldTrust::Listed | FieldTrust::Closed => {
            length >= 4 && edits == 1 || length >= 7 && edits == 2
        }
    };
    certain.then_some(edits)
}

/// Tells whether `a` is a slip for `b` and not a word of its own: `label` and `labels`, `date` and
/// `data`, `form` and `from` are all words.
fn is_no_word(a: &str, b: &str, length: usize) -> bool {
    let is_plural = a.strip_suffix('s') == Some(b) || b.strip_suffix('s') == Some(a);
    let is_replaced = a.chars().count() == b.chars().count() && strsim::levenshtein(a, b) == 1;
    !is_plural && length >= if is_replaced { 6 } else { 5 }
}

fn folded(name: &str) -> String {
    name.chars().filter(|c| !matches!(c, '_' | '-')).flat_map(char::to_lowercase).collect()
}

/// Splits a name into words: `createdAt`, `created-at` and `created_at` have the words created and at.
fn words(name: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut after_lower = false;
    for c in name.chars() {
        let ends = matches!(c, '_' | '-' | '.' | ' ');
        if ends || c.is_uppercase() && after_lower {
            words.push(String::new());
        }
        if let Some(word) = words.last_mut().filter(|_| !ends) {
            word.extend(c.to_lowercase());
        }
        after_lower = c.is_lowercase();
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slips_are_found_and_other_names_left_alone() {
        use FieldTrust::{Closed, Listed, Seen};
        for (name, known, trust, expected) in [
            ("createdAt", "created_at", Seen, true),
            ("Title", "title", Seen, true),
            ("titel", "title", Seen, true),
            ("desciption", "description", Seen, true),
            ("assignee_nmae", "assignee_name", Seen, false),
            ("repositry_url", "repository_url", Seen, true),
            ("nam", "name", Seen, false),
            ("nam", "name", Listed, true),
            ("label", "labels", Seen, false),
            ("label", "labels", Listed, true),
            ("date", "data", Seen, false),
            ("state", "stats", Seen, false),
            ("updated_at", "created_at", Listed, false),
            ("min_value", "max_value", Listed, false),
            ("line1", "line2", Listed, false),
            ("id", "ip", Listed, false),
            ("created", "created_at", Listed, false),
            ("created", "created_at", Closed, true),
            ("weather", "title", Closed, false),
            ("", "title", Closed, false),
        ] {
            let found = meant(name, [known].into_iter(), trust).is_some();
            assert_eq!(found, expected, "{name} {known} {trust:?}");
        }
    }

    #[test]
    fn names_that_all_programs_have_are_meant_if_they_are_surely_misspelt() {
        for (name, known, expected) in [
            ("pritn", "print", true),
            ("lst", "list", true),
            ("enumrate", "enumerate", true),
            ("search_tool", "search_tools", true),
            ("searchTools", "search_tools", true),
            ("isintance", "isinstance", true),
            ("tools", "bool", false),
            ("tool", "bool", false),
            ("row", "pow", false),
            ("text", "next", false),
            ("item", "iter", false),
            ("val", "eval", false),
            ("res", "re", false),
            ("inputs", "input", false),
        ] {
            assert_eq!(is_misspelt(name, known), expected, "{name} {known}");
        }
    }

    #[test]
    fn the_nearest_of_several_is_meant() {
        let known = ["titles", "title", "subtitle"];
        assert_eq!(meant("titel", known.into_iter(), FieldTrust::Listed), Some("title"));
    }
}
