//! What a program sees of the gateway: modules to import, tools to call, questions to ask.

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
