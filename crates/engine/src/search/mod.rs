//! Finds tools by what they do. The ranking itself is in the crate `narrows-search`; this is what
//! a caller asks and is told.
//!
//! | file | subject |
//! |---|---|
//! | `request` | what is looked for |
//! | `tool_search` | keeps the index in step with the catalog, and answers |
//! | `answer` | what was found, as data and as text for a model |
//! | `ability` | what every program can do without a server |
//! | `category` | what a server is for, in one word |
//! | `usage_stats` | what was used after a search ranks higher after the next |

mod ability;
mod answer;
mod category;
mod request;
mod tool_search;
mod usage_stats;

pub(crate) use ability::Ability;
pub use answer::{SearchAnswer, SearchHit, ServerOverview, ToolHits};
pub use category::{CATEGORIES, category_of};
pub use request::{DefinitionRequest, Detail, SearchRequest, optional_query};
pub use tool_search::ToolSearch;
pub use usage_stats::UsageStats;
