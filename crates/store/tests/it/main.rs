//! What the store promises, on SQLite and on PostgreSQL.
#![allow(clippy::unwrap_used, clippy::expect_used, missing_docs)]

mod approvals;
mod audit;
mod boards;
mod cancellation;
mod child;
mod files;
mod home;
mod migrations;
mod opening;
mod processes;
mod queries;
mod retention;
mod server;
mod sessions;
mod shared;
mod skills;
mod vault;
mod wiping;
