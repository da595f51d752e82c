//! Skills as files: how they are packed, signed, pinned to tools, published, found and fetched.
//!
//! The engine stores skills and runs them. A [`CodeReader`] finds out what their code defines and uses.
//!
//! | module | subject |
//! |---|---|
//! | `name` | the names that a skill may have |
//! | `code` | the interface to the reader of Python code |
//! | `import_cycle` | skills that import one another in a circle |
//! | `canonical` | the canonical form of JSON, for hashes and signatures |
//! | `safe_path` | files of an untrusted directory, and nothing outside of it |
//! | `pins` | the tools that a skill was written for, and their changes since |
//! | `package` | a skill as one file, with its manifest, recorded tool results and a signature |
//! | `prose_skill` | a skill of instructions, as code |
//! | `folder` | the Agent Skills form: a folder with a `SKILL.md` |
//! | `registry` | a directory of packages that any static host can serve |
//! | `source` | the sources of skills: files, directories, git, the web |

mod canonical;
mod code;
mod folder;
mod import_cycle;
mod name;
mod package;
mod pins;
mod prose_skill;
mod registry;
mod safe_path;
mod source;

pub use canonical::sha256;
pub use code::{CodeError, CodeReader, SkillCode};
pub use folder::{
    AgentSkill, FolderError, FolderFile, Form, FrontMatterError, folder_files, folder_name,
    write_folder,
};
pub use import_cycle::{Cycle, find_cycle};
pub use name::{NameError, check_name, identifier};
pub use package::{
    Fingerprint, KeyError, KeyFile, Manifest, ManifestDetails, ManifestError, NeededTool,
    NotRecorded, Package, PackageError, RecordedCall, RecordedReply, Recording, SignatureError,
    Signed,
};
pub use pins::{Difference, Pin, Pins, ToolChange, compare};
pub use prose_skill::{PROSE_MARK, Texts};
pub use registry::{Index, IndexEntry, IndexError, Registry, RegistryError};
pub use source::{
    Fetched, FetchedSkill, Fetcher, GitError, GitUrl, SkillSource, SourceError, WebError,
};
