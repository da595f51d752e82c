//! Parses structure in text: JSON blocks, tables and `key: value` lines in answers of tools become
//! values that a program can use.
//!
//! Nothing here guesses. A text is a value only if all of it fits one of a few forms, with no more
//! than a label around it; whatever else it is (prose, a program, a log, a page), it stays a text.
//! Rows are a list, whether there are many, one or none. The caller keeps the text itself beside
//! the value, for programs that want it.
//!
//! | file | subject |
//! |---|---|
//! | `recovery` | tries the forms in their order |
//! | `around` | labels and row counts, which may stand around a value |
//! | `json` | JSON below a label, in fences, and line by line |
//! | `python` | lists and dicts as Python writes them |
//! | `table` | Markdown tables |
//! | `delimited` | comma, semicolon and tab separated values |
//! | `fields` | `key: value` lines, as a list of records |
//! | `keys` | tells which words before a colon name a field |
//! | `cells` | the types of cells and fields |

mod around;
mod cells;
#[cfg(test)]
mod corpus;
mod delimited;
mod fields;
#[cfg(any(test, fuzzing))]
pub(crate) mod fuzz;
mod json;
mod keys;
mod python;
mod recovery;
mod table;

pub(crate) use recovery::recover;
