//! The outcome of a run. A failing program is an outcome, never an error of the gateway.

use std::{fmt, ops::Range, time::Duration};

use serde::{Serialize, Serializer, ser::SerializeStruct};
use serde_json::Value;

use crate::{LimitHit, OutputStream};

/// The outcome of a run, as its caller gets it. Serializes to the JSON of `narrows run --json`.
#[derive(Clone, Debug, PartialEq)]
pub struct Outcome {
    pub ending: Ending,
    pub result: Value,
    pub stdout: String,
    pub stderr: String,
    /// The output beyond the limit that is not in `stdout` and `stderr`.
    pub dropped_bytes: DroppedBytes,
    /// The parts that are only shown in part, with the files that have the whole.
    pub excerpts: Vec<Excerpt>,
    pub wall_time: Duration,
    pub cpu_time: Duration,
    pub peak_memory_bytes: u64,
    pub tool_calls: u32,
    /// Notes for the reader, one sentence each.
    pub notes: Vec<String>,
}

/// The bytes of each stream that were not kept.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DroppedBytes {
    pub stdout: u64,
    pub stderr: u64,
}

impl DroppedBytes {
    pub fn of(&self, stream: OutputStream) -> u64 {
        match stream {
            OutputStream::Stdout => self.stdout,
            OutputStream::Stderr => self.stderr,
        }
    }
}

/// A part of an outcome that is too large to be shown as a whole.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Excerpt {
    pub part: OutcomePart,
    /// The size of the whole part.
    pub bytes: u64,
    /// The end of a stream that is longer than what the outcome has of it.
    pub tail: String,
    /// The workspace file that has the whole part, or its beginning if something was lost.
    pub file: Option<String>,
    /// The reason why not all of it could be written to the file.
    pub lost: Option<String>,
}

/// The parts of an outcome that can be too large.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OutcomePart {
    Stdout,
    Stderr,
    Result,
    Traceback,
}

impl OutcomePart {
    /// Returns its name, for readers and for its file.
    pub fn name(self) -> &'static str {
        match self {
            Self::Stdout => "stdout",
            Self::Stderr => "stderr",
            Self::Result => "result",
            Self::Traceback => "traceback",
        }
    }
}

impl From<OutputStream> for OutcomePart {
    fn from(stream: OutputStream) -> Self {
        match stream {
            OutputStream::Stdout => Self::Stdout,
            OutputStream::Stderr => Self::Stderr,
        }
    }
}

impl Excerpt {
    /// Writes one note about all parts that are only shown in part, and where the rest is.
    pub fn note(excerpts: &[Self]) -> Option<String> {
        let said: Vec<String> = excerpts.iter().map(Self::to_string).collect();
        (!said.is_empty()).then(|| said.join("; "))
    }
}

impl fmt::Display for Excerpt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { part, bytes, .. } = self;
        write!(f, "{} is shown in part; ", part.name())?;
        match (&self.file, &self.lost) {
            (Some(file), None) => write!(f, "all {bytes} bytes of it are in /workspace/{file}"),
            (Some(file), Some(reason)) => write!(
                f,
                "of its {bytes} bytes the first are in /workspace/{file}, the others are lost: \
                 {reason}"
            ),
            (None, Some(reason)) => {
                write!(f, "its {bytes} bytes could not be kept in the workspace: {reason}")
            }
            (None, None) => {
                write!(f, "its {bytes} bytes are not kept here; give less, or in parts")
            }
        }
    }
}

/// The way in which a run ended.
#[derive(Clone, Debug, PartialEq)]
pub enum Ending {
    Success,
    /// The program failed by itself: an exception, a syntax error, an exit status.
    Failed(Failure),
    /// A limit ended it, or it failed because of one.
    Limit(LimitHit, Failure),
    /// The caller no longer wanted it.
    Cancelled(Failure),
}

/// A failure as Python shows it.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Failure {
    #[serde(rename = "type")]
    pub kind: String,
    pub message: String,
    /// The line of the program, where one is to blame.
    pub line: Option<u32>,
    pub traceback: String,
}

