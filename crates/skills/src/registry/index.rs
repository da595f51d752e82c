//! The index of a registry: one entry for each skill, in a file that any static host can serve.

use std::collections::HashSet;

use serde::{Deserialize, Serialize};
use thiserror::Error;

use narrows_model::{Nearest, nearest};

use crate::{
    name::check_name,
    package::{Fingerprint, Package, Signed, is_plain},
};

const FORMAT: &str = "narrows-registry/1";
/// The size of an index, enough for some hundred thousand skills.
pub(crate) const MAX_BYTES: usize = 64 << 20;
const MAX_TEXT_LEN: usize = 4_000;

/// The reason for which a file is not an index, or not one that can be trusted.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum IndexError {
    #[error("the index has more than {MAX_BYTES} bytes")]
    TooLarge,
    #[error("this is no index of a registry: {0}")]
    NotIndex(String),
    #[error(
        "the index has the format {0:?}, and {FORMAT:?} is read here: a newer Narrows may read it"
    )]
    Format(String),
    #[error("the index is refused: its entry {name:?} {reason}")]
    Entry { name: String, reason: String },
    #[error("the registry has no skill {name:?}{hint}")]
    NoSkill { name: String, hint: Nearest },
    #[error("the registry has no version {version} of {name}, but {known}")]
    NoVersion { name: String, version: i64, known: String },
}

/// The index of a registry.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Index {
    format: String,
    /// The entries, sorted by name.
    skills: Vec<IndexEntry>,
}

/// A skill in the index, described by its latest version.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct IndexEntry {
    pub name: String,
    pub version: i64,
    /// All published versions, the oldest first.
    pub versions: Vec<i64>,
    pub description: String,
    #[serde(default)]
    pub tags: Vec<String>,
    /// The signature of its function.
    pub signature: String,
    /// SHA-256 of the code.
    pub hash: String,
    /// The path of the package, relative to the directory of the index.
    pub file: String,
    /// The fingerprint of the key that signed it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<Fingerprint>,
}

impl Default for Index {
    fn default() -> Self {
        Self { format: FORMAT.to_owned(), skills: Vec::new() }
    }
}

/// Returns the path of a version of a skill, relative to the directory of the index.
pub(crate) fn file_of(name: &str, version: i64) -> String {
    format!("skills/{name}/{version}.skill.json")
}

impl Index {
    /// Reads an index, which may come from anywhere. It is refused unless its paths are the expected
    /// ones, so that it cannot point elsewhere.
    pub fn read(bytes: &[u8]) -> Result<Self, IndexError> {
        if bytes.len() > MAX_BYTES {
            return Err(IndexError::TooLarge);
        }
        let not_index = |error: serde_json::Error| IndexError::NotIndex(error.to_string());
        #[derive(Deserialize)]
        struct Header {
            format: String,
        }
        let header: Header = serde_json::from_slice(bytes).map_err(not_index)?;
        if header.format != FORMAT {
            return Err(IndexError::Format(header.format.chars().take(40).collect()));
        }
        let mut index: Self = serde_json::from_slice(bytes).map_err(not_index)?;
        let mut names = HashSet::new();
        for entry in &index.skills {
            let reason = entry.wrong().or_else(|| {
                (!names.insert(entry.name.as_str())).then(|| "is there twice".to_owned())
            });
            if let Some(reason) = reason {
                let name = entry.name.chars().take(80).collect();
                return Err(IndexError::Entry { name, reason });
            }
        }
        index.skills.sort_by(|a, b| a.name.cmp(&b.name));
        Ok(index)
    }

    pub(crate) fn to_bytes(&self) -> Result<Vec<u8>, serde_json::Error> {
        let mut text = serde_json::to_vec_pretty(self)?;
        text.push(b'\n');
        Ok(text)
    }

    /// Returns all entries, sorted by name.
    pub fn entries(&self) -> &[IndexEntry] {
        &self.skills
    }

    pub fn entry(&self, name: &str) -> Option<&IndexEntry> {
        let at = self.skills.binary_search_by(|entry| entry.name.as_str().cmp(name)).ok()?;
        self.skills.get(at)
    }

