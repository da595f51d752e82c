//! The store's list of workspace files: who wrote each, and which of them the gateway created by
//! itself. The latter are cleaned up; files that an agent named never are.

use std::collections::{HashMap, HashSet};

use narrows_sandbox::Workspace;
use narrows_store::{FileOrigin, FileRow};

use super::{
    Agent, StateError,
    files::{FileEntry, file_error, milliseconds},
};
use crate::{compute::ALWAYS_APART, media_type};

impl Agent {
    /// Updates the store's list of this principal's files, if any changed.
    pub async fn note_files(&self) {
        self.note_files_of(&self.principal().home).await;
    }

    pub(super) async fn note_files_of(&self, namespace: &str) {
        let noting = self.try_note_files(namespace);
        self.state.note("what is known of the workspace's files is not up to date", noting).await;
    }

    async fn try_note_files(&self, namespace: &str) -> Result<(), StateError> {
        let workspace = self.state.workspaces.open(namespace)?;
        // Before `take_changed`, so that the change is not forgotten if the store fails.
        let store = self.store().await?;
        if !workspace.take_changed() {
            return Ok(());
        }
        let made: HashSet<String> = workspace.take_made().into_iter().collect();
        let place = &self.state.settings.place;
        let known = store.files().list(namespace, place).await?;
        // There can be thousands of files, which must not hold up other requests.
        let comparing = || self.changed_files(&workspace, &known, &made);
        let (changed, gone) = self.compute(ALWAYS_APART, comparing).await?;
        store.files().put(namespace, place, &changed).await?;
        store.files().remove(namespace, place, &gone).await?;
        if !made.is_empty() {
            self.clean_up(namespace, &workspace, &made).await?;
        }
        Ok(())
    }

    /// Compares the files on the disk with those in the list. Returns the new and changed files, and
    /// the names of those that are gone.
    fn changed_files(
        &self,
        workspace: &Workspace,
        known: &[FileRow],
        made: &HashSet<String>,
    ) -> Result<(Vec<FileRow>, Vec<String>), StateError> {
        let known: HashMap<&str, &FileRow> =
            known.iter().map(|row| (row.path.as_str(), row)).collect();
        let walked = workspace.walk().map_err(|error| file_error("/workspace", &error))?;
        let there: HashSet<&str> = walked.iter().map(|file| file.path.as_str()).collect();
        let gone: Vec<String> = known
            .keys()
            .filter(|path| !there.contains(*path))
            .map(|path| (*path).to_owned())
            .collect();
        let mut changed = Vec::new();
        for file in &walked {
            let modified_at = milliseconds(file.modified);
            let is_made = made.contains(&file.path);
            let old = known.get(file.path.as_str());
            if old
                .is_some_and(|old| old.bytes == file.bytes as i64 && old.modified_at == modified_at)
            {
                continue;
            }
            changed.push(FileRow {
                path: file.path.clone(),
                bytes: i64::try_from(file.bytes).unwrap_or(i64::MAX),
                media_type: media_type::type_of(&file.path, &[]).to_owned(),
                // A file that an agent overwrites belongs to the agent from then on.
                origin: if is_made { FileOrigin::Output } else { FileOrigin::Agent },
                author: self.name().to_owned(),
                modified_at,
            });
        }
        Ok((changed, gone))
    }

    /// Removes outputs that are too old, and the oldest ones while all are too large together. Outputs
    /// that were just made stay, because an answer names them.
    async fn clean_up(
        &self,
        namespace: &str,
        workspace: &Workspace,
        just_made: &HashSet<String>,
    ) -> Result<(), StateError> {
        let settings = &self.state.settings;
        let store = self.store().await?;
        let outputs = store.files().outputs(namespace, &settings.place).await?;
        let oldest = milliseconds(std::time::SystemTime::now().checked_sub(settings.output_age));
        let mut bytes: i64 = outputs.iter().map(|row| row.bytes).sum();
        let max = i64::try_from(settings.output_bytes).unwrap_or(i64::MAX);
        let removing = || {
            let mut removed = Vec::new();
            for row in outputs {
                if row.modified_at >= oldest && bytes <= max {
                    break;
                }
                if just_made.contains(&row.path) {
                    continue;
                }
                bytes -= row.bytes;
                // A file that is already gone counts as removed.
                if let Err(error) = workspace.remove(&row.path)
                    && error.kind() != std::io::ErrorKind::NotFound
                {
                    tracing::warn!(%error, path = row.path, "an old output could not be removed");
                    continue;
                }
                removed.push(row.path);
            }
            removed
        };
        let removed = self.compute(ALWAYS_APART, removing).await;
        Ok(store.files().remove(namespace, &settings.place, &removed).await?)
    }

    /// Lists the files on the disks of other gateways.
    pub(super) async fn files_elsewhere(
        &self,
        namespace: &str,
    ) -> Result<Vec<FileEntry>, StateError> {
        let files = self.store().await?.files();
        let rows = files.elsewhere(namespace, &self.state.settings.place).await?;
        let entries = rows.into_iter().map(|(place, row)| FileEntry {
            path: row.path,
            bytes: u64::try_from(row.bytes).unwrap_or_default(),
            modified: row.modified_at,
            elsewhere: Some(place),
        });
        Ok(entries.collect())
    }
}

#[cfg(test)]
mod tests;
