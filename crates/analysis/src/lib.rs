//! Tables at native speed: analyses and read-only SQL over JSON, CSV, Parquet and Python values.
//!
//! A [`Request`] says what to do with tables, each of which is an [`Input`]; [`Analysis::run`] runs it
//! within its limits and returns an [`Answer`]. This crate knows nothing of workspaces, tools or
//! clients.

mod aliases;
mod answer;
mod counting;
mod error;
mod float_keys;
mod guard;
mod kind;
mod load;
mod operators;
mod ops;
mod plan_node;
mod request;
mod runtime;
mod spelling;
mod sql;
mod suggestion;
mod times;
mod work;

pub use aliases::{Understood, is_parameter, is_sql, type_names, understand};
pub use answer::{Answer, Cost, Format, RedactedAnswer, ResultTable, SpillFile, count_tokens};
pub use error::AnalysisError;
pub use kind::AnalysisType;
pub use narrows_tables::{FileFormat, Input};
pub use request::{Output, Request};
pub use runtime::{Analysis, FileSink, MakeFile, Settings, SpillTarget};
pub use suggestion::Suggestion;

use narrows_tables::{functions, stats};
