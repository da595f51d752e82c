//! Adds Narrows to the user's own file of a client, whether or not it has servers yet, and removes it
//! again.

use std::{fs, io, path::PathBuf};

use serde::Serialize;

use super::{
    ClientApp, ClientFile, Home, Launch,
    applied::back_up,
    client_file::{FileError, Format, containers},
    dialect,
    fate::Skip,
    location::{Location, Scope},
    rewrite::{Change, Insertion, Unsafe},
};
use crate::files;

/// Whether files are changed, or only read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    DryRun,
    Write,
}

/// The report on one client.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ConnectReport {
    pub client: &'static str,
    pub path: PathBuf,
    pub outcome: ConnectOutcome,
    /// The file with the text before the change.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub backup: Option<PathBuf>,
    /// How many servers the client has beside Narrows.
    pub other_servers: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ConnectOutcome {
    /// Narrows is in the file now, or would be.
    Connected,
    /// Narrows was in the file before.
    AlreadyConnected,
    /// Narrows is not in the file any more, or would not be.
    Disconnected,
    /// Narrows was not in the file.
    NotConnected,
    Failed,
}

#[derive(Debug, thiserror::Error)]
enum ConnectError {
    #[error(transparent)]
    File(#[from] FileError),
    #[error(transparent)]
    Unsafe(#[from] Unsafe),
    #[error("\"narrows\" is in it and disabled there; enable it in the client, or remove it")]
    Disabled,
    #[error(
        "Narrows is in it and started with other options; take it out first: narrows connect {0} --undo"
    )]
    OtherOptions(&'static str),
    #[error("it was changed by another program at the same time; try again")]
    Changed,
    #[error("it cannot be written: {0}")]
    Write(#[from] io::Error),
}

/// The user's own entries of a file.
#[derive(Debug, Default)]
struct Entries {
    names: Vec<String>,
    narrows: Vec<String>,
    disabled: Vec<String>,
}

impl Entries {
    fn others(&self) -> usize {
        self.names.len() - self.narrows.len()
    }
}

/// A pending change of one client's file.
struct Edit<'a> {
    client: ClientApp,
    home: &'a Home,
    mode: Mode,
}

/// Adds Narrows to the servers of a client.
pub fn connect(client: ClientApp, home: &Home, launch: &Launch, mode: Mode) -> ConnectReport {
    let edit = Edit { client, home, mode };
    let mut report = edit.report();
    let connected = edit.connect(launch, &mut report);
    finish(report, connected)
}

/// Removes Narrows from the servers of a client.
pub fn disconnect(client: ClientApp, home: &Home, mode: Mode) -> ConnectReport {
    let edit = Edit { client, home, mode };
    let mut report = edit.report();
    let disconnected = edit.disconnect(&mut report);
    finish(report, disconnected)
}

fn finish(report: ConnectReport, outcome: Result<ConnectOutcome, ConnectError>) -> ConnectReport {
    match outcome {
        Ok(outcome) => ConnectReport { outcome, ..report },
        Err(error) => ConnectReport { error: Some(error.to_string()), ..report },
    }
}

impl ClientApp {
    /// Tells whether there are traces of the client on this machine.
    pub fn is_installed(self, home: &Home) -> bool {
        self.locations(home, None).iter().any(|location| {
            let directory = location.path.parent().filter(|path| *path != home.directory);
            location.path.exists() || directory.is_some_and(|path| path.is_dir())
        })
    }

    /// Returns the user's file to which a new server is added: the first that exists, or else the first
    /// whose directory exists, or else the first.
    fn own_location(self, home: &Home) -> Option<Location> {
        let mut locations = self.locations(home, None);
        // Only older versions of VS Code read servers from the settings.
        locations.retain(|found| self != Self::VsCode || !found.path.ends_with("settings.json"));
        let directory_exists =
            |found: &Location| found.path.parent().is_some_and(|directory| directory.is_dir());
        let there = locations.iter().position(|found| found.path.exists());
        let place = there.or_else(|| locations.iter().position(directory_exists));
        (!locations.is_empty()).then(|| locations.swap_remove(place.unwrap_or(0)))
    }
}

impl Edit<'_> {
    fn report(&self) -> ConnectReport {
        let path = self.client.own_location(self.home).map(|location| location.path);
        ConnectReport {
            client: self.client.id(),
            path: path.unwrap_or_default(),
            outcome: ConnectOutcome::Failed,
            backup: None,
            other_servers: 0,
            error: None,
        }
    }

