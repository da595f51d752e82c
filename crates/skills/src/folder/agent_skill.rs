//! The Agent Skills form: a folder with a `SKILL.md`, whose front matter names and describes the
//! skill and whose body are instructions, and with scripts and other files beside it
//! (<https://agentskills.io/specification>).
//!
//! A folder with a script that defines the skill's function is a skill of code. Any other is one of
//! instructions, which `prose_skill` turns into code.

use std::{
    collections::BTreeMap,
    io,
    path::{Path, PathBuf},
};

use serde_json::Value;
use thiserror::Error;

use super::front_matter::{self, FrontMatterError};
use crate::{
    code::CodeReader,
    name::{check_name, identifier},
    package::{ManifestDetails, Package, PackageError, Recording, is_plain},
    prose_skill::Texts,
    safe_path,
};

pub(crate) const SKILL: &str = "SKILL.md";
/// The specification advises 500 lines.
const MAX_SKILL_BYTES: usize = 512 << 10;
/// The size of all files of a folder together, as in a package.
const MAX_BYTES: usize = 4 << 20;
const MAX_FILES: usize = 500;
/// How deep nested folders are searched.
const MAX_DEPTH: usize = 5;
/// The limit of the specification.
const MAX_DESCRIPTION_LEN: usize = 1_024;
/// Keys of the metadata for properties that the Agent Skills form has no field for.
const NAME: &str = "narrows-name";
const VERSION: &str = "narrows-version";
const TAGS: &str = "narrows-tags";

/// The reason for which a folder is not a skill, or cannot be written.
#[derive(Debug, Error)]
pub enum FolderError {
    #[error("{path}: {source}")]
    Io { path: PathBuf, source: io::Error },
    #[error("{path}: it is not text in UTF-8")]
    NotText { path: PathBuf },
    #[error("{path}: {source}")]
    FrontMatter { path: PathBuf, source: FrontMatterError },
    #[error("{path}: no skill can be called {name:?}: use lower-case letters, digits and hyphens")]
    Name { path: PathBuf, name: String },
    #[error(
        "{path}: the description has control characters, or more than {MAX_DESCRIPTION_LEN} characters"
    )]
    Description { path: PathBuf },
    #[error(
        "{path}: a skill has at most {MAX_FILES} files and {MAX_BYTES} bytes, and folders {MAX_DEPTH} deep"
    )]
    TooLarge { path: PathBuf },
    #[error("{path}: there is something already: move it away, or choose another place")]
    Exists { path: PathBuf },
    #[error(transparent)]
    Package(#[from] PackageError),
}

/// A skill as a folder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AgentSkill {
    /// The name by which programs import it: `pdf_processing`.
    pub name: String,
    /// The name that its author wrote: `pdf-processing`.
    pub title: String,
    pub description: String,
    pub license: Option<String>,
    pub metadata: BTreeMap<String, String>,
    /// The body of `SKILL.md`.
    pub instructions: String,
    /// All other files of the folder, by path.
    pub files: Vec<FolderFile>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FolderFile {
    /// From the folder, with slashes.
    pub path: String,
    pub content: Vec<u8>,
}

/// The form of the skill that a folder becomes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Form {
    /// The skill's function is defined by this script.
    Code { script: String },
    /// The skill's function returns the instructions.
    Text,
}

