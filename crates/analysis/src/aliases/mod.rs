//! Aliases: the other names that pandas, SQL and models have for types of analysis and for their
//! parameters.
//!
//! | file | subject |
//! |---|---|
//! | `parameters` | the one table of parameters and their other names |
//! | `types` | the one table of types and their other names |
//! | `forms` | from the parameters of another type to those of one that there is |
//! | `along`, `rows` | the same for figures along rows, and for rows that are chosen |
//! | `queries`, `sheets` | the same for what is a query here, and for what Excel has |
//! | `shapes` | parameters of a type that have another form there |
//! | `scope` | looks names up in a part of the table, and shows how a call is written |

mod along;
mod forms;
pub(crate) mod parameters;
mod queries;
mod rows;
mod scope;
mod shapes;
mod sheets;
mod types;

pub use parameters::{is_parameter, is_sql};
pub(crate) use scope::Scope;
pub use types::{Understood, type_names, understand};
