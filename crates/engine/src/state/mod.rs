//! Lasting state: files, skills, sessions, boards and shared values, with access rights for each
//! principal.
//!
//! | file | subject |
//! |---|---|
//! | `lasting` | `State`: the store, and everything that is kept in memory for it |
//! | `settings`, `error` | where state is kept, and the reasons why it is not available |
//! | `agent` | the access of one principal, with its rights |
//! | `namespace` | checks whether a principal may use a namespace |
//! | `workspaces` | the directories of all namespaces |
//! | `files` | files as a caller names them |
//! | `outputs` | files that the gateway wrote into workspaces: listed in the store, and cleaned up |
//! | `events` | the one place where all events are recorded |
//! | `audit_writer` | writes the audit in the background |
//! | `boards` | messages and values that agents share |
//! | `sessions` | sessions, in which a program sees the variables of earlier ones |
//! | `holder` | identifies the process that holds a session, and tells whether it is alive |

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
