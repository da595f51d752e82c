//! Real CPython in a WebAssembly sandbox.
//!
//! [`Sandbox::run`] runs one [`Program`](narrows_model::Program) in a fresh isolate and gives
//! its [`Outcome`](narrows_model::Outcome). The program reaches the outside only through the
//! [`ToolHost`] that it is run with and the [`Workspace`] that it is given.
//!
//! What a run passes through: [`sandbox`] admits it, [`runners`] gives it a thread, [`pool`] an
//! isolate, [`isolate`] runs the guest under its limits, and [`driver`] answers the guest's
//! requests on the caller's side.

mod driver;
mod fs;
mod guest;
mod host;
mod isolate;
mod meter;
mod outcome;
mod output;
mod paused_clock;
mod pool;
mod runners;
mod runtime_config;
mod sandbox;
mod session;
mod ticker;
mod untaken;

pub use fs::{
    FilePart, FoundFile, UnfinishedFile, Workspace, WorkspaceError, WorkspaceFile, WorkspaceMount,
};
pub use host::{ModuleSource, NoTools, Query, ToolAnswer, ToolCall, ToolFailure, ToolHost};
pub use paused_clock::{PausedClock, Waiting};
pub use sandbox::{RunOptions, Sandbox, SandboxConfig, SandboxError};
pub use session::{LostVariables, Session};
