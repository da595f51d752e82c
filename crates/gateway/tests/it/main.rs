//! Drives the real binary: its commands, and as MCP server with real clients and servers.
#![allow(clippy::unwrap_used, clippy::expect_used, missing_docs)]

mod support;

mod agents;
mod analysis;
mod analysis_safety;
mod analyze_command;
mod audit;
mod command_line;
mod conformance;
mod connect_command;
mod dead_servers;
mod demo_command;
mod direct_servers;
mod discovery;
mod documents;
mod first_tries;
mod hostile_servers;
mod hostile_text;
mod http_clients;
mod import_command;
mod isolation;
mod killed_gateways;
mod login_command;
mod oauth;
mod policy;
mod privacy;
mod private_files;
mod processes;
mod readme;
mod real_clients;
mod real_servers;
mod red_team;
mod replicas;
mod run_command;
mod running_programs;
mod saved_skills;
mod scripted_models;
mod server_starts;
mod servers_command;
mod sessions;
mod skill_exchange;
mod strange_peers;
mod terminal;
mod tools_command;
mod workspace_files;
