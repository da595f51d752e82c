//! The gateway over HTTP: `/mcp` for clients, `/health` for monitoring.
//!
//! | file | subject |
//! |---|---|
//! | `server` | puts the parts together, and serves until it is told to stop |
//! | `connections`, `descriptors` | which connections are open, for how long, and how many there can be |
//! | `auth`, `names` | who may come in, by key; what requests may call us |
//! | `caller` | whoever showed a key, and what belongs to that key alone |
//! | `body` | reads a request's body within limits, before anything parses it |
//! | `sessions` | the sessions of the older protocol: whose they are, how many, for how long |

mod auth;
mod body;
mod caller;
mod connections;
mod descriptors;
mod names;
mod server;
mod sessions;

pub(crate) use auth::HttpAuth;
pub(crate) use server::serve;

pub(super) use body::LargeBody;
pub(super) use caller::{
    CallerId, caller_id, came_over_http, is_http, large_body, principal, principal_of,
};
pub(super) use sessions::session_end;
