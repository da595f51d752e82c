//! Every environment variable that Narrows itself reads.

use std::{collections::BTreeMap, ffi::OsString, path::PathBuf};

/// The names, each with what it is for. Variables that a configuration names (`${TOKEN}`) are the
/// user's own and not among them.
#[derive(Debug)]
pub(crate) struct EnvVar;

impl EnvVar {
    /// The directory of the user's `narrows.toml`, instead of the platform's.
    pub(crate) const NARROWS_CONFIG_DIR: &'static str = "NARROWS_CONFIG_DIR";
    /// The directory for what Narrows keeps: the store, skills, records of imports.
    pub(crate) const NARROWS_DATA_DIR: &'static str = "NARROWS_DATA_DIR";
    /// What `narrows serve` logs, as in `warn,narrows=debug`.
    pub(crate) const NARROWS_LOG: &'static str = "NARROWS_LOG";
    /// How: `text` or `json`. `--log-format` goes before it.
    pub(crate) const NARROWS_LOG_FORMAT: &'static str = "NARROWS_LOG_FORMAT";
    /// The directory for what can be made again.
    pub(crate) const NARROWS_CACHE_DIR: &'static str = "NARROWS_CACHE_DIR";

    /// Where programs of this user keep their configuration (`~/.config`).
    pub(crate) const XDG_CONFIG_HOME: &'static str = "XDG_CONFIG_HOME";
    /// Where they keep their data (`~/.local/share`).
    pub(crate) const XDG_DATA_HOME: &'static str = "XDG_DATA_HOME";
    /// Where they keep their caches (`~/.cache`).
    pub(crate) const XDG_CACHE_HOME: &'static str = "XDG_CACHE_HOME";
    /// The user's home directory.
    pub(crate) const HOME: &'static str = "HOME";
    /// The user's home directory on Windows.
    pub(crate) const USERPROFILE: &'static str = "USERPROFILE";
    /// Where programs keep their configuration on Windows.
    pub(crate) const APPDATA: &'static str = "APPDATA";
    /// Where programs keep data of this machine on Windows.
    pub(crate) const LOCALAPPDATA: &'static str = "LOCALAPPDATA";

    /// The directory of Codex, for `narrows import`.
    pub(crate) const CODEX_HOME: &'static str = "CODEX_HOME";
    /// The directory of Claude Code, for `narrows import`.
    pub(crate) const CLAUDE_CONFIG_DIR: &'static str = "CLAUDE_CONFIG_DIR";
}

/// Where variables are looked up: the process, or a set that a test made.
#[derive(Clone, Debug)]
pub(crate) enum Environment {
    Process,
    #[cfg_attr(not(test), allow(dead_code, reason = "tests do not change the process"))]
    Fixed(BTreeMap<String, OsString>),
}

impl Environment {
    /// A directory that a variable names. One that is empty or relative counts as not set, as the
    /// XDG specification has it.
    pub(crate) fn directory(&self, name: &str) -> Option<PathBuf> {
        let value = match self {
            Self::Process => std::env::var_os(name),
            Self::Fixed(variables) => variables.get(name).cloned(),
        };
        value.map(PathBuf::from).filter(|path| path.is_absolute())
    }

    #[cfg(test)]
    pub(crate) fn fixed<const N: usize>(variables: [(&str, &str); N]) -> Self {
        let pairs = variables.into_iter().map(|(name, value)| (name.into(), value.into()));
        Self::Fixed(pairs.collect())
    }
}
