//! Analyses for callers: what is asked for, and where their tables come from.

mod request;
mod rows;
mod table_source;
mod tokens;

pub use request::AnalysisRequest;
pub(crate) use rows::rows_of;
pub use table_source::TableSource;
pub(crate) use tokens::restored;
