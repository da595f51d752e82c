//! Our own MCP server: one for all the servers behind it.
//!
//! A [`Session`] answers one client, with what all sessions share in a [`Gateway`]. While a tool
//! works, a `conversation` carries its output, progress and questions to the client; `parked`
//! keeps work whose client has to come back with an answer first.

mod changes;
mod client;
mod conversation;
mod gateway;
mod instructions;
mod json_scan;
mod lines;
mod parked;
mod passed_tools;
mod passing;
mod passthrough;
mod request_ids;
mod session;
mod token_notice;
mod tools;

pub(crate) mod http;
pub(crate) mod stdio;

pub(crate) use gateway::{Gateway, Surface};
pub(crate) use instructions::instructions;
pub(crate) use session::Session;
pub(crate) use tools::surface_text;
