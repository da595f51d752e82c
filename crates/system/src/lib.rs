//! What Narrows asks of the system that it runs on.
//!
//! | file | subject |
//! |---|---|
//! | `apart.rs` | work that takes processor time, beside the async threads |
//! | `size.rs` | how large something is, so that small work is done at once |
//! | `private_file.rs` | files and directories for their owner only |

mod apart;
pub mod private_file;
mod size;

pub use apart::{ALWAYS_APART, INLINE_BYTES, apart, without_place};
pub use size::json_bytes;
