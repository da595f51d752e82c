//! Files of a workspace, as a caller names them.

use std::time::{SystemTime, UNIX_EPOCH};

use base64::{Engine, prelude::BASE64_STANDARD};
use globset::GlobBuilder;
use narrows_model::{Access, Event, EventAction, EventOutcome, cut::MARGIN};
use narrows_sandbox::{FoundFile, Workspace};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::{Agent, StateError};
use crate::{compute::ALWAYS_APART, media_type, safety::PiiFilter};

/// The default number of bytes of a file in one answer: clients cut answers over 48 KB.
const SHOWN_BYTES: u64 = 32 << 10;
/// The most that one answer carries.
const MAX_BYTES: u64 = 10 << 20;
/// The longest pattern of file names. It is compiled and compared with every path, so a longer one
/// could take long.
const MAX_PATTERN_BYTES: usize = 1 << 10;
/// The most files that one answer lists.
const LISTED: usize = 1_000;

/// A request to read a file or a part of it.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ReadRequest {
    pub path: String,
    #[serde(default)]
    pub offset: u64,
    pub limit: Option<u64>,
    /// The encoding of the answer; by default text if the bytes are text, otherwise base64.
    pub encoding: Option<Encoding>,
    pub namespace: Option<String>,
}

/// The encoding of bytes in an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Encoding {
    Text,
    Base64,
}

/// The content of a file, or of a part of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct FileContent {
    pub path: String,
    /// The size of the whole file.
    pub bytes: u64,
    #[serde(rename = "type")]
    pub media_type: String,
    pub encoding: Encoding,
    pub offset: u64,
    /// The offset at which to continue reading, if there is more.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next_offset: Option<u64>,
    pub content: String,
}

/// The usage of a workspace.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct WorkspaceUsage {
    pub files: u64,
    pub bytes: u64,
    #[serde(rename = "most_bytes")]
    pub max_bytes: u64,
    pub directory: String,
}

/// A file in a list.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct FileEntry {
    pub path: String,
    pub bytes: u64,
    /// Milliseconds since 1970.
    pub modified: i64,
    /// The place that has the file on its disk, if it is not this one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub elsewhere: Option<String>,
}

impl Agent {
    /// Reads a file or a part of it. For a model, `pii_filter` replaces personal data.
    pub fn read_file(
        &self,
        request: &ReadRequest,
        pii_filter: Option<&PiiFilter>,
    ) -> Result<FileContent, StateError> {
        let namespace = self.namespace(request.namespace.as_deref(), Access::Read)?;
        let workspace = self.state.workspaces.open(namespace)?;
        let path =
            workspace.resolve(&request.path).map_err(|error| file_error(&request.path, &error))?;
        let head = workspace
            .read_part(&path, 0, 4096)
            .map_err(|error| not_there(&workspace, &request.path, &error))?;
        let media_type = media_type::type_of(&path, &head.bytes);
        let is_shown = media_type::is_shown(media_type) && request.encoding != Some(Encoding::Text);
        let limit = request.limit.unwrap_or(if is_shown { MAX_BYTES } else { SHOWN_BYTES });
        let part = workspace
            .read_part(&path, request.offset, limit.min(MAX_BYTES))
            .map_err(|error| file_error(&request.path, &error))?;
        let read = part.bytes.len() as u64;
        let is_cut = request.offset.saturating_add(read) < part.total;
        let text = text_of(&part.bytes, is_cut);
        let read = text.map_or(read, |text| text.len() as u64);
        // An image or sound that is valid UTF-8 is protected like any text.
        let is_media = is_shown && text.is_none();
        let told = match pii_filter.filter(|_| !is_media) {
            Some(pii_filter) => {
                protected(&workspace, &path, request.offset, read as usize, pii_filter)?
            }
            None => part.bytes[..read as usize].to_vec(),
        };
        if text.is_none() && request.encoding == Some(Encoding::Text) {
            let reason = "it is not UTF-8 text; ask for encoding base64".to_owned();
            return Err(StateError::File { path: request.path.clone(), reason });
        }
        let as_text = text.is_some() && !is_shown && request.encoding != Some(Encoding::Base64);
        let (encoding, content) = match String::from_utf8(told) {
            Ok(told) if as_text => (Encoding::Text, told),
            Ok(told) => (Encoding::Base64, BASE64_STANDARD.encode(told)),
            Err(bytes) => (Encoding::Base64, BASE64_STANDARD.encode(bytes.as_bytes())),
        };
        let end = request.offset.saturating_add(read);
        Ok(FileContent {
            path,
            bytes: part.total,
            media_type: media_type.to_owned(),
            encoding,
            offset: request.offset,
            next_offset: (end < part.total && read > 0).then_some(end),
            content,
        })
    }

