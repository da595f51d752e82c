//! Makes the outcome of a run fit into an answer. Of a part that is too long a model reads the
//! beginning and the end; the whole of it goes to a file of the workspace.
//!
//! Clients cut answers, some at 48 KB and some at 2,000 lines, and what they cut is gone. So all
//! parts of an answer together stay below that, as text and as JSON.

use std::sync::Arc;

use narrows_model::{Excerpt, Failure, Outcome, OutcomePart};
use narrows_sandbox::Workspace;
use serde_json::Value;

use super::overflow::{keep, left_out};

const MAX_LINES: usize = 1_500;
/// These come on top of the bytes of output and result that a level shows; all together are below 48
/// KB.
const MAX_TRACEBACK: ExcerptSpace = ExcerptSpace { bytes: 6 << 10, lines: 150 };
const MAX_MESSAGE: ExcerptSpace = ExcerptSpace { bytes: 2 << 10, lines: 50 };
const MAX_NOTE_BYTES: usize = 1 << 10;
const MAX_NOTES_BYTES: usize = 4 << 10;
/// The bytes that the line about the omitted rest takes.
const LEFT_OUT_BYTES: usize = 64;

/// The space in an answer for one part.
#[derive(Clone, Copy, Debug)]
struct ExcerptSpace {
    /// Counted as JSON, in which a line break takes two bytes.
    bytes: usize,
    lines: usize,
}

impl ExcerptSpace {
    fn holds(self, text: &str) -> bool {
        json_bytes(text) <= self.bytes && text.lines().count() <= self.lines
    }

    fn half(self) -> Self {
        let bytes = self.bytes.saturating_sub(LEFT_OUT_BYTES) / 2;
        Self { bytes, lines: self.lines.saturating_sub(1) / 2 }
    }
}

/// Cuts what is too long for an answer, and writes the whole of it into the workspace, if there is one.
/// `whole` is the outcome as the program left it, with values instead of tokens: the file is in the
/// program's own workspace.
pub(super) fn fit(
    outcome: &mut Outcome,
    whole: &Outcome,
    workspace: Option<&Arc<Workspace>>,
    max_bytes: usize,
) {
    let parts = [OutcomePart::Stdout, OutcomePart::Stderr, OutcomePart::Result];
    let texts = [outcome.stdout.clone(), outcome.stderr.clone(), result_text(&outcome.result)];
    let known = parts.map(|part| outcome.excerpts.iter().find(|known| known.part == part).cloned());
    // A stream with an excerpt goes on in its file; of a result only the preview is left.
    let goes_on = |at: usize| known[at].is_some() && parts[at] != OutcomePart::Result;
    let is_structure = !matches!(outcome.result, Value::Null | Value::String(_));
    let bytes: [usize; 3] = std::array::from_fn(|at| match parts[at] {
        _ if goes_on(at) => usize::MAX,
        // A structured result is shown as JSON and not escaped again.
        OutcomePart::Result if is_structure => texts[at].len(),
        _ => json_bytes(&texts[at]),
    });
    let lines: [usize; 3] =
        std::array::from_fn(|at| if goes_on(at) { usize::MAX } else { texts[at].lines().count() });
    let rooms = shares(bytes, max_bytes).into_iter().zip(shares(lines, MAX_LINES));
    for (at, (room_bytes, room_lines)) in rooms.enumerate() {
        if bytes[at] <= room_bytes && lines[at] <= room_lines {
            continue;
        }
        let (part, text) = (parts[at], &texts[at]);
        let excerpt = match &known[at] {
            Some(known) => {
                outcome.excerpts.retain(|excerpt| excerpt.part != part);
                known.clone()
            }
            None => kept(workspace, part, &whole_text(whole, part)),
        };
        let tail = if goes_on(at) { &excerpt.tail } else { text };
        // The excerpt cannot have more lines than the text, so lines need no limit if the text is
        // within it.
        let room_lines = if lines[at] <= room_lines { usize::MAX } else { room_lines };
        let room = ExcerptSpace { bytes: room_bytes, lines: room_lines };
        let shown = shortened(text, tail, excerpt.bytes, room);
        match part {
            OutcomePart::Stdout => outcome.stdout = shown,
            OutcomePart::Stderr => outcome.stderr = shown,
            _ => outcome.result = Value::String(shown),
        }
        outcome.excerpts.push(excerpt);
    }
    if let Some(failure) = outcome.failure_mut()
        && shorten_failure(failure)
    {
        let text = whole_text(whole, OutcomePart::Traceback);
        outcome.excerpts.push(kept(workspace, OutcomePart::Traceback, &text));
    }
    shorten_notes(&mut outcome.notes);
}

/// Divides the space between several parts: small parts get all that they need, the large ones share
/// the rest.
fn shares<const N: usize>(sizes: [usize; N], max_bytes: usize) -> [usize; N] {
    let mut order: [usize; N] = std::array::from_fn(|at| at);
    order.sort_by_key(|at| sizes[*at]);
    let mut shares = [0; N];
    let mut left = max_bytes;
    for (done, at) in order.into_iter().enumerate() {
        shares[at] = sizes[at].min(left / (N - done));
        left -= shares[at];
    }
    shares
}

fn result_text(result: &Value) -> String {
    match result {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        value => value.to_string(),
    }
}

