//! The manifest of a package, and the check that it matches the code.

use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::{
    canonical::sha256,
    code::{CodeError, CodeReader, SkillCode},
    name::{NameError, check_name},
    pins::Pin,
};

/// The length of a description. It is shown to the person who is asked whether to install a skill.
const MAX_DESCRIPTION_LEN: usize = 4_000;
const MAX_TEXT_LEN: usize = 200;
const MAX_TAGS: usize = 50;

/// The description of a skill, for everyone who does not read its code.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Manifest {
    pub name: String,
    /// From 1.
    pub version: i64,
    pub description: String,
    #[serde(default)]
    pub tags: Vec<String>,
    /// The signature of its function.
    pub signature: String,
    #[serde(default)]
    pub tools: Vec<NeededTool>,
    /// The skills that it imports.
    #[serde(default)]
    pub skills: Vec<String>,
    /// The names of its tests.
    #[serde(default)]
    pub tests: Vec<String>,
    /// SHA-256 of the code.
    pub hash: String,
    #[serde(default)]
    pub author: String,
    #[serde(default)]
    pub created_at: String,
}

/// A tool that a skill may call.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NeededTool {
    /// `github.create_issue`; also `github.*` and `*` for tools whose names are only known when the code
    /// runs.
    pub tool: String,
    /// The hash of its pin, on the machine where the skill was made.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hash: Option<String>,
}

/// A mistake in a manifest, or a difference between it and the code.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum ManifestError {
    #[error(transparent)]
    Name(#[from] NameError),
    #[error(transparent)]
    Code(#[from] CodeError),
    #[error("the version is {0}; versions count from 1")]
    Version(i64),
    #[error("the {what} has control characters, or is longer than {max} characters")]
    Text { what: &'static str, max: usize },
    #[error("there are {0} tags; {MAX_TAGS} are enough")]
    Tags(usize),
    #[error("the hash is not that of the code: the file was changed")]
    Hash,
    #[error("the manifest says that it is called as {claimed:?}, but the code says {found:?}")]
    Signature { claimed: String, found: String },
    #[error("the code uses {}, which the manifest does not say", .0.join(", "))]
    Tools(Vec<String>),
    #[error("the code imports the skill {0}, which the manifest does not say")]
    Skill(String),
    #[error("the manifest names the test {0}, which the code does not have")]
    Test(String),
}

/// The details of a manifest that are not in the code.
#[derive(Clone, Debug, Default)]
pub struct ManifestDetails {
    pub version: i64,
    /// The description; if it is empty, that of the code is used.
    pub description: String,
    pub tags: Vec<String>,
    pub author: String,
    pub created_at: String,
}

impl Manifest {
    /// Makes the manifest that matches the code.
    pub(crate) fn of(
        name: &str,
        code: &str,
        about: ManifestDetails,
        pins: &[Pin],
        reader: &dyn CodeReader,
    ) -> Result<Self, ManifestError> {
        let found = reader.read(name, code)?;
        let description = Some(about.description).filter(|text| !text.trim().is_empty());
        let hash_of =
            |tool: &str| pins.iter().find(|pin| pin.tool == tool).map(|pin| pin.hash.clone());
        let manifest = Self {
            name: name.to_owned(),
            version: about.version,
            description: description.unwrap_or(found.description),
            tags: about.tags,
            tools: found
                .tools
                .into_iter()
                .map(|tool| NeededTool { hash: hash_of(&tool), tool })
                .collect(),
            signature: found.signature,
            skills: found.skills,
            tests: found.tests,
            hash: sha256(code.as_bytes()),
            author: about.author,
            created_at: about.created_at,
        };
        manifest.check_texts()?;
        Ok(manifest)
    }

    /// Refuses a manifest that contradicts the code, or that lists less than the code uses. One that
    /// lists more is only cautious.
    pub(crate) fn check(
        &self,
        code: &str,
        reader: &dyn CodeReader,
    ) -> Result<SkillCode, ManifestError> {
        check_name(&self.name)?;
        if self.hash != sha256(code.as_bytes()) {
            return Err(ManifestError::Hash);
        }
        self.check_texts()?;
        let found = reader.read(&self.name, code)?;
        if self.signature != found.signature {
            let claimed = self.signature.clone();
            return Err(ManifestError::Signature { claimed, found: found.signature });
        }
        let is_claimed = |tool: &str| self.tools.iter().any(|claimed| claimed.tool == tool);
        let hidden: Vec<String> =
            found.tools.iter().filter(|tool| !is_claimed(tool)).cloned().collect();
        if !hidden.is_empty() {
            return Err(ManifestError::Tools(hidden));
        }
        if let Some(hidden) = found.skills.iter().find(|skill| !self.skills.contains(skill)) {
            return Err(ManifestError::Skill(hidden.clone()));
        }
        if let Some(absent) = self.tests.iter().find(|test| !found.tests.contains(test)) {
            return Err(ManifestError::Test(absent.clone()));
        }
        Ok(found)
    }

    fn check_texts(&self) -> Result<(), ManifestError> {
        if self.version < 1 {
            return Err(ManifestError::Version(self.version));
        }
        if self.tags.len() > MAX_TAGS {
            return Err(ManifestError::Tags(self.tags.len()));
        }
        let text = |what, text: &str, max| match is_plain(text, max) {
            true => Ok(()),
            false => Err(ManifestError::Text { what, max }),
        };
        text("description", &self.description.replace(['\n', '\t'], " "), MAX_DESCRIPTION_LEN)?;
        text("author", &self.author, MAX_TEXT_LEN)?;
        text("date", &self.created_at, MAX_TEXT_LEN)?;
        self.tags.iter().try_for_each(|tag| text("list of tags", tag, MAX_TEXT_LEN))?;
        self.skills.iter().try_for_each(|skill| text("list of skills", skill, MAX_TEXT_LEN))?;
        self.tools.iter().try_for_each(|needed| text("list of tools", &needed.tool, MAX_TEXT_LEN))
    }
}

/// Tells whether a text from outside can be shown in a terminal: with escape sequences and marks that
/// change the direction of writing, it could appear to say something else.
pub(crate) fn is_plain(text: &str, max: usize) -> bool {
    let turns = |c: char| matches!(c, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    text.chars().count() <= max && !text.chars().any(|c| c.is_control() || turns(c))
}
