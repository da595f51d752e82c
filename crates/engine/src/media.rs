//! Images, sound and other bytes: stored as files for the program, and passed to the client when the
//! program displays them.

use std::sync::{Arc, Mutex, PoisonError};

use base64::{Engine, prelude::BASE64_STANDARD};
use narrows_sandbox::{Workspace, WorkspaceMount};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use thiserror::Error;

use crate::{
    media_type::{extension, mime_type_of},
    spill_file,
};

/// The most bytes that one run may display. A client may show all of them to a model.
const MAX_SHOWN_BYTES: usize = 10 << 20;
const MAX_SHOWN: usize = 20;

/// An image or a file that a program displayed, in the form of the protocol.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Shown {
    pub mime_type: String,
    /// In base64.
    pub data: String,
}

#[derive(Debug, Error)]
pub enum MediaError {
    #[error("display() takes what a tool gave, a path in the workspace, or bytes with mime_type")]
    Nothing,
    #[error("display() cannot read {path:?}: {reason}")]
    Unreadable { path: String, reason: String },
    #[error("display() has shown {MAX_SHOWN} things or {} MB already", MAX_SHOWN_BYTES >> 20)]
    TooMuch,
}

/// The media of one run.
#[derive(Debug, Default)]
pub struct Media {
    workspace: Option<WorkspaceMount>,
    shown: Mutex<Vec<Shown>>,
}

/// The arguments of `display`.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct DisplayRequest {
    path: Option<String>,
    data: Option<String>,
    mime_type: Option<String>,
}

impl Media {
    /// Returns the workspace that the program sees.
    pub(crate) fn workspace(&self) -> Option<&Arc<Workspace>> {
        self.workspace.as_ref().map(WorkspaceMount::workspace)
    }

    /// Returns the workspace if files may be written there.
    pub(crate) fn workspace_to_write(&self) -> Option<&Arc<Workspace>> {
        self.workspace.as_ref().and_then(WorkspaceMount::to_write)
    }

    pub fn new(workspace: Option<WorkspaceMount>) -> Self {
        Self { workspace, shown: Mutex::default() }
    }

    /// Stores bytes from a tool, and returns the value that the program gets: a path if there is a
    /// workspace to write to, otherwise the bytes in base64.
    pub(crate) fn keep(&self, kind: &str, mime_type: &str, data: String) -> Value {
        let mut seen = Map::new();
        seen.insert("type".into(), kind.into());
        seen.insert("mime_type".into(), mime_type.into());
        let bytes = BASE64_STANDARD.decode(data.as_bytes()).ok();
        if let Some(bytes) = &bytes {
            seen.insert("bytes".into(), bytes.len().into());
        }
        let file = self.workspace_to_write().zip(bytes).and_then(|(workspace, bytes)| {
            let (name, file) = spill_file::create(workspace, kind, extension(mime_type)).ok()?;
            file.append(&bytes).ok()?;
            Some(format!("/workspace/{name}"))
        });
        match file {
            Some(path) => seen.insert("path".into(), path.into()),
            None => seen.insert("data".into(), data.into()),
        };
        Value::Object(seen)
    }

    /// Displays something to the caller of the program.
    pub(crate) fn display(&self, request: DisplayRequest) -> Result<Value, MediaError> {
        let (data, guessed) = match (request.path, request.data) {
            (_, Some(data)) => (data, None),
            (Some(path), None) => {
                let bytes = self.read(&path)?;
                (BASE64_STANDARD.encode(bytes), mime_type_of(&path))
            }
            (None, None) => return Err(MediaError::Nothing),
        };
        let mime_type = request.mime_type.or(guessed.map(str::to_owned));
        let mime_type = mime_type.unwrap_or_else(|| "application/octet-stream".to_owned());
        let mut shown = self.shown.lock().unwrap_or_else(PoisonError::into_inner);
        let size: usize = shown.iter().map(|shown| shown.data.len()).sum();
        if shown.len() == MAX_SHOWN || (size + data.len()) / 4 * 3 > MAX_SHOWN_BYTES {
            return Err(MediaError::TooMuch);
        }
        let bytes = data.len() / 4 * 3;
        shown.push(Shown { mime_type: mime_type.clone(), data });
        Ok(json!({ "mime_type": mime_type, "bytes": bytes }))
    }

    fn read(&self, path: &str) -> Result<Vec<u8>, MediaError> {
        let fail = |reason: String| MediaError::Unreadable { path: path.to_owned(), reason };
        let workspace = self
            .workspace()
            .ok_or_else(|| fail("there is no workspace here; pass the bytes".into()))?;
        let name = path.strip_prefix("/workspace/").unwrap_or(path);
        workspace.read(name, MAX_SHOWN_BYTES as u64).map_err(|error| fail(error.to_string()))
    }

    /// Takes everything that was displayed, in order.
    pub fn take_shown(&self) -> Vec<Shown> {
        std::mem::take(&mut self.shown.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

#[cfg(test)]
mod tests;
