//! The settings of the configuration, table by table. A setting that is left out has the default that
//! the reference names, which is applied here or by the code that uses it.

mod config;
mod entry;
mod error;
mod limits;
mod name;
mod safety;
pub(crate) mod standard;
mod storage;
mod tables;

pub use config::{AnalysisConfig, Config, Defaults, DiscoveryConfig, HttpLimits, HttpSettings};
pub use entry::ServerEntry;
pub(crate) use entry::{EXPOSE, MAX_CALL_SECONDS, MAX_START_SECONDS, TRANSPORTS};
pub use error::ConfigError;
pub(crate) use name::MAX_LETTERS;
pub use name::valid_name;
pub use safety::{
    AuditConfig, AuditedContents, KeyPlace, KindConfig, PiiConfig, PiiMode, ReviewConfig,
    SafetyConfig,
};
pub use storage::{AgentEntry, SessionsConfig, StorageConfig};
