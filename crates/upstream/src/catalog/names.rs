//! Finds a tool by whatever name a model has for it.

use std::sync::Arc;

use thiserror::Error;

use super::{Catalog, ServerTools, Tool, suggest::suggest_of_any};
use narrows_model::{clipped_name, nearest, there_are};

/// The longest name that is looked up, in bytes: more than a server's name and a tool's have together.
/// Each dot of a longer one would be looked at as the end of a server's name, millions of them for
/// seconds.
const MAX_FULL_NAME_BYTES: usize = 1 << 10;

/// An error for a server that is configured but disabled.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error("the server {0:?} is disabled; ask the user to run `narrows servers enable {0}`")]
pub struct DisabledServer(pub String);

/// The reason why a name means no tool, with what may have been meant.
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
    #[error(
        "{name:?} names no tool: it has {bytes} bytes, and names have at most {MAX_FULL_NAME_BYTES}"
    )]
    TooLong { name: String, bytes: usize },
}

/// The reason why a name means no tool, without what may have been meant: to find that takes time.
#[derive(Clone, Debug)]
pub enum Missing {
    /// There is no server of this name.
    Server(String),
    Disabled(DisabledServer),
    /// The tools of this server are not known yet.
    NotListed(String),
    Tool {
        server: Arc<ServerTools>,
        tool: String,
    },
    ToolAnywhere(String),
    Ambiguous {
        tool: String,
        choices: Vec<String>,
    },
    TooLong {
        name: String,
        bytes: usize,
    },
}

impl Catalog {
    /// Splits a name into server and tool: `mcp__server__tool`, `server.tool`, `servers.server.tool`,
    /// or `tool` alone. The tool need not exist.
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

    /// Finds the tool that a name means, or says what may have been meant.
    pub fn resolve(&self, name: &str, server: Option<&str>) -> Result<Arc<Tool>, Unresolved> {
        self.find(name, server).map_err(|missing| self.advise(missing))
    }

    /// Finds the tool that a name means. Takes no time, whatever the name is.
    pub fn find(&self, name: &str, server: Option<&str>) -> Result<Arc<Tool>, Missing> {
        let name = name.trim();
        let mut names = [name, server.unwrap_or_default()].into_iter();
        if let Some(long) = names.find(|name| name.len() > MAX_FULL_NAME_BYTES) {
            return Err(Missing::TooLong { name: clipped_name(long), bytes: long.len() });
        }
        let (named, tool) = self.split_name(name);
        match named.or(server) {
            Some(server) => self.tool_of(server, tool),
            None => self.tool_of_any(tool),
        }
    }

    fn tool_of(&self, server: &str, tool: &str) -> Result<Arc<Tool>, Missing> {
        let Some(server) = self.server_of(server) else {
            let disabled = self.disabled(server).map(Missing::Disabled);
            return Err(disabled.unwrap_or_else(|| Missing::Server(server.to_owned())));
        };
        let listing = self.listing(server).ok_or_else(|| Missing::NotListed(server.into()))?;
        let found = listing.tool(tool).cloned();
        found.ok_or_else(|| Missing::Tool { server: listing, tool: tool.to_owned() })
    }

    fn tool_of_any(&self, tool: &str) -> Result<Arc<Tool>, Missing> {
        let snapshot = self.snapshot();
        let found: Vec<&Arc<Tool>> =
            snapshot.servers().filter_map(|server| server.tool(tool)).collect();
        match found.as_slice() {
            [one] => Ok(Arc::clone(one)),
            [] => Err(Missing::ToolAnywhere(tool.to_owned())),
            many => {
                let choices = many
                    .iter()
                    .take(5)
                    .map(|tool| format!("{}.{}", tool.module, tool.name.python))
                    .collect();
                Err(Missing::Ambiguous { tool: tool.into(), choices })
            }
        }
    }

    /// Says what may have been meant by a name. With many tools this takes milliseconds.
    pub fn advise(&self, missing: Missing) -> Unresolved {
        match missing {
            Missing::Server(server) => {
                let known = self.modules().iter().flat_map(|(name, module)| [name, module]);
                let mut near = nearest(&server, known.map(String::as_str));
                near.0.dedup();
                let hint = match near.0.is_empty() {
                    true => there_are(self.modules().values().map(String::as_str)),
                    false => near.to_string(),
                };
                Unresolved::NoServer { server: clipped_name(&server), hint }
            }
            Missing::Disabled(disabled) => disabled.into(),
            Missing::NotListed(server) => Unresolved::NotListed(server),
            Missing::Tool { server, tool } => Unresolved::NoTool {
                server: server.server.clone(),
                tool: clipped_name(&tool),
                hint: server.suggest(&tool),
            },
            Missing::ToolAnywhere(tool) => {
                let servers: Vec<Arc<ServerTools>> = self.snapshot().servers().cloned().collect();
                let hint = suggest_of_any(&tool, &servers);
                Unresolved::NoToolAnywhere { tool: clipped_name(&tool), hint }
            }
            Missing::Ambiguous { tool, choices } => Unresolved::Ambiguous { tool, choices },
            Missing::TooLong { name, bytes } => Unresolved::TooLong { name, bytes },
        }
    }
}
