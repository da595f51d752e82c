//! Ranks tools by what they do: fielded BM25, together with a small table of word vectors.
//!
//! | file | subject |
//! |---|---|
//! | `document` | the texts of a tool that are searched |
//! | `words` | from text to words and stems |
//! | `table` | what words mean: vectors, trained by `scripts/train-search` |
//! | `segment` | the index of one server's tools |
//! | `parts` | a query that asks for several things |
//! | `index` | all segments together, and the search |

mod document;
mod index;
mod parts;
mod segment;
mod table;
mod words;

pub use document::Document;
pub use index::{Hit, Index, Method, Selection};
pub use segment::Segment;
pub use words::{stems, words};
