//! The commands of `narrows`: one file for each, which parses its arguments, runs it and reports the
//! result.
//!
//! | file | subject |
//! |---|---|
//! | `command_line` | all commands with what they have in common |
//! | `serve` | `serve`, which clients start |
//! | `setup/` | `import`, `connect`, `doctor`, `completions`, `man`: what is done once |
//! | `servers/`, `tools/` | what is behind the gateway |
//! | `programs/` | `run` and `analyze` |
//! | `skills/` | `skills`, also on their way to others and from them |
//! | `lasting/` | `workspace`, `sessions`, `boards`: what agents keep |
//! | `safety/` | `pii`, `approvals`, `audit` |
//! | `stats`, `waiting` | tokens that were counted; what is shown while a command waits |

mod command_line;
mod lasting;
mod programs;
mod safety;
pub(crate) mod serve;
pub(crate) mod servers;
mod setup;
pub(crate) mod skills;
pub(crate) mod stats;
pub(crate) mod tools;
mod waiting;

pub(crate) use command_line::{Cli, Command, CommandScope};
pub(crate) use lasting::{boards, sessions, workspace};
pub(crate) use programs::{analyze, run};
pub(crate) use safety::{approvals, audit, pii};
pub(crate) use setup::{completions, connect, doctor, import, man};
