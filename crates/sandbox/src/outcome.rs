//! Turns the report of an isolate into the outcome that the caller is given.

use narrows_model::{DroppedBytes, Ending, Failure, LimitHit, LimitKind, Limits, Outcome, cut};
use serde::Deserialize;
use serde_json::{Value, value::RawValue};

use crate::{
    driver::Printed,
    isolate::{Ended, Report},
    meter::MemoryRefusal,
};

/// The most of an error's text that is kept; a program can make it as long as it likes.
const MAX_ERROR_BYTES: usize = 64 * 1024;

const MAX_NAME_BYTES: usize = 500;
const MAX_NOTE_BYTES: usize = 1_000;
const MAX_NOTES: usize = 50;

/// The interpreter gives up without an exception in these cases only.
const ABORTED: &str = "the program aborted the interpreter: by os.abort, or by waiting for a lock \
    or a queue that only another thread could release (there are no threads; use asyncio)";

/// The note for a program that was refused memory though it stayed within its own limit.
const NO_MEMORY_LEFT: &str = "memory was refused because programs together use what the sandbox has \
    for them; try again when others have ended";

/// The outcome as the guest tells it. It is untrusted: whatever a program did to the shim, it
/// can only change what is said of itself.
#[derive(Deserialize)]
struct GuestOutcome {
    ok: bool,
    #[serde(default)]
    error: Option<GuestError>,
    result: Box<RawValue>,
    /// The size of a result that is too large to be handed over at all.
    #[serde(default)]
    result_too_large: Option<u64>,
    #[serde(default)]
    notes: Vec<String>,
}

#[derive(Deserialize)]
struct GuestError {
    #[serde(rename = "type")]
    kind: String,
    message: String,
    line: Option<u32>,
    traceback: String,
    /// The limit that the error comes from, which only the guest can tell.
    #[serde(default)]
    cause: Option<Cause>,
}

/// The limit that an exception claims as its reason.
#[derive(Clone, Copy, Deserialize, PartialEq)]
#[serde(rename_all = "snake_case")]
enum Cause {
    Memory,
    Files,
    ToolCalls,
}

/// Builds the outcome of a run. A result over its limit comes with it all the same, for a caller that
/// has a place to keep it.
pub(crate) fn outcome(report: Report, printed: Printed, limits: &Limits) -> Outcome {
    let mut notes = Vec::new();
    let mut result = Value::Null;
    let ending = match &report.ended {
        Ended::Returned(text) => match serde_json::from_str::<GuestOutcome>(text) {
            Ok(guest) => match serde_json::from_str(guest.result.get()) {
                Ok(value) => {
                    notes = shown_notes(guest.notes);
                    result = value;
                    let size = ResultSize {
                        bytes: guest.result_too_large.unwrap_or(guest.result.get().len() as u64),
                        handed_over: guest.result_too_large.is_none(),
                    };
                    returned(guest.ok, guest.error, size, &report, limits)
                }
                Err(error) => corrupt(&error),
            },
            Err(error) => corrupt(&error),
        },
        Ended::Exited => failed("SystemExit", "the program ended itself at once (os._exit)".into()),
        Ended::Limit(kind) => Ending::stopped_by(LimitHit::of(*kind, limits)),
        Ended::Cancelled => Ending::cancelled(),
        // Where the interpreter cannot raise MemoryError, it gives up.
        Ended::Aborted if report.memory_refused == Some(MemoryRefusal::Limit) => {
            Ending::stopped_by(LimitHit::of(LimitKind::Memory, limits))
        }
        Ended::Aborted if report.memory_refused == Some(MemoryRefusal::Budget) => {
            failed("MemoryError", "there was no more memory for it".into())
        }
        Ended::Aborted => failed("Aborted", ABORTED.into()),
        Ended::NotRestored(reason) => failed(
            "SessionError",
            format!(
                "nothing was run: the session's variables cannot be brought back: {reason}; use another session_id to begin anew"
            ),
        ),
        Ended::Trapped(reason) => {
            failed("Crashed", format!("the program crashed the interpreter: {reason}"))
        }
    };
    if let (Ending::Success, Some(kind)) = (&ending, report.files_refused) {
        let hit = LimitHit::of(kind, limits);
        notes.push(format!("the program reached the {hit}, so that something was not written"));
    }
    notes.extend(report.workspace_failure);
    if report.memory_refused == Some(MemoryRefusal::Budget) {
        notes.push(NO_MEMORY_LEFT.to_owned());
    }
    Outcome {
        ending,
        result,
        stdout: printed.stdout.text,
        stderr: printed.stderr.text,
        dropped_bytes: DroppedBytes {
            stdout: printed.stdout.dropped_bytes,
            stderr: printed.stderr.dropped_bytes,
        },
        excerpts: Vec::new(),
        wall_time: report.wall_time,
        cpu_time: report.cpu_time,
        peak_memory_bytes: report.peak_memory_bytes,
        tool_calls: report.tool_calls,
        notes,
    }
}

