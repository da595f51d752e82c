//! Counts the tokens that a model saw, and those that it would have seen if it had called the
//! same tools directly. What counts is written in `docs/TOKENS.md`.
//!
//! | file | subject |
//! |---|---|
//! | `count` | tokens of a text |
//! | `request_stats` | one request of a model, while it is worked on |
//! | `totals` | figures, and how they add up |
//! | `stats_files` | what is kept on disk |
//! | `recorder` | counts in the background, or before somebody reads, and adds up |

mod count;
mod recorder;
mod request_stats;
mod stats_files;
mod totals;

pub use count::tokens;
pub use recorder::{TokenStats, definition_text};
pub use request_stats::RequestStats;
pub use totals::{RequestKind, RunStats, TokenCounts, Totals};
