//! What lasts: files, skills, sessions, boards and shared values, for those who may see them.
//!
//! | file | subject |
//! |---|---|
//! | `lasting` | all of it: the store, and what is kept in memory of it |
//! | `settings`, `error` | where things are kept, and why they cannot be had |
//! | `agent` | one principal's way to all of it, and what it may not do |
//! | `namespace` | whether a principal may use one |
//! | `workspaces` | the directories of all namespaces |
//! | `files` | files as a caller names them |
//! | `outputs` | what the gateway wrote into workspaces: known to the store, and cleaned up |
//! | `events` | the one place where everything that happens is written down |
//! | `audit_writer` | writes the audit beside the work |
//! | `boards` | messages and values that agents share |
//! | `sessions` | programs that see the variables of those before them |
//! | `holder` | which process has a session, and whether it lives |

mod agent;
mod audit_writer;
mod boards;
mod error;
mod events;
mod files;
mod holder;
mod lasting;
mod namespace;
mod outputs;
mod sessions;
mod settings;
mod workspaces;

pub use agent::Agent;
pub use error::StateError;
pub use files::{Encoding, FileContent, FileEntry, ReadRequest, WorkspaceUsage};
pub use lasting::State;
pub use narrows_store::{
    Approval, ApprovalState, AuditSize, Board, Entry as AuditEntry, Filter as AuditFilter, Message,
    Scope, SessionRow, SkillVersion, TokenSelection, Verdict, Verification,
};

pub(crate) use audit_writer::AuditTrail;
pub use files::now;
pub use settings::{SessionSettings, StateSettings};

use namespace::namespace;

#[cfg(test)]
pub(crate) mod tests;
