//! "Did you mean …?": the names that are nearest to one that does not exist.

use std::fmt;

/// How alike two names must be, from 0 to 1.
const LIKENESS: f64 = 0.6;
const MOST: usize = 3;

/// The nearest names, as the end of a message.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Nearest(pub Vec<String>);

/// Finds the names that are nearest to `name`.
pub fn nearest<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> Nearest {
    let wanted = plain(name);
    let mut scored: Vec<(f64, &str)> = known
        .into_iter()
        .map(|candidate| (likeness(&wanted, &plain(candidate)), candidate))
        .filter(|(score, _)| *score >= LIKENESS)
        .collect();
    scored.sort_by(|a, b| b.0.total_cmp(&a.0).then_with(|| a.1.cmp(b.1)));
    Nearest(scored.into_iter().take(MOST).map(|(_, name)| name.to_owned()).collect())
}

fn likeness(a: &str, b: &str) -> f64 {
    let edits = strsim::normalized_damerau_levenshtein(a, b);
    // `issue` for `create_issue`: a part of a name is near to the whole.
    let part =
        if a.len() >= 3 && (b.contains(a) || a.contains(b) && b.len() >= 3) { 0.65 } else { 0.0 };
    // `issue_create` for `create_issue`: so are its words in another order.
    let sorted = |name: &str| {
        let mut words: Vec<&str> = name.split('_').collect();
        words.sort_unstable();
        words.join("_")
    };
    let words = strsim::normalized_damerau_levenshtein(&sorted(a), &sorted(b)) * 0.95;
    edits.max(part).max(words)
}

fn plain(name: &str) -> String {
    let mut plain = String::with_capacity(name.len());
    let mut last_lower = false;
    for c in name.chars() {
        if c.is_uppercase() && last_lower {
            plain.push('_');
        }
        last_lower = c.is_lowercase();
        plain.extend(if c == '-' || c == '.' { '_'.to_lowercase() } else { c.to_lowercase() });
    }
    plain
}

impl fmt::Display for Nearest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0.as_slice() {
            [] => Ok(()),
            [one] => write!(f, "; did you mean {one}?"),
            [most @ .., last] => write!(f, "; did you mean {} or {last}?", most.join(", ")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_are_near_are_found() {
        let known = ["create_issue", "list_issues", "delete_repo"];
        for (wrong, right) in [
            ("craete_issue", "create_issue"),
            ("createIssue", "create_issue"),
            ("issue_create", "create_issue"),
            ("repo", "delete_repo"),
        ] {
            assert_eq!(nearest(wrong, known).0.first().map(String::as_str), Some(right), "{wrong}");
        }
        assert_eq!(nearest("weather", known), Nearest::default());
        assert_eq!(nearest("listissues", known).to_string(), "; did you mean list_issues?");
    }
}
