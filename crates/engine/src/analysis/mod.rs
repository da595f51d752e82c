//! Requests for analyses, and the sources of their tables.

mod request;
mod rows;
mod table_source;
mod tokens;

pub use request::AnalysisRequest;
pub(crate) use rows::rows_of;
pub use table_source::TableSource;
pub(crate) use tokens::restored;
