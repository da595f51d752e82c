//! Writes output and results that are too large for an outcome into files of the workspace.

use std::sync::{Arc, Mutex, PoisonError};

use super::OutputUse;
use crate::{safety::PiiFilter, spill_file::create};
use futures::future::BoxFuture;
use narrows_model::{
    Ending, Excerpt, LimitKind, Limits, Outcome, OutcomePart, OutputStream, cut::MARGIN,
};
use narrows_sandbox::{
    ModuleSource, PausedClock, Query, ToolAnswer, ToolCall, ToolFailure, ToolHost, Workspace,
    WorkspaceFile,
};
use serde_json::{Value, value::RawValue};

/// The bytes of a large result that the caller sees of its beginning, and as many of its end.
const PREVIEW_BYTES: usize = 1_000;
/// The bytes that are kept of the end of a stream, with the margin before them that the PII filter
/// needs to recognise a value which begins there.
const TAIL_BYTES: usize = (32 << 10) + MARGIN as usize;

/// A host around a program's own host, which writes the output that the sandbox drops into the
/// workspace.
pub(crate) struct Overflow<'a> {
    host: &'a dyn ToolHost,
    limit: u64,
    /// The bytes of a large result that are shown of either end; both together are within the limit.
    preview_bytes: usize,
    output: OutputUse,
    workspace: Option<Arc<Workspace>>,
    pii_filter: Option<PiiFilter>,
    stdout: Mutex<StreamCopy>,
    stderr: Mutex<StreamCopy>,
}

/// A copy of a stream from its beginning, in memory while it is within the limit, then in a file.
#[derive(Default)]
struct StreamCopy {
    seen: u64,
    /// The whole stream until the file is created, then empty.
    start: String,
    file: Option<(String, WorkspaceFile)>,
    failed: Option<String>,
    /// The last bytes of the stream.
    tail: String,
}

impl<'a> Overflow<'a> {
    pub(crate) fn new(
        host: &'a dyn ToolHost,
        limits: &Limits,
        output: OutputUse,
        workspace: Option<Arc<Workspace>>,
        pii_filter: Option<PiiFilter>,
    ) -> Self {
        let limit = limits.output_bytes;
        let half = usize::try_from(limits.result_bytes / 2).unwrap_or(usize::MAX);
        let preview_bytes = half.min(PREVIEW_BYTES);
        let (stdout, stderr) = (Mutex::default(), Mutex::default());
        Self { host, limit, preview_bytes, output, workspace, pii_filter, stdout, stderr }
    }

    /// Writes a large result into the workspace, and adds excerpts to the outcome that name the files.
    pub(crate) fn finish(self, mut outcome: Outcome) -> Outcome {
        if self.output == OutputUse::Kept {
            for (stream, copy) in
                [(OutputStream::Stdout, &self.stdout), (OutputStream::Stderr, &self.stderr)]
            {
                if outcome.dropped_bytes.of(stream) > 0 {
                    let mut copy = copy.lock().unwrap_or_else(PoisonError::into_inner);
                    outcome.excerpts.push(copy.take_excerpt(stream));
                }
            }
        }
        if let Some(LimitKind::Result) = outcome.limit().map(|hit| hit.name) {
            self.keep_result(&mut outcome);
        }
        outcome
    }

    /// Writes a result that is over the limit into a file. If that succeeds, the run counts as
    /// successful.
    fn keep_result(&self, outcome: &mut Outcome) {
        let result = std::mem::take(&mut outcome.result);
        let Some(workspace) = &self.workspace else { return };
        if result.is_null() {
            outcome.notes.push("result: it is too large even for a file; write it in parts".into());
            return;
        }
        let text = result.to_string();
        let excerpt = keep(workspace, OutcomePart::Result, &text);
        match &excerpt.lost {
            Some(reason) => {
                outcome
                    .notes
                    .push(format!("result: it could not be kept in the workspace: {reason}"));
            }
            None => {
                outcome.result = Value::String(self.preview(&text));
                outcome.ending = Ending::Success;
                outcome.excerpts.push(excerpt);
            }
        }
    }

