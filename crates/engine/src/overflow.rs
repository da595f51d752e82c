//! What is too large for an answer goes into the workspace, and a note says where.

use std::sync::{Arc, Mutex, PoisonError};

use crate::{
    execute::OutputUse,
    safety::{MARGIN, Shield},
};
use futures::future::BoxFuture;
use narrows_model::{Ending, LimitKind, Limits, Outcome, OutputStream};
use narrows_sandbox::{
    ModuleSource, Patience, Query, ToolAnswer, ToolCall, ToolFailure, ToolHost, Workspace,
    WorkspaceFile,
};
use serde_json::{Value, value::RawValue};

/// How much of a large result the caller sees.
const PREVIEW_BYTES: usize = 1_000;
/// How many names are tried before giving up on a free one: others may be taking them too.
const MOST_TRIES: usize = 1_000;

/// Stands between a program and its host, and keeps what the sandbox drops.
pub(crate) struct Overflow<'a> {
    host: &'a dyn ToolHost,
    limit: u64,
    output: OutputUse,
    workspace: Option<Arc<Workspace>>,
    shield: Option<Shield>,
    stdout: Mutex<Spill>,
    stderr: Mutex<Spill>,
}

/// The rest of a stream, past what is kept.
#[derive(Default)]
struct Spill {
    seen: u64,
    file: Option<(String, WorkspaceFile)>,
    written: u64,
    failed: Option<String>,
}

impl<'a> Overflow<'a> {
    pub(crate) fn new(
        host: &'a dyn ToolHost,
        limits: &Limits,
        output: OutputUse,
        workspace: Option<Arc<Workspace>>,
        shield: Option<Shield>,
    ) -> Self {
        let limit = limits.output_bytes;
        let (stdout, stderr) = (Mutex::default(), Mutex::default());
        Self { host, limit, output, workspace, shield, stdout, stderr }
    }

    /// Moves a large result into the workspace, and says what was kept where.
    pub(crate) fn finish(self, mut outcome: Outcome) -> Outcome {
        if self.output == OutputUse::Kept {
            for (stream, spill) in
                [(OutputStream::Stdout, &self.stdout), (OutputStream::Stderr, &self.stderr)]
            {
                let spill = spill.lock().unwrap_or_else(PoisonError::into_inner);
                let dropped = outcome.dropped_bytes.of(stream);
                outcome.notes.extend(spill.note(stream, dropped, self.limit));
            }
        }
        if let Some(LimitKind::Result) = outcome.limit().map(|hit| hit.name) {
            self.keep_result(&mut outcome);
        }
        outcome
    }

    /// With a workspace a large result is no failure: it is a file.
    fn keep_result(&self, outcome: &mut Outcome) {
        let result = std::mem::take(&mut outcome.result);
        let Some(workspace) = &self.workspace else { return };
        if result.is_null() {
            outcome.notes.push("result: it is too large even for a file; write it in parts".into());
            return;
        }
        let text = result.to_string();
        let kept = create(workspace, "result", "json")
            .and_then(|(name, file)| file.append(text.as_bytes()).map(|()| name));
        match kept {
            Ok(name) => {
                let end = text.floor_char_boundary(PREVIEW_BYTES);
                let preview = match &self.shield {
                    // With what follows, so that no half of a value is shown.
                    Some(shield) => {
                        let wide = text.floor_char_boundary(end + MARGIN as usize);
                        shield.part(&text[..wide], 0..end)
                    }
                    None => text[..end].to_owned(),
                };
                outcome.notes.push(format!(
                    "result: it has {} bytes as JSON and is in /workspace/{name}; shown are its first {} bytes as text",
                    text.len(),
                    preview.len()
                ));
                outcome.result = Value::String(preview);
                outcome.ending = Ending::Success;
            }
            Err(error) => outcome
                .notes
                .push(format!("result: it could not be kept in the workspace: {error}")),
        }
    }
}

