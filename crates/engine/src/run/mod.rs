//! The one way from a caller to a program, an analysis or a call of a tool, and back. Every front end
//! (MCP, the command line, the demo) holds an [`Engine`] and only says who asks, for what, and where
//! output goes; what happens in between is here.
//!
//! | file | subject |
//! |---|---|
//! | `engine` | what all runs of a process share, and its entry points |
//! | `request`, `client` | what a caller asks for, and the client that receives the output |
//! | `pipeline` | the stages of a program, from the request to the outcome that its caller is given |
//! | `analysis` | the same for analyses, also of variables of a session |
//! | `executor` | the stage in the sandbox |
//! | `overflow`, `excerpt` | write large output into the workspace; cut outcomes to the size of an answer |
//! | `error` | why a program could not begin |
//! | `finished` | results that have passed the protection stage, and that no other stage can construct |

mod analysis;
mod client;
mod engine;
mod error;
pub(crate) mod excerpt;
mod executor;
mod finished;
pub(crate) mod overflow;
mod pipeline;
mod request;

pub use client::RunClient;
pub use engine::Engine;
pub use error::RunError;
pub use executor::{ExecuteError, ExecuteRequest, Executor, OutputUse, check_source};
pub use finished::{Analyzed, Finished, Refusal};
pub use request::{AnalyzeOptions, Audience, RunRequest, RunWorkspace};
