//! Reviews a program before it runs, and reports what is refused, dangerous or hopeless in it.
//!
//! The sandbox is the boundary, and the broker decides on every call. The review gives an early and
//! clear answer, by line, to programs that would end badly anyway. A program that hides its intention
//! from the review gains nothing by that.
//!
//! | file | subject |
//! |---|---|
//! | `program` | a whole program: look at every part |
//! | `finding` | the findings of the review |
//! | `resolver` | the bindings that a name may have, in the scopes that the check has too |
//! | `meaning`, `constant` | the meaning of an expression: a function of a module, a text, a number |
//! | `walk` | every statement and expression, in its scope |
//! | `imports` | `import-not-allowed`, `dynamic-import` |
//! | `names` | `dynamic-code`, `denied-name` |
//! | `tricks` | `attribute-trick` |
//! | `loops` | `endless-loop` |
//! | `allocations` | `huge-allocation` |
//! | `calls` | `denied-tool`, `many-calls` |

mod allocations;
mod calls;
mod constant;
mod finding;
mod imports;
mod loops;
mod meaning;
mod names;
mod program;
mod resolver;
mod tricks;
mod walk;

#[cfg(test)]
mod tests;

pub use finding::{ReviewFinding, ReviewSettings, Severity};
pub use program::review;
pub use resolver::ImpliedImports;
