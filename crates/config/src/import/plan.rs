//! Decides the fate of every entry that was found.

use std::path::{Path, PathBuf};

use narrows_model::Connection;

use super::{
    ClientApp, ClientFile, Home,
    client_file::FileError,
    dialect,
    fate::{Directory, EntryFate, FoundServer, Skip},
    location::Location,
    summary::ServerSummary,
};
use crate::settings::{Config, MAX_LETTERS, ServerEntry, valid_name};

/// An entry of a client's file and its fate.
#[derive(Clone, Debug)]
pub struct Decision {
    /// The index of its container in the file.
    pub container: usize,
    pub name: String,
    pub fate: EntryFate,
    pub summary: Option<ServerSummary>,
    pub notes: Vec<String>,
}

/// A file and the decisions about its entries.
#[derive(Debug)]
pub struct PlannedFile {
    pub location: Location,
    pub outcome: Result<(ClientFile, Vec<Decision>), FileError>,
}

/// Everything that was found, and the servers to add.
#[derive(Debug, Default)]
pub struct Plan {
    pub files: Vec<PlannedFile>,
    pub additions: Vec<ServerEntry>,
    /// The locations without a file.
    pub missing: Vec<PathBuf>,
}

/// A name that is in use, and the server that uses it.
struct Taken {
    name: String,
    connection: Connection,
    directory: Directory,
    by: Owner,
}

#[derive(Clone, Copy)]
enum Owner {
    /// The configuration has it already.
    Config,
    /// The configuration has it with `enabled = false`.
    Disabled,
    /// It is imported from this client.
    Client(ClientApp),
}

impl Plan {
    /// Reads the files of the clients and compares them with the servers in `config`.
    pub fn make(
        clients: &[ClientApp],
        home: &Home,
        project: Option<&Path>,
        config: &Config,
    ) -> Self {
        let mut plan = Self::default();
        let enabled = config.servers.iter().map(|server| (server, Owner::Config));
        let disabled = config.disabled.iter().map(|server| (server, Owner::Disabled));
        let mut taken: Vec<Taken> = enabled
            .chain(disabled)
            .map(|(server, by)| Taken {
                name: server.name.clone(),
                connection: server.connection.clone(),
                directory: Directory::Written,
                by,
            })
            .collect();
        for location in clients.iter().flat_map(|client| client.locations(home, project)) {
            let outcome = match ClientFile::read(&location, project) {
                None => {
                    plan.missing.push(location.path);
                    continue;
                }
                Some(Err(error)) => Err(error),
                Some(Ok(file)) => {
                    let decisions = plan.decide(&file, home, &mut taken);
                    Ok((file, decisions))
                }
            };
            plan.files.push(PlannedFile { location, outcome });
        }
        plan
    }

    /// Tells whether any file could be read.
    pub fn has_read_any(&self) -> bool {
        self.files.iter().any(|file| file.outcome.is_ok())
    }

    fn decide(&mut self, file: &ClientFile, home: &Home, taken: &mut Vec<Taken>) -> Vec<Decision> {
        let mut decisions = Vec::new();
        for (container, inside) in file.containers.iter().enumerate() {
            let Some(node) = file.root.at_path(&inside.path) else { continue };
            for field in node.fields().unwrap_or_default() {
                let mut decision = Decision {
                    container,
                    name: field.name.clone(),
                    fate: EntryFate::Skipped(Skip::Builtin),
                    summary: None,
                    notes: Vec::new(),
                };
                match dialect::read(file, inside, field, home) {
                    Err(skip) => decision.fate = EntryFate::Skipped(skip),
                    Ok(mut found) => {
                        if let Some(project) = inside.scope.project() {
                            found.notes.push(format!("it was only for {}", project.display()));
                        }
                        decision.summary = Some(ServerSummary::of(&found.connection));
                        self.place(file.location.client, found, taken, &mut decision);
                    }
                }
                decisions.push(decision);
            }
        }
        decisions
    }

    /// Finds a name for a server, unless Narrows already has that server under some name.
    fn place(
        &mut self,
        client: ClientApp,
        found: FoundServer,
        taken: &mut Vec<Taken>,
        decision: &mut Decision,
    ) {
        let same = taken.iter().find(|other| found.is_same(&other.connection, other.directory));
        if let Some(same) = same {
            let name = same.name.clone();
            decision.fate = match same.by {
                Owner::Client(of) => EntryFate::Duplicate { name, of },
                Owner::Config => EntryFate::Present { name },
                Owner::Disabled => EntryFate::Skipped(Skip::DisabledHere { name }),
            };
            return;
        }
        let wanted = valid_name(&decision.name);
        let name = free_name(&wanted, client, taken);
        let entry = ServerEntry {
            start_timeout: found.start_timeout,
            call_timeout: found.call_timeout,
            ..ServerEntry::new(name.clone(), found.connection.clone())
        };
        if let Err(reason) = entry.check() {
            decision.fate = EntryFate::Skipped(Skip::Unusable(reason));
            return;
        }
        decision.notes = found.notes;
        if wanted != decision.name {
            decision.notes.push(format!("{:?} is not a name for a server here", decision.name));
        }
        if name != wanted {
            decision.notes.push(format!("another server has the name {wanted}"));
        }
        decision.fate = EntryFate::Imported { name: name.clone() };
        let (connection, directory) = (found.connection, found.directory);
        taken.push(Taken { name, connection, directory, by: Owner::Client(client) });
        self.additions.push(entry);
    }
}

fn free_name(wanted: &str, client: ClientApp, taken: &[Taken]) -> String {
    let is_free = |name: &String| !taken.iter().any(|other| other.name == *name);
    let suffixes = [String::new(), format!("-{}", client.id())]
        .into_iter()
        .chain((2..).map(|number| format!("-{}-{number}", client.id())));
    let mut names = suffixes.map(|suffix| {
        // A long name is cut to make room for the suffix. Valid names are ASCII.
        let kept = wanted.len().min(MAX_LETTERS - suffix.len());
        format!("{}{suffix}", &wanted[..kept])
    });
    names.find(is_free).unwrap_or_default()
}
