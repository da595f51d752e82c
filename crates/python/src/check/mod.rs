//! Checks a program before it runs: tools and names that do not exist, arguments that do not fit,
//! results that are read by a misspelt field. What cannot be known for certain is left alone.
//!
//! | file | subject |
//! |---|---|
//! | `program` | a whole program: parse it, collect its names, look at every part |
//! | `known` | what the check asks of the catalog |
//! | `finding` | what was found, and where |
//! | `depth` | whether a program is too deeply nested to look at |
//! | `scope` | where names are bound, and to what |
//! | `collect`, `binding`, `effects`, `facts` | what is collected of a program: its names, and what it does to values |
//! | `comprehension` | comprehensions of all four kinds as one |
//! | `handled` | which parts of a program handle their own errors |
//! | `value`, `results`, `tools` | what an expression is for certain: a tool, its call, a result |
//! | `shape` | what is known of a result, from its JSON schema |
//! | `walk` | every statement and expression, in its scope |
//! | `names`, `calls`, `literals`, `fields` | the mistakes: names of tools, arguments, values, fields |
//! | `undefined`, `standard` | names that nothing binds; those that every program has |
//! | `library` | where the other names that a program may mean are |
//! | `early` | names that are read before they are bound |
//! | `spelling` | whether a name is surely another one, misspelt |

mod binding;
mod calls;
mod collect;
mod comprehension;
mod depth;
mod early;
mod effects;
mod facts;
mod fields;
mod finding;
mod handled;
mod known;
mod library;
mod literals;
mod names;
mod program;
mod results;
mod scope;
mod shape;
mod spelling;
mod standard;
mod tools;
mod undefined;
mod value;
mod walk;

#[cfg(test)]
mod tests;

pub use depth::is_too_deep;
pub use finding::{CheckFinding, Checked};
pub use known::{ByFullName, KnownParameter, KnownTool, KnownTools};
pub use program::check;
pub use standard::surroundings;
pub(crate) use standard::{module as implied_module, path as implied_path};
pub use undefined::GivenVariables;
