//! What Narrows needs of the operating system and the async runtime.
//!
//! | file | subject |
//! |---|---|
//! | `apart.rs` | work that takes processor time, beside the async threads |
//! | `size.rs` | estimates the size of values, so that small work is done at once |
//! | `private_file.rs` | files and directories that only their owner can read |

mod apart;
pub mod private_file;
mod size;

pub use apart::{ALWAYS_APART, INLINE_BYTES, apart, without_place};
pub use size::json_bytes;
