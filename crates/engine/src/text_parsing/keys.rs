//! Tells which words before a colon name a field. In prose, most do not.

const MAX_KEY_LEN: usize = 40;
const MAX_WORDS: usize = 5;

/// Words that introduce a remark when they stand before a colon: log levels, notes to the reader, words
/// of commit messages, speakers.
const REMARKS: &str = "\
    info, information, error, errors, err, warn, warning, warnings, debug, trace, fatal, \
    critical, notice, panic, exception, traceback, caused by, failure, note, notes, hint, tip, \
    help, todo, fixme, caution, important, attention, remember, usage, example, examples, \
    see also, ps, nb, fyi, feat, fix, chore, refactor, docs, perf, assistant, human, http";

/// Words of sentences, which may contain a colon as well.
const PROSE: &str = "\
    the a an i we he she they it this that these those was were are is be been said says please \
    if but because so here there let's then";

/// The first words in names of flags: `Is private`, `Was merged`.
const FLAGS: [&str; 4] = ["is", "was", "are", "were"];

/// Tells whether a few words can name a field: `size`, `Created at`, `Wind (km/h)`.
pub(super) fn is_key(key: &str) -> bool {
    let name = match key.strip_suffix(')').and_then(|key| key.split_once(" (")) {
        Some((name, unit)) if !unit.contains(['(', ')']) && !unit.contains(' ') => name,
        _ => key,
    };
    let words: Vec<&str> = name.split(' ').collect();
    key.chars().count() <= MAX_KEY_LEN
        && name.starts_with(char::is_alphabetic)
        && name.chars().all(|c| c.is_alphanumeric() || matches!(c, ' ' | '_' | '-' | '/'))
        // Two spaces in a row separate columns.
        && words.iter().all(|word| !word.is_empty())
        && words.len() <= MAX_WORDS
        && !is_prose(&words)
        && !is_remark(key)
}

fn is_prose(words: &[&str]) -> bool {
    words.len() > 1
        && words.iter().enumerate().any(|(at, word)| {
            let word = word.to_lowercase();
            PROSE.split(' ').any(|one| one == word) && !(at == 0 && FLAGS.contains(&word.as_str()))
        })
}

/// Tells whether these words before a colon introduce a remark and not a value.
pub(super) fn is_remark(words: &str) -> bool {
    let words = words.trim_matches(['[', ']', ' ']).to_lowercase();
    REMARKS.split(", ").any(|remark| remark == words)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_fields() {
        for key in [
            "size",
            "isDirectory",
            "Created at",
            "Number of open issues",
            "Is private",
            "content-type",
            "read/write",
            "Wind (km/h)",
            "Größe",
            "SHA-256",
            "a_b",
        ] {
            assert!(is_key(key), "{key}");
        }
        for key in [
            "",
            "12",
            "INFO",
            "Warning",
            "Note",
            "Caused by",
            "feat",
            "Assistant",
            "The answer",
            "What she said",
            "java.lang.Exception",
            "src/main.rs",
            "Name     Value",
            "- item",
            "(note)",
            "Traceback (most recent call last)",
            "One that goes on and on for ever",
            "AnEndlessNameOfAFieldThatNobodyWouldEverWrite",
        ]
        .iter()
        {
            assert!(!is_key(key), "{key}");
        }
    }
}
