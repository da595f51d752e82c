//! "Did you mean …?": the names that are nearest to one that does not exist.

use std::fmt;

use crate::cut;

/// The least similarity of two names, from 0 to 1.
const LIKENESS: f64 = 0.6;
const MAX_CANDIDATES: usize = 3;
/// The most names that a list of all names shows.
const MAX_LISTED: usize = 10;

/// The longest name, in bytes, that is compared with others. Comparing takes time that grows with the
/// square of the length, so a huge name would keep the gateway busy; it is similar to none.
pub const MAX_NAME_BYTES: usize = 128;

/// The most pairs of letters that are compared for one name. A server can have thousands of tools with
/// the longest names, and a program as many variables; beyond this, names are similar only if one
/// contains the other.
const MAX_COMPARED_LETTERS: usize = 8_000_000;

/// The most similar names, written as the end of a message.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Nearest(pub Vec<String>);

/// Finds the names that are most similar to `name`. A name that is too long has none.
pub fn nearest<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> Nearest {
    let known = known.into_iter().map(|candidate| (candidate, candidate));
    let scored = similar(name, known).into_iter().take(MAX_CANDIDATES);
    Nearest(scored.map(|(_, name)| name.to_owned()).collect())
}

/// Finds the items with a name similar to `name`, each with its similarity (from 0.6 to 1), best first.
pub fn similar<'a, T: Ord>(
    name: &str,
    known: impl IntoIterator<Item = (&'a str, T)>,
) -> Vec<(f64, T)> {
    if name.len() > MAX_NAME_BYTES {
        return Vec::new();
    }
    let wanted = plain(name);
    let mut letters_left = MAX_COMPARED_LETTERS;
    let mut scored: Vec<(f64, T)> = known
        .into_iter()
        .filter(|(candidate, _)| candidate.len() <= MAX_NAME_BYTES)
        .map(|(candidate, thing)| (likeness(&wanted, &plain(candidate), &mut letters_left), thing))
        .filter(|(score, _)| *score >= LIKENESS)
        .collect();
    scored.sort_by(|a, b| b.0.total_cmp(&a.0).then_with(|| a.1.cmp(&b.1)));
    scored
}

/// Lists the known names as the end of a message: the first ones, and how many more there are.
pub fn there_are<'a>(known: impl IntoIterator<Item = &'a str>) -> String {
    let known: Vec<&str> = known.into_iter().collect();
    match known.split_at_checked(MAX_LISTED) {
        _ if known.is_empty() => "; there are none".to_owned(),
        Some((first, rest)) if !rest.is_empty() => {
            format!("; there are {} and {} more", first.join(", "), rest.len())
        }
        _ => format!("; there are {}", known.join(", ")),
    }
}

/// Clips a name for a message to the length that names can have.
pub fn clipped_name(name: &str) -> String {
    if name.len() <= MAX_NAME_BYTES {
        return name.to_owned();
    }
    format!("{}…", cut::head(name, MAX_NAME_BYTES))
}

fn likeness(a: &str, b: &str, letters_left: &mut usize) -> f64 {
    // `issue` for `create_issue`: a part of a name is similar to the whole.
    let part =
        if a.len() >= 3 && (b.contains(a) || a.contains(b) && b.len() >= 3) { 0.65 } else { 0.0 };
    let left = letters_left.checked_sub(a.len() * b.len());
    let Some(left) = left.filter(|_| may_be_alike(a, b)) else { return part };
    *letters_left = left;
    let edits = strsim::normalized_damerau_levenshtein(a, b);
    // `issue_create` for `create_issue`: the same words in another order are similar.
    let sorted = |name: &str| {
        let mut words: Vec<&str> = name.split('_').collect();
        words.sort_unstable();
        words.join("_")
    };
    let words = strsim::normalized_damerau_levenshtein(&sorted(a), &sorted(b)) * 0.95;
    edits.max(part).max(words)
}

/// Tells whether two names may be similar enough by their lengths alone, because each additional letter
/// is an edit. This rules out most names in no time.
fn may_be_alike(a: &str, b: &str) -> bool {
    let (a, b) = (a.chars().count(), b.chars().count());
    a.min(b) as f64 >= LIKENESS * a.max(b) as f64
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

    #[test]
    fn what_lengths_alone_tell_apart_is_not_alike() {
        let mut names: Vec<String> = (1..40).map(|length| "x".repeat(length)).collect();
        names.extend(["é".repeat(6), "xé".repeat(10), "create_issue".into(), "issue".into()]);
        for (a, b) in names.iter().flat_map(|a| names.iter().map(move |b| (a, b))) {
            let edits = strsim::normalized_damerau_levenshtein(a, b);
            assert!(edits < LIKENESS || may_be_alike(a, b), "{a} {b}");
        }
        assert!(!may_be_alike("issue", "create_issue"));
        assert_eq!(likeness("issue", "create_issue", &mut 1_000), 0.65);
    }

    #[test]
    fn a_name_is_compared_with_so_many_letters() {
        let many: Vec<String> = (0..100).map(|n| format!("{}{n:05}", "n".repeat(115))).collect();
        let known = || many.iter().map(String::as_str).chain(["n_last"]);
        let name = "m".repeat(120);
        let mut left = 100_000;
        let compared = known().take_while(|known| {
            let before = left;
            likeness(&name, known, &mut left);
            left < before
        });
        assert_eq!(compared.count(), 6, "each takes 120 times 120");
        // Those that are short are compared all the same.
        assert_eq!(nearest("n_lsat", known()).0, ["n_last"]);
    }

    #[test]
    fn a_huge_name_is_near_to_nothing_and_is_not_repeated() {
        let huge = "create_issue".repeat(100_000);
        assert_eq!(nearest(&huge, ["create_issue"]), Nearest::default());
        assert_eq!(nearest("create_issue", [huge.as_str()]), Nearest::default());
        let shown = clipped_name(&"é".repeat(100));
        assert!(shown.ends_with("é…") && shown.len() <= MAX_NAME_BYTES + 3, "{shown}");
        assert_eq!(clipped_name("create_issue"), "create_issue");
    }

    #[test]
    fn of_many_names_the_first_are_told() {
        let names: Vec<String> = (0..13).map(|n| format!("n{n}")).collect();
        let told = |count: usize| there_are(names[..count].iter().map(String::as_str));
        assert_eq!(told(0), "; there are none");
        assert_eq!(told(2), "; there are n0, n1");
        assert!(told(10).ends_with(", n8, n9"));
        assert!(told(13).ends_with(", n9 and 3 more"));
    }
}
