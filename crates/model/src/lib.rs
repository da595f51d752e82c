//! The domain types of Narrows: programs, their limits and outcomes, and the servers and tools that
//! they may call.
//!
//! This crate does no IO of any kind.

mod address;
pub mod cut;
mod event;
mod fair;
mod fair_budget;
pub mod fingerprint;
mod grouped;
mod hex;
mod identifier;
mod json_scan;
mod limits;
mod nearest;
mod outcome;
mod percent;
mod principal;
mod program;
mod secret_words;
mod server;
mod tool;

pub use event::{Event, EventAction, EventOutcome, EventTarget, UnknownWord};
pub use fair::{Acquire, Caller, FairSemaphore, Permit, QueueFull};
pub use fair_budget::FairBudget;
pub use grouped::grouped;
pub use hex::hex;
pub use identifier::{is_identifier, is_keyword};
pub use json_scan::{JsonExcess, scan_json};
pub use limits::{LimitHit, LimitKind, LimitScope, LimitSettings, LimitSpec, LimitUnit, Limits};
pub use nearest::{MAX_NAME_BYTES, Nearest, clipped_name, nearest, similar, there_are};
pub use outcome::{DroppedBytes, Ending, Excerpt, Failure, Outcome, OutcomePart};
pub use percent::percent_decoded;
pub use principal::{Access, Principal, is_plain_name};
pub use program::{OutputStream, Program};
pub use secret_words::{looks_secret, secrets_in};
pub use server::{
    Connection, Expose, HttpSpec, HttpTransport, MissingVariable, OAuthSpec, ServerSpec, StdioSpec,
    Template,
};
pub use tool::{ToolId, ToolName};
