//! The configuration: where it is, what it says, and how commands change it.
//!
//! Text becomes a tree of [`Node`]s that know their line, a [`Section`] reads one table of it and
//! collects what is wrong, and [`Config`] is what the rest of Narrows sees. Changes go through
//! [`ConfigEdit`], which keeps the user's comments and formatting.

mod app_dirs;
mod atomic_file;
mod document;
mod edit;
mod entry;
mod environment;
mod error;
mod lock;
mod name;
mod node;
mod problem;
mod rules_file;
mod safety;
mod section;
mod settings;
mod source;
pub(crate) mod standard;
mod storage;
mod tables;

pub(crate) use app_dirs::{AppDirs, NoHome, Os};
pub(crate) use atomic_file::{create_private, follow, replace};
pub(crate) use document::{Syntax, SyntaxError};
pub(crate) use edit::{ConfigEdit, Enabled, Existing};
pub(crate) use entry::{MAX_CALL_SECONDS, MAX_START_SECONDS, ServerEntry};
pub(crate) use environment::{EnvVar, Environment};
pub(crate) use error::ConfigError;
pub(crate) use lock::DirectoryLock;
pub(crate) use name::{MAX_LETTERS, valid_name};
pub(crate) use node::{Field, Node, Position, Value};
pub(crate) use problem::{Problem, key_path};
pub(crate) use rules_file::RulesFile;
pub(crate) use safety::{AuditedContents, KeyPlace, PiiConfig, PiiMode, SafetyConfig};
pub(crate) use section::{Section, UnknownKeys};
pub(crate) use settings::{
    AnalysisConfig, Config, Defaults, DiscoveryConfig, HttpLimits, HttpSettings, read_text,
};
pub(crate) use source::ConfigSource;
pub(crate) use storage::{AgentEntry, SessionsConfig, StorageConfig};
