//! Ranks tools higher that were used after similar searches.
//!
//! Queries may contain anything, so they are not kept. A habit is a set of short hashes of word stems,
//! a tool and a count, so that the file does not reveal what was asked.

use std::{
    collections::{HashMap, VecDeque},
    path::{Path, PathBuf},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant, SystemTime},
};

use narrows_model::{ToolId, fingerprint::fingerprint};
use narrows_system::private_file::{self, Durability};
use serde::{Deserialize, Serialize};

use crate::background::Background;

/// Files of another version are ignored, and written again.
const VERSION: u32 = 1;
/// The oldest habits are forgotten first.
const MAX_HABITS: usize = 2_000;
/// A call that comes later than this is not attributed to the search.
const REASON_FOR: Duration = Duration::from_secs(600);
const MAX_RECENT: usize = 16;
/// The least similarity of two queries for a habit to count.
const ALIKE: f32 = 0.5;
/// The most that habits add to a score. The best match by words scores about 1.
const MAX_BONUS: f32 = 0.5;
/// The number of uses after which a habit has its full strength.
const STRONG: f32 = 5.0;
/// A habit of this age counts half.
const HALF_LIFE_DAYS: f32 = 60.0;

/// The habits learnt in an installation.
#[derive(Debug)]
pub struct UsageStats {
    path: Option<PathBuf>,
    background: Background,
    state: Arc<Mutex<UsageState>>,
}

#[derive(Debug, Default)]
struct UsageState {
    loaded: bool,
    habits: Vec<UsagePattern>,
    recent: VecDeque<Search>,
}

/// A search that a call may follow.
#[derive(Debug)]
struct Search {
    at: Instant,
    words: Vec<u32>,
    /// The tools that were found and not used yet.
    found: Vec<ToolId>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct UsagePattern {
    server: String,
    tool: String,
    /// Hashes of stems, sorted.
    words: Vec<u32>,
    count: u32,
    /// Days since 1970, of the last use.
    last: u32,
}

#[derive(Serialize, Deserialize)]
struct UsageFile {
    version: u32,
    habits: Vec<UsagePattern>,
}

impl UsageStats {
    /// Creates statistics that are kept in a file, or only in memory without a path.
    pub fn new(path: Option<PathBuf>, background: Background) -> Self {
        Self { path, background, state: Arc::default() }
    }

    fn state(&self) -> MutexGuard<'_, UsageState> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        if !state.loaded {
            state.loaded = true;
            state.habits = self.path.as_deref().map(read).unwrap_or_default();
        }
        state
    }

    /// Notes a search and the tools that it found.
    pub(super) fn searched(&self, stems: &[String], found: Vec<ToolId>) {
        if found.is_empty() {
            return;
        }
        let mut state = self.state();
        state.recent.truncate(MAX_RECENT - 1);
        state.recent.push_front(Search { at: Instant::now(), words: hashes(stems), found });
    }

    /// Notes a call of a tool, and learns from it if a recent search found that tool.
    pub fn used(&self, tool: &ToolId) {
        let mut state = self.state();
        let UsageState { recent, .. } = &mut *state;
        recent.retain(|search| search.at.elapsed() < REASON_FOR);
        let mut learnt = Vec::new();
        for search in recent.iter_mut() {
            let Some(at) = search.found.iter().position(|found| found == tool) else { continue };
            search.found.swap_remove(at);
            learnt.push(UsagePattern {
                server: tool.server.clone(),
                tool: tool.tool.clone(),
                words: search.words.clone(),
                count: 1,
                last: today(),
            });
        }
        if learnt.is_empty() {
            return;
        }
        merge(&mut state.habits, &learnt);
        drop(state);
        if let Some(path) = self.path.clone() {
            self.background.run(move || {
                if let Err(error) = add(&path, &learnt) {
                    tracing::warn!(%error, "what was learnt from a search could not be written");
                }
            });
        }
    }

    /// Returns what habits add to the scores of tools for a query.
    pub(super) fn bonuses(&self, stems: &[String]) -> HashMap<ToolId, f32> {
        let words = hashes(stems);
        let today = today();
        let mut bonuses: HashMap<ToolId, f32> = HashMap::new();
        for habit in &self.state().habits {
            let alike = similarity(&words, &habit.words);
            if alike < ALIKE {
                continue;
            }
            let strength = (habit.count as f32 / STRONG).min(1.0).sqrt();
            let age = today.saturating_sub(habit.last) as f32;
            let bonus = MAX_BONUS * alike * strength * 0.5_f32.powf(age / HALF_LIFE_DAYS);
            let id = ToolId::new(habit.server.clone(), habit.tool.clone());
            let known = bonuses.entry(id).or_default();
            *known = known.max(bonus);
        }
        bonuses
    }
}