    /// Returns the beginning and the end of a text, protected so that no half of a value is left at a
    /// cut.
    fn preview(&self, text: &str) -> String {
        let (head, tail) = (
            text.floor_char_boundary(self.preview_bytes),
            text.ceil_char_boundary(text.len().saturating_sub(self.preview_bytes)),
        );
        if tail <= head {
            return self
                .pii_filter
                .as_ref()
                .map_or(text.to_owned(), |pii_filter| pii_filter.text(text).into());
        }
        let (head_text, tail_text) = match &self.pii_filter {
            // Each end is protected with a margin beyond the cut, so that a value across the cut is
            // found.
            Some(pii_filter) => {
                let margin = MARGIN as usize;
                let to = text.floor_char_boundary(head + margin);
                let from = text.ceil_char_boundary(tail.saturating_sub(margin));
                let beside = &text[from..];
                (
                    pii_filter.part(&text[..to], 0..head),
                    pii_filter.part(beside, tail - from..beside.len()),
                )
            }
            None => (text[..head].to_owned(), text[tail..].to_owned()),
        };
        format!("{head_text}{}{tail_text}", left_out(tail - head))
    }
}

/// Returns the line that replaces bytes which are not shown.
pub(crate) fn left_out(bytes: usize) -> String {
    format!("\n[... {bytes} bytes are not shown ...]\n")
}

impl StreamCopy {
    fn add(
        &mut self,
        workspace: &Arc<Workspace>,
        stream: OutputStream,
        limit: u64,
        text: &str,
    ) -> std::io::Result<()> {
        if self.seen <= limit {
            self.start.push_str(text);
            return Ok(());
        }
        if let Some((_, file)) = &self.file {
            return file.append(text.as_bytes());
        }
        self.start.push_str(text);
        let start = std::mem::take(&mut self.start);
        let (name, file) = create(workspace, &stream.to_string(), "txt")?;
        // An empty file would be of no use.
        if let Err(error) = file.append(start.as_bytes()) {
            workspace.remove(&name).ok();
            return Err(error);
        }
        self.file = Some((name, file));
        Ok(())
    }

    fn add_to_tail(&mut self, text: &str) {
        if text.len() >= TAIL_BYTES {
            self.tail.clear();
        }
        let start = text.ceil_char_boundary(text.len().saturating_sub(TAIL_BYTES));
        self.tail.push_str(&text[start..]);
        // Not at each write, so that many short writes do not copy the tail again and again.
        if self.tail.len() > 2 * TAIL_BYTES {
            self.trim_tail();
        }
    }

    fn trim_tail(&mut self) {
        let start = self.tail.ceil_char_boundary(self.tail.len().saturating_sub(TAIL_BYTES));
        self.tail.drain(..start);
    }

    /// Takes the excerpt of a stream that went past the limit: its size, its end and its file.
    fn take_excerpt(&mut self, stream: OutputStream) -> Excerpt {
        self.trim_tail();
        Excerpt {
            part: stream.into(),
            bytes: self.seen,
            tail: std::mem::take(&mut self.tail),
            file: self.file.take().map(|(name, _)| name),
            lost: self.failed.take(),
        }
    }
}

/// Writes the whole of one part of an outcome into the workspace.
pub(crate) fn keep(workspace: &Arc<Workspace>, part: OutcomePart, text: &str) -> Excerpt {
    let extension = if part == OutcomePart::Result { "json" } else { "txt" };
    let kept = create(workspace, part.name(), extension).and_then(|(name, file)| {
        let written = file.append(text.as_bytes());
        written.inspect_err(|_| drop(workspace.remove(&name))).map(|()| name)
    });
    let (file, lost) = match kept {
        Ok(name) => (Some(name), None),
        Err(error) => (None, Some(error.to_string())),
    };
    Excerpt { part, bytes: text.len() as u64, tail: String::new(), file, lost }
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

    fn patience(&self) -> PausedClock {
        self.host.patience()
    }

    fn output(&self, stream: OutputStream, text: &str) {
        self.host.output(stream, text);
        if self.output != OutputUse::Kept {
            return;
        }
        let copy = match stream {
            OutputStream::Stdout => &self.stdout,
            OutputStream::Stderr => &self.stderr,
        };
        let mut copy = copy.lock().unwrap_or_else(PoisonError::into_inner);
        copy.seen += text.len() as u64;
        copy.add_to_tail(text);
        if let Some(workspace) = &self.workspace
            && copy.failed.is_none()
            && let Err(error) = copy.add(workspace, stream, self.limit, text)
        {
            copy.failed = Some(error.to_string());
        }
    }
}

#[cfg(test)]
mod tests;
