//! Upstream MCP servers: how they are reached, kept alive and asked.
//!
//! [`Fleet`] is all of them; a `server` starts and restarts one; a `connection` is one run of
//! it, over `stdio` (with its `child` process), `http` or `sse`.

mod bearer;
mod bounded;
mod budget;
mod caller;
mod child;
mod connection;
mod diary;
mod environment;
mod error;
mod fleet;
#[cfg(any(test, fuzzing))]
pub(crate) mod fuzz;
mod guard;
mod handler;
mod http;
mod http_way;
mod inbox;
mod limits;
mod login;
mod notices;
mod outbox;
mod raw;
mod redact;
mod relisting;
mod server;
mod server_log;
mod settings;
mod sse;
mod stdio;
mod tool_list;

pub use budget::{ANSWER_BYTES, Held};
pub use caller::{Caller, Nobody, Progress};
pub use connection::{Era, Reply};
pub use error::UpstreamError;
pub use fleet::Fleet;
pub use guard::Guard;
pub(crate) use handler::MAX_QUESTIONS;
pub use handler::{Change, ServerChange};
pub use http::client_builder;
pub use login::{Login, LoginError, LoginStore};
pub use server::{Health, Status};
pub use server_log::{LogFollower, LogLine, LogSource, ServerLogs};

#[cfg(test)]
pub(crate) mod tests;
