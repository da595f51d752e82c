//! Locations: the directories of Narrows, the variables that name them, the configuration file.

mod app_dirs;
mod environment;
mod source;

pub use app_dirs::{AppDirs, NoHome, Os};
pub use environment::{EnvVar, Environment};
pub use source::ConfigSource;
