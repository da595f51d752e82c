//! Imports the MCP servers of other clients.
//!
//! A [`ClientApp`] knows the locations of its files, a [`ClientFile`] is one of them after parsing, a
//! dialect turns its entries into servers, and a [`Plan`] decides the fate of each. `rewrite` changes
//! the files of clients, with backups that [`Applied`] records.

mod applied;
mod apply;
mod client;
mod client_file;
mod connect;
mod dialect;
mod fate;
mod home;
mod location;
mod plan;
mod report;
mod rewrite;
mod summary;
mod variables;
mod yaml;

#[cfg(test)]
mod tests;

pub use applied::{Applied, Force, UndoResult};
pub use apply::{Launch, apply};
pub use client::ClientApp;
pub use client_file::ClientFile;
pub use connect::{ConnectOutcome, ConnectReport, Mode, connect, disconnect};
pub use home::Home;
pub use plan::Plan;
pub use report::ImportReport;
