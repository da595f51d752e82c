//! Edits of a `narrows.toml`, which leave the rest of it as the user wrote it.

mod config_edit;
mod error;
mod rules;
mod rules_file;
mod server_table;

pub use config_edit::{ConfigEdit, Enabled, Existing};
pub use error::EditError;
pub use rules_file::RulesFile;
