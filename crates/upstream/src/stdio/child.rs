//! A server as a child process: in a process group of its own, which ends with us.

use std::{ffi::OsString, path::Path, process::Stdio, sync::Arc, time::Duration};

use narrows_system::apart;
use process_wrap::tokio::{ChildWrapper, CommandWrap};
use thiserror::Error;
use tokio::{
    io::{AsyncBufReadExt, AsyncReadExt, BufReader},
    process::{ChildStderr, ChildStdin, ChildStdout, Command},
};
use tokio_util::sync::{CancellationToken, DropGuard};

use crate::{
    logs::server_history::ServerHistory,
    stdio::{
        child_reaper::{self, ChildReaper},
        child_starter,
    },
};

/// How long a child may take to leave after its standard input was closed, and again after it
/// was asked by a signal.
const LEAVING_TIME: Duration = Duration::from_secs(1);
/// How long the last words of a child may take to arrive here.
const LAST_WORDS_TIME: Duration = Duration::from_secs(2);
/// A line on standard error is read in pieces of this size.
const STDERR_PIECE: u64 = 4 << 10;

/// The command that starts a server, with all variables filled in.
pub(crate) struct CommandLine<'a> {
    pub(crate) program: &'a str,
    pub(crate) args: &'a [String],
    /// The part of our own environment that it is given; the rest is ours alone.
    pub(crate) inherited: &'a [(OsString, OsString)],
    pub(crate) env: &'a [(String, String)],
    pub(crate) cwd: Option<&'a Path>,
}

/// Why a child could not be started.
#[derive(Debug, Error)]
pub(crate) enum SpawnError {
    #[error("the command {0:?} is not installed or not in PATH")]
    NotFound(String),
    #[error("the directory {0:?} to start it in does not exist")]
    NoDirectory(String),
    #[error("the command {0:?} cannot be started: {1}")]
    Io(String, #[source] std::io::Error),
}

/// How a server ended that left by itself.
pub(crate) struct ExitReason {
    /// How it ended.
    pub(crate) status: String,
    /// The status with what it printed last, which may contain anything that it was ever sent.
    pub(crate) words: String,
}

/// A running child. Dropping it kills its group.
pub(crate) struct Child {
    process: Box<dyn ChildWrapper>,
    group: Option<u32>,
    guard: ChildReaper,
    history: ServerHistory,
    printed: OutputEnd,
}

/// The wires to a child.
#[derive(Debug)]
pub(crate) struct Pipes {
    pub(crate) stdin: ChildStdin,
    pub(crate) stdout: ChildStdout,
    /// Held until all of standard output was read.
    pub(crate) reading: Arc<DropGuard>,
}

/// A handle to wait until all that a child printed was read.
#[derive(Clone, Debug)]
pub(crate) struct OutputEnd(CancellationToken);

impl OutputEnd {
    /// Waits a moment until all that an exited child printed was read.
    pub(crate) async fn ended(&self) {
        let _ = tokio::time::timeout(LAST_WORDS_TIME, self.0.cancelled()).await;
    }
}

impl Child {
    pub(crate) fn spawn(
        line: &CommandLine<'_>,
        guard: &ChildReaper,
        history: &ServerHistory,
    ) -> Result<(Self, Pipes), SpawnError> {
        // Beside the async threads, like the start below: the place may be in a network that is away.
        if let Some(cwd) = line.cwd
            && !apart(|| cwd.is_dir())
        {
            return Err(SpawnError::NoDirectory(cwd.display().to_string()));
        }
        let mut command = Command::new(program(line.program));
        command
            .args(line.args)
            .env_clear()
            .envs(line.inherited.iter().map(|(name, value)| (name, value)))
            .envs(line.env.iter().map(|(name, value)| (name, value)))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .kill_on_drop(true);
        if let Some(cwd) = line.cwd {
            command.current_dir(cwd);
        }
        die_with_parent(&mut command);
        let mut command = CommandWrap::from(command);
        #[cfg(unix)]
        command.wrap(process_wrap::tokio::ProcessGroup::leader());
        #[cfg(windows)]
        command.wrap(process_wrap::tokio::JobObject);
        let spawned = apart(|| child_starter::start(move || command.spawn()));
        let spawned = spawned.unwrap_or_else(|| Err(std::io::ErrorKind::BrokenPipe.into()));
        let mut process = spawned.map_err(|error| match error.kind() {
            std::io::ErrorKind::NotFound => SpawnError::NotFound(line.program.to_owned()),
            _ => SpawnError::Io(line.program.to_owned(), error),
        })?;
        let group = process.id();
        if let Some(group) = group {
            guard.add(group);
        }
        let pipes = (process.stdin().take(), process.stdout().take(), process.stderr().take());
        let reading = CancellationToken::new();
        let child = Self {
            process,
            group,
            guard: guard.clone(),
            history: history.clone(),
            printed: OutputEnd(reading.clone()),
        };
        let (Some(stdin), Some(stdout), Some(stderr)) = pipes else {
            let error = std::io::Error::other("it has no pipes");
            return Err(SpawnError::Io(line.program.to_owned(), error));
        };
        let reading = Arc::new(reading.drop_guard());
        tokio::spawn(read_stderr(stderr, history.clone(), Arc::clone(&reading)));
        Ok((child, Pipes { stdin, stdout, reading }))
    }

