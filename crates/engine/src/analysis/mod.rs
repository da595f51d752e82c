//! Analyses for callers: where their tables come from, and what is kept of their answers.

mod request;
mod results;
mod rows;
mod service;
mod table_source;
mod tokens;

pub use request::AnalysisRequest;
pub(crate) use results::EarlierResult;
pub(crate) use rows::rows_of;
pub(crate) use service::AnalysisService;
pub use table_source::TableSource;
pub(crate) use tokens::restored;
