//! Answers: facts, a table and notes, as text for a model or as values for a program.

mod cells;
mod contents;
mod number;
mod redacted;
mod render;
mod token_table;
mod tokens;

pub use contents::{Answer, Cost, Format, ResultTable, SpillFile};
pub use redacted::RedactedAnswer;
pub use token_table::count_tokens;
pub(crate) use tokens::cost;

#[cfg(test)]
mod tests;
