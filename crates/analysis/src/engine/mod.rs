//! Runs analyses within their limits.

mod analysis;
mod budget;
mod conditions;
mod job;
mod kept;
mod plan;
mod pool;
mod rows;
mod session;
mod suggested;
mod waiting;

pub use analysis::{Analysis, Settings};
pub use kept::{Keep, MakeFile, Sink};
