//! The use cases of Narrows: what the gateway does for its callers, independent of how they connect.

// Sampling, roots and logging are deprecated in the newest protocol, and most servers speak an
// older one.
#![allow(deprecated)]

pub mod aliases;
pub mod analysis;
mod analysis_service;
mod background;
pub mod broker;
mod call_error;
pub mod catalog;
pub mod compute;
mod discovery;
#[cfg(any(test, fuzzing))]
#[doc(hidden)]
pub mod fuzz;
mod hex;
pub mod media;
mod media_type;
mod program;
mod run;
pub mod safety;
pub mod search;
mod shape_inference;
pub mod skills;
mod spill_file;
pub mod state;
mod text_parsing;
pub mod token_stats;
mod under_way;
mod value;

pub use background::Background;
pub use discovery::{CatalogTools, Discovery, DiscoverySettings};
pub use run::{
    AnalyzeOptions, Analyzed, Audience, Engine, ExecuteError, ExecuteRequest, Executor, Finished,
    OutputUse, Refusal, RunClient, RunError, RunRequest, RunWorkspace, check_source,
};
pub use under_way::{UnderWay, WorkGuard};
pub use value::{model_text, text as result_text};
