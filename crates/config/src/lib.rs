//! The configuration of Narrows: where it is, what it says, how commands change it, and how it is taken
//! over from other clients. What is done with it, others know.
//!
//! Text becomes a tree of nodes that know their line, a section reads one table of it and collects
//! what is wrong, and [`Config`] is what the rest of Narrows sees. Changes go through
//! [`ConfigEdit`], which keeps the user's comments and formatting.
//!
//! | module | subject |
//! |---|---|
//! | `syntax` | from TOML and JSON to nodes, and what is wrong where |
//! | `files` | files read and replaced whole, and locked meanwhile |
//! | `places` | the directories of Narrows, and which file is the configuration |
//! | `settings` | what each table says |
//! | `edit` | changes of it: servers, rules; and rules read again |
//! | `import` | the servers that other clients have |

mod edit;
mod files;
pub mod import;
mod places;
mod settings;
mod syntax;

pub use edit::{ConfigEdit, EditError, Enabled, Existing, RulesFile};
pub use files::{create_private, follow, read_text};
pub use places::{AppDirs, ConfigSource, EnvVar, Environment, NoHome, Os};
pub use settings::{
    AgentEntry, AnalysisConfig, AuditConfig, AuditedContents, Config, ConfigError, Defaults,
    DiscoveryConfig, HttpLimits, HttpSettings, KeyPlace, KindConfig, PiiConfig, PiiMode,
    ReviewConfig, SafetyConfig, ServerEntry, SessionsConfig, StorageConfig, valid_name,
};
pub use syntax::{Position, Problem, Syntax, SyntaxError};
