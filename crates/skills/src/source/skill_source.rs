//! The source of a skill, parsed from the text that people write.

use std::{
    io,
    path::{Path, PathBuf},
};

use reqwest::Url;
use thiserror::Error;

use narrows_model::Nearest;

use super::{
    git::{GitError, GitUrl},
    web::{self, WebError},
};
use crate::{
    folder::FolderError,
    package::PackageError,
    registry::{IndexError, RegistryError},
};

/// The reason for which a source has no usable skill.
#[derive(Debug, Error)]
pub enum SourceError {
    #[error(
        "there is no file or directory {0}: give a file (.skill.json, .py), a directory, a git URL (git+https://… or ….git), or an https:// URL of a package or a registry"
    )]
    Nothing(String),
    #[error(
        "{0} cannot be a skill: it is a .skill.json, a .py, a SKILL.md or the index.json of a registry"
    )]
    File(PathBuf),
    #[error(
        "{0} is neither a package nor a registry: the URL of a package ends in .skill.json, that of a registry in / or index.json, and that of a git repository starts with git+ or ends in .git"
    )]
    Url(String),
    #[error("{path}: {source}")]
    Io { path: PathBuf, source: io::Error },
    #[error("{from}: {source}")]
    Package { from: String, source: PackageError },
    #[error("{from}: {source}")]
    Index { from: String, source: IndexError },
    #[error(
        "{from} is not what the index says: it has another {what}; tell whoever runs the registry"
    )]
    Differs { from: String, what: &'static str },
    #[error(transparent)]
    Registry(#[from] RegistryError),
    #[error(transparent)]
    Folder(#[from] FolderError),
    #[error(transparent)]
    Web(#[from] WebError),
    #[error(transparent)]
    Git(#[from] GitError),
    #[error(
        "{0} has no skills: no .skill.json, no folder with a SKILL.md, and no .py that defines a function of its name"
    )]
    Empty(String),
    #[error("{from} has no skill {wanted}{hint}; it has {}", .known.join(", "))]
    NotThere { from: String, wanted: String, hint: Nearest, known: Vec<String> },
    #[error("{from} is a registry of {number} skills: say which, as NAME or NAME@VERSION")]
    Which { from: String, number: usize },
    #[error("it was not fetched, because the gateway is stopping")]
    Stopped,
}

/// A source of skills.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SkillSource {
    File(PathBuf),
    /// A folder of a skill, a registry, a git checkout, or a directory of any of them.
    Directory(PathBuf),
    Git(GitUrl),
    /// The URL of a `.skill.json`.
    Package(Url),
    /// The URL of a registry's directory.
    Registry(Url),
}

impl SkillSource {
    /// Parses the text of a source. Files and directories have to exist.
    pub fn parse(text: &str) -> Result<Self, SourceError> {
        let text = text.trim();
        if let Some(url) = text.strip_prefix("git+") {
            return Ok(Self::Git(GitUrl::parse(url)?));
        }
        if text.contains("://") {
            return Self::of_url(text);
        }
        let path = Path::new(text);
        match std::fs::metadata(path) {
            Ok(data) if data.is_dir() && is_bare_repository(path) => {
                Ok(Self::Git(GitUrl::of_directory(path)?))
            }
            Ok(data) if data.is_dir() => Ok(Self::Directory(path.to_owned())),
            Ok(_) => Ok(Self::File(path.to_owned())),
            Err(_) if text.ends_with(".git") && text.contains('@') => {
                Ok(Self::Git(GitUrl::parse(text)?))
            }
            Err(_) => Err(SourceError::Nothing(text.to_owned())),
        }
    }

    fn of_url(text: &str) -> Result<Self, SourceError> {
        let unknown = || SourceError::Url(web::without_secrets(text));
        let mut url = Url::parse(text).map_err(|_| unknown())?;
        if url.path().ends_with(".git") || url.scheme() == "ssh" {
            return Ok(Self::Git(GitUrl::parse(text)?));
        }
        if url.scheme() == "file" {
            let path = url.to_file_path().map_err(|()| unknown())?;
            return Self::parse(&path.to_string_lossy());
        }
        web::check(&url)?;
        if url.path().ends_with(".skill.json") {
            return Ok(Self::Package(url));
        }
        if let Some(directory) = url.path().strip_suffix("index.json").map(str::to_owned) {
            url.set_path(&directory);
        }
        match url.path().ends_with('/') {
            true => Ok(Self::Registry(url)),
            false => Err(unknown()),
        }
    }
}

/// Tells whether a directory is a git repository without a checkout.
fn is_bare_repository(dir: &Path) -> bool {
    dir.join("HEAD").is_file() && dir.join("objects").is_dir() && dir.join("refs").is_dir()
}