    /// Finds `NAME` or `NAME@VERSION`, and returns the entry, the version and the path of the package.
    pub fn find(&self, wanted: &str) -> Result<(&IndexEntry, i64, String), IndexError> {
        let (name, version) = match wanted.split_once('@') {
            Some((name, version)) => (name, Some(version)),
            None => (wanted, None),
        };
        let entry = self.entry(name).ok_or_else(|| {
            let hint = nearest(name, self.skills.iter().map(|entry| entry.name.as_str()));
            IndexError::NoSkill { name: name.to_owned(), hint }
        })?;
        let version = match version {
            Some(version) => version.parse().unwrap_or_default(),
            None => entry.version,
        };
        if !entry.versions.contains(&version) {
            let known: Vec<String> = entry.versions.iter().map(i64::to_string).collect();
            let known = known.join(", ");
            return Err(IndexError::NoVersion { name: name.to_owned(), version, known });
        }
        Ok((entry, version, file_of(name, version)))
    }

    /// Returns the skills that have words of the query, the best first: names count most, then tags,
    /// then descriptions. A query without words returns all skills.
    pub fn search(&self, query: &str) -> Vec<&IndexEntry> {
        let words = words(query);
        let mut found: Vec<(usize, usize, &IndexEntry)> = self
            .skills
            .iter()
            .filter_map(|entry| {
                let scores: Vec<usize> =
                    words.iter().map(|word| entry.score(word)).filter(|score| *score > 0).collect();
                let is_found = words.is_empty() || !scores.is_empty();
                is_found.then(|| (scores.len(), scores.iter().sum(), entry))
            })
            .collect();
        found.sort_by(|a, b| (b.0, b.1).cmp(&(a.0, a.1)).then_with(|| a.2.name.cmp(&b.2.name)));
        found.into_iter().map(|(_, _, entry)| entry).collect()
    }

    /// Adds a version of a skill.
    pub(crate) fn add(&mut self, package: &Package) {
        let manifest = package.manifest();
        let at = self.skills.binary_search_by(|entry| entry.name.cmp(&manifest.name));
        let mut versions = match at {
            Ok(at) => self.skills[at].versions.clone(),
            Err(_) => Vec::new(),
        };
        let is_latest = versions.iter().all(|version| *version <= manifest.version);
        versions.push(manifest.version);
        versions.sort_unstable();
        versions.dedup();
        let entry = IndexEntry {
            name: manifest.name.clone(),
            version: manifest.version,
            versions: versions.clone(),
            description: manifest.description.clone(),
            tags: manifest.tags.clone(),
            signature: manifest.signature.clone(),
            hash: manifest.hash.clone(),
            file: file_of(&manifest.name, manifest.version),
            key: match package.signed() {
                Signed::No => None,
                Signed::By(key) => Some(key.clone()),
            },
        };
        match at {
            Ok(at) if is_latest => self.skills[at] = entry,
            Ok(at) => self.skills[at].versions = versions,
            Err(at) => self.skills.insert(at, entry),
        }
    }
}

impl IndexEntry {
    /// Describes what is wrong with an entry from outside, if anything is.
    fn wrong(&self) -> Option<String> {
        if let Err(error) = check_name(&self.name) {
            return Some(format!("has a name that no skill has: {error}"));
        }
        if self.version < 1 || self.versions.iter().max() != Some(&self.version) {
            return Some("has a version that is not the latest of its versions".to_owned());
        }
        let expected = file_of(&self.name, self.version);
        if self.file != expected {
            return Some(format!("has its file elsewhere than {expected}"));
        }
        let description = self.description.replace(['\n', '\t'], " ");
        let key = self.key.iter().map(Fingerprint::as_str);
        let texts = [description.as_str(), &self.signature, &self.hash].into_iter().chain(key);
        let mut all = texts.chain(self.tags.iter().map(String::as_str));
        let is_shown = all.all(|text| is_plain(text, MAX_TEXT_LEN));
        (!is_shown).then(|| "has control characters, or texts that are too long".to_owned())
    }

    fn score(&self, word: &str) -> usize {
        let best = |text: &str, whole: usize, part: usize| {
            let scores = words(text).into_iter().map(|known| match known {
                known if known == word => whole,
                known if known.starts_with(word) => part,
                _ => 0,
            });
            scores.max().unwrap_or_default()
        };
        let whole_name = if self.name.eq_ignore_ascii_case(word) { 16 } else { 0 };
        let tags = self.tags.iter().map(|tag| best(tag, 4, 2)).max().unwrap_or_default();
        whole_name + best(&self.name, 8, 4) + tags + best(&self.description, 2, 1)
    }
}

/// Splits a text into words in lower case.
fn words(text: &str) -> Vec<String> {
    let parts = text.split(|c: char| !c.is_alphanumeric()).filter(|part| !part.is_empty());
    parts.map(str::to_lowercase).collect()
}