impl Spill {
    fn add(
        &mut self,
        workspace: &Arc<Workspace>,
        stream: OutputStream,
        limit: u64,
        text: &str,
    ) -> std::io::Result<()> {
        // The sandbox keeps whole characters up to the limit; the file begins where it stops.
        let room = usize::try_from(limit.saturating_sub(self.seen)).unwrap_or(usize::MAX);
        let room = if self.file.is_some() { 0 } else { text.floor_char_boundary(room) };
        self.seen += text.len() as u64;
        let rest = &text.as_bytes()[room..];
        if rest.is_empty() {
            return Ok(());
        }
        if self.file.is_none() {
            self.file = Some(create(workspace, &stream.to_string(), "txt")?);
        }
        if let Some((_, file)) = &self.file {
            file.append(rest)?;
            self.written += rest.len() as u64;
        }
        Ok(())
    }

    /// What became of the bytes past the limit.
    fn note(&self, stream: OutputStream, dropped: u64, limit: u64) -> Option<String> {
        if dropped == 0 {
            return None;
        }
        let first = format!("{stream}: only the first {limit} bytes are shown");
        Some(match (&self.file, &self.failed) {
            (Some((name, _)), None) => {
                format!("{first}; the other {dropped} bytes are in /workspace/{name}")
            }
            (Some((name, _)), Some(reason)) => format!(
                "{first}; the next {} bytes are in /workspace/{name}, the rest is lost: {reason}",
                self.written
            ),
            (None, Some(reason)) => {
                format!("{first}; {dropped} more could not be kept in the workspace: {reason}")
            }
            (None, None) => format!("{first}; {dropped} more were dropped"),
        })
    }
}

/// A new file with a name that nobody uses yet.
pub(crate) fn create(
    workspace: &Arc<Workspace>,
    stem: &str,
    extension: &str,
) -> std::io::Result<(String, WorkspaceFile)> {
    // Names count on, so that an answer does not name what a later program made.
    let begins = format!("{stem}-");
    let number_of = |name: &String| {
        name.strip_prefix(&begins)?.strip_suffix(extension)?.strip_suffix('.')?.parse::<u32>().ok()
    };
    let highest = workspace.names()?.iter().filter_map(number_of).max().unwrap_or(0);
    let mut last = None;
    for number in (highest + 1..).take(MOST_TRIES) {
        let name = format!("{stem}-{number}.{extension}");
        match workspace.create(&name) {
            Ok(file) => return Ok((name, file)),
            Err(error) if workspace.has(&name) => last = Some(error),
            Err(error) => return Err(error),
        }
    }
    Err(last.unwrap_or_else(|| std::io::ErrorKind::AlreadyExists.into()))
}

impl ToolHost for Overflow<'_> {
    fn call(&self, call: ToolCall) -> BoxFuture<'_, Result<ToolAnswer, ToolFailure>> {
        self.host.call(call)
    }

    fn query(&self, query: Query) -> BoxFuture<'_, Result<Box<RawValue>, ToolFailure>> {
        self.host.query(query)
    }

    fn module(&self, name: String) -> BoxFuture<'_, Option<ModuleSource>> {
        self.host.module(name)
    }

    fn patience(&self) -> Patience {
        self.host.patience()
    }

    fn output(&self, stream: OutputStream, text: &str) {
        self.host.output(stream, text);
        let (Some(workspace), OutputUse::Kept) = (&self.workspace, self.output) else { return };
        let spill = match stream {
            OutputStream::Stdout => &self.stdout,
            OutputStream::Stderr => &self.stderr,
        };
        let mut spill = spill.lock().unwrap_or_else(PoisonError::into_inner);
        if spill.failed.is_none()
            && let Err(error) = spill.add(workspace, stream, self.limit, text)
        {
            spill.failed = Some(error.to_string());
        }
    }
}

/// Keeps a text in the workspace, and gives the name of its file.
pub fn keep_text(workspace: &Arc<Workspace>, stem: &str, text: &str) -> std::io::Result<String> {
    let (name, file) = create(workspace, stem, "txt")?;
    file.append(text.as_bytes())?;
    Ok(name)
}

#[cfg(test)]
mod tests;