    /// Reads a whole file, unprotected: for a person who fetches it.
    pub fn file_bytes(&self, path: &str, namespace: Option<&str>) -> Result<Vec<u8>, StateError> {
        let namespace = self.namespace(namespace, Access::Read)?;
        let workspace = self.state.workspaces.open(namespace)?;
        workspace.read(path, u64::MAX).map_err(|error| not_there(&workspace, path, &error))
    }

    /// Returns the usage of a workspace.
    pub fn workspace_use(&self, namespace: Option<&str>) -> Result<WorkspaceUsage, StateError> {
        let namespace = self.namespace(namespace, Access::Read)?;
        let workspace = self.state.workspaces.open(namespace)?;
        let directory = workspace.path().display().to_string();
        let walked = workspace.walk().map_err(|error| file_error(&directory, &error))?;
        Ok(WorkspaceUsage {
            files: walked.len() as u64,
            bytes: walked.iter().map(|file| file.bytes).sum(),
            max_bytes: self.state.settings.limits.workspace_bytes,
            directory,
        })
    }

    /// Writes a whole file, and replaces one that exists.
    pub async fn write_file(
        &self,
        path: &str,
        bytes: &[u8],
        namespace: Option<&str>,
    ) -> Result<FileEntry, StateError> {
        let namespace = self.namespace(namespace, Access::Write)?;
        let workspace = self.state.workspaces.open(namespace)?;
        let failed = |error: std::io::Error| file_error(path, &error);
        let path = workspace.resolve(path).map_err(failed)?;
        self.compute(bytes.len(), || workspace.write(&path, bytes)).await.map_err(failed)?;
        let details = json!({ "bytes": bytes.len() });
        self.record_and_wait(self.file_event(EventAction::FileWrite, namespace, &path, details))
            .await;
        self.note_files_of(namespace).await;
        let found =
            FoundFile { path, bytes: bytes.len() as u64, modified: Some(SystemTime::now()) };
        Ok(FileEntry::from(found))
    }

    fn file_event(
        &self,
        action: EventAction,
        namespace: &str,
        path: &str,
        details: Value,
    ) -> Event {
        let event = self.event(action, path, EventOutcome::Ok, details);
        Event { namespace: namespace.to_owned(), ..event }
    }

    /// Removes a file.
    pub async fn delete_file(&self, path: &str, namespace: Option<&str>) -> Result<(), StateError> {
        let namespace = self.namespace(namespace, Access::Write)?;
        let workspace = self.state.workspaces.open(namespace)?;
        workspace.remove(path).map_err(|error| not_there(&workspace, path, &error))?;
        let event = self.file_event(EventAction::FileRemove, namespace, path, json!({}));
        self.record_and_wait(event).await;
        self.note_files_of(namespace).await;
        Ok(())
    }

    /// Lists the files that match a pattern, sorted by path, and counts all matches. Files on the disks
    /// of other gateways are listed too.
    pub async fn list_files(
        &self,
        pattern: Option<&str>,
        namespace: Option<&str>,
        limit: Option<usize>,
    ) -> Result<(Vec<FileEntry>, usize), StateError> {
        let namespace = self.namespace(namespace, Access::Read)?;
        let pattern = pattern.unwrap_or_default();
        if pattern.len() > MAX_PATTERN_BYTES {
            let reason =
                format!("it has {} bytes, and may have {MAX_PATTERN_BYTES}", pattern.len());
            return Err(StateError::Pattern(narrows_model::clipped_name(pattern), reason));
        }
        let pattern = &relative(pattern)?;
        let glob = GlobBuilder::new(pattern)
            .literal_separator(true)
            .build()
            .map_err(|error| StateError::Pattern(pattern.to_owned(), error.kind().to_string()))?
            .compile_matcher();
        // `*.csv` matches in all folders, as people expect of a search, and the name of a folder
        // matches its content.
        let fits = |path: &str| {
            glob.is_match(path)
                || path.strip_prefix(pattern.as_str()).is_some_and(|rest| rest.starts_with('/'))
                || !pattern.contains('/')
                    && path.rsplit_once('/').is_some_and(|(_, name)| glob.is_match(name))
        };
        let workspace = self.state.workspaces.open(namespace)?;
        let walked = self.compute(ALWAYS_APART, || workspace.walk()).await;
        let walked = walked.map_err(|error| file_error("/workspace", &error))?;
        let mut files: Vec<FileEntry> = walked.into_iter().map(FileEntry::from).collect();
        // Without the store, only the files on this disk are known.
        if let Ok(elsewhere) = self.files_elsewhere(namespace).await {
            files.extend(elsewhere);
        }
        let choosing = || {
            files.retain(|file| fits(&file.path));
            files.sort_by(|a, b| a.path.cmp(&b.path));
        };
        self.compute(ALWAYS_APART, choosing).await;
        let total = files.len();
        files.truncate(limit.unwrap_or(LISTED).min(LISTED));
        Ok((files, total))
    }
}

