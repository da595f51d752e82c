//! The nouns of Narrows: what is run, within which limits, what came of it, and which tools of
//! which servers it may call.
//!
//! This crate does no IO of any kind.

mod grouped;
mod limits;
mod nearest;
mod outcome;
mod principal;
mod program;
mod server;
mod tool;

pub use grouped::grouped;
pub use limits::{LimitHit, LimitKind, Limits};
pub use nearest::{Nearest, nearest};
pub use outcome::{DroppedBytes, Ending, Failure, Outcome};
pub use principal::{Access, Principal, is_plain_name};
pub use program::{OutputStream, Program};
pub use server::{
    Connection, Expose, HttpSpec, HttpTransport, MissingVariable, OAuthSpec, ServerSpec, StdioSpec,
    Template,
};
pub use tool::ToolId;
