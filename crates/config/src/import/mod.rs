//! Takes over the MCP servers that other clients have.
//!
//! A [`ClientApp`] knows where its files are, a [`ClientFile`] is one of them as it was read, a
//! dialect turns its entries into servers, and a [`Plan`] decides what becomes of each. Files of
//! clients are changed by `rewrite`, with backups that [`Applied`] remembers.

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
