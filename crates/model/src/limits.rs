//! What a program may use up. Each limit's comment names the attack that it stops.

use std::{fmt, time::Duration};

use serde::Serialize;

const KIB: u64 = 1024;
const MIB: u64 = 1024 * KIB;
const GIB: u64 = 1024 * MIB;

/// The limits of one run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Holding a slot for ever by waiting (`await asyncio.sleep(1e9)`).
    pub wall_time: Duration,
    /// Burning the processor (`while True: pass`). Waiting does not count.
    pub cpu_time: Duration,
    /// Filling the host's memory (`x = 'a' * 10**10`). Counts all linear memory of the run,
    /// the interpreter's own included.
    pub memory_bytes: u64,
    /// Filling the caller's memory or the model's context by printing without end. So much of
    /// stdout and of stderr is kept; a run that prints [`Limits::OUTPUT_CEILING`] times as much
    /// is ended.
    pub output_bytes: u64,
    /// The same by returning a huge result.
    pub result_bytes: u64,
    /// Using the host as a hammer against a server behind it.
    pub tool_calls: u32,
    /// The same at once. Further calls wait for their turn.
    pub calls_in_flight: u32,
    /// Filling the disk through `/workspace`.
    pub workspace_bytes: u64,
    /// Using up the disk's inodes.
    pub workspace_files: u64,
    /// Filling the host's memory through `/tmp`, which is held there.
    pub tmp_bytes: u64,
}

impl Limits {
    /// The C stack of the interpreter, in bytes: exhausting it by recursion inside the
    /// interpreter itself (deeply nested literals, `repr` of nested lists). The same for every
    /// run, because the engine is made with it.
    pub const STACK_BYTES: u64 = 64 * MIB;
    /// How many times `output_bytes` a run may print before it is ended.
    pub const OUTPUT_CEILING: u64 = 16;
    /// The most that 32-bit WebAssembly can address.
    pub const MAX_MEMORY_BYTES: u64 = 4 * GIB;
    /// Less than this and the interpreter itself does not start.
    pub const MIN_MEMORY_BYTES: u64 = 64 * MIB;
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            wall_time: Duration::from_secs(30),
            cpu_time: Duration::from_secs(30),
            memory_bytes: 512 * MIB,
            output_bytes: MIB,
            result_bytes: MIB,
            tool_calls: 1_000,
            calls_in_flight: 64,
            workspace_bytes: GIB,
            workspace_files: 10_000,
            tmp_bytes: 64 * MIB,
        }
    }
}

/// Which limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum LimitKind {
    WallTime,
    CpuTime,
    Memory,
    Output,
    Result,
    ToolCalls,
    Stack,
    WorkspaceBytes,
    WorkspaceFiles,
    TmpBytes,
}

/// A limit that a run reached, with its value in seconds, bytes or pieces.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct LimitHit {
    pub name: LimitKind,
    pub value: f64,
}

impl LimitHit {
    /// The limit of this kind as `limits` has it.
    pub fn of(name: LimitKind, limits: &Limits) -> Self {
        let value = match name {
            LimitKind::WallTime => limits.wall_time.as_secs_f64(),
            LimitKind::CpuTime => limits.cpu_time.as_secs_f64(),
            LimitKind::Memory => limits.memory_bytes as f64,
            LimitKind::Output => (limits.output_bytes * Limits::OUTPUT_CEILING) as f64,
            LimitKind::Result => limits.result_bytes as f64,
            LimitKind::ToolCalls => f64::from(limits.tool_calls),
            LimitKind::Stack => Limits::STACK_BYTES as f64,
            LimitKind::WorkspaceBytes => limits.workspace_bytes as f64,
            LimitKind::WorkspaceFiles => limits.workspace_files as f64,
            LimitKind::TmpBytes => limits.tmp_bytes as f64,
        };
        Self { name, value }
    }

    /// What to do about it.
    pub fn advice(&self) -> &'static str {
        match self.name {
            LimitKind::WallTime => {
                "do less in one run, wait for things together, or ask for more time"
            }
            LimitKind::CpuTime => "do less work in one run, or ask for more time",
            LimitKind::Memory => "work on the data in parts, or ask for more memory",
            LimitKind::Output => "print less, and write long output to a file in the workspace",
            LimitKind::Result => "return less, and write large results to a file in the workspace",
            LimitKind::ToolCalls => "make fewer calls, or split the work into several runs",
            LimitKind::Stack => "recurse less deeply",
            LimitKind::WorkspaceBytes | LimitKind::WorkspaceFiles => {
                "remove files that are no longer needed from the workspace"
            }
            LimitKind::TmpBytes => "use the workspace for large files, or remove files from /tmp",
        }
    }
}

impl fmt::Display for LimitHit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let value = self.value;
        match self.name {
            LimitKind::WallTime => write!(f, "wall time limit of {value} s"),
            LimitKind::CpuTime => write!(f, "CPU time limit of {value} s"),
            LimitKind::Memory => write!(f, "memory limit of {}", Bytes(value)),
            LimitKind::Output => write!(f, "output limit of {}", Bytes(value)),
            LimitKind::Result => write!(f, "result limit of {}", Bytes(value)),
            LimitKind::ToolCalls => write!(f, "limit of {value} tool calls"),
            LimitKind::Stack => write!(f, "stack limit of {}", Bytes(value)),
            LimitKind::WorkspaceBytes => write!(f, "workspace limit of {}", Bytes(value)),
            LimitKind::WorkspaceFiles => write!(f, "workspace limit of {value} files"),
            LimitKind::TmpBytes => write!(f, "/tmp limit of {}", Bytes(value)),
        }
    }
}

/// A number of bytes as a person reads it.
struct Bytes(f64);

impl fmt::Display for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (value, unit) = match self.0 {
            bytes if bytes >= GIB as f64 => (bytes / GIB as f64, "GB"),
            bytes if bytes >= MIB as f64 => (bytes / MIB as f64, "MB"),
            bytes if bytes >= KIB as f64 => (bytes / KIB as f64, "KB"),
            bytes => (bytes, "bytes"),
        };
        // One decimal, and none where it says nothing.
        write!(f, "{} {unit}", (value * 10.0).round() / 10.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_limit_names_itself_and_its_value() {
        let limits = Limits::default();
        let shown = |kind| LimitHit::of(kind, &limits).to_string();
        assert_eq!(shown(LimitKind::WallTime), "wall time limit of 30 s");
        assert_eq!(shown(LimitKind::Memory), "memory limit of 512 MB");
        assert_eq!(shown(LimitKind::Output), "output limit of 16 MB");
        assert_eq!(shown(LimitKind::ToolCalls), "limit of 1000 tool calls");
        let limits = Limits { tmp_bytes: 1536, ..limits };
        assert_eq!(LimitHit::of(LimitKind::TmpBytes, &limits).to_string(), "/tmp limit of 1.5 KB");
    }
}
