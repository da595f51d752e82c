//! The limits of a program. Each is declared once, in the table below, from which configuration keys,
//! isolation levels, tables in the documents and messages to runs are made. Its comment names the
//! attack that it stops.

mod hit;
mod settings;
mod spec;

use std::time::Duration;

use serde::Serialize;

pub use hit::LimitHit;
pub use settings::LimitSettings;
pub use spec::{LimitScope, LimitSpec, LimitUnit};

use spec::Amount;

const KIB: u64 = 1024;
const MIB: u64 = 1024 * KIB;
const GIB: u64 = 1024 * MIB;

/// Declares the limits: the fields of [`Limits`] with their defaults, and the [`LimitSpec`] of each.
macro_rules! limits {
    ($(
        $(#[doc = $doc:literal])+
        $field:ident: $type:ty = $default:expr => { $($part:ident: $value:expr),+ $(,)? }
    )+) => {
        /// The limits of one run.
        #[derive(Clone, Debug, PartialEq, Eq)]
        pub struct Limits {
            $( $(#[doc = $doc])+ pub $field: $type, )+
        }

        impl Default for Limits {
            fn default() -> Self {
                Self { $( $field: $default, )+ }
            }
        }

        impl Limits {
            /// All limits, in the order in which documents list them. Limits with the same key stand
            /// together.
            pub const ALL: &[LimitSpec] = &[$(
                LimitSpec {
                    $( $part: $value, )+
                    get: |limits| limits.$field.to_amount(),
                    set: |limits, amount| limits.$field = Amount::from_amount(amount),
                },
            )+];
        }
    };
}

limits! {
    /// Holding a slot for ever by waiting (`await asyncio.sleep(1e9)`).
    wall_time: Duration = Duration::from_secs(30) => {
        kind: LimitKind::WallTime,
        name: "wall time",
        title: "wall time",
        key: "timeout",
        unit: LimitUnit::Seconds,
        range: (Limits::MIN_SECONDS, Limits::MAX_SECONDS),
        scope: LimitScope::Both,
        reached: "wall time limit of {}",
        advice: "do less in one run, wait for things together, or ask for more time",
    }
    /// Burning the processor (`while True: pass`). Waiting does not count.
    cpu_time: Duration = Duration::from_secs(30) => {
        kind: LimitKind::CpuTime,
        name: "CPU time",
        title: "CPU time",
        key: "timeout",
        unit: LimitUnit::Seconds,
        range: (Limits::MIN_SECONDS, Limits::MAX_SECONDS),
        scope: LimitScope::Both,
        reached: "CPU time limit of {}",
        advice: "do less work in one run, or ask for more time",
    }
    /// Filling the host's memory (`x = 'a' * 10**10`). Counts all linear memory of the run,
    /// the interpreter's own included.
    memory_bytes: u64 = 512 * MIB => {
        kind: LimitKind::Memory,
        name: "memory",
        title: "memory",
        key: "memory_mb",
        unit: LimitUnit::Megabytes,
        range: ((Limits::MIN_MEMORY_BYTES / MIB) as u32, (Limits::MAX_MEMORY_BYTES / MIB) as u32),
        scope: LimitScope::Both,
        reached: "memory limit of {}",
        advice: "work on the data in parts, or ask for more memory",
    }
    /// Filling the caller's memory or the model's context by printing without end. So much of
    /// stdout and of stderr is kept; a run that prints [`Limits::OUTPUT_CEILING`] times as much
    /// is ended.
    output_bytes: u64 = MIB => {
        kind: LimitKind::Output,
        name: "output",
        title: "kept of stdout and of stderr",
        key: "output_kb",
        unit: LimitUnit::Kilobytes,
        range: (1, 16_384),
        scope: LimitScope::Levels,
        reached: "output limit of {}",
        advice: "print less, and write long output to a file in the workspace",
    }
    /// Filling the caller's memory or the model's context by returning a huge result.
    result_bytes: u64 = MIB => {
        kind: LimitKind::Result,
        name: "result",
        title: "result",
        key: "result_kb",
        unit: LimitUnit::Kilobytes,
        range: (1, 16_384),
        scope: LimitScope::Levels,
        reached: "result limit of {}",
        advice: "return less, and write large results to a file in the workspace",
    }
    /// Filling the disk through `/workspace`.
    workspace_bytes: u64 = GIB => {
        kind: LimitKind::WorkspaceBytes,
        name: "workspace",
        title: "workspace",
        key: "workspace_mb",
        unit: LimitUnit::Megabytes,
        range: (1, 1_000_000),
        scope: LimitScope::Everywhere,
        reached: "workspace limit of {}",
        advice: "remove files that are no longer needed from the workspace",
    }
    /// Using up the disk's inodes.
    workspace_files: u64 = 10_000 => {
        kind: LimitKind::WorkspaceFiles,
        name: "workspace files",
        title: "workspace files",
        key: "workspace_files",
        unit: LimitUnit::Pieces,
        range: (1, 10_000_000),
        scope: LimitScope::Everywhere,
        reached: "workspace limit of {} files",
        advice: "remove files that are no longer needed from the workspace",
    }
    /// Using the host as a hammer against a server behind it.
    tool_calls: u32 = 1_000 => {
        kind: LimitKind::ToolCalls,
        name: "tool calls",
        title: "tool calls",
        key: "tool_calls",
        unit: LimitUnit::Pieces,
        range: (0, 1_000_000),
        scope: LimitScope::Both,
        reached: "limit of {} tool calls",
        advice: "make fewer calls, or split the work into several runs",
    }
    /// Hammering a server with many calls at once. Further calls wait for their turn.
    calls_in_flight: u32 = 64 => {
        kind: LimitKind::CallsInFlight,
        name: "calls in flight",
        title: "calls in flight",
        key: "calls_in_flight",
        unit: LimitUnit::Pieces,
        range: (1, 1_000),
        scope: LimitScope::Both,
        reached: "limit of {} calls in flight",
        advice: "make fewer calls at once",
    }
    /// Filling the host's memory through `/tmp`, which is held there.
    tmp_bytes: u64 = 64 * MIB => {
        kind: LimitKind::TmpBytes,
        name: "temporary files",
        title: "`/tmp`",
        key: "tmp_mb",
        unit: LimitUnit::Megabytes,
        range: (0, 4_096),
        scope: LimitScope::Levels,
        reached: "/tmp limit of {}",
        advice: "use the workspace for large files, or remove files from /tmp",
    }
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
    /// The shortest time that a caller may ask for.
    pub const MIN_SECONDS: u32 = 1;
    /// The longest time that a caller may ask for.
    pub const MAX_SECONDS: u32 = 120;

    /// Returns the specification of a limit. `None` for the stack, which nobody can set.
    pub fn spec(kind: LimitKind) -> Option<&'static LimitSpec> {
        Self::ALL.iter().find(|spec| spec.kind == kind)
    }
}

/// The kind of a limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum LimitKind {
    WallTime,
    CpuTime,
    Memory,
    Output,
    Result,
    ToolCalls,
    /// Calls wait at this limit; it does not end a run.
    CallsInFlight,
    Stack,
    WorkspaceBytes,
    WorkspaceFiles,
    TmpBytes,
}

#[cfg(test)]
mod tests;
