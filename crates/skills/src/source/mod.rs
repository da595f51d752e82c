//! The sources of skills: files, directories, git and the web.

mod directory;
mod fetch;
mod git;
mod skill_source;
mod web;

pub use fetch::{Fetched, FetchedSkill, Fetcher};
pub use git::{GitError, GitUrl};
pub use skill_source::{SkillSource, SourceError};
pub use web::WebError;
