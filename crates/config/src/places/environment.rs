//! The environment variables that Narrows itself reads.

use std::{collections::BTreeMap, ffi::OsString, path::PathBuf};

/// The names of the variables, each with its purpose. Variables that a configuration names (`${TOKEN}`)
/// are the user's own and not among them.
#[derive(Debug)]
pub struct EnvVar;

impl EnvVar {
    /// The directory of the user's `narrows.toml`, instead of the platform's.
    pub const NARROWS_CONFIG_DIR: &'static str = "NARROWS_CONFIG_DIR";
    /// The directory for the data of Narrows: the store, skills, records of imports.
    pub const NARROWS_DATA_DIR: &'static str = "NARROWS_DATA_DIR";
    /// The filter for the logs of `narrows serve`, such as `warn,narrows=debug`.
    pub const NARROWS_LOG: &'static str = "NARROWS_LOG";
    /// The format of the logs: `text` or `json`. `--log-format` takes precedence.
    pub const NARROWS_LOG_FORMAT: &'static str = "NARROWS_LOG_FORMAT";
    /// The directory for caches, whose files can be made again.
    pub const NARROWS_CACHE_DIR: &'static str = "NARROWS_CACHE_DIR";

    /// The directory of the user's configuration (`~/.config`).
    pub const XDG_CONFIG_HOME: &'static str = "XDG_CONFIG_HOME";
    /// The directory of the user's data (`~/.local/share`).
    pub const XDG_DATA_HOME: &'static str = "XDG_DATA_HOME";
    /// The directory of the user's caches (`~/.cache`).
    pub const XDG_CACHE_HOME: &'static str = "XDG_CACHE_HOME";
    /// The user's home directory.
    pub const HOME: &'static str = "HOME";
    /// The user's home directory on Windows.
    pub const USERPROFILE: &'static str = "USERPROFILE";
    /// The directory of the user's configuration on Windows.
    pub const APPDATA: &'static str = "APPDATA";
    /// The directory of data for this machine on Windows.
    pub const LOCALAPPDATA: &'static str = "LOCALAPPDATA";

    /// The directory of Codex, for `narrows import`.
    pub const CODEX_HOME: &'static str = "CODEX_HOME";
    /// The directory of Claude Code, for `narrows import`.
    pub const CLAUDE_CONFIG_DIR: &'static str = "CLAUDE_CONFIG_DIR";
}

/// The source of environment variables: the process, or a fixed set in tests.
#[derive(Clone, Debug)]
pub enum Environment {
    Process,
    /// A set for tests, which must not change the process.
    Fixed(BTreeMap<String, OsString>),
}

impl Environment {
    /// Returns the directory that a variable names. An empty or relative one counts as not set, as the
    /// XDG specification demands.
    pub fn directory(&self, name: &str) -> Option<PathBuf> {
        let value = match self {
            Self::Process => std::env::var_os(name),
            Self::Fixed(variables) => variables.get(name).cloned(),
        };
        value.map(PathBuf::from).filter(|path| path.is_absolute())
    }

    #[cfg(test)]
    pub fn fixed<const N: usize>(variables: [(&str, &str); N]) -> Self {
        let pairs = variables.into_iter().map(|(name, value)| (name.into(), value.into()));
        Self::Fixed(pairs.collect())
    }
}
