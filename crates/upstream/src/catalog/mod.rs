//! All tools of all servers, as their servers wrote them, with the names that code uses.
//!
//! | file | subject |
//! |---|---|
//! | `snapshot.rs` | the catalog at one moment, and how it changes |
//! | `naming.rs` | how code names servers and tools, which others decide |
//! | `names.rs` | finds a tool by whatever name a model has for it |
//! | `suggest.rs`, `effect.rs` | tools that may have been meant; which of them do more than was asked for |
//! | `document.rs` | tools as documents of the search index |
//! | `listing.rs` | what a server said of itself and its tools |
//! | `cache.rs` | the catalog between two starts |
//! | `memory.rs` | the memory that definitions take |

mod cache;
mod document;
mod effect;
mod listing;
mod memory;
mod names;
mod naming;
mod snapshot;
mod suggest;

pub use cache::Cache;
pub use listing::{Listing, UpstreamInfo};
pub(crate) use memory::{DefinitionShare, MAX_DEFINITION_BYTES, value_bytes};
pub use names::{DisabledServer, Missing, Unresolved};
pub use naming::ToolNaming;
pub use snapshot::{Catalog, ServerTools, Snapshot, Tool};

#[cfg(test)]
mod tests;
