//! Directories of packages, and their index.

mod index;
mod local;

pub(crate) use index::MAX_BYTES as MAX_INDEX_BYTES;
pub use index::{Index, IndexEntry, IndexError};
pub(crate) use local::{INDEX, differs};
pub use local::{Registry, RegistryError};
