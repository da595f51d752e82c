//! Ends the process groups of our children when we are killed and cannot do it ourselves.
//!
//! A second process holds the other end of a pipe and a list of groups. When the pipe closes,
//! for whatever reason, it kills the groups that are still on the list. One such process is
//! enough for all servers, and it is started with the first of them.

use std::{
    collections::{BTreeSet, HashSet},
    io::{BufRead, Write},
    path::PathBuf,
    process::{Command, Stdio},
    sync::{Arc, Mutex, PoisonError},
};

/// A handle to the process that ends the groups: our side of the pipe.
#[derive(Clone, Debug, Default)]
pub struct ChildReaper(Option<Arc<Mutex<ReaperState>>>);

#[derive(Debug)]
struct ReaperState {
    program: PathBuf,
    args: Vec<String>,
    process: Option<std::process::Child>,
    /// The groups that it has to know.
    groups: BTreeSet<u32>,
}

impl ChildReaper {
    /// Returns a guard whose process is started as `program args…` when it is first needed. That
    /// program must call [`ChildReaper::stand`].
    pub fn new(program: PathBuf, args: Vec<String>) -> Self {
        if !cfg!(unix) {
            return Self(None); // Windows has job objects for this.
        }
        Self(Some(Arc::new(Mutex::new(ReaperState {
            program,
            args,
            process: None,
            groups: BTreeSet::new(),
        }))))
    }

    /// Returns a guard without a process, so that there is only the parent-death signal: for tests and
    /// benchmarks inside one process.
    pub fn none() -> Self {
        Self(None)
    }

    pub(crate) fn add(&self, group: u32) {
        self.change(|groups| groups.insert(group), &format!("+{group}\n"));
    }

    pub(crate) fn remove(&self, group: u32) {
        self.change(|groups| groups.remove(&group), &format!("-{group}\n"));
    }

    fn change(&self, change: impl FnOnce(&mut BTreeSet<u32>) -> bool, line: &str) {
        let Some(state) = &self.0 else { return };
        let mut state = state.lock().unwrap_or_else(PoisonError::into_inner);
        change(&mut state.groups);
        if state.process.is_some() && state.tell(line).is_ok() {
            return;
        }
        // The process is not there yet, or somebody killed it: a new one learns all groups.
        if let Err(error) = state.restart() {
            tracing::warn!(%error, "the guard of the child processes does not start");
        }
    }

    /// Listens until the pipe closes, and kills the groups that are left. This is all that the second
    /// process does.
    pub fn stand(input: impl BufRead) {
        let mut groups = HashSet::new();
        for line in input.lines() {
            let Ok(line) = line else { break };
            let (Some(sign), Ok(group)) = (line.get(..1), line.get(1..).unwrap_or("").parse())
            else {
                continue;
            };
            match sign {
                "+" => groups.insert(group),
                _ => groups.remove(&group),
            };
        }
        for group in groups {
            kill_group(group);
        }
    }
}

impl ReaperState {
    fn tell(&mut self, line: &str) -> std::io::Result<()> {
        let pipe = self.process.as_mut().and_then(|process| process.stdin.as_mut());
        pipe.ok_or(std::io::ErrorKind::BrokenPipe)?.write_all(line.as_bytes())
    }

    fn restart(&mut self) -> std::io::Result<()> {
        self.end();
        self.process = Some(start(&self.program, &self.args)?);
        let groups: String = self.groups.iter().map(|group| format!("+{group}\n")).collect();
        self.tell(&groups)
    }

    fn end(&mut self) {
        if let Some(mut process) = self.process.take() {
            drop(process.stdin.take());
            let _ = process.wait();
        }
    }
}

impl Drop for ReaperState {
    fn drop(&mut self) {
        self.end();
    }
}

fn start(program: &PathBuf, args: &[String]) -> std::io::Result<std::process::Child> {
    let mut command = Command::new(program);
    command.args(args).stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
    // Ctrl-C in a terminal goes to our group; the guard must outlive us.
    #[cfg(unix)]
    std::os::unix::process::CommandExt::process_group(&mut command, 0);
    command.spawn()
}

/// Kills a group of processes. A group that is gone is not an error.
#[cfg(unix)]
pub(crate) fn kill_group(group: u32) {
    use rustix::process::{Pid, Signal, kill_process_group};
    // The groups 0 and 1 are ourselves and the system.
    let pid = i32::try_from(group).ok().filter(|group| *group > 1).and_then(Pid::from_raw);
    if let Some(pid) = pid {
        let _ = kill_process_group(pid, Signal::KILL);
    }
}

#[cfg(not(unix))]
pub(crate) fn kill_group(_group: u32) {}