impl AgentSkill {
    /// Reads a folder, which may come from anywhere. Links are not followed.
    pub fn read(dir: &Path) -> Result<Self, FolderError> {
        let path = dir.join(SKILL);
        let bytes = safe_path::read(dir, Path::new(SKILL), MAX_SKILL_BYTES)
            .map_err(|source| FolderError::Io { path: path.clone(), source })?;
        let text =
            String::from_utf8(bytes).map_err(|_| FolderError::NotText { path: path.clone() })?;
        let (front, body) = front_matter::split(&text)
            .map_err(|source| FolderError::FrontMatter { path: path.clone(), source })?;
        let kept = front.metadata.get(NAME).filter(|name| check_name(name).is_ok());
        let name = kept.cloned().or_else(|| identifier(&front.name));
        let Some(name) = name.filter(|_| is_plain(&front.name, 200)) else {
            return Err(FolderError::Name { path, name: front.name });
        };
        if !is_plain(&front.description.replace(['\n', '\t'], " "), MAX_DESCRIPTION_LEN) {
            return Err(FolderError::Description { path });
        }
        let mut files = Files { root: dir, found: Vec::new(), bytes: 0 };
        files.collect("", 0)?;
        Ok(Self {
            name,
            title: front.name,
            description: front.description,
            license: front.license,
            metadata: front.metadata,
            instructions: body.to_owned(),
            files: files.found,
        })
    }

    /// Returns the code that the folder becomes.
    pub fn code(&self, reader: &dyn CodeReader) -> (Form, String) {
        let own = format!("scripts/{}.py", self.name);
        let is_script = |file: &&FolderFile| {
            file.path.ends_with(".py") && file.path.strip_prefix("scripts/").is_some()
        };
        let scripts = self.files.iter().filter(is_script);
        let (first, others): (Vec<_>, Vec<_>) = scripts.partition(|file| file.path == own);
        for file in first.into_iter().chain(others) {
            if let Ok(code) = str::from_utf8(&file.content)
                && reader.read(&self.name, code).is_ok()
            {
                return (Form::Code { script: file.path.clone() }, code.to_owned());
            }
        }
        let text = |file: &FolderFile| {
            Some((file.path.clone(), str::from_utf8(&file.content).ok()?.to_owned()))
        };
        let texts = Texts {
            instructions: self.instructions.clone(),
            files: self.files.iter().filter_map(text).collect(),
        };
        (Form::Text, texts.to_code(&self.name, &self.description))
    }

    /// Packs the skill, without a signature.
    pub fn to_package(&self, reader: &dyn CodeReader) -> Result<Package, FolderError> {
        let metadata = |key: &str| self.metadata.get(key).cloned().unwrap_or_default();
        let tags = metadata(TAGS);
        let tags = tags.split(',').map(str::trim).filter(|tag| !tag.is_empty());
        let about = ManifestDetails {
            version: metadata(VERSION).parse().unwrap_or(1),
            description: self.description.clone(),
            tags: tags.map(str::to_owned).collect(),
            author: metadata("author"),
            created_at: String::new(),
        };
        let (_, code) = self.code(reader);
        Ok(Package::new(&self.name, &code, about, &[], Recording::default(), reader)?)
    }
}

/// The files of a folder, while they are collected.
struct Files<'a> {
    root: &'a Path,
    found: Vec<FolderFile>,
    bytes: usize,
}

impl Files<'_> {
    fn collect(&mut self, below: &str, depth: usize) -> Result<(), FolderError> {
        let dir = self.root.join(below);
        let too_large = || FolderError::TooLarge { path: dir.clone() };
        let entries = safe_path::entries(&dir)
            .map_err(|source| FolderError::Io { path: dir.clone(), source })?;
        for (name, data) in entries.into_iter().filter(|(name, _)| !name.starts_with('.')) {
            let path = format!("{below}{name}");
            if data.is_dir() {
                if depth == MAX_DEPTH {
                    return Err(too_large());
                }
                self.collect(&format!("{path}/"), depth + 1)?;
            } else if data.is_file() && path != SKILL {
                let content = safe_path::read(self.root, Path::new(&path), MAX_BYTES - self.bytes)
                    .map_err(|source| match source.kind() {
                        io::ErrorKind::InvalidData => too_large(),
                        _ => FolderError::Io { path: self.root.join(&path), source },
                    })?;
                self.bytes += content.len();
                self.found.push(FolderFile { path, content });
                if self.found.len() > MAX_FILES {
                    return Err(too_large());
                }
            }
        }
        Ok(())
    }
}

