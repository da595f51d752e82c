//! The configuration of Narrows: its location, its settings, its edits by commands, and the import from
//! other clients. Other crates apply the settings.
//!
//! Text is parsed to a tree of nodes that know their line, a section reads one table of it and collects
//! the problems, and the rest of Narrows sees only the [`Config`]. Changes go through [`ConfigEdit`],
//! which keeps the user's comments and formatting.
//!
//! | module | subject |
//! |---|---|
//! | `syntax` | from TOML and JSON to nodes, with the problems and their lines |
//! | `files` | files that are read, locked, and replaced atomically |
//! | `places` | the directories of Narrows, and the choice of the configuration file |
//! | `settings` | the settings, table by table |
//! | `edit` | edits of servers and rules, and reloading of rules |
//! | `import` | the servers of other clients |

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
