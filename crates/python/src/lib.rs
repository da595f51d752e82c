//! Python source: analyses programs of agents before they run, and generates functions for the tools
//! that they call. Nothing here runs Python, does IO, or waits.
//!
//! | module | subject |
//! |---|---|
//! | `codegen` | from a tool's schema to Python: names, types, the function, the signature for a model, stubs |
//! | `syntax` | text and syntax tree of a program, parsed once |
//! | `scope` | where its names are bound, and to what |
//! | `program` | a program with both, for everything that looks at it |
//! | `uses` | the tools and skills that code names |
//! | `check` | mistakes that would make a program fail |
//! | `review` | what is refused, dangerous or hopeless in a program |

pub mod check;
pub mod codegen;
mod program;
pub mod review;
mod scope;
pub mod syntax;
pub mod uses;

pub use program::ParsedProgram;
pub use syntax::{SourceTree, SyntaxFault};
