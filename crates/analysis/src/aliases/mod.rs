//! What callers call things: the other names that pandas, SQL and models have for types of analysis
//! and for their parameters.
//!
//! | file | subject |
//! |---|---|
//! | `parameters` | the one table of parameters and their other names |
//! | `types` | the one table of types and their other names |
//! | `forms` | from the parameters of another type to those of one that there is |
//! | `shapes` | parameters of a type that have another form there |
//! | `examples` | examples with columns of the table at hand |
//! | `scope` | looks names up in a part of the table, and shows how a call is written |

mod examples;
mod forms;
pub(crate) mod parameters;
mod scope;
mod shapes;
mod types;

pub(crate) use examples::with_columns;
pub use parameters::{is_parameter, is_sql};
pub(crate) use scope::Scope;
pub use types::{Understood, understand};