/// Returns the name of a skill's folder: `filter-high-risk` for `filter_high_risk`.
pub fn folder_name(name: &str) -> String {
    let words: Vec<String> =
        name.split('_').filter(|word| !word.is_empty()).map(str::to_lowercase).collect();
    words.join("-")
}

/// Returns the files of a skill's folder, by path.
pub fn folder_files(package: &Package, reader: &dyn CodeReader) -> Vec<(String, String)> {
    let name = &package.manifest().name;
    match reader.texts(package.code()) {
        // A skill that came as instructions is written as instructions.
        Some(texts) => {
            let skill = (SKILL.to_owned(), front(package) + &texts.instructions);
            // The paths come from the code, which anyone may have written: one with `..` would lead out.
            let is_inside = |path: &str| {
                let mut parts = path.split('/');
                path != SKILL && parts.all(|part| !part.starts_with('.') && is_file_name(part))
            };
            let files = texts.files.into_iter().filter(|(path, _)| is_inside(path));
            std::iter::once(skill).chain(files).collect()
        }
        None => vec![
            (SKILL.to_owned(), front(package) + &body(package)),
            (format!("scripts/{name}.py"), package.code().to_owned()),
        ],
    }
}

fn is_file_name(part: &str) -> bool {
    !part.is_empty() && !part.contains(['\\', ':', '\0']) && is_plain(part, 200)
}

/// Writes a skill as a folder in `parent`, and returns the path.
pub fn write_folder(
    parent: &Path,
    package: &Package,
    reader: &dyn CodeReader,
) -> Result<PathBuf, FolderError> {
    let dir = parent.join(folder_name(&package.manifest().name));
    let io = |path: &Path, source| FolderError::Io { path: path.to_owned(), source };
    std::fs::create_dir_all(parent).map_err(|source| io(parent, source))?;
    std::fs::create_dir(&dir).map_err(|source| match source.kind() {
        io::ErrorKind::AlreadyExists => FolderError::Exists { path: dir.clone() },
        _ => io(&dir, source),
    })?;
    for (file, text) in folder_files(package, reader) {
        let path = dir.join(file);
        let within = path.parent().unwrap_or(&dir);
        std::fs::create_dir_all(within).map_err(|source| io(within, source))?;
        std::fs::write(&path, text).map_err(|source| io(&path, source))?;
    }
    Ok(dir)
}

fn front(package: &Package) -> String {
    let manifest = package.manifest();
    let description: String = manifest.description.chars().take(MAX_DESCRIPTION_LEN).collect();
    // A JSON string is valid YAML.
    let quoted = |text: &str| Value::from(text).to_string();
    let mut front = format!(
        "---\nname: {}\ndescription: {}\nmetadata:\n  {NAME}: {}\n  {VERSION}: \"{}\"\n",
        folder_name(&manifest.name),
        quoted(&description),
        quoted(&manifest.name),
        manifest.version
    );
    for (key, value) in [(TAGS, manifest.tags.join(", ")), ("author", manifest.author.clone())] {
        if !value.is_empty() {
            front += &format!("  {key}: {}\n", quoted(&value));
        }
    }
    front + "---\n\n"
}

fn body(package: &Package) -> String {
    let manifest = package.manifest();
    let name = &manifest.name;
    let mut body = format!(
        "# {name}\n\n{}\n\n```python\nfrom skills import {name}   # {}\n```\n\n\
         The code is in `scripts/{name}.py`.\n",
        manifest.description, manifest.signature
    );
    let list = |title: &str, names: Vec<&str>| {
        let names: Vec<String> = names.into_iter().map(|name| format!("- `{name}`\n")).collect();
        if names.is_empty() { String::new() } else { format!("\n{title}\n\n{}", names.concat()) }
    };
    let tools = manifest.tools.iter().map(|needed| needed.tool.as_str()).collect();
    body += &list("It calls these MCP tools:", tools);
    let skills = manifest.skills.iter().map(String::as_str).collect();
    body += &list("It needs these skills:", skills);
    body
}
