//! From rows to columns: what type a column has is known when all of it has been seen.
//!
//! | file | subject |
//! |---|---|
//! | `rows`, `nested` | rows of nested data, taken apart or written as text |
//! | `column`, `array` | a column while it is filled, and the array that comes of it |
//! | `column_stats`, `schema_inference` | what a column has in it, and which types the columns of a table have |
//! | `names` | what columns are called, and what is noted about them |
//! | `number` | numbers as people write them |

mod array;
mod column;
pub(super) mod column_stats;
pub(super) mod names;
pub(super) mod nested;
pub(super) mod number;
pub(super) mod rows;
pub(super) mod schema_inference;
