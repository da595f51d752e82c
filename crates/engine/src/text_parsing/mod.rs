//! Structure in text: tools that answer with a JSON block, a table or `key: value` lines give
//! values that a program can use.
//!
//! Nothing here guesses. A text is a value only if all of it fits one of a few forms, with no more
//! than a label around it; whatever else it is (prose, a program, a log, a page), it stays a text.
//! Rows are a list, whether there are many, one or none. The caller keeps the text itself beside
//! the value, for programs that want it.
//!
//! | file | subject |
//! |---|---|
//! | `recovery` | which forms are tried, in which order |
//! | `around` | what may stand around a value, because it says no more |
//! | `json` | JSON below a label, in fences, and line by line |
//! | `python` | lists and dicts as Python writes them |
//! | `table` | Markdown tables |
//! | `delimited` | comma, semicolon and tab separated values |
//! | `fields` | `key: value` lines, as a list of records |
//! | `keys` | which words before a colon name a field |
//! | `cells` | the types of what stands in rows and fields |

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