fn hashes(stems: &[String]) -> Vec<u32> {
    let mut hashes: Vec<u32> =
        stems.iter().map(|stem| fingerprint([stem.as_str()]) as u32).collect();
    hashes.sort_unstable();
    hashes.dedup();
    hashes
}

/// Returns the similarity of two sorted sets: 1 if they are equal, 0 if they have nothing in common.
fn similarity(a: &[u32], b: &[u32]) -> f32 {
    if a.is_empty() || b.is_empty() {
        return 0.0;
    }
    let common = a.iter().filter(|word| b.binary_search(word).is_ok()).count();
    common as f32 / ((a.len() * b.len()) as f32).sqrt()
}

fn merge(habits: &mut Vec<UsagePattern>, learnt: &[UsagePattern]) {
    for new in learnt {
        let known = habits.iter_mut().find(|known| {
            known.words == new.words && known.tool == new.tool && known.server == new.server
        });
        match known {
            Some(known) => {
                known.count = known.count.saturating_add(new.count);
                known.last = known.last.max(new.last);
            }
            None => habits.push(new.clone()),
        }
    }
    if habits.len() > MAX_HABITS {
        habits.sort_by_key(|habit| std::cmp::Reverse(habit.last));
        habits.truncate(MAX_HABITS);
    }
}

/// Reads the file. One that is missing or broken has no habits.
fn read(path: &Path) -> Vec<UsagePattern> {
    let file =
        std::fs::read(path).ok().and_then(|text| serde_json::from_slice::<UsageFile>(&text).ok());
    file.filter(|file| file.version == VERSION).map(|file| file.habits).unwrap_or_default()
}

/// Adds habits to the file, under a lock because other processes may do so at the same time.
fn add(path: &Path, learnt: &[UsagePattern]) -> std::io::Result<()> {
    let lock = private_file::open(&path.with_extension("lock"))?;
    lock.lock()?;
    let mut habits = read(path);
    merge(&mut habits, learnt);
    let text = serde_json::to_vec(&UsageFile { version: VERSION, habits })?;
    private_file::write(path, &text, Durability::Cache)
}

fn today() -> u32 {
    let elapsed = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    u32::try_from(elapsed.as_secs() / (24 * 3600)).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn stems(text: &str) -> Vec<String> {
        text.split(' ').map(str::to_owned).collect()
    }

    #[test]
    fn a_tool_that_was_used_after_a_search_gains_for_like_queries_only() {
        let habits = UsageStats::new(None, Background::default());
        let tool = ToolId::new("crm", "create_lead");
        habits
            .searched(&stems("add new prospect"), vec![tool.clone(), ToolId::new("crm", "other")]);
        assert!(habits.bonuses(&stems("add new prospect")).is_empty());
        habits.used(&tool);
        let same = habits.bonuses(&stems("add new prospect"));
        let like = habits.bonuses(&stems("add prospect today"));
        assert!(same[&tool] > like[&tool] && like[&tool] > 0.0);
        assert_eq!(same.len(), 1);
        assert!(habits.bonuses(&stems("read mail")).is_empty());
        // One search is a reason for one use of a tool.
        habits.used(&tool);
        assert_eq!(habits.bonuses(&stems("add new prospect")), same);
        // What was not found was not used because of the search.
        habits.used(&ToolId::new("mail", "send"));
        assert_eq!(habits.bonuses(&stems("add new prospect")).len(), 1);
    }

    #[test]
    fn habits_outlive_the_process_without_what_was_asked() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("habits.json");
        let tool = ToolId::new("crm", "create_lead");
        for _ in 0..3 {
            let background = Background::default();
            let habits = UsageStats::new(Some(path.clone()), background.clone());
            habits.searched(&stems("secret customer melissa"), vec![tool.clone()]);
            habits.used(&tool);
            background.flush(Duration::from_secs(300));
        }
        let kept = read(&path);
        assert_eq!((kept.len(), kept[0].count), (1, 3));
        let text = std::fs::read_to_string(&path).unwrap();
        assert!(text.contains("create_lead") && !text.contains("melissa"), "{text}");
        std::fs::write(&path, "{").unwrap();
        assert!(read(&path).is_empty());
    }
}
