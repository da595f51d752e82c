//! The Agent Skills form: a folder with a `SKILL.md`.

mod agent_skill;
mod front_matter;

pub(crate) use agent_skill::SKILL;
pub use agent_skill::{
    AgentSkill, FolderError, FolderFile, Form, folder_files, folder_name, write_folder,
};
pub use front_matter::FrontMatterError;
