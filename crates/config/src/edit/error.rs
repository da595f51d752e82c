//! The reasons for which a configuration was not changed.

use std::{io, path::PathBuf};

use narrows_model::Nearest;

use crate::settings::ConfigError;

#[derive(Debug, thiserror::Error)]
pub enum EditError {
    #[error(transparent)]
    Config(#[from] ConfigError),
    #[error("there is a server {name} already; choose another name, or replace it with --force")]
    Exists { name: String },
    #[error("there is no server {name}{near}")]
    Unknown { name: String, near: Nearest },
    #[error(
        "there is no rule {name:?} any more, before which the new one would have to stand; try again"
    )]
    NoRule { name: String },
    #[error(
        "{} is JSON, which Narrows reads but does not change; use a narrows.toml (`narrows import` \
         makes one)",
        path.display()
    )]
    Json { path: PathBuf },
    #[error("{} was changed by another program at the same time; try again", path.display())]
    Changed { path: PathBuf },
    #[error("cannot write {}", path.display())]
    Write { path: PathBuf, source: io::Error },
}
