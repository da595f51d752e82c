//! The skills of agents: saving, finding, importing, testing and exchanging them. `narrows_skills`
//! handles skills as files; this module has what needs an agent's rights, the store, or a run.
//!
//! The code is a module that defines a function or a class of the skill's name.
//!
//! | file | subject |
//! |---|---|
//! | `library` | saves, loads, lists and imports skills |
//! | `search_index` | the search index over the skills of a namespace |
//! | `code` | analyses the code of a skill before it is saved |
//! | `python_reader` | analyses the code for `narrows_skills`, which does not know Python |
//! | `test_runner` | runs the tests of a skill |
//! | `exchange` | packs skills of the store, and installs packages into it |

mod code;
mod exchange;
mod library;
mod python_reader;
mod search_index;
mod test_runner;

#[cfg(test)]
mod tests;

pub use code::{Analysed, SkillError};
pub use exchange::SkillOrigin;
pub use library::{Library, LibraryError, ListedSkill, SavedSkill, SkillDraft};
pub use narrows_python::uses::ToolReference;
pub(crate) use narrows_skills::sha256;
pub use python_reader::PythonReader;
pub use test_runner::{TestResult, TrialMode, TrialReport, try_skill};
