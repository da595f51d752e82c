//! The report of `narrows import`, as text and as JSON. It holds no secrets.

use std::path::PathBuf;

use serde::Serialize;

use super::{UndoResult, apply::FileResult, fate::EntryFate, plan::Plan, summary::ServerSummary};

#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct ImportReport {
    /// The path of the configuration to which servers are added.
    pub config: PathBuf,
    /// How many servers were added.
    pub added: usize,
    pub files: Vec<FileReport>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub applied: Vec<ChangeReport>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub undone: Vec<ChangeReport>,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct FileReport {
    pub client: &'static str,
    #[serde(skip)]
    title: &'static str,
    pub path: PathBuf,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    pub servers: Vec<ServerReport>,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ServerReport {
    /// The name in the client.
    pub name: String,
    pub outcome: Outcome,
    /// The name in the configuration.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub imported_as: Option<String>,
    /// The reason, if the server was not imported, or not without a change.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    #[serde(flatten, skip_serializing_if = "Option::is_none")]
    pub summary: Option<ServerSummary>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    Imported,
    Duplicate,
    Present,
    Skipped,
}

/// A file of a client that was changed or restored, or for which that failed.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ChangeReport {
    pub client: String,
    pub path: PathBuf,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub backup: Option<PathBuf>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

impl ImportReport {
    pub fn of(plan: &Plan, config: PathBuf) -> Self {
        let files = plan.files.iter().map(|planned| {
            let (error, decisions) = match &planned.outcome {
                Ok((_, decisions)) => (None, &decisions[..]),
                Err(error) => (Some(error.to_string()), &[][..]),
            };
            let servers = decisions.iter().map(|decision| {
                let (outcome, imported_as, reason) = explain(&decision.fate);
                ServerReport {
                    name: decision.name.clone(),
                    outcome,
                    imported_as,
                    reason,
                    summary: decision.summary.clone(),
                    notes: decision.notes.clone(),
                }
            });
            FileReport {
                client: planned.location.client.id(),
                title: planned.location.client.title(),
                path: planned.location.path.clone(),
                error,
                servers: servers.collect(),
            }
        });
        Self { config, files: files.collect(), ..Self::default() }
    }

    pub fn with_applied(mut self, results: Vec<FileResult>) -> Self {
        self.applied = results
            .into_iter()
            .map(|result| {
                let (backup, error) = match result.outcome {
                    Ok(file) => (Some(file.backup), None),
                    Err(error) => (None, Some(error.to_string())),
                };
                let client = result.client.id().to_owned();
                ChangeReport { client, path: result.path, backup, error }
            })
            .collect();
        self
    }

    pub fn with_undone(mut self, results: Vec<UndoResult>) -> Self {
        self.undone = results
            .into_iter()
            .map(|result| ChangeReport {
                client: result.client,
                path: result.path,
                backup: None,
                error: result.outcome.err().map(|error| error.to_string()),
            })
            .collect();
        self
    }

    /// Tells whether a file of a client could not be changed or restored.
    pub fn has_failed_changes(&self) -> bool {
        self.applied.iter().chain(&self.undone).any(|change| change.error.is_some())
    }

    /// Writes the report for people.
    pub fn lines(&self) -> Vec<String> {
        let mut lines = Vec::new();
        for file in &self.files {
            lines.push(format!("{}  {}", file.title, file.path.display()));
            match &file.error {
                Some(error) => lines.push(format!("  ! {error}")),
                None if file.servers.is_empty() => lines.push("  no servers".to_owned()),
                None => {}
            }
            let width = file.servers.iter().map(|server| server.name.chars().count()).max();
            for server in &file.servers {
                lines.extend(server.lines(width.unwrap_or(0).min(24)));
            }
        }
        for change in &self.applied {
            lines.push(match (&change.error, &change.backup) {
                (None, Some(backup)) => format!(
                    "changed {} (backup: {})",
                    change.path.display(),
                    backup.file_name().unwrap_or_default().to_string_lossy()
                ),
                (error, _) => {
                    let error = error.as_deref().unwrap_or_default();
                    format!("left {} as it is: {error}", change.path.display())
                }
            });
        }
        for change in &self.undone {
            lines.push(match &change.error {
                None => format!("put {} back", change.path.display()),
                Some(error) => format!("left {} as it is: {error}", change.path.display()),
            });
        }
        lines
    }
}

impl ServerReport {
    fn lines(&self, width: usize) -> Vec<String> {
        let name = &self.name;
        let mark = match self.outcome {
            Outcome::Imported => '+',
            Outcome::Duplicate | Outcome::Present => '=',
            Outcome::Skipped => '-',
        };
        let text = match (&self.reason, &self.summary) {
            (Some(reason), _) => reason.clone(),
            (None, Some(summary)) => summary.to_string(),
            (None, None) => String::new(),
        };
        let renamed = match &self.imported_as {
            Some(new) if self.outcome == Outcome::Imported && new != name => format!("as {new}: "),
            _ => String::new(),
        };
        let mut lines = vec![format!("  {mark} {name:width$}  {renamed}{text}")];
        lines.extend(self.notes.iter().map(|note| format!("      note: {note}")));
        lines
    }
}

impl std::fmt::Display for ServerSummary {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.start)?;
        for (kind, names) in [("env", &self.env), ("headers", &self.headers)] {
            if !names.is_empty() {
                write!(f, "  {kind}: {}", names.join(", "))?;
            }
        }
        Ok(())
    }
}

fn explain(fate: &EntryFate) -> (Outcome, Option<String>, Option<String>) {
    match fate {
        EntryFate::Imported { name } => (Outcome::Imported, Some(name.clone()), None),
        EntryFate::Duplicate { name, of } => {
            let reason = format!("the same as {name} of {}", of.title());
            (Outcome::Duplicate, Some(name.clone()), Some(reason))
        }
        EntryFate::Present { name } => {
            let reason = format!("in the configuration already, as {name}");
            (Outcome::Present, Some(name.clone()), Some(reason))
        }
        EntryFate::Skipped(skip) => (Outcome::Skipped, None, Some(skip.to_string())),
    }
}
