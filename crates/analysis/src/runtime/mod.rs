//! Runs analyses within their limits.

mod analysis;
mod budget;
mod conditions;
mod job;
mod plan;
mod pool;
mod rows;
mod session;
mod spill;
mod suggested;
mod waiting;

pub use analysis::{Analysis, Settings};
pub use spill::{FileSink, MakeFile, SpillTarget};
