//! Parses text to a tree of nodes that know their line, and reads tables of that tree. Problems are
//! collected, so that a user sees all of them at once.

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
