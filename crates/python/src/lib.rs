//! Python, in and out: programs that agents wrote are read before they run, and functions are written
//! for the tools that they call. Nothing here runs Python, does IO, or waits.
//!
//! | module | subject |
//! |---|---|
//! | `codegen` | from a tool's schema to Python: names, types, the function, the signature for a model, stubs |
//! | `check` | mistakes that would make a program fail |
//! | `review` | what is refused, dangerous or hopeless in it |
//! | `uses` | the tools and skills that code names |
//! | `declaration` | what a module defines, its signature and its docstring |
//! | `flow` | `await`, `return` and the like where Python does not take them |
//! | `lines` | from places in a text to lines |

pub mod check;
pub mod codegen;
pub mod declaration;
pub mod flow;
pub mod lines;
pub mod review;
pub mod uses;
