//! Counts the tokens that a model saw, and those that it would have seen if it had called the same
//! tools directly. `docs/TOKENS.md` defines what counts.
//!
//! | file | subject |
//! |---|---|
//! | `count` | tokens of a text |
//! | `request_stats` | collects the figures of one request |
//! | `totals` | figures, and how they add up |
//! | `stats_files` | the figures on disk |
//! | `recorder` | counts in the background, or before figures are read, and adds up |

mod count;
mod recorder;
mod request_stats;
mod stats_files;
mod totals;

pub use count::tokens;
pub use recorder::{TokenStats, definition_text};
pub use request_stats::RequestStats;
pub use totals::{RequestKind, RunStats, TokenCounts, Totals};
