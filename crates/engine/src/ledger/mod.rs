//! Counts the tokens that a model saw, and those that it would have seen if it had called the
//! same tools directly. What counts is written in `docs/TOKENS.md`.
//!
//! | file | subject |
//! |---|---|
//! | `count` | tokens of a text |
//! | `tab` | one request of a model, while it is worked on |
//! | `totals` | figures, and how they add up |
//! | `book` | what is kept on disk |
//! | `ledger` | counts in the background, or before somebody reads, and adds up |

mod book;
mod count;
#[expect(clippy::module_inception, reason = "the ledger is the subject of its folder")]
mod ledger;
mod tab;
mod totals;

pub use count::tokens;
pub use ledger::{Ledger, definition_text};
pub use tab::Tab;
pub use totals::{Kind, Run, Side, Totals};
