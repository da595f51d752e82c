//! Finds tools by what they do. The ranking itself is in the crate `narrows-search`; this is what
//! a caller asks and is told.
//!
//! | file | subject |
//! |---|---|
//! | `request` | what is looked for |
//! | `finder` | keeps the index in step with the catalog, and answers |
//! | `answer` | what was found, as data and as text for a model |
//! | `ability` | what every program can do without a server |
//! | `category` | what a server is for, in one word |
//! | `habits` | what was used after a search ranks higher after the next |

mod ability;
mod answer;
mod category;
mod finder;
mod habits;
mod request;

pub(crate) use ability::Ability;
pub use answer::{Answer, Found, ServerOverview, Tools};
pub use category::{CATEGORIES, category_of};
pub use finder::Finder;
pub use habits::Habits;
pub use request::{DefinitionRequest, Detail, SearchRequest, optional_query};
