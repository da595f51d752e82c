//! Finds a tool by whatever name a model has for it.

use std::sync::Arc;

use thiserror::Error;

use super::{Catalog, ServerTools, Tool, suggest::suggest_of_any};
use narrows_model::{clipped_name, nearest, there_are};

/// A server that is in the configuration and switched off.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error("the server {0:?} is disabled; ask the user to run `narrows servers enable {0}`")]
pub struct DisabledServer(pub String);

/// Why a name means no tool.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum Unresolved {
    #[error("there is no server {server:?}{hint}")]
    NoServer { server: String, hint: String },
    #[error(transparent)]
    Disabled(#[from] DisabledServer),
    #[error("the tools of the server {0:?} are not known yet")]
    NotListed(String),
    #[error("the server {server:?} has no tool {tool:?}{hint}")]
    NoTool { server: String, tool: String, hint: String },
    #[error("there is no tool {tool:?}{hint}")]
    NoToolAnywhere { tool: String, hint: String },
    #[error("several servers have a tool {tool:?}: say which, as in {}", .choices.join(" or "))]
    Ambiguous { tool: String, choices: Vec<String> },
}

impl Catalog {
    /// The server and the tool that a name speaks of: `mcp__server__tool`, `server.tool`,
    /// `servers.server.tool`, or `tool` alone. The tool need not exist.
    pub fn split_name<'a>(&'a self, name: &'a str) -> (Option<&'a str>, &'a str) {
        let rest = name.strip_prefix("mcp__");
        if let Some((server, tool)) = rest.and_then(|rest| rest.split_once("__")) {
            return (Some(self.server_of(server).unwrap_or(server)), tool);
        }
        let path = name.strip_prefix("servers.").unwrap_or(name);
        for separator in ['.', '/', ':'] {
            // A server's name may itself have dots: the longest one that exists counts.
            for (at, _) in path.rmatch_indices(separator) {
                let server =
                    self.server_of(&path[..at]).or_else(|| self.disabled_name(&path[..at]));
                if let Some(server) = server {
                    return (Some(server), path[at + 1..].trim_start_matches(separator));
                }
            }
        }
        (None, path)
    }

    /// The tool that a name means.
    pub fn resolve(&self, name: &str, server: Option<&str>) -> Result<Arc<Tool>, Unresolved> {
        let (named, tool) = self.split_name(name.trim());
        match named.or(server) {
            Some(server) => self.tool_of(server, tool),
            None => self.tool_of_any(tool),
        }
    }

    fn tool_of(&self, server: &str, tool: &str) -> Result<Arc<Tool>, Unresolved> {
        let Some(server) = self.server_of(server) else {
            if let Some(disabled) = self.disabled(server) {
                return Err(disabled.into());
            }
            let known = self.modules().iter().flat_map(|(name, module)| [name, module]);
            let mut near = nearest(server, known.map(String::as_str));
            near.0.dedup();
            let hint = match near.0.is_empty() {
                true => there_are(self.modules().values().map(String::as_str)),
                false => near.to_string(),
            };
            return Err(Unresolved::NoServer { server: clipped_name(server), hint });
        };
        let listing = self.listing(server).ok_or_else(|| Unresolved::NotListed(server.into()))?;
        listing.tool(tool).cloned().ok_or_else(|| Unresolved::NoTool {
            server: server.into(),
            tool: clipped_name(tool),
            hint: listing.suggest(tool),
        })
    }

    fn tool_of_any(&self, tool: &str) -> Result<Arc<Tool>, Unresolved> {
        let snapshot = self.snapshot();
        let found: Vec<&Arc<Tool>> =
            snapshot.servers().filter_map(|server| server.tool(tool)).collect();
        match found.as_slice() {
            [one] => Ok(Arc::clone(one)),
            [] => {
                let servers: Vec<Arc<ServerTools>> = snapshot.servers().cloned().collect();
                let hint = suggest_of_any(tool, &servers);
                Err(Unresolved::NoToolAnywhere { tool: clipped_name(tool), hint })
            }
            many => {
                let choices = many
                    .iter()
                    .take(5)
                    .map(|tool| format!("{}.{}", tool.module, tool.name.python))
                    .collect();
                Err(Unresolved::Ambiguous { tool: tool.into(), choices })
            }
        }
    }
}
