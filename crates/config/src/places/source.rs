//! The choice of the configuration file.

use std::path::{Path, PathBuf};

use super::AppDirs;

/// The configuration file, and how it was chosen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ConfigSource {
    /// Named with `--config`: it must be there.
    Named(PathBuf),
    /// Found in the working directory.
    WorkingDirectory(PathBuf),
    /// The user's own, which need not be there.
    User(PathBuf),
}

impl ConfigSource {
    pub fn find(named: Option<&Path>, working_directory: &Path, places: &AppDirs) -> ConfigSource {
        if let Some(path) = named {
            return Self::Named(working_directory.join(path));
        }
        let near = working_directory.join(AppDirs::CONFIG_FILE);
        if near.is_file() { Self::WorkingDirectory(near) } else { Self::User(places.config_file()) }
    }

    pub fn path(&self) -> &Path {
        match self {
            Self::Named(path) | Self::WorkingDirectory(path) | Self::User(path) => path,
        }
    }
}
