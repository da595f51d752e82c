//! Writes the outcome of a run as a client reads it: as text and as structure.
//!
//! Clients hand their model one of them: most the text, Claude Code and Pydantic AI the structure.
//! So each has all that a model needs, once. Some that take the structure drop what stands beside the
//! text, such as images; an answer with images has none.

use narrows_engine::media::Shown;
use narrows_model::{Excerpt, Failure, Outcome};
use rmcp::model::{CallToolResult, ContentBlock, ResourceContents};
use serde_json::{Value, json};

/// The form in which the structure of an answer has a program's output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    /// As `stdout` and `stderr`.
    Streams,
    /// As one `output`, as callers of `execute_python` know it.
    Joined,
}

/// Makes the result of a tool that ran a program. `output` is what was printed to both streams,
/// protected as one text: if it is there, the structure has it in the place of the streams.
pub(super) fn answer(
    mut outcome: Outcome,
    shown: Vec<Shown>,
    output: Option<String>,
) -> CallToolResult {
    if shown.is_empty() && says_nothing(&outcome) {
        outcome.notes.push("there is no output; print something, or set `result`".into());
    }
    let has_media = !shown.is_empty();
    let mut content = Vec::with_capacity(1 + shown.len());
    let text = text(&outcome);
    if !text.is_empty() || !has_media {
        content.push(ContentBlock::text(text));
    }
    content.extend(shown.into_iter().map(media_block));
    let mut result = if outcome.is_success() {
        CallToolResult::success(content)
    } else {
        CallToolResult::error(content)
    };
    result.structured_content = (!has_media).then(|| structured(&outcome, output));
    result
}

fn says_nothing(outcome: &Outcome) -> bool {
    outcome.is_success()
        && outcome.result.is_null()
        && outcome.notes.is_empty()
        && outcome.stdout.trim_end().is_empty()
        && outcome.stderr.trim_end().is_empty()
}

fn media_block(shown: Shown) -> ContentBlock {
    if shown.mime_type.starts_with("image/") {
        ContentBlock::image(shown.data, shown.mime_type)
    } else if shown.mime_type.starts_with("audio/") {
        ContentBlock::audio(shown.data, shown.mime_type)
    } else {
        ContentBlock::resource(
            ResourceContents::blob(shown.data, "narrows://display").with_mime_type(shown.mime_type),
        )
    }
}

/// Writes the text of an answer. The note on what was shortened comes first, because a client may cut
/// the end.
fn text(outcome: &Outcome) -> String {
    let mut parts: Vec<String> = Vec::new();
    let mut add = |label: &str, text: &str| {
        let text = text.trim_end();
        if !text.is_empty() {
            parts.push(format!("{label}{text}"));
        }
    };
    add("note: ", &Excerpt::note(&outcome.excerpts).unwrap_or_default());
    add("", &outcome.stdout);
    add("stderr: ", &outcome.stderr);
    match &outcome.result {
        Value::Null => {}
        Value::String(text) => add("result: ", text),
        value => add("result: ", &value.to_string()),
    }
    if let Some(failure) = outcome.failure() {
        add("", &failure.traceback);
        if failure.around_conclusion().is_none() && !failure.traceback.contains(&failure.message) {
            add("", &format!("{}: {}", failure.kind, failure.message));
        }
    }
    for note in &outcome.notes {
        add("note: ", note);
    }
    parts.join("\n")
}

/// Writes the structure of an answer. What helps most comes first, because a client may cut the end.
fn structured(outcome: &Outcome, output: Option<String>) -> Value {
    let mut structured = json!({ "success": outcome.is_success() });
    let mut notes = outcome.notes.clone();
    notes.splice(0..0, Excerpt::note(&outcome.excerpts));
    if !notes.is_empty() {
        structured["notes"] = json!(notes);
    }
    if let Some(failure) = outcome.failure() {
        structured["error"] = error(failure, outcome);
    }
    structured["result"] = outcome.result.clone();
    let milliseconds = outcome.wall_time.as_secs_f64() * 1e3;
    structured["execution_time_ms"] = ((milliseconds * 10.0).round() / 10.0).into();
    if let Some(output) = output {
        structured["output"] = output.into();
        return structured;
    }
    for (name, text) in [("stdout", &outcome.stdout), ("stderr", &outcome.stderr)] {
        if !text.is_empty() {
            structured[name] = text.as_str().into();
        }
    }
    structured
}

/// Writes a failure as structure. The traceback lacks its last line, which `type` and `message` already
/// say.
fn error(failure: &Failure, outcome: &Outcome) -> Value {
    let mut error = json!({ "type": failure.kind, "message": failure.message });
    if let Some(line) = failure.line {
        error["line"] = line.into();
    }
    if let Some(limit) = outcome.limit() {
        error["limit"] = json!(limit);
    }
    let traceback = match failure.around_conclusion() {
        Some((frames, notes)) => format!("{frames}{}", notes.trim_start_matches('\n')),
        None => failure.traceback.clone(),
    };
    if !traceback.trim().is_empty() {
        error["traceback"] = traceback.trim_end().into();
    }
    error
}

#[cfg(test)]
mod tests;
