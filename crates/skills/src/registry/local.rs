//! Registries on this machine: directories of packages that any static host can serve, with
//! `index.json` and `skills/NAME/VERSION.skill.json`.

use std::{
    fs::File,
    io::{self, Write},
    path::{Path, PathBuf},
};

use thiserror::Error;

use super::index::{self, Index, IndexError, file_of};
use crate::{
    code::CodeReader,
    package::{self, Package, PackageError, Signed},
    safe_path,
};

pub(crate) const INDEX: &str = "index.json";
/// The file that publishing locks. It is never removed, because two processes could hold the lock on
/// a file that is removed and created again.
const LOCK: &str = ".publish.lock";

/// The reason for which a registry cannot be read or published to.
#[derive(Debug, Error)]
pub enum RegistryError {
    #[error("the registry {path} cannot be used: {source}")]
    Io { path: PathBuf, source: io::Error },
    #[error("{path}: {source}")]
    Index { path: PathBuf, source: IndexError },
    #[error("{path}: {source}")]
    Package { path: PathBuf, source: PackageError },
    #[error(
        "version {version} of {name} is already published with other content: publish it as a new version"
    )]
    Published { name: String, version: i64 },
    #[error(
        "{path} is not what the index says: it has another {what}; tell whoever runs the registry"
    )]
    Differs { path: PathBuf, what: &'static str },
}

/// A registry on this machine.
#[derive(Clone, Debug)]
pub struct Registry {
    dir: PathBuf,
}

impl Registry {
    pub fn new(dir: impl Into<PathBuf>) -> Self {
        Self { dir: dir.into() }
    }

    /// Tells whether a directory is a registry.
    pub(crate) fn is_at(dir: &Path) -> bool {
        dir.join(INDEX).is_file()
    }

    /// Writes the package, then the index, and returns the path of the package. A concurrent reader sees
    /// all of it or nothing; publishing the same again changes nothing.
    pub fn publish(&self, package: &Package) -> Result<PathBuf, RegistryError> {
        let in_dir = |source| self.io(&self.dir, source);
        std::fs::create_dir_all(&self.dir).map_err(in_dir)?;
        let lock = File::create(self.dir.join(LOCK)).map_err(in_dir)?;
        lock.lock().map_err(in_dir)?;
        let mut index = match self.index() {
            Err(RegistryError::Io { source, .. }) if source.kind() == io::ErrorKind::NotFound => {
                Index::default()
            }
            other => other?,
        };
        let (name, version) = (&package.manifest().name, package.manifest().version);
        let path = self.dir.join(file_of(name, version));
        let in_file = |source| self.io(&path, source);
        std::fs::create_dir_all(path.parent().unwrap_or(&self.dir)).map_err(in_file)?;
        match std::fs::read(&path) {
            Ok(known) if known == package.to_bytes() => {}
            Ok(_) => return Err(RegistryError::Published { name: name.clone(), version }),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                replace(&path, &package.to_bytes()).map_err(in_file)?;
            }
            Err(error) => return Err(in_file(error)),
        }
        index.add(package);
        let text = index.to_bytes().map_err(|error| in_dir(error.into()))?;
        replace(&self.dir.join(INDEX), &text).map_err(in_dir)?;
        Ok(path)
    }

    pub fn index(&self) -> Result<Index, RegistryError> {
        let path = self.dir.join(INDEX);
        let bytes = safe_path::read(&self.dir, Path::new(INDEX), index::MAX_BYTES)
            .map_err(|source| self.io(&path, source))?;
        Index::read(&bytes).map_err(|source| RegistryError::Index { path, source })
    }

    /// Reads the package of `NAME` or `NAME@VERSION`, and returns it with its path.
    pub fn package(
        &self,
        wanted: &str,
        reader: &dyn CodeReader,
    ) -> Result<(PathBuf, Package), RegistryError> {
        let index = self.index()?;
        let found = index.find(wanted);
        let (entry, version, file) =
            found.map_err(|source| RegistryError::Index { path: self.dir.join(INDEX), source })?;
        let path = self.dir.join(&file);
        let bytes = safe_path::read(&self.dir, Path::new(&file), package::MAX_BYTES)
            .map_err(|source| self.io(&path, source))?;
        let package = Package::read(&bytes, reader)
            .map_err(|source| RegistryError::Package { path: path.clone(), source })?;
        match differs(entry, version, &package) {
            Some(what) => Err(RegistryError::Differs { path, what }),
            None => Ok((path, package)),
        }
    }

    fn io(&self, path: &Path, source: io::Error) -> RegistryError {
        RegistryError::Io { path: path.to_owned(), source }
    }
}

/// Returns the first property of a package that differs from the index.
pub(crate) fn differs(
    entry: &index::IndexEntry,
    version: i64,
    package: &Package,
) -> Option<&'static str> {
    let manifest = package.manifest();
    let key = match package.signed() {
        Signed::No => None,
        Signed::By(key) => Some(key),
    };
    if manifest.name != entry.name {
        return Some("name");
    }
    if manifest.version != version {
        return Some("version");
    }
    // The index has hash and key of the latest version only.
    let is_latest = version == entry.version;
    if is_latest && manifest.hash != entry.hash {
        return Some("hash");
    }
    (is_latest && key != entry.key.as_ref()).then_some("key")
}

/// Writes a file atomically. Others can read it, because it is meant to be served.
fn replace(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let dir = path.parent().unwrap_or(Path::new("."));
    let mut builder = tempfile::Builder::new();
    #[cfg(unix)]
    let permissions: std::fs::Permissions = std::os::unix::fs::PermissionsExt::from_mode(0o644);
    #[cfg(unix)]
    builder.permissions(permissions);
    let mut file = builder.tempfile_in(dir)?;
    file.write_all(bytes)?;
    file.as_file().sync_all()?;
    file.persist(path)?;
    Ok(())
}
