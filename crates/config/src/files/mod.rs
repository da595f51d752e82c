//! Reads and writes files of the user such that none of their content is lost.

mod atomic_file;
mod lock;
mod text;

pub(crate) use atomic_file::replace;
pub use atomic_file::{create_private, follow};
pub(crate) use lock::DirectoryLock;
pub use text::read_text;
