//! The client side of MCP: upstream servers, how they are reached, kept alive and asked, and the catalog
//! of what they offer.
//!
//! | module | subject |
//! |---|---|
//! | [`Fleet`] | all servers; `fleet/server` starts and restarts one, `fleet/relisting` has it list its tools again |
//! | `connection` | one run of a server, and the tools that it lists |
//! | `handshake` | how a connection begins, and why it was not opened |
//! | `handler`, `caller` | what a server sends while it works, in order, and the caller who receives it |
//! | `stdio`, `http` | the wires |
//! | `messages` | how much a server may send, and where it is parsed |
//! | `login`, `http_client` | OAuth logins in private files; the HTTP client for all requests |
//! | `settings` | a server's settings with variables filled in, and what it inherits of our environment |
//! | `logs` | what went wrong with a server and what it printed, without secrets |
//! | `error` | why a server did not do what was asked |
//! | `protocol` | the generations of the protocol |
//! | [`catalog`] | all tools with the names that code has for them |
//! | `arguments` | checks the arguments of a call against the schema of its tool |

// Sampling, roots and logging are deprecated in the newest protocol, and most servers speak an
// older one.
#![allow(deprecated)]

mod arguments;
mod caller;
pub mod catalog;
mod connection;
mod error;
#[cfg(any(test, feature = "fakes"))]
pub mod fakes;
mod fleet;
#[cfg(any(test, fuzzing))]
#[doc(hidden)]
pub mod fuzz;
mod handler;
mod handshake;
mod http;
mod http_client;
mod login;
mod logs;
mod messages;
mod protocol;
mod settings;
mod stdio;

pub use caller::{Caller, NoCaller, Progress};
pub use connection::UpstreamReply;
pub use error::UpstreamError;
pub use fleet::{
    Fleet,
    server::{Health, StartProblem, Status},
};
pub use handler::{MAX_QUESTIONS, ServerChange, UpstreamChange};
pub use http_client::client_builder;
pub use login::{Login, LoginError, LoginStore};
pub use logs::server_log::{LogFollower, LogLine, LogSource, ServerLogs};
pub use messages::budget::{ANSWER_BYTES, Held};
pub use protocol::ProtocolGeneration;
pub use stdio::child_reaper::ChildReaper;
