//! What is kept on disk: the totals, and the last runs. Figures only, no text of any request.

use std::{
    fs,
    io::{self, Write},
    path::PathBuf,
};

use super::{Run, Totals};
use crate::private_file::{self, Durability};

/// When the list of runs is longer, it is begun anew, and the one before is kept beside it.
const MOST_BYTES: u64 = 1 << 20;

/// A directory with the figures of an installation. Several processes may write to it.
#[derive(Clone, Debug)]
pub(super) struct Book {
    dir: PathBuf,
}

impl Book {
    pub(super) fn new(dir: PathBuf) -> Self {
        Self { dir }
    }

    /// The totals of all processes. None if there are none, or none that can be read.
    pub(super) fn totals(&self) -> Option<Totals> {
        serde_json::from_slice(&fs::read(self.totals_path()).ok()?).ok()
    }

    /// The last runs, newest first.
    pub(super) fn runs(&self, most: usize) -> Vec<Run> {
        let mut runs = Vec::new();
        for path in [self.runs_path(), self.older_path()] {
            let Ok(text) = fs::read_to_string(path) else { continue };
            // A line that was cut by a full disk is passed over.
            let lines = text.lines().rev();
            runs.extend(lines.filter_map(|line| serde_json::from_str::<Run>(line).ok()));
            if runs.len() >= most {
                break;
            }
        }
        runs.truncate(most);
        runs
    }

    /// Adds to the totals, whoever else does so at the same time.
    pub(super) fn add(&self, change: impl FnOnce(&mut Totals)) -> io::Result<()> {
        let lock = private_file::open(&self.dir.join("lock"))?;
        lock.lock()?;
        let mut totals = self.totals().unwrap_or_default();
        change(&mut totals);
        let text = serde_json::to_vec(&totals)?;
        private_file::write(&self.totals_path(), &text, Durability::Cache)
    }

    pub(super) fn append(&self, run: &Run) -> io::Result<()> {
        let path = self.runs_path();
        if fs::metadata(&path).is_ok_and(|data| data.len() > MOST_BYTES) {
            fs::rename(&path, self.older_path())?;
        }
        let mut line = serde_json::to_vec(run)?;
        line.push(b'\n');
        // One write at the end of the file, so that processes do not mix their lines.
        private_file::open(&path)?;
        fs::OpenOptions::new().append(true).open(&path)?.write_all(&line)
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
