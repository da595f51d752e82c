//! All tools of all servers, as their servers wrote them, with the names that code uses.

mod cache;
mod document;
mod effect;
mod listing;
mod memory;
mod names;
mod snapshot;
mod suggest;

pub use cache::Cache;
pub use listing::{Listing, UpstreamInfo};
pub(crate) use memory::{DefinitionShare, MAX_DEFINITION_BYTES, value_bytes};
pub(crate) use names::Missing;
pub use names::{DisabledServer, Unresolved};
pub use snapshot::{Catalog, ServerTools, Snapshot, Tool};

#[cfg(test)]
pub(crate) mod tests;
