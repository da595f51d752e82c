//! The file system that a program sees: `/workspace` on disk, `/tmp` in memory, nothing else.
//!
//! [`files`] is the tree of one run, [`workspace`] and [`memory`] are its two mounts,
//! [`mount`] says what may be done with the workspace, [`hosted`] is it as the host uses it, [`walk`] goes through all of it and [`tidy`] puts it in
//! order, and [`wasi`] makes it the `wasi:filesystem` of the guest. wasmtime's own implementation has
//! no quotas, which is why this one exists.

mod files;
mod hosted;
mod memory;
mod mount;
mod path;
mod quota;
mod streams;
mod tidy;
mod walk;
mod wasi;
mod workspace;

pub(crate) use files::FileSystem;
pub use hosted::{FilePart, FoundFile, UnfinishedFile, WorkspaceFile};
pub use mount::WorkspaceMount;
pub(crate) use wasi::{FileSystemView, add_to_linker};
pub use workspace::{Workspace, WorkspaceError};
