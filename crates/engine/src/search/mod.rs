//! Finds tools by what they do. The ranking itself is in the crate `narrows-search`; requests and
//! answers are here.
//!
//! | file | subject |
//! |---|---|
//! | `request` | the request for a search or a definition |
//! | `tool_search` | keeps the index in step with the catalog, and answers |
//! | `answer` | the tools found, as data and as text for a model |
//! | `ability` | built-in functions that every program has |
//! | `category` | the category of a server |
//! | `usage_stats` | ranks tools higher that were used after similar searches |

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
