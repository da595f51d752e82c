//! The holder of a key. What a caller makes (sessions, streams, questions that wait) belongs to the key:
//! other keys cannot see it, even if both belong to no particular agent.

use std::sync::Arc;

use narrows_model::Principal;
use rmcp::{RoleServer, model::Extensions, service::RequestContext};
use tokio::sync::Semaphore;

use super::body::{LargeBody, MAX_LARGE_BODIES_PER_KEY};

/// The number of a key, which is safe to log and to compare.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(in crate::mcp) struct CallerId(pub(in crate::mcp) usize);

/// The holder of one key, or everybody without a key where none is needed.
#[derive(Debug)]
pub(super) struct Caller {
    pub(super) id: CallerId,
    /// The agent whose key this is; none if the key belongs to no particular agent.
    pub(super) principal: Option<Arc<Principal>>,
    /// Places for sessions.
    pub(super) sessions: Arc<Semaphore>,
    /// Places for requests that take much memory.
    pub(super) large_bodies: Arc<Semaphore>,
}

impl Caller {
    pub(super) fn new(
        id: usize,
        principal: Option<Arc<Principal>>,
        max_sessions: usize,
    ) -> Arc<Self> {
        Arc::new(Self {
            id: CallerId(id),
            principal,
            sessions: Arc::new(Semaphore::new(max_sessions)),
            large_bodies: Arc::new(Semaphore::new(MAX_LARGE_BODIES_PER_KEY)),
        })
    }
}

/// Returns the value that [`admit`](super::auth::admit) or the [`body`](super::body) attached to the
/// HTTP request that a message came in.
fn attached<T: Send + Sync + 'static>(message: &Extensions) -> Option<&Arc<T>> {
    message.get::<axum::http::request::Parts>()?.extensions.get::<Arc<T>>()
}

/// Returns the id of the key that a request came with; none over standard input and output.
pub(in crate::mcp) fn caller_id(context: &RequestContext<RoleServer>) -> Option<CallerId> {
    attached::<Caller>(&context.extensions).map(|caller| caller.id)
}

/// Returns the principal whose key a request came with; none if the key belongs to no particular agent.
pub(in crate::mcp) fn principal(context: &RequestContext<RoleServer>) -> Option<Arc<Principal>> {
    principal_of(&context.extensions)
}

/// The same as [`principal`], for any message.
pub(in crate::mcp) fn principal_of(message: &Extensions) -> Option<Arc<Principal>> {
    attached::<Caller>(message)?.principal.clone()
}

/// Tells whether a request came over HTTP.
pub(in crate::mcp) fn is_http(context: &RequestContext<RoleServer>) -> bool {
    came_over_http(&context.extensions)
}

/// The same as [`is_http`], for any message.
pub(in crate::mcp) fn came_over_http(message: &Extensions) -> bool {
    message.get::<axum::http::request::Parts>().is_some()
}

/// Returns the places or memory that a large request holds, to be kept as long as its arguments are.
pub(in crate::mcp) fn large_body(context: &RequestContext<RoleServer>) -> Option<Arc<LargeBody>> {
    attached::<LargeBody>(&context.extensions).cloned()
}
