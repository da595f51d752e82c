//! The gateway as a program sees it: modules to import, tools to call, queries to make.

mod analysis;
mod host;
mod literals;
mod modules;
mod pausing_caller;
mod state;

pub(crate) use analysis::ANALYZE;
pub(crate) use analysis::AnalyzeError;
pub(crate) use host::ProgramHost;
pub(crate) use literals::restore as restore_literals;
