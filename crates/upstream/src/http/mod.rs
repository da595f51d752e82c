//! Servers over HTTP.
//!
//! | file | subject |
//! |---|---|
//! | `connector.rs` | how a server is reached: the transport that is configured, or that it turns out to know |
//! | `streamable.rs` | Streamable HTTP, with bounds |
//! | `sse.rs` | the older HTTP+SSE |
//! | `bearer.rs` | the token of a request |

pub(crate) mod bearer;
pub(crate) mod connector;
pub(crate) mod sse;
pub(crate) mod streamable;
