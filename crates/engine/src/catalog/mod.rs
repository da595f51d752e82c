//! All tools of all servers, as their servers wrote them, with the names that code uses.

mod cache;
mod listing;
mod names;
mod snapshot;

pub use cache::Cache;
pub use listing::{About, Listing};
pub use names::Unresolved;
pub use snapshot::{Catalog, ServerTools, Snapshot, Tool};

#[cfg(test)]
pub(crate) mod tests;
