//! Tokens that could not be replaced where values were meant: in a program's literals and context, and
//! in the parameters of an analysis.

use std::{
    collections::BTreeSet,
    sync::{Mutex, PoisonError},
};

/// The most tokens that a note names.
const MAX_SHOWN: usize = 10;

/// The tokens of one run that have not been reported yet.
#[derive(Debug, Default)]
pub(super) struct LeftTokens(Mutex<BTreeSet<String>>);

impl LeftTokens {
    pub(super) fn add(&self, tokens: impl IntoIterator<Item = String>) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).extend(tokens);
    }

    /// Takes the note that names these tokens and the possible reasons, each token once.
    pub(super) fn take_note(&self) -> Option<String> {
        let left = std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner));
        let names: Vec<&str> = left.iter().take(MAX_SHOWN).map(String::as_str).collect();
        let more = match left.len() - names.len() {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        (!names.is_empty()).then(|| {
            format!(
                "{}{more} stayed as it is: it is not known here or another agent's, a rule keeps it \
                 from a tool, or its value cannot be written at that place",
                names.join(", ")
            )
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_token_is_told_once_and_of_many_the_first() {
        let left = LeftTokens::default();
        assert_eq!(left.take_note(), None);
        left.add(["[EMAIL_b]".to_owned()]);
        left.add(["[EMAIL_a]", "[EMAIL_b]"].map(str::to_owned));
        let note = left.take_note().unwrap();
        assert!(note.starts_with("[EMAIL_a], [EMAIL_b] stayed as it is: "), "{note}");
        assert_eq!(left.take_note(), None);
        left.add((0..12).map(|number| format!("[EMAIL_{number:02}]")));
        let note = left.take_note().unwrap();
        assert!(note.contains("[EMAIL_09] and 2 more stayed") && !note.contains("_10"), "{note}");
    }
}
