//! Checks a program before it runs: tools and names that do not exist, arguments that do not fit,
//! misspelt fields of results. Only certain mistakes are reported.
//!
//! | file | subject |
//! |---|---|
//! | `program` | a whole program: collect its facts, look at every part |
//! | `known` | the questions of the check to the catalog |
//! | `given` | the variables that a program is given |
//! | `finding` | the findings of the check |
//! | `facts/` | how a program changes its values, and which errors it handles |
//! | `values/` | the value that an expression certainly has: a tool, its call, a result |
//! | `walk` | every statement and expression, in its scope |
//! | `names/` | names that nothing binds, or that are read before they are bound |
//! | `rules/` | the other mistakes: names of tools, arguments, values, fields |
//! | `spelling` | whether a name is certainly a misspelling of another one |

mod facts;
mod finding;
mod given;
mod known;
mod names;
mod program;
mod rules;
mod spelling;
mod values;
mod walk;

#[cfg(test)]
mod tests;

pub use crate::scope::standard::surroundings;
pub use crate::syntax::is_too_deep;
pub use finding::{CheckFinding, Checked};
pub use given::GivenVariables;
pub use known::{ByFullName, KnownParameter, KnownTool, KnownTools};
pub use program::check;
