//! The user's directories, as the clients see them.

use std::path::{Path, PathBuf};

use crate::places::{EnvVar, Environment, NoHome, Os};

/// The directories on which the locations of clients' files depend.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Home {
    pub os: Os,
    pub directory: PathBuf,
    /// `~/.config`, which several clients use on every platform.
    pub dot_config: PathBuf,
    /// The settings of desktop programs: `~/.config`, `~/Library/Application Support` or `%APPDATA%`.
    pub applications: PathBuf,
    pub codex: PathBuf,
    /// The directory of `.claude.json`.
    pub claude: PathBuf,
}

impl Home {
    pub fn find(os: Os, environment: &Environment) -> Result<Self, NoHome> {
        let variable = if os == Os::Windows { EnvVar::USERPROFILE } else { EnvVar::HOME };
        let directory = environment.directory(variable).ok_or(NoHome)?;
        let plain = Self::at(os, &directory);
        let dot_config = environment.directory(EnvVar::XDG_CONFIG_HOME).unwrap_or(plain.dot_config);
        let applications = match os {
            Os::Linux => dot_config.clone(),
            Os::Mac => plain.applications,
            Os::Windows => environment.directory(EnvVar::APPDATA).unwrap_or(plain.applications),
        };
        Ok(Self {
            os,
            directory,
            dot_config,
            applications,
            codex: environment.directory(EnvVar::CODEX_HOME).unwrap_or(plain.codex),
            claude: environment.directory(EnvVar::CLAUDE_CONFIG_DIR).unwrap_or(plain.claude),
        })
    }

    /// Returns the home in a directory, without any environment variables.
    pub fn at(os: Os, directory: &Path) -> Self {
        Self {
            os,
            directory: directory.to_owned(),
            dot_config: directory.join(".config"),
            applications: match os {
                Os::Linux => directory.join(".config"),
                Os::Mac => directory.join("Library/Application Support"),
                Os::Windows => directory.join("AppData/Roaming"),
            },
            codex: directory.join(".codex"),
            claude: directory.to_owned(),
        }
    }
}