/// How large a result is, and whether it is small enough to have come out of the sandbox.
#[derive(Clone, Copy)]
struct ResultSize {
    bytes: u64,
    handed_over: bool,
}

fn returned(
    ok: bool,
    error: Option<GuestError>,
    result: ResultSize,
    report: &Report,
    limits: &Limits,
) -> Ending {
    match error {
        _ if ok && result.bytes > limits.result_bytes => {
            let hit = LimitHit::of(LimitKind::Result, limits);
            let ceiling = if result.handed_over {
                ""
            } else {
                " (and over the 16 MB that can be kept in a file)"
            };
            let message = format!(
                "the result has {} bytes as JSON, over the {hit}{ceiling}; {}",
                result.bytes,
                hit.advice()
            );
            let failure = Failure { kind: "LimitExceeded".into(), message, ..Failure::default() };
            Ending::Limit(hit, failure)
        }
        _ if ok => Ending::Success,
        None => failed("CorruptOutcome", "the program's failure has no reason".into()),
        Some(error) => {
            let limit = limit_behind(&error, report, limits).map(|kind| LimitHit::of(kind, limits));
            let mut failure = Failure {
                kind: shortened(error.kind, MAX_NAME_BYTES),
                message: shortened(error.message, MAX_ERROR_BYTES),
                line: error.line,
                traceback: shortened(error.traceback, MAX_ERROR_BYTES),
            };
            let Some(hit) = limit else { return Ending::Failed(failure) };
            // The exception of the tool call limit names it already.
            if hit.name != LimitKind::ToolCalls {
                let said = std::mem::take(&mut failure.message);
                let colon = if said.is_empty() { "" } else { ": " };
                failure.message =
                    format!("{said}{colon}the program reached the {hit}; {}", hit.advice());
            }
            Ending::Limit(hit, failure)
        }
    }
}

/// Returns the limit behind an error. Only what the host itself refused counts: a program cannot claim
/// a limit.
fn limit_behind(error: &GuestError, report: &Report, limits: &Limits) -> Option<LimitKind> {
    match error.cause? {
        Cause::Memory => {
            (report.memory_refused == Some(MemoryRefusal::Limit)).then_some(LimitKind::Memory)
        }
        Cause::Files => report.files_refused,
        Cause::ToolCalls => {
            (report.tool_calls >= limits.tool_calls).then_some(LimitKind::ToolCalls)
        }
    }
}

fn corrupt(error: &serde_json::Error) -> Ending {
    failed("CorruptOutcome", format!("the program's outcome is not valid: {error}"))
}

fn failed(kind: &str, message: String) -> Ending {
    Ending::Failed(Failure { kind: kind.into(), message, ..Failure::default() })
}

fn shown_notes(notes: Vec<String>) -> Vec<String> {
    notes.into_iter().take(MAX_NOTES).map(|note| shortened(note, MAX_NOTE_BYTES)).collect()
}

/// Keeps the beginning and the end of a text, where the important lines of a traceback are.
fn shortened(text: String, max_bytes: usize) -> String {
    if text.len() <= max_bytes {
        return text;
    }
    let half = max_bytes / 2;
    let (head, tail) = (cut::head(&text, half), cut::tail(&text, half));
    format!("{head}\n[{} bytes left out]\n{tail}", text.len() - head.len() - tail.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_shortened_has_no_half_of_an_address_at_its_cut() {
        let address = "ada@example.com ";
        for shift in 0..address.len() {
            let text = format!("{}{}", "x".repeat(shift) + " ", address.repeat(100));
            let shown = shortened(text, 200);
            let (head, tail) = shown.split_once("\n[").unwrap();
            let (_, tail) = tail.split_once("]\n").unwrap();
            assert!(head.len() <= 100 && tail.len() <= 100);
            for part in [head, tail] {
                assert_eq!(
                    part.replace(address.trim(), "").matches(['@', '.']).count(),
                    0,
                    "{part}"
                );
            }
        }
    }
}
