//! The files in which shapes are kept between two starts, one for each server.
//!
//! Several processes may learn at once. Each merges what it learnt into the file, under a lock, so that
//! nothing is lost and calls add up.

use std::{
    collections::BTreeMap,
    fs,
    io::Result,
    path::{Path, PathBuf},
};

use narrows_system::private_file::{self, Durability};
use serde::{Deserialize, Serialize};

use super::shape::Shape;

/// Files of another version are ignored, and written again.
const VERSION: u32 = 2;
/// The most tools in a file. Stops a server that renames its tools from filling the disk. The least
/// called tools are removed.
pub(super) const MAX_TOOLS: usize = 1_000;
const MAX_BYTES: usize = 4 * 1024 * 1024;

/// The shape that was learnt of a tool's results.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct LearntTool {
    /// The fingerprint of the tool's definition. When it changes, everything that was learnt may be
    /// wrong.
    pub(super) fingerprint: u64,
    pub(super) calls: u64,
    pub(super) shape: Shape,
}

/// The learnt tools of a server, by the server's names of them.
pub(super) type LearntTools = BTreeMap<String, LearntTool>;

#[derive(Serialize, Deserialize)]
struct Content {
    version: u32,
    tools: LearntTools,
}

impl LearntTool {
    /// Adds what was learnt later. Replaces everything if the definition has changed.
    pub(super) fn add(&mut self, later: Self) {
        if later.fingerprint != self.fingerprint {
            *self = later;
            return;
        }
        self.calls = self.calls.saturating_add(later.calls);
        self.shape.merge(later.shape);
        self.shape.settle();
    }
}

/// Adds what was learnt of one tool.
pub(super) fn add(tools: &mut LearntTools, name: &str, learnt: LearntTool) {
    match tools.get_mut(name) {
        Some(known) => known.add(learnt),
        None => {
            tools.insert(name.to_owned(), learnt);
        }
    }
}

/// The file of one server.
#[derive(Clone, Debug)]
pub(super) struct ShapeFile {
    path: PathBuf,
    lock: PathBuf,
}

impl ShapeFile {
    pub(super) fn new(dir: &Path, server: &str) -> Self {
        let path = |ending| dir.join(format!("{server}.{ending}"));
        Self { path: path("json"), lock: path("lock") }
    }

    /// Reads the file. One that is missing, broken or of another version is not an error: everything is
    /// learnt again.
    pub(super) fn load(&self) -> LearntTools {
        let is_small = |data: &fs::Metadata| data.len() <= MAX_BYTES as u64;
        let content = fs::metadata(&self.path)
            .ok()
            .filter(is_small)
            .and_then(|_| fs::read(&self.path).ok())
            .and_then(|text| serde_json::from_slice::<Content>(&text).ok())
            .filter(|content| content.version == VERSION);
        let mut tools = content.map(|content| content.tools).unwrap_or_default();
        tools.values_mut().for_each(|learnt| learnt.shape.settle());
        tools
    }

    /// Merges tools into the file, and returns its new content.
    pub(super) fn add(&self, tools: &LearntTools) -> Result<LearntTools> {
        let lock = private_file::open(&self.lock)?;
        lock.lock()?;
        let mut all = self.load();
        for (name, learnt) in tools {
            add(&mut all, name, learnt.clone());
        }
        let mut max = MAX_TOOLS;
        let text = loop {
            keep_most_called(&mut all, max);
            let content = Content { version: VERSION, tools: all };
            let text = serde_json::to_vec(&content)?;
            all = content.tools;
            if text.len() <= MAX_BYTES {
                break text;
            }
            max = all.len() / 2;
        };
        private_file::write(&self.path, &text, Durability::Cache)?;
        Ok(all)
    }
}

fn keep_most_called(tools: &mut LearntTools, max: usize) {
    if tools.len() <= max {
        return;
    }
    let mut calls: Vec<u64> = tools.values().map(|learnt| learnt.calls).collect();
    calls.sort_unstable_by(|a, b| b.cmp(a));
    let min = calls.get(max).copied().unwrap_or_default();
    // Of tools that were called equally often, the first are kept.
    let mut places = max - calls.iter().filter(|calls| **calls > min).count();
    tools.retain(|_, learnt| {
        let has_place = learnt.calls == min && places > 0;
        places -= usize::from(has_place);
        learnt.calls > min || has_place
    });
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used)]
    use serde_json::{Map, json};

    use super::*;

    #[test]
    fn those_that_were_called_most_are_kept() {
        let learnt = |calls| LearntTool { fingerprint: 1, calls, shape: Shape::default() };
        let calls = [("a", 1), ("b", 5), ("c", 1), ("d", 3), ("e", 1)];
        let all: LearntTools =
            calls.iter().map(|(name, calls)| ((*name).to_owned(), learnt(*calls))).collect();
        for (max, kept) in [(9, "abcde"), (5, "abcde"), (4, "abcd"), (3, "abd"), (1, "b"), (0, "")]
        {
            let mut tools = all.clone();
            keep_most_called(&mut tools, max);
            assert_eq!(tools.into_keys().collect::<String>(), kept, "{max}");
        }
    }

    #[test]
    fn a_file_has_its_bounds() {
        let dir = tempfile::tempdir().unwrap();
        let file = ShapeFile::new(dir.path(), "s");
        let long = |n: usize| format!("a_field_with_a_long_name_{}", letters(n));
        let value: Map<String, serde_json::Value> =
            (0..60).map(|n| (long(n), json!({"a": {"b": "c"}}))).collect();
        let learnt = LearntTool { fingerprint: 1, calls: 1, shape: Shape::of(&value.into()) };
        let tools: LearntTools = (0..2_000).map(|n| (format!("tool{n}"), learnt.clone())).collect();
        let kept = file.add(&tools).unwrap();
        assert!((100..=MAX_TOOLS).contains(&kept.len()), "{}", kept.len());
        assert!(fs::metadata(&file.path).unwrap().len() <= MAX_BYTES as u64);
        assert_eq!(file.load(), kept);
    }

    fn letters(n: usize) -> String {
        [n / 26, n % 26].iter().map(|n| char::from(b'a' + *n as u8)).collect()
    }
}
