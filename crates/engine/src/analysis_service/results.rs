//! Recent results, which a request can name instead of sending their rows again.

use std::{
    collections::{HashMap, VecDeque},
    time::SystemTime,
};

use narrows_analysis::ResultTable;
use narrows_model::Principal;
use narrows_policy::Flow;

/// The most results that are kept, and the most memory of all. The owner with the largest share loses
/// its oldest result, so that many analyses of one agent do not cost another its results.
const MAX_RESULTS: usize = 64;
const MAX_BYTES: usize = 64 << 20;

#[derive(Debug)]
pub(crate) struct Results<T = EarlierResult> {
    /// The oldest first.
    kept: VecDeque<StoredResult<T>>,
    /// How many results each owner has had, so that names count for each owner and reveal nothing about
    /// others.
    counts: HashMap<String, u64>,
}

#[derive(Debug)]
struct StoredResult<T> {
    /// The principal and namespace that it belongs to; for others it does not exist.
    owner: String,
    name: String,
    result: T,
    bytes: usize,
}

/// The table of an earlier answer.
#[derive(Clone, Debug)]
pub(crate) struct EarlierResult {
    pub(crate) table: ResultTable,
    /// The time at which the file with all its rows was written, if there is one.
    pub(crate) written: Option<SystemTime>,
    /// What was read for it: a run that uses the result has read that too.
    pub(crate) flow: Flow,
}

impl<T> Default for Results<T> {
    fn default() -> Self {
        Self { kept: VecDeque::new(), counts: HashMap::new() }
    }
}

impl Results {
    /// Keeps a result, and returns its name among those of its owner.
    pub(super) fn keep(&mut self, principal: &Principal, result: EarlierResult) -> String {
        let batches = result.table.batches.iter();
        let bytes = batches.map(|batch| batch.get_array_memory_size()).sum();
        self.keep_sized(principal, result, bytes)
    }
}

impl<T: Clone> Results<T> {
    fn keep_sized(&mut self, principal: &Principal, result: T, bytes: usize) -> String {
        let owner = owner(principal);
        let count = self.counts.entry(owner.clone()).or_default();
        *count += 1;
        let name = format!("r{count}");
        self.kept.push_back(StoredResult { owner, name: name.clone(), result, bytes });
        loop {
            let all: usize = self.kept.iter().map(|kept| kept.bytes).sum();
            let next = match () {
                () if all > MAX_BYTES => self.oldest_of_largest(|kept| kept.bytes),
                () if self.kept.len() > MAX_RESULTS => self.oldest_of_largest(|_| 1),
                () => None,
            };
            let Some(next) = next else { return name };
            self.kept.remove(next);
        }
    }

    /// Returns the index of the oldest result of the owner with the largest sum of `amount`. The last
    /// result stays, because the current answer names it.
    fn oldest_of_largest(&self, amount: impl Fn(&StoredResult<T>) -> usize) -> Option<usize> {
        let mut shares: HashMap<&str, usize> = HashMap::new();
        for kept in &self.kept {
            *shares.entry(&kept.owner).or_default() += amount(kept);
        }
        let older = self.kept.len().saturating_sub(1);
        let candidates = self.kept.iter().enumerate().take(older);
        // `max_by_key` returns the last of equal ones, so the order is reversed to get the oldest.
        let largest = candidates.rev().max_by_key(|(_, kept)| shares.get(&*kept.owner).copied());
        largest.map(|(place, _)| place)
    }

    /// Returns a result of this principal by its name.
    pub(crate) fn get(&self, principal: &Principal, name: &str) -> Result<T, String> {
        let owner = owner(principal);
        let mine = || self.kept.iter().filter(|kept| kept.owner == owner);
        if let Some(found) = mine().find(|kept| kept.name == name) {
            return Ok(found.result.clone());
        }
        let mut names: Vec<&str> = mine().rev().map(|kept| kept.name.as_str()).take(5).collect();
        names.reverse();
        Err(match names.is_empty() {
            true => format!("there is no result {name:?}; the gateway keeps none yet"),
            false => format!(
                "there is no result {name:?}; the latest are {} (the gateway keeps {MAX_RESULTS} of \
                 all agents while it runs, and drops the oldest of who has the most)",
                names.join(", ")
            ),
        })
    }
}

/// Returns the key of an owner. One principal may be at home in several namespaces.
fn owner(principal: &Principal) -> String {
    format!("{}\0{}", principal.home, principal.name)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn keep(results: &mut Results<()>, owner: &str, bytes: usize) -> String {
        results.keep_sized(&principal(owner), (), bytes)
    }

    fn principal(name: &str) -> Principal {
        Principal::new(name, "team")
    }

    #[test]
    fn who_has_many_results_loses_its_own_and_not_those_of_others() {
        let mut results = Results::default();
        keep(&mut results, "ada", 100);
        for _ in 0..3 * MAX_RESULTS {
            keep(&mut results, "eve", 1);
        }
        assert!(results.get(&principal("ada"), "r1").is_ok());
        assert_eq!(results.kept.len(), MAX_RESULTS);
        // The control: those of eve go, the oldest first.
        assert!(results.get(&principal("eve"), "r192").is_ok());
        assert!(results.get(&principal("eve"), "r130").is_ok());
        let told = results.get(&principal("eve"), "r129").unwrap_err();
        assert!(told.contains("the latest are r188, r189, r190, r191, r192 "), "{told}");
    }

    #[test]
    fn who_has_large_results_loses_its_own_and_the_latest_stays() {
        let mut results = Results::default();
        for _ in 0..10 {
            keep(&mut results, "ada", 1 << 20);
        }
        for _ in 0..10 {
            keep(&mut results, "eve", MAX_BYTES / 4);
        }
        assert!(results.get(&principal("ada"), "r1").is_ok());
        assert!(results.get(&principal("eve"), "r7").is_err());
        assert!(results.get(&principal("eve"), "r8").is_ok());
        assert!(results.get(&principal("eve"), "r10").is_ok());
        keep(&mut results, "eve", 2 * MAX_BYTES);
        assert!(results.get(&principal("eve"), "r11").is_ok());
        assert_eq!(results.kept.len(), 1);
    }

    #[test]
    fn names_of_results_do_not_tell_what_others_do() {
        let mut results = Results::default();
        assert_eq!(keep(&mut results, "ada", 1), "r1");
        keep(&mut results, "eve", 1);
        assert_eq!(keep(&mut results, "ada", 1), "r2");
    }
}
