//! The store of everything that lasts: skills, sessions, boards, shared values, workspace files, the
//! vault, approvals and the audit, in SQLite or PostgreSQL.
//!
//! A [`Store`] is opened at a [`StoreUrl`] and gives one small handle for each subject. All SQL is in
//! `queries`, all that differs between the two databases in `database`, `connect`, `wipe`
//! and the migrations. What a method has answered is in the database: it survives the process.

mod approvals;
mod audit;
mod boards;
mod clock;
mod connect;
mod database;
mod error;
mod files;
mod limits;
mod migrate;
mod queries;
mod sessions;
mod shared;
mod skills;
mod store;
mod store_url;
mod vault;
mod wipe;

pub use approvals::{Approval, ApprovalState, Approvals, CallKey, NewApproval, Scope, Verdict};
pub use audit::{Audit, AuditSize, Damage, Entry, Filter, NewEntry, PruneReport, Verification};
pub use boards::{Board, Boards, Message};
pub use error::StoreError;
pub use files::{FileOrigin, FileRow, Files, Total};
pub use limits::{
    BOARD_KEEPS, CODE_BYTES, NAME_BYTES, PATH_BYTES, SHOWN_BYTES, STATE_BYTES, VALUE_BYTES,
};
pub use migrate::SCHEMA_VERSION;
pub use sessions::{LeaseResult, SessionRow, SessionSnapshot, SessionState, Sessions};
pub use shared::{Expected, SetResult, Shared, SharedValue};
pub use skills::{NewSkill, SaveResult, Skill, SkillHead, SkillVersion, Skills};
pub use store::Store;
pub use store_url::{InvalidStoreUrl, PostgresPlace, StoreUrl};
pub use vault::{EncryptedValue, TokenSelection, Vault, VaultCount};
