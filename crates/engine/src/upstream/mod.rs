//! Upstream MCP servers: how they are reached, kept alive and asked.
//!
//! [`Fleet`] is all of them; a `server` starts and restarts one; a `connection` is one run of
//! it, over `stdio` (with its `child` process), `http` or `sse`.

mod bearer;
mod bounded;
mod budget;
mod caller;
mod child;
mod child_reaper;
mod child_starter;
mod connection;
mod environment;
mod error;
mod fleet;
#[cfg(any(test, fuzzing))]
pub(crate) mod fuzz;
mod handler;
mod http;
mod http_connector;
mod inbox;
mod limits;
mod login;
mod notification_barrier;
mod outbox;
mod raw;
mod redact;
mod relisting;
mod server;
mod server_history;
mod server_log;
mod settings;
mod sse;
mod stdio;
mod tool_list;

pub use budget::{ANSWER_BYTES, Held};
pub use caller::{Caller, NoCaller, Progress};
pub use child_reaper::ChildReaper;
pub use connection::{ProtocolGeneration, UpstreamReply};
pub use error::UpstreamError;
pub use fleet::Fleet;
pub(crate) use handler::MAX_QUESTIONS;
pub use handler::{ServerChange, UpstreamChange};
pub use http::client_builder;
pub use login::{Login, LoginError, LoginStore};
pub use server::{Health, StartProblem, Status};
pub use server_log::{LogFollower, LogLine, LogSource, ServerLogs};

#[cfg(test)]
pub(crate) mod tests;
