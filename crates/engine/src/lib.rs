//! The use cases of Narrows: what the gateway does for whoever asks, whichever way they ask.

// Sampling, roots and logging are deprecated in the newest protocol, and most servers speak an
// older one.
#![allow(deprecated)]

mod arguments;
pub mod broker;
pub mod catalog;
pub mod codegen;
pub mod definition;
mod execute;
mod fingerprint;
pub mod media;
mod nearest;
mod overflow;
mod private_file;
mod program;
pub mod search;
pub mod upstream;
mod value;

pub use execute::{ExecuteError, ExecuteRequest, Executor, OutputUse};
pub use nearest::{Nearest, nearest};
pub use overflow::keep_text;
pub use program::ProgramHost;
