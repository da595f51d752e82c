//! Answers of a while ago, which a request can name instead of sending their rows again.

use std::{collections::VecDeque, time::SystemTime};

use narrows_analysis::Table;

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
    namespace: String,
    name: String,
    table: Table,
    /// When the file with all its rows was written, if there is one.
    written: Option<SystemTime>,
    bytes: usize,
}

impl Results {
    pub(super) fn keep(
        &mut self,
        namespace: &str,
        table: &Table,
        written: Option<SystemTime>,
    ) -> String {
        self.count += 1;
        let name = format!("r{}", self.count);
        let bytes = table.batches.iter().map(|batch| batch.get_array_memory_size()).sum();
        let (namespace, table) = (namespace.to_owned(), table.clone());
        self.kept.push_back(Kept { namespace, name: name.clone(), table, written, bytes });
        let mut all: usize = self.kept.iter().map(|kept| kept.bytes).sum();
        while self.kept.len() > MOST || all > MOST_BYTES && self.kept.len() > 1 {
            all -= self.kept.pop_front().map_or(0, |oldest| oldest.bytes);
        }
        name
    }

    /// A table, and when its file was written.
    pub(crate) fn get(
        &self,
        namespace: &str,
        name: &str,
    ) -> Result<(Table, Option<SystemTime>), String> {
        let mine = || self.kept.iter().filter(|kept| kept.namespace == namespace);
        if let Some(found) = mine().find(|kept| kept.name == name) {
            return Ok((found.table.clone(), found.written));
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
