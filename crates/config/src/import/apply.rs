//! Replaces the servers that Narrows took over by Narrows itself in the files of clients.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::{
    Applied, ClientApp,
    applied::{AppliedFile, ApplyError},
    client_file::Format,
    fate::{EntryFate, Skip},
    plan::{Decision, Plan, PlannedFile},
    rewrite::{Change, Insertion},
};
use crate::syntax::{self, Node};

/// The command with which clients start Narrows.
#[derive(Clone, Debug)]
pub struct Launch {
    /// The path of the program.
    pub command: String,
    pub args: Vec<String>,
}

/// The last arguments of the command.
const SERVE: [&str; 2] = ["serve", "--stdio"];

/// Collects all texts of an entry, in their order.
fn add_words(node: &Node, words: &mut Vec<String>) {
    match &node.value {
        syntax::Value::String(text) => words.push(text.clone()),
        syntax::Value::Array(items) => items.iter().for_each(|item| add_words(item, words)),
        syntax::Value::Table(fields) => {
            fields.iter().for_each(|field| add_words(&field.node, words));
        }
        _ => {}
    }
}

impl Launch {
    /// Makes the command. `config` and `data` are paths that Narrows would not find by itself.
    pub fn new(command: String, config: Option<&Path>, data: Option<&Path>) -> Self {
        let mut args = Vec::new();
        for (option, path) in [("--config", config), ("--data-dir", data)] {
            let path = path.map(|path| path.to_string_lossy().into_owned());
            args.extend(path.into_iter().flat_map(|path| [option.to_owned(), path]));
        }
        args.extend(SERVE.map(str::to_owned));
        Self { command, args }
    }

    /// Tells whether an entry of a client has the same options. If this command has none, any will do.
    pub(super) fn has_its_options(&self, entry: &Node) -> bool {
        let options = self.args.strip_suffix(&SERVE.map(str::to_owned)).unwrap_or_default();
        let mut words = Vec::new();
        add_words(entry, &mut words);
        options.is_empty() || words.windows(options.len()).any(|words| words == options)
    }

    /// Returns the entry in the client's own form.
    pub(super) fn entry(&self, client: ClientApp) -> Value {
        let (command, args) = (&self.command, &self.args);
        match client {
            ClientApp::ClaudeCode | ClientApp::VsCode => {
                json!({"type": "stdio", "command": command, "args": args})
            }
            ClientApp::Zed => json!({"source": "custom", "command": command, "args": args}),
            ClientApp::Opencode => {
                let words: Vec<_> = std::iter::once(command).chain(args).collect();
                json!({"type": "local", "command": words})
            }
            ClientApp::Goose => json!({
                "enabled": true, "type": "stdio", "name": "narrows", "cmd": command,
                "args": args, "description": "one MCP server in front of many",
                "envs": {}, "env_keys": [], "timeout": 300,
            }),
            ClientApp::ClaudeDesktop
            | ClientApp::Cursor
            | ClientApp::Windsurf
            | ClientApp::Codex
            | ClientApp::Gemini => json!({"command": command, "args": args}),
        }
    }
}

/// The result of changing one file.
#[derive(Debug)]
pub struct FileResult {
    pub client: ClientApp,
    pub path: PathBuf,
    pub outcome: Result<AppliedFile, ApplyError>,
}

/// Changes every file from which servers were taken over. A file that fails stays as it is, and the
/// others are still changed.
pub fn apply(plan: &Plan, launch: &Launch, applied: &mut Applied) -> Vec<FileResult> {
    let mut results = Vec::new();
    // A client that has two files in one directory reads both, and needs Narrows only once.
    let place = |file: &PlannedFile| {
        let location = &file.location;
        (location.client, location.path.parent().map(Path::to_owned))
    };
    let has_narrows = |file: &&PlannedFile| {
        let decisions = file.outcome.as_ref().map_or(&[][..], |(_, decisions)| decisions);
        decisions.iter().any(|decision| {
            decision.container == 0 && decision.fate == EntryFate::Skipped(Skip::Narrows)
        })
    };
    let mut served: Vec<_> = plan.files.iter().filter(has_narrows).map(place).collect();
    for planned in &plan.files {
        let Ok((file, decisions)) = &planned.outcome else { continue };
        let location = &planned.location;
        let containers: Vec<_> = file.containers.iter().map(|inside| &inside.path[..]).collect();
        let entry = (!served.contains(&place(planned))).then(|| launch.entry(location.client));
        let Some(change) = change(&containers, decisions, entry) else { continue };
        let outcome = change
            .apply(Format::of(location.client), &file.text)
            .map_err(ApplyError::from)
            .and_then(|text| applied.replace(location, &file.text, &text));
        if outcome.is_ok() {
            served.push(place(planned));
        }
        results.push(FileResult { client: location.client, path: location.path.clone(), outcome });
    }
    results
}

/// Returns the change of a file, or none if no server was taken over. Without an `entry`, the client
/// has Narrows already.
fn change(
    containers: &[&[String]],
    decisions: &[Decision],
    entry: Option<Value>,
) -> Option<Change> {
    let path = |decision: &Decision| {
        let above = containers.get(decision.container).copied().unwrap_or_default();
        above.iter().chain([&decision.name]).cloned().collect::<Vec<_>>()
    };
    let (taken, kept): (Vec<_>, Vec<_>) =
        decisions.iter().partition(|decision| decision.fate.is_taken_over());
    if taken.is_empty() {
        return None;
    }
    // The first container has the user's servers for all projects.
    let is_free =
        |name: &&str| !kept.iter().any(|other| other.container == 0 && other.name == **name);
    let name = ["narrows", "narrows-gateway"].into_iter().find(is_free)?;
    let insertion = match entry {
        Some(entry) => {
            let container = containers.first()?.to_vec();
            Some(Insertion { container, name: name.to_owned(), entry })
        }
        None => None,
    };
    Some(Change { removals: taken.into_iter().map(path).collect(), insertion })
}
