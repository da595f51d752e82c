//! The workspaces of all namespaces.

use std::{
    collections::HashMap,
    path::PathBuf,
    sync::{Arc, Mutex, PoisonError},
};

use narrows_model::{Limits, is_plain_name};
use narrows_sandbox::Workspace;
use narrows_system::private_file;

use super::{StateError, StateSettings};

/// The workspaces, each opened when it is first needed. A namespace has only one, so that its quota is
/// counted once.
#[derive(Debug)]
pub(super) struct Workspaces {
    dir: PathBuf,
    limits: Limits,
    open: Mutex<HashMap<String, Arc<Workspace>>>,
}

impl Workspaces {
    pub(super) fn new(settings: &StateSettings) -> Self {
        Self {
            dir: settings.workspaces.clone(),
            limits: settings.limits.clone(),
            open: Mutex::default(),
        }
    }

    pub(super) fn open(&self, namespace: &str) -> Result<Arc<Workspace>, StateError> {
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(workspace) = open.get(namespace) {
            return Ok(Arc::clone(workspace));
        }
        let failed = |reason: String| StateError::File { path: namespace.to_owned(), reason };
        if !is_plain_name(namespace) {
            return Err(failed("a namespace has letters, digits, - and _ only".to_owned()));
        }
        private_file::make_dir(&self.dir)
            .map_err(|error| failed(format!("cannot make its workspace: {error}")))?;
        let workspace = Workspace::open_private(self.dir.join(namespace), &self.limits)
            .map_err(|error| failed(error.to_string()))?;
        open.insert(namespace.to_owned(), Arc::clone(&workspace));
        Ok(workspace)
    }
}

#[cfg(test)]
mod tests;