/// Makes a pattern relative to the workspace. `.`, `/`, `/workspace` and an empty pattern match
/// everything.
fn relative(pattern: &str) -> Result<String, StateError> {
    let outside = || {
        let reason = "it is outside of /workspace; use a relative path".to_owned();
        StateError::Pattern(pattern.to_owned(), reason)
    };
    let mut steps = Vec::new();
    for step in pattern.split('/').filter(|step| !matches!(*step, "" | ".")) {
        match step {
            ".." => _ = steps.pop().ok_or_else(outside)?,
            step => steps.push(step),
        }
    }
    if pattern.starts_with('/') && !steps.is_empty() {
        (steps.remove(0) == "workspace").then_some(()).ok_or_else(outside)?;
    }
    Ok(if steps.is_empty() { "**".to_owned() } else { steps.join("/") })
}

/// Reads a part of a file and protects it for a model, together with a margin around it: a reader who
/// chooses where a part begins must not see half of a value.
fn protected(
    workspace: &Workspace,
    path: &str,
    offset: u64,
    length: usize,
    pii_filter: &PiiFilter,
) -> Result<Vec<u8>, StateError> {
    let start = offset.saturating_sub(MARGIN);
    let before = usize::try_from(offset - start).unwrap_or_default();
    let wide = before as u64 + length as u64 + MARGIN;
    let wide = workspace.read_part(path, start, wide).map_err(|error| file_error(path, &error))?;
    let bytes = wide.bytes;
    let piece = before.min(bytes.len())..(before + length).min(bytes.len());
    let Ok(middle) = std::str::from_utf8(&bytes[piece.clone()]) else {
        return Ok(pii_filter.part_of_bytes(&bytes, piece));
    };
    // The margins may cut through characters.
    let lead = String::from_utf8_lossy(&bytes[..piece.start]);
    let tail = String::from_utf8_lossy(&bytes[piece.end..]);
    let within = lead.len()..lead.len() + middle.len();
    Ok(pii_filter.part(&[&*lead, middle, &*tail].concat(), within).into_bytes())
}

/// Returns the error for a file that could not be used.
pub(super) fn file_error(path: &str, error: &std::io::Error) -> StateError {
    StateError::File { path: path.to_owned(), reason: error.to_string() }
}

/// Returns the error for a file that could not be used; if it does not exist, with similar names.
fn not_there(workspace: &Workspace, path: &str, error: &std::io::Error) -> StateError {
    let missing = error.kind() == std::io::ErrorKind::NotFound;
    let near = match missing.then(|| workspace.walk().ok()).flatten() {
        Some(files) => {
            narrows_model::nearest(path, files.iter().map(|file| file.path.as_str())).to_string()
        }
        None => String::new(),
    };
    StateError::File { path: path.to_owned(), reason: format!("{error}{near}") }
}

impl From<FoundFile> for FileEntry {
    fn from(found: FoundFile) -> Self {
        let modified = milliseconds(found.modified);
        Self { path: found.path, bytes: found.bytes, modified, elsewhere: None }
    }
}

/// Returns the current time in milliseconds since 1970.
pub fn now() -> i64 {
    milliseconds(Some(SystemTime::now()))
}

/// Converts a time to milliseconds since 1970; `None` and earlier times are 0.
pub(super) fn milliseconds(time: Option<SystemTime>) -> i64 {
    let since = time.and_then(|time| time.duration_since(UNIX_EPOCH).ok()).unwrap_or_default();
    i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
}

/// Returns the text in these bytes, if they are UTF-8. A character that is cut at the end is left for
/// the next part.
fn text_of(bytes: &[u8], is_cut: bool) -> Option<&str> {
    match std::str::from_utf8(bytes) {
        Ok(text) => Some(text),
        Err(error) if is_cut && error.error_len().is_none() && error.valid_up_to() > 0 => {
            std::str::from_utf8(&bytes[..error.valid_up_to()]).ok()
        }
        Err(_) => None,
    }
}

#[cfg(test)]
mod tests;