    fn connect(
        &self,
        launch: &Launch,
        report: &mut ConnectReport,
    ) -> Result<ConnectOutcome, ConnectError> {
        // The client reads all of its files, so one entry in any of them is enough.
        for location in self.client.locations(self.home, None) {
            let Some(Ok(file)) = read(&location) else { continue };
            let entries = self.entries(&file);
            report.other_servers += entries.others();
            if entries.disabled.iter().any(|name| name == "narrows") {
                report.path = location.path;
                return Err(ConnectError::Disabled);
            }
            if !entries.narrows.is_empty() {
                report.path = location.path;
                let container = file.containers.first().map(|container| &container.path[..]);
                let entry = |name: &String| file.root.at_path(container?)?.get(name);
                let mut found = entries.narrows.iter().filter_map(entry);
                if !found.any(|entry| launch.has_its_options(entry)) {
                    return Err(ConnectError::OtherOptions(self.client.id()));
                }
                return Ok(ConnectOutcome::AlreadyConnected);
            }
        }
        let Some(location) = self.client.own_location(self.home) else {
            return Ok(ConnectOutcome::NotConnected);
        };
        let format = Format::of(self.client);
        let (before, file) = match read(&location) {
            Some(file) => {
                let file = file?;
                (Some(file.text.clone()), file)
            }
            None => (None, empty(&location)?),
        };
        let base = if is_blank(&file.text) { blank(format) } else { file.text.as_str() };
        let entries = self.entries(&file);
        let is_free = |name: &&str| !entries.names.iter().any(|known| known == name);
        let name = ["narrows", "narrows-gateway"].into_iter().find(is_free).ok_or(Unsafe)?;
        let container = file.containers.first().ok_or(Unsafe)?.path.clone();
        let entry = launch.entry(self.client);
        let insertion = Some(Insertion { container, name: name.to_owned(), entry });
        let change = Change { removals: Vec::new(), insertion };
        let after = change.apply(format, base)?;
        report.backup = self.write(&location, before.as_deref(), &after)?;
        Ok(ConnectOutcome::Connected)
    }

    fn disconnect(&self, report: &mut ConnectReport) -> Result<ConnectOutcome, ConnectError> {
        let mut outcome = ConnectOutcome::NotConnected;
        for location in self.client.locations(self.home, None) {
            let Some(file) = read(&location) else { continue };
            let file = match file {
                Ok(file) => file,
                // A file in which Narrows would not be added anyway does not matter.
                Err(_) if location.path != report.path => continue,
                Err(error) => return Err(error.into()),
            };
            let entries = self.entries(&file);
            report.other_servers += entries.others();
            if entries.narrows.is_empty() {
                continue;
            }
            report.path.clone_from(&location.path);
            let above = &file.containers.first().ok_or(Unsafe)?.path;
            let path = |name: String| above.iter().cloned().chain([name]).collect();
            let removals = entries.narrows.into_iter().map(path).collect();
            let change = Change { removals, insertion: None };
            let after = change.apply(Format::of(self.client), &file.text)?;
            report.backup = self.write(&location, Some(&file.text), &after)?;
            outcome = ConnectOutcome::Disconnected;
        }
        Ok(outcome)
    }

    /// Returns the user's entries for all projects, which are in the first container.
    fn entries(&self, file: &ClientFile) -> Entries {
        let mut entries = Entries::default();
        let Some(container) = file.containers.first() else { return entries };
        let node = file.root.at_path(&container.path);
        for field in node.and_then(|node| node.fields()).unwrap_or_default() {
            let name = field.name.clone();
            match dialect::read(file, container, field, self.home) {
                Err(Skip::Narrows) => entries.narrows.push(name.clone()),
                Err(Skip::Disabled) => entries.disabled.push(name.clone()),
                Err(Skip::Builtin) => continue,
                _ => {}
            }
            entries.names.push(name);
        }
        entries
    }

    /// Writes a file, and returns the path of its backup.
    fn write(
        &self,
        location: &Location,
        before: Option<&str>,
        after: &str,
    ) -> Result<Option<PathBuf>, ConnectError> {
        if self.mode == Mode::DryRun {
            return Ok(None);
        }
        if let Some(directory) = location.path.parent() {
            fs::create_dir_all(directory)?;
        }
        let now = match files::read_text(&location.path) {
            Ok(text) => Some(text),
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Err(error) => return Err(error.into()),
        };
        if now.as_deref() != before {
            return Err(ConnectError::Changed);
        }
        let backup = before.map(|text| back_up(&location.path, text)).transpose()?;
        files::replace(&location.path, after)?;
        Ok(backup)
    }
}

/// Reads a file of the user. An empty one is treated like a new one.
fn read(location: &Location) -> Option<Result<ClientFile, FileError>> {
    match files::read_text(&location.path) {
        Ok(text) if is_blank(&text) => {
            Some(empty(location).map(|file| ClientFile { text, ..file }))
        }
        _ => ClientFile::read(location, None),
    }
}

/// Returns an empty file, as the client would create it.
fn empty(location: &Location) -> Result<ClientFile, FileError> {
    let format = Format::of(location.client);
    let text = blank(format);
    let root = format.parse(text)?;
    let location = Location { scope: Scope::User, ..location.clone() };
    let containers = containers(&location, &root, None);
    Ok(ClientFile { location, text: text.to_owned(), root, containers })
}

fn is_blank(text: &str) -> bool {
    text.trim_start_matches('\u{feff}').trim().is_empty()
}

/// Returns the text of an empty file in a format.
fn blank(format: Format) -> &'static str {
    match format {
        Format::Json => "{}\n",
        Format::Toml | Format::Yaml => "",
    }
}

#[cfg(test)]
mod tests;
