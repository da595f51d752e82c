//! The one way from a caller to a program, an analysis or a call of a tool, and back. Every front end
//! (MCP, the command line, the demo) holds an [`Engine`] and only says who asks, for what, and where
//! output goes; what happens in between is here.
//!
//! | file | subject |
//! |---|---|
//! | `engine` | what all runs of a process share, and its entry points |
//! | `request`, `client` | what is asked for, and who hears what is printed |
//! | `pipeline` | a program, from the request to what its caller is given: a list of stages |
//! | `analysis` | the same for analyses, also of variables of a session |
//! | `executor` | the stage in the sandbox |
//! | `overflow`, `excerpt` | what is too large goes into the workspace; what a model reads fits into an answer |
//! | `error` | why a program could not begin |
//! | `finished` | what has passed the protection, and cannot be made otherwise |

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
