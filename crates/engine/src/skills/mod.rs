//! The skills of agents: saved, found, imported by programs, tried, exchanged. What a skill is as a file,
//! `narrows_skills` knows; here is what needs an agent's rights, the store, or a run.
//!
//! The code is a module that defines a function or a class of the skill's name.
//!
//! | file | subject |
//! |---|---|
//! | `library` | the skills that are kept: saved, loaded, listed, imported |
//! | `search_index` | the skills of a namespace in the store, ready to be searched |
//! | `code` | the code, looked at before it is kept |
//! | `python_reader` | the code, looked at for those who know skills as files |
//! | `test_runner` | runs the tests of a skill |
//! | `exchange` | skills on their way out of the store and into it |

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
