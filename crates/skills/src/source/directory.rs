//! Finds the skills of a directory, which may be the folder of one skill, a registry, or a directory
//! with packages, folders and modules.

use std::path::Path;

use super::{
    fetch::{Fetched, FetchedSkill},
    skill_source::SourceError,
};
use crate::{
    code::CodeReader,
    folder::{self, AgentSkill},
    package::{self, ManifestDetails, Package, Recording},
    registry::{INDEX, Index, IndexError, Registry, RegistryError},
    safe_path,
};

/// How deep nested directories are searched; checkouts have their skills near the top.
const MAX_DEPTH: usize = 4;
/// How many skills are read from one directory.
const MAX_SKILLS: usize = 2_000;
/// Directories that are searched although their names begin with a dot: agents keep skills there.
const NOT_HIDDEN: [&str; 2] = [".agents", ".claude"];
const PACKAGE: &str = ".skill.json";

/// A skill, or the reason for which something that looks like one is not. The caller may want only
/// other skills.
pub(crate) type FetchResult = Result<Fetched, SourceError>;

/// Reads the skills of a file; its name tells what it is.
pub(super) fn file(
    path: &Path,
    wanted: Option<&str>,
    reader: &dyn CodeReader,
) -> Result<Vec<FetchResult>, SourceError> {
    let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    let dir = path.parent().filter(|dir| !dir.as_os_str().is_empty()).unwrap_or(Path::new("."));
    match name {
        folder::SKILL => Ok(vec![skill_folder(dir)]),
        INDEX => registry(dir, wanted, reader),
        _ if name.ends_with(PACKAGE) => Ok(vec![package(dir, name, reader)]),
        _ if name.ends_with(".py") => Ok(vec![module(dir, name, reader)]),
        _ => Err(SourceError::File(path.to_owned())),
    }
}

/// Finds all skills of a directory.
pub(super) fn all(
    dir: &Path,
    wanted: Option<&str>,
    reader: &dyn CodeReader,
) -> Result<Vec<FetchResult>, SourceError> {
    if dir.join(folder::SKILL).is_file() {
        return Ok(vec![skill_folder(dir)]);
    }
    if Registry::is_at(dir) {
        match registry(dir, wanted, reader) {
            // Other directories may have an unrelated `index.json`.
            Err(SourceError::Registry(RegistryError::Index {
                source: IndexError::NotIndex(_),
                ..
            })) => {}
            found => return found,
        }
    }
    let mut found = Vec::new();
    look(dir, 0, &mut found, reader)?;
    Ok(found)
}

fn look(
    dir: &Path,
    depth: usize,
    found: &mut Vec<FetchResult>,
    reader: &dyn CodeReader,
) -> Result<(), SourceError> {
    let entries = safe_path::entries(dir)
        .map_err(|source| SourceError::Io { path: dir.to_owned(), source })?;
    for (name, data) in entries {
        if found.len() >= MAX_SKILLS {
            return Ok(());
        }
        let path = dir.join(&name);
        if data.is_dir() {
            let is_hidden = name.starts_with('.') && !NOT_HIDDEN.contains(&name.as_str());
            if path.join(folder::SKILL).is_file() {
                found.push(skill_folder(&path));
            } else if !is_hidden && name != "node_modules" && depth < MAX_DEPTH {
                look(&path, depth + 1, found, reader)?;
            }
        } else if name.ends_with(PACKAGE) {
            found.push(package(dir, &name, reader));
        } else if name.ends_with(".py") && depth == 0 {
            // Modules that are not skills may stand beside those that are.
            found.extend(Some(module(dir, &name, reader)).filter(Result::is_ok));
        }
    }
    Ok(())
}

fn registry(
    dir: &Path,
    wanted: Option<&str>,
    reader: &dyn CodeReader,
) -> Result<Vec<FetchResult>, SourceError> {
    let registry = Registry::new(dir);
    let wanted = match wanted {
        Some(wanted) => wanted.to_owned(),
        None => only(&registry.index()?, &dir.display().to_string())?,
    };
    let (path, package) = registry.package(&wanted, reader)?;
    Ok(vec![Ok(Fetched::package(package, path.display().to_string()))])
}

/// Returns the only skill of a registry. If it has several, the caller has to name one.
pub(crate) fn only(index: &Index, from: &str) -> Result<String, SourceError> {
    match index.entries() {
        [one] => Ok(one.name.clone()),
        [] => Err(SourceError::Empty(from.to_owned())),
        many => Err(SourceError::Which { from: from.to_owned(), number: many.len() }),
    }
}

fn skill_folder(dir: &Path) -> FetchResult {
    let skill = AgentSkill::read(dir)?;
    Ok(Fetched { skill: FetchedSkill::Folder(Box::new(skill)), from: dir.display().to_string() })
}

fn package(dir: &Path, name: &str, reader: &dyn CodeReader) -> FetchResult {
    let bytes = read(dir, name)?;
    let from = dir.join(name).display().to_string();
    match Package::read(&bytes, reader) {
        Ok(package) => Ok(Fetched::package(package, from)),
        Err(source) => Err(SourceError::Package { from, source }),
    }
}

/// Reads the module `NAME.py`, which has to define `NAME`.
fn module(dir: &Path, file: &str, reader: &dyn CodeReader) -> FetchResult {
    let from = dir.join(file).display().to_string();
    let code =
        String::from_utf8(read(dir, file)?).map_err(|_| SourceError::File(dir.join(file)))?;
    let name = file.strip_suffix(".py").unwrap_or(file);
    let about = ManifestDetails { version: 1, ..ManifestDetails::default() };
    match Package::new(name, &code, about, &[], Recording::default(), reader) {
        Ok(package) => Ok(Fetched::package(package, from)),
        Err(source) => Err(SourceError::Package { from, source }),
    }
}

fn read(dir: &Path, name: &str) -> Result<Vec<u8>, SourceError> {
    safe_path::read(dir, Path::new(name), package::MAX_BYTES)
        .map_err(|source| SourceError::Io { path: dir.join(name), source })
}
