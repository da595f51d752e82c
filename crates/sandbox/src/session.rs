//! A session: programs that see the variables of those before them, as in a notebook.
//!
//! Between its programs a session is an isolate, or the bytes that its variables were written to.
//! The isolate is faster and has everything; the bytes last longer, and leave some things out.

use std::{
    collections::{BTreeMap, HashSet},
    sync::Arc,
};

use narrows_model::cut;
use serde_json::Value;

use crate::isolate::{Isolate, SessionJob, SessionReport};

/// Variables that could not be kept, and why.
pub type LostVariables = BTreeMap<String, String>;

/// The most variables that are named, and the longest that is said of one.
const MAX_NAMES: usize = 50;
const MAX_NAME_LEN: usize = 200;

/// About how much memory an isolate has of its own that has not grown: the pages of the snapshot that a
/// program writes to.
const ISOLATE_BYTES: u64 = 17 << 20;

/// The end of a state whose variables can be listed: `session.py` in the guest writes it, behind the
/// names as JSON and the length of that.
const NAMES_MARK: &[u8] = b"\nnames of variables\n";
const MAX_NAMES_BYTES: usize = 256 << 10;

/// The variables that programs left for the next one.
#[derive(Debug, Default)]
pub struct Session {
    live: Option<Box<Isolate>>,
    state: Option<Arc<[u8]>>,
    fleeting: LostVariables,
}

impl Session {
    /// Returns a session as it was written down; without a state, a new one.
    pub fn from_state(state: Option<Vec<u8>>) -> Self {
        Self { live: None, state: state.map(Arc::from), fleeting: LostVariables::new() }
    }

    /// Returns the variables after the last program, as bytes.
    pub fn state(&self) -> Option<&Arc<[u8]>> {
        self.state.as_ref()
    }

    /// Returns the variables that are not in [`Self::state`], though the next program sees them as long
    /// as the isolate is kept.
    pub fn fleeting(&self) -> &LostVariables {
        &self.fleeting
    }

    /// Returns the names that its programs have bound, or may have. None if they are too many, or if
    /// the state is of an earlier version. (A program that lies about them harms the next one of its
    /// own session.)
    pub fn variables(&self) -> Option<HashSet<String>> {
        let Some(state) = &self.state else { return Some(HashSet::new()) };
        let (state, length) = state.strip_suffix(NAMES_MARK)?.split_last_chunk()?;
        let length = usize::try_from(u64::from_be_bytes(*length)).ok()?;
        let start = state.len().checked_sub(length).filter(|_| length <= MAX_NAMES_BYTES)?;
        serde_json::from_slice(&state[start..]).ok()
    }

    /// Returns how much memory it holds, about.
    pub fn memory_bytes(&self) -> u64 {
        let state = self.state.as_ref().map_or(0, |state| state.len() as u64);
        state + self.live.as_ref().map_or(0, |live| ISOLATE_BYTES + live.grown_bytes())
    }

    /// Drops the isolate. The next program finds the variables as they were written to bytes.
    pub fn rest(&mut self) {
        self.live = None;
    }

    /// Returns what a program needs of the programs before it: their isolate, or the bytes of their
    /// variables.
    pub(crate) fn begin(&mut self) -> (Option<Box<Isolate>>, Option<SessionJob>) {
        let live = self.live.take();
        let restore = if live.is_some() { None } else { self.state.clone() };
        (live, Some(SessionJob { restore }))
    }

    /// Takes over what a program left, and returns notes for its caller.
    pub(crate) fn end(
        &mut self,
        left: Option<SessionReport>,
        kept: Option<Box<Isolate>>,
    ) -> Vec<String> {
        let mut notes = Vec::new();
        let mut unchanged = |why: &str| {
            notes.push(format!(
                "session: {why}; its variables are as they were before this program"
            ));
        };
        let Some(left) = left else {
            unchanged("the program did not come to its end");
            return notes;
        };
        match left.state {
            Ok(state) => {
                self.state = Some(state);
                self.live = kept;
                self.fleeting = left.fleeting;
            }
            Err(why) => unchanged(&why),
        }
        if !left.lost.is_empty() {
            let lost: Vec<String> =
                left.lost.iter().map(|(name, why)| format!("{name} ({why})")).collect();
            notes.push(format!(
                "session: its variables were brought back, except {}",
                lost.join(", ")
            ));
        }
        notes
    }
}

/// Parses names and reasons as the guest tells them. It is untrusted: anything else is left out.
pub(crate) fn names(json: &str) -> LostVariables {
    let Ok(Value::Object(names)) = serde_json::from_str(json) else { return LostVariables::new() };
    let short = |text: &str| match cut::head(text, MAX_NAME_LEN) {
        all if all.len() == text.len() => all.to_owned(),
        head => format!("{head}…"),
    };
    let named = names.iter().filter_map(|(name, why)| Some((short(name), short(why.as_str()?))));
    named.take(MAX_NAMES).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// A state with this before its names, as the guest writes it.
    fn state(names: &str) -> Vec<u8> {
        let length = (names.len() as u64).to_be_bytes();
        [b"variables.", names.as_bytes(), &length, NAMES_MARK].concat()
    }

    fn variables(state: Vec<u8>) -> Option<Vec<String>> {
        let mut names: Vec<String> =
            Session::from_state(Some(state)).variables()?.into_iter().collect();
        names.sort();
        Some(names)
    }

    #[test]
    fn a_state_tells_its_variables() {
        assert_eq!(variables(state(r#"["b", "a", "\u00e9"]"#)).unwrap(), ["a", "b", "é"]);
        assert_eq!(variables(state("[]")).unwrap(), [""; 0]);
        assert_eq!(Session::default().variables(), Some(HashSet::new()), "a new one has none");
    }

    #[test]
    fn what_is_no_list_of_names_tells_nothing() {
        let long = format!("[\"{}\"]", "a".repeat(MAX_NAMES_BYTES));
        for names in ["{}", "[1]", "[\"a\"", "", &long] {
            assert_eq!(variables(state(names)), None, "{}", names.len());
        }
        let beyond = [b"x", &9_u64.to_be_bytes()[..], NAMES_MARK].concat();
        for state in [b"narrows session 1\nold.".to_vec(), NAMES_MARK.to_vec(), vec![], beyond] {
            assert_eq!(variables(state), None);
        }
    }

    /// The guest hands over more than is kept, so that what is at the cut can be told.
    #[test]
    fn no_half_of_a_value_is_left_where_a_reason_is_cut() {
        let address = "ada.lovelace@example.com";
        for shift in 0..address.len() + 2 {
            let why = format!("{} {address} is no one", "x".repeat(MAX_NAME_LEN - 1 - shift));
            let lost = names(&json!({"a": why, "b": "short"}).to_string());
            let kept = &lost["a"];
            assert!(kept.len() <= MAX_NAME_LEN + "…".len() && kept.ends_with('…'), "{kept}");
            assert!(kept.contains(address) || !kept.contains("ada"), "{kept}");
            assert_eq!(lost["b"], "short");
        }
    }
}