    pub(crate) fn id(&self) -> Option<u32> {
        self.process.id()
    }

    /// Tells whether the process itself has ended, whatever became of those that it started.
    pub(crate) fn has_exited(&mut self) -> bool {
        matches!(self.process.inner_mut().try_wait(), Ok(Some(_)))
    }

    /// Returns a handle to wait for the last output of the child.
    pub(crate) fn printed(&self) -> OutputEnd {
        self.printed.clone()
    }

    /// Waits for a child whose standard input is closed, and ends it if it does not leave.
    pub(crate) async fn end(mut self) {
        let polite = tokio::time::timeout(LEAVING_TIME, self.process.wait()).await;
        if polite.is_err() {
            #[cfg(unix)]
            {
                let _ = self.process.signal(SIGTERM);
                let _ = tokio::time::timeout(LEAVING_TIME, self.process.wait()).await;
            }
        }
        // What the child started and left behind goes with it.
        self.kill();
        let _ = tokio::time::timeout(LEAVING_TIME, self.process.wait()).await;
    }

    /// Waits for the exit of a child that left by itself, and says how it ended.
    pub(crate) async fn wait_for_exit(&mut self) -> ExitReason {
        let status = tokio::time::timeout(Duration::from_millis(500), self.process.wait()).await;
        let status = match status {
            Ok(Ok(status)) => format!("it ended with {status}"),
            _ => "it closed its standard output".to_owned(),
        };
        self.printed.ended().await;
        let words = match self.history.last_stderr() {
            Some(last) => format!("{status}; its last words were: {last}"),
            None => status.clone(),
        };
        ExitReason { status, words }
    }

    fn kill(&mut self) {
        let _ = self.process.start_kill();
        #[cfg(unix)]
        if let Some(group) = self.group {
            child_reaper::kill_group(group);
        }
    }
}

impl Drop for Child {
    fn drop(&mut self) {
        self.kill();
        if let Some(group) = self.group {
            self.guard.remove(group);
        }
    }
}

impl std::fmt::Debug for Child {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Child").field("id", &self.id()).finish_non_exhaustive()
    }
}

#[cfg(unix)]
const SIGTERM: i32 = 15;

/// Finds the file of a command. On Windows `npx` and its like are scripts with an extension that only a
/// shell adds.
#[cfg(windows)]
fn program(name: &str) -> std::path::PathBuf {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let with_extension = std::env::split_paths(&path)
        .flat_map(|dir| ["exe", "cmd", "bat"].map(|ext| dir.join(format!("{name}.{ext}"))))
        .find(|file| file.is_file());
    with_extension.unwrap_or_else(|| name.into())
}

#[cfg(not(windows))]
fn program(name: &str) -> &str {
    name
}

/// Makes the kernel kill the child when the thread that started it dies, which lasts as long as we do
/// ([`child_starter`]), however we die. What the child started itself is left to the [`ChildReaper`].
#[cfg(target_os = "linux")]
#[allow(unsafe_code)]
fn die_with_parent(command: &mut Command) {
    // SAFETY: between fork and exec only async-signal-safe calls are allowed; this makes one
    // system call and allocates nothing.
    unsafe {
        command.pre_exec(|| {
            rustix::process::set_parent_process_death_signal(Some(rustix::process::Signal::KILL))
                .map_err(std::io::Error::from)
        });
    }
}

#[cfg(not(target_os = "linux"))]
fn die_with_parent(_command: &mut Command) {}

/// Reads standard error to its end, so that the child never waits for us, and keeps the last of
/// it.
async fn read_stderr(stderr: ChildStderr, history: ServerHistory, _reading: Arc<DropGuard>) {
    let mut stderr = BufReader::new(stderr);
    let mut line = Vec::new();
    loop {
        line.clear();
        match (&mut stderr).take(STDERR_PIECE).read_until(b'\n', &mut line).await {
            Ok(0) | Err(_) => return,
            Ok(_) => history.stderr(&String::from_utf8_lossy(&line)),
        }
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use tokio::io::AsyncWriteExt;

    use super::*;
    use crate::logs::{redact::Redactor, server_log::ServerLogs};

    /// Threads of the runtime end, and the parent-death signal is about the thread.
    #[tokio::test]
    async fn a_child_outlives_the_thread_that_wanted_it() {
        let runtime = tokio::runtime::Handle::current();
        let spawning = std::thread::spawn(move || {
            let _within = runtime.enter();
            let line =
                CommandLine { program: "cat", args: &[], inherited: &[], env: &[], cwd: None };
            let history = ServerHistory::new(Redactor::default(), ServerLogs::none().of("s"));
            Child::spawn(&line, &ChildReaper::default(), &history)
        });
        let (mut child, mut pipes) = spawning.join().unwrap().unwrap();
        let mut stdout = BufReader::new(pipes.stdout);
        for _ in 0..100 {
            pipes.stdin.write_all(b"still here\n").await.unwrap();
            let mut line = String::new();
            stdout.read_line(&mut line).await.unwrap();
            assert_eq!(line, "still here\n");
        }
        assert!(!child.has_exited());
    }
}