impl Failure {
    /// Returns the traceback around the kind and the message: the frames before, and the notes after.
    /// `None` if the traceback does not contain those.
    pub fn around_conclusion(&self) -> Option<(&str, &str)> {
        let whole = self.traceback.as_str();
        if let Some(said) = self.conclusion(whole, &self.message) {
            return Some((&whole[..said.start], &whole[said.end..]));
        }
        // Advice at the end of a message is the last line of the traceback.
        let lines = whole.trim_end_matches('\n');
        let (before, hint) = lines.rsplit_once('\n').filter(|(_, hint)| !hint.is_empty())?;
        let message = self.message.strip_suffix(hint)?.strip_suffix("; ")?;
        let said = self.conclusion(before, message)?;
        Some((&before[..said.start], &before[said.end..]))
    }

    /// Finds the kind and the message in a traceback.
    fn conclusion(&self, traceback: &str, message: &str) -> Option<Range<usize>> {
        let colon = if message.is_empty() { "" } else { ": " };
        let said = format!("{}{colon}{message}", self.kind);
        let ends_line = |end: usize| matches!(traceback.as_bytes().get(end), None | Some(b'\n'));
        let is_line = |at: &usize| {
            (*at == 0 || traceback[..*at].ends_with('\n')) && ends_line(*at + said.len())
        };
        let at = traceback.rfind(&said).filter(is_line)?;
        (!self.kind.is_empty()).then_some(at..at + said.len())
    }
}

impl Outcome {
    pub fn is_success(&self) -> bool {
        matches!(self.ending, Ending::Success)
    }

    /// Creates the outcome of a program that was not run, because it would have failed.
    pub fn not_run(failure: Failure) -> Self {
        Self {
            ending: Ending::Failed(failure),
            result: Value::Null,
            stdout: String::new(),
            stderr: String::new(),
            dropped_bytes: DroppedBytes::default(),
            excerpts: Vec::new(),
            wall_time: Duration::ZERO,
            cpu_time: Duration::ZERO,
            peak_memory_bytes: 0,
            tool_calls: 0,
            notes: Vec::new(),
        }
    }

    /// Returns the failure of a run that did not succeed.
    pub fn failure(&self) -> Option<&Failure> {
        match &self.ending {
            Ending::Success => None,
            Ending::Failed(failure) | Ending::Limit(_, failure) | Ending::Cancelled(failure) => {
                Some(failure)
            }
        }
    }

    pub fn failure_mut(&mut self) -> Option<&mut Failure> {
        match &mut self.ending {
            Ending::Success => None,
            Ending::Failed(failure) | Ending::Limit(_, failure) | Ending::Cancelled(failure) => {
                Some(failure)
            }
        }
    }

    /// Returns the limit that ended the run.
    pub fn limit(&self) -> Option<&LimitHit> {
        match &self.ending {
            Ending::Limit(hit, _) => Some(hit),
            _ => None,
        }
    }
}

impl Ending {
    /// Creates the ending of a program that a limit stopped from outside.
    pub fn stopped_by(hit: LimitHit) -> Self {
        let message = format!("the program was stopped at the {hit}; {}", hit.advice());
        Self::Limit(hit, Failure { kind: "LimitExceeded".into(), message, ..Failure::default() })
    }

    pub fn cancelled() -> Self {
        Self::Cancelled(Failure {
            kind: "Cancelled".into(),
            message: "the run was cancelled".into(),
            ..Failure::default()
        })
    }
}

impl Serialize for Outcome {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        struct Error<'a> {
            #[serde(flatten)]
            failure: &'a Failure,
            #[serde(skip_serializing_if = "Option::is_none")]
            limit: Option<&'a LimitHit>,
        }
        let error = self.failure().map(|failure| Error { failure, limit: self.limit() });
        let mut fields = serializer.serialize_struct("Outcome", 10)?;
        fields.serialize_field("success", &self.is_success())?;
        fields.serialize_field("result", &self.result)?;
        fields.serialize_field("stdout", &self.stdout)?;
        fields.serialize_field("stderr", &self.stderr)?;
        fields.serialize_field("error", &error)?;
        fields.serialize_field("execution_time_ms", &milliseconds(self.wall_time))?;
        fields.serialize_field("cpu_time_ms", &milliseconds(self.cpu_time))?;
        fields.serialize_field("peak_memory_bytes", &self.peak_memory_bytes)?;
        fields.serialize_field("tool_calls", &self.tool_calls)?;
        fields.serialize_field("notes", &self.notes)?;
        fields.end()
    }
}

/// Converts a time to milliseconds, exact to the microsecond.
fn milliseconds(time: Duration) -> f64 {
    time.as_micros() as f64 / 1000.0
}
