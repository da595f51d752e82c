//! The text and the syntax of Python source; nothing here knows what a name means.
//!
//! | file | subject |
//! |---|---|
//! | `tree` | the text of a program and its syntax tree, parsed once |
//! | `depth` | whether a program is too deeply nested to look at |
//! | `fault` | why there is no tree, in the words of Python |
//! | `lines` | from byte offsets to line numbers |
//! | `expressions` | questions about single expressions: the text, the variable, the name of a function |
//! | `comprehension` | one type for all four kinds of comprehensions |
//! | `declaration` | the definitions of a module, with signatures and docstrings |
//! | `flow` | `await`, `return` and the like where Python does not allow them |

mod comprehension;
mod declaration;
mod depth;
mod expressions;
mod fault;
mod flow;
mod lines;
mod tree;

pub(crate) use comprehension::Comprehended;
pub use declaration::{Declaration, declarations, docstring};
pub use depth::is_too_deep;
pub(crate) use expressions::{last_name, root, string, suppresses_errors, suppressing_call};
pub use fault::SyntaxFault;
pub use flow::{Misplaced, misplaced};
pub use lines::Lines;
pub use tree::SourceTree;
