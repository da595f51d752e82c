//! From text to a tree of nodes that know their line, and from the tree to what a table says: whoever
//! reads one collects what is wrong in it.

mod document;
mod node;
mod problem;
mod section;

pub use document::{Syntax, SyntaxError};
pub use node::Position;
pub(crate) use node::{Field, Node, Value};
pub use problem::Problem;
pub(crate) use problem::key_path;
pub(crate) use section::{Section, UnknownKeys};
