//! Our own MCP server: one for all the servers behind it.
//!
//! A [`ClientConnection`] answers one client, with what all sessions share in a [`Gateway`]. While a tool
//! works, a `conversation` carries its output, progress and questions to the client; `pending_input`
//! keeps work whose client has to come back with an answer first.

mod changes;
mod client;
mod client_connection;
mod connected_client;
mod conversation;
mod gateway;
mod instructions;
mod json_scan;
mod lines;
mod passed_tools;
mod pending_input;
mod proxy_forward;
mod proxy_listing;
mod request_ids;
mod token_notice;
mod tools;

pub(crate) mod http;
pub(crate) mod stdio;

pub(crate) use client_connection::ClientConnection;
pub(crate) use gateway::{Gateway, Surface};
pub(crate) use instructions::instructions;
pub(crate) use tools::surface_text;
