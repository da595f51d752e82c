//! What went wrong with a server and what it printed, without secrets.
//!
//! | file | subject |
//! |---|---|
//! | `redact.rs` | what must not be told of a server |
//! | `server_history.rs` | what went wrong lately, in memory |
//! | `server_log.rs` | what was printed, in files |

pub(crate) mod redact;
pub(crate) mod server_history;
pub(crate) mod server_log;
