//! What a skill is: Python that an agent saved under a name, and how it is checked and shared.
//!
//! The code is a module that defines a function or a class of the skill's name.
//!
//! | file | subject |
//! |---|---|
//! | `library` | the skills that are kept: saved, loaded, listed, imported |
//! | `search_index` | the skills of a namespace, ready to be searched |
//! | `name` | what a skill may be called |
//! | `code` | the code, looked at before it is kept |
//! | `import_cycle` | skills that import one another in a circle |
//! | `pins` | the schemas of the tools that a skill was written for |
//! | `changes` | what changed of a tool since, in words |
//! | `schema` | what is compared of a JSON schema |
//! | `recorded` | recorded tool results, for the tests of a skill |
//! | `test_runner` | runs the tests of a skill |
//! | `canonical` | the one way to write a JSON value down, for hashes and signatures |
//! | `exchange` | skills on their way out of the store and into it |
//! | `manifest`, `package` | a skill as one file |
//! | `signature` | who signed it |
//! | `registry`, `index` | a directory of packages that any static host can serve |
//! | `safe_path` | files of a directory from elsewhere, and nothing outside of it |
//! | `folder`, `front_matter` | the Agent Skills form: a folder with a `SKILL.md` |
//! | `prose_skill` | a skill of instructions, as code |
//! | `source`, `fetch`, `directory`, `web`, `git` | where skills are installed from |

mod canonical;
mod changes;
mod code;
mod directory;
mod exchange;
mod fetch;
mod folder;
mod front_matter;
mod git;
mod import_cycle;
mod index;
mod library;
mod manifest;
mod name;
mod package;
mod pins;
mod prose_skill;
mod recorded;
mod registry;
mod safe_path;
mod schema;
mod search_index;
mod signature;
mod source;
mod test_runner;
mod web;

#[cfg(test)]
mod tests;

pub(crate) use canonical::sha256;
pub use changes::{Difference, ToolChange};
pub use code::{Analysed, SkillError};
pub use exchange::SkillOrigin;
pub use fetch::{Fetched, FetchedSkill, Fetcher};
pub use folder::{
    AgentSkill, FolderError, FolderFile, Form, folder_files, folder_name, write_folder,
};
pub use front_matter::FrontMatterError;
pub use git::{GitError, GitUrl};
pub use import_cycle::{Cycle, find_cycle};
pub use index::{Index, IndexEntry, IndexError};
pub use library::{Library, LibraryError, ListedSkill, SavedSkill, SkillDraft};
pub use manifest::{Manifest, ManifestDetails, ManifestError, NeededTool};
pub use name::{NameError, check_name, identifier};
use narrows_python::uses;
pub use narrows_python::uses::ToolReference;
pub use package::{Package, PackageError};
pub use pins::{Pin, Pins, compare};
pub use recorded::{NotRecorded, RecordedCall, RecordedReply, Recording};
pub use registry::{Registry, RegistryError};
pub use signature::{Fingerprint, KeyError, KeyFile, SignatureError, Signed};
pub use source::{SkillSource, SourceError};
pub use test_runner::{TestResult, TrialMode, TrialReport, try_skill};
pub use web::WebError;
