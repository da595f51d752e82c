//! What Narrows asks of the system that it runs on.
//!
//! | file | subject |
//! |---|---|
//! | `private_file.rs` | files and directories for their owner only |

pub mod private_file;
