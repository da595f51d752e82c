//! Answers of a while ago, which a request can name instead of sending their rows again.

use std::{collections::VecDeque, time::SystemTime};

use narrows_analysis::Table;
use narrows_model::Principal;

use crate::policy::Flow;

/// How many are kept, and how much memory they may take together.
const MOST: usize = 64;
const MOST_BYTES: usize = 64 << 20;

#[derive(Debug, Default)]
pub(crate) struct Results {
    kept: VecDeque<Kept>,
    count: u64,
}

#[derive(Debug)]
struct Kept {
    /// The principal that it belongs to; for others it does not exist.
    owner: String,
    name: String,
    result: EarlierResult,
    bytes: usize,
}

/// The table of an answer.
#[derive(Clone, Debug)]
pub(crate) struct EarlierResult {
    pub(crate) table: Table,
    /// When the file with all its rows was written, if there is one.
    pub(crate) written: Option<SystemTime>,
    /// What was read for it: whoever reads the result has read that too.
    pub(crate) flow: Flow,
}

impl Results {
    pub(super) fn keep(&mut self, principal: &Principal, result: EarlierResult) -> String {
        self.count += 1;
        let name = format!("r{}", self.count);
        let batches = result.table.batches.iter();
        let bytes = batches.map(|batch| batch.get_array_memory_size()).sum();
        let owner = owner(principal);
        self.kept.push_back(Kept { owner, name: name.clone(), result, bytes });
        let mut all: usize = self.kept.iter().map(|kept| kept.bytes).sum();
        while self.kept.len() > MOST || all > MOST_BYTES && self.kept.len() > 1 {
            all -= self.kept.pop_front().map_or(0, |oldest| oldest.bytes);
        }
        name
    }

    /// Returns a result of this principal.
    pub(crate) fn get(&self, principal: &Principal, name: &str) -> Result<EarlierResult, String> {
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
                "there is no result {name:?}; the latest are {} (the gateway keeps the last {MOST} \
                 while it runs)",
                names.join(", ")
            ),
        })
    }
}

/// One principal may be at home in several namespaces.
fn owner(principal: &Principal) -> String {
    format!("{}\0{}", principal.home, principal.name)
}
