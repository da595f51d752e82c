//! The figures on disk: the totals and the last runs. Only figures are written, no text of any request.

use std::{
    fs,
    io::{self, Write},
    path::PathBuf,
};

use narrows_system::private_file::{self, Durability};

use super::{RunStats, Totals, totals::StatsEntry};

/// The largest list of runs. Then a new one is begun, and the previous one is kept beside it.
const MAX_BYTES: u64 = 1 << 20;

/// A directory with the figures of an installation. Several processes may write to it.
#[derive(Clone, Debug)]
pub(super) struct StatsFiles {
    dir: PathBuf,
}

impl StatsFiles {
    pub(super) fn new(dir: PathBuf) -> Self {
        Self { dir }
    }

    /// Reads the totals of all processes. `None` if there are none, or the file is broken.
    pub(super) fn totals(&self) -> Option<Totals> {
        serde_json::from_slice(&fs::read(self.totals_path()).ok()?).ok()
    }

    /// Reads the last runs, newest first.
    pub(super) fn runs(&self, max: usize) -> Vec<RunStats> {
        let mut runs = Vec::new();
        for path in [self.runs_path(), self.older_path()] {
            let Ok(text) = fs::read_to_string(path) else { continue };
            // A line that was cut off by a full disk is skipped.
            let lines = text.lines().rev();
            runs.extend(lines.filter_map(|line| serde_json::from_str::<RunStats>(line).ok()));
            if runs.len() >= max {
                break;
            }
        }
        runs.truncate(max);
        runs
    }

    /// Adds to the totals and to the last runs; other processes may do so at the same time.
    pub(super) fn write(&self, counted: &[StatsEntry]) -> io::Result<()> {
        self.add(counted)?;
        self.append(counted)
    }

    fn add(&self, counted: &[StatsEntry]) -> io::Result<()> {
        let lock = private_file::open(&self.dir.join("lock"))?;
        lock.lock()?;
        let mut totals = self.totals().unwrap_or_default();
        counted.iter().for_each(|counted| totals.add(counted));
        let text = serde_json::to_vec(&totals)?;
        private_file::write(&self.totals_path(), &text, Durability::Cache)
    }

    fn append(&self, counted: &[StatsEntry]) -> io::Result<()> {
        let mut lines = Vec::new();
        for counted in counted {
            if let StatsEntry::Run(run) = counted {
                serde_json::to_writer(&mut lines, run)?;
                lines.push(b'\n');
            }
        }
        if lines.is_empty() {
            return Ok(());
        }
        let path = self.runs_path();
        if fs::metadata(&path).is_ok_and(|data| data.len() > MAX_BYTES) {
            fs::rename(&path, self.older_path())?;
        }
        // One write at the end of the file, so that processes do not mix their lines.
        private_file::open(&path)?;
        fs::OpenOptions::new().append(true).open(&path)?.write_all(&lines)
    }

    fn totals_path(&self) -> PathBuf {
        self.dir.join("totals.json")
    }

    fn runs_path(&self) -> PathBuf {
        self.dir.join("runs.jsonl")
    }

    fn older_path(&self) -> PathBuf {
        self.dir.join("runs.1.jsonl")
    }
}