fn whole_text(whole: &Outcome, part: OutcomePart) -> String {
    match part {
        OutcomePart::Stdout => whole.stdout.clone(),
        OutcomePart::Stderr => whole.stderr.clone(),
        OutcomePart::Result => whole.result.to_string(),
        OutcomePart::Traceback => whole.failure().map_or_else(String::new, |failure| {
            if failure.traceback.is_empty() {
                format!("{}: {}", failure.kind, failure.message)
            } else {
                failure.traceback.clone()
            }
        }),
    }
}

fn kept(workspace: Option<&Arc<Workspace>>, part: OutcomePart, text: &str) -> Excerpt {
    match workspace {
        Some(workspace) => keep(workspace, part, text),
        None => {
            let (bytes, tail) = (text.len() as u64, String::new());
            Excerpt { part, bytes, tail, file: None, lost: None }
        }
    }
}

/// Shortens the message and the traceback. Returns whether one of them was too long.
fn shorten_failure(failure: &mut Failure) -> bool {
    // The message is cut once, and put back behind the frames.
    let around = failure.around_conclusion();
    let (frames, notes) = around.unwrap_or((failure.traceback.as_str(), ""));
    let was_long = !MAX_MESSAGE.holds(&failure.message) || !MAX_TRACEBACK.holds(frames);
    if !was_long && MAX_MESSAGE.holds(notes) {
        return false;
    }
    let (is_around, mut notes) = (around.is_some(), notes.to_owned());
    failure.traceback = frames.to_owned();
    shorten(&mut failure.message, MAX_MESSAGE);
    shorten(&mut failure.traceback, MAX_TRACEBACK);
    shorten(&mut notes, MAX_MESSAGE);
    if is_around {
        let message = &failure.message;
        let colon = if message.is_empty() { "" } else { ": " };
        failure.traceback += &format!("{}{colon}{message}{notes}", failure.kind);
    }
    was_long
}

fn shorten(text: &mut String, room: ExcerptSpace) {
    if !room.holds(text) {
        *text = shortened(text, text, text.len() as u64, room);
    }
}

fn shorten_notes(notes: &mut Vec<String>) {
    let mut left = MAX_NOTES_BYTES;
    let mut shown = 0;
    for note in notes.iter_mut() {
        shorten(note, ExcerptSpace { bytes: MAX_NOTE_BYTES, lines: 10 });
        let Some(rest) = left.checked_sub(json_bytes(note)) else { break };
        (left, shown) = (rest, shown + 1);
    }
    if shown < notes.len() {
        let more = notes.len() - shown;
        notes.truncate(shown);
        notes.push(format!("{more} more notes are not shown"));
    }
}

/// Returns the beginning of `head` and the end of `tail`, which are parts of one text of `bytes` bytes.
fn shortened(head: &str, tail: &str, bytes: u64, room: ExcerptSpace) -> String {
    let half = room.half();
    let head = head_of(head, half);
    let bytes = usize::try_from(bytes).unwrap_or(usize::MAX);
    // Leaves out of the tail what the head already shows.
    let new =
        tail.ceil_char_boundary(tail.len() - tail.len().min(bytes.saturating_sub(head.len())));
    let tail = tail_of(&tail[new..], half);
    match bytes.saturating_sub(head.len() + tail.len()) {
        0 => format!("{head}{tail}"),
        rest => format!("{}{}{tail}", head.trim_end_matches('\n'), left_out(rest)),
    }
}

/// Returns as much of the beginning as there is room for, cut at the end of a line if one is near.
fn head_of(text: &str, room: ExcerptSpace) -> &str {
    let mut left = RemainingSpace::from(room);
    let end = text.char_indices().find(|(_, c)| !left.takes(*c)).map_or(text.len(), |(at, _)| at);
    let head = &text[..end];
    match head.rfind('\n') {
        Some(at) if end < text.len() && at >= end / 4 * 3 => &head[..=at],
        _ => head,
    }
}

/// Returns as much of the end as there is room for, cut at the start of a line if one is near.
fn tail_of(text: &str, room: ExcerptSpace) -> &str {
    let mut left = RemainingSpace::from(room);
    let start = text
        .char_indices()
        .rev()
        .find(|(_, c)| !left.takes(*c))
        .map_or(0, |(at, c)| at + c.len_utf8());
    let tail = &text[start..];
    match tail.find('\n') {
        Some(at) if start > 0 && at <= tail.len() / 4 => &tail[at + 1..],
        _ => tail,
    }
}

/// The space that is left while characters are added.
struct RemainingSpace(ExcerptSpace);

impl From<ExcerptSpace> for RemainingSpace {
    fn from(room: ExcerptSpace) -> Self {
        Self(room)
    }
}

impl RemainingSpace {
    /// Takes the space of a character, and tells whether there was enough.
    fn takes(&mut self, c: char) -> bool {
        let lines = usize::from(c == '\n');
        match (self.0.bytes.checked_sub(char_bytes(c)), self.0.lines.checked_sub(lines)) {
            (Some(bytes), Some(lines)) => {
                self.0 = ExcerptSpace { bytes, lines };
                true
            }
            _ => false,
        }
    }
}

/// Returns the length of a text in JSON, without its quotes.
fn json_bytes(text: &str) -> usize {
    text.chars().map(char_bytes).sum()
}

fn char_bytes(c: char) -> usize {
    match c {
        '"' | '\\' | '\n' | '\r' | '\t' | '\u{8}' | '\u{c}' => 2,
        '\u{0}'..='\u{1f}' => 6,
        c => c.len_utf8(),
    }
}

#[cfg(test)]
mod tests;
