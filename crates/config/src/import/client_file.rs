//! A configuration file of a client.

use std::{
    io,
    path::{Path, PathBuf},
};

use super::{
    ClientApp,
    location::{Location, Scope},
    yaml,
};
use crate::{
    files,
    syntax::{Node, Syntax, SyntaxError},
};

/// The format of a client's files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Format {
    Json,
    Toml,
    Yaml,
}

impl Format {
    pub(crate) fn of(client: ClientApp) -> Self {
        match client {
            ClientApp::Codex => Self::Toml,
            ClientApp::Goose => Self::Yaml,
            _ => Self::Json,
        }
    }

    pub(crate) fn parse(self, text: &str) -> Result<Node, SyntaxError> {
        match self {
            Self::Json => Syntax::Json.parse(text),
            Self::Toml => Syntax::Toml.parse(text),
            Self::Yaml => yaml::parse(text),
        }
    }
}

/// A table of servers inside a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Container {
    /// The keys that lead to it.
    pub path: Vec<String>,
    pub scope: Scope,
}

/// A file that was read and parsed.
#[derive(Clone, Debug)]
pub struct ClientFile {
    pub(crate) location: Location,
    pub(crate) text: String,
    pub(crate) root: Node,
    pub(crate) containers: Vec<Container>,
}

#[derive(Debug, thiserror::Error)]
pub enum FileError {
    #[error("cannot read it: {0}")]
    Unreadable(#[from] io::Error),
    #[error("it is malformed: {0}")]
    Malformed(#[from] SyntaxError),
}

impl ClientFile {
    /// Reads a file; none if it does not exist. Claude Code keeps all projects in one file: if `project`
    /// is given, only that one is read.
    pub fn read(location: &Location, project: Option<&Path>) -> Option<Result<Self, FileError>> {
        let text = match files::read_text(&location.path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return None,
            Err(error) => return Some(Err(error.into())),
            Ok(text) => text,
        };
        let root = match Format::of(location.client).parse(&text) {
            Ok(root) => root,
            Err(error) => return Some(Err(error.into())),
        };
        let containers = containers(location, &root, project);
        Some(Ok(Self { location: location.clone(), text, root, containers }))
    }
}

pub(super) fn containers(
    location: &Location,
    root: &Node,
    project: Option<&Path>,
) -> Vec<Container> {
    let here = |path: &[&str]| Container {
        path: path.iter().map(|key| (*key).to_owned()).collect(),
        scope: location.scope.clone(),
    };
    match location.client {
        ClientApp::ClaudeCode if location.scope == Scope::User => {
            let projects = root.get("projects").and_then(Node::fields).unwrap_or_default();
            let projects = projects.iter().map(|field| field.name.as_str());
            let wanted = projects.filter(|name| project.is_none_or(|only| Path::new(name) == only));
            let inner = wanted.map(|name| Container {
                scope: Scope::Project(PathBuf::from(name)),
                ..here(&["projects", name, "mcpServers"])
            });
            std::iter::once(here(&["mcpServers"])).chain(inner).collect()
        }
        ClientApp::ClaudeDesktop
        | ClientApp::ClaudeCode
        | ClientApp::Cursor
        | ClientApp::Windsurf
        | ClientApp::Gemini => vec![here(&["mcpServers"])],
        ClientApp::VsCode if location.path.ends_with("settings.json") => {
            vec![here(&["mcp", "servers"])]
        }
        ClientApp::VsCode => vec![here(&["servers"])],
        ClientApp::Zed => vec![here(&["context_servers"])],
        ClientApp::Codex => vec![here(&["mcp_servers"])],
        ClientApp::Opencode => {
            // Version 2 has a table of servers where version 1 has the servers themselves.
            let servers = root.get("mcp").and_then(|mcp| mcp.get("servers"));
            let is_table = servers.is_some_and(|node| {
                node.fields().is_some() && node.get("type").and_then(Node::as_str).is_none()
            });
            vec![here(if is_table { &["mcp", "servers"] } else { &["mcp"] })]
        }
        ClientApp::Goose => vec![here(&["extensions"])],
    }
}
