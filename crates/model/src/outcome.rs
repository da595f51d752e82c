//! What came of a run. A failing program is an outcome, never an error of ours.

use std::time::Duration;

use serde::{Serialize, Serializer, ser::SerializeStruct};
use serde_json::Value;

use crate::{LimitHit, OutputStream};

/// All that a caller learns of a run. Serializes to the JSON of `narrows run --json`.
#[derive(Clone, Debug, PartialEq)]
pub struct Outcome {
    pub ending: Ending,
    pub result: Value,
    pub stdout: String,
    pub stderr: String,
    /// What was printed past the limit and is not above.
    pub dropped_bytes: DroppedBytes,
    pub wall_time: Duration,
    pub cpu_time: Duration,
    pub peak_memory_bytes: u64,
    pub tool_calls: u32,
    /// What the reader should know beside the result, one sentence each.
    pub notes: Vec<String>,
}

/// How much of each stream was not kept.
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

/// How a run ended.
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

impl Outcome {
    pub fn is_success(&self) -> bool {
        matches!(self.ending, Ending::Success)
    }

    /// Of a program that was not run, because it would have failed.
    pub fn not_run(failure: Failure) -> Self {
        Self {
            ending: Ending::Failed(failure),
            result: Value::Null,
            stdout: String::new(),
            stderr: String::new(),
            dropped_bytes: DroppedBytes::default(),
            wall_time: Duration::ZERO,
            cpu_time: Duration::ZERO,
            peak_memory_bytes: 0,
            tool_calls: 0,
            notes: Vec::new(),
        }
    }

    /// Why the run did not succeed.
    pub fn failure(&self) -> Option<&Failure> {
        match &self.ending {
            Ending::Success => None,
            Ending::Failed(failure) | Ending::Limit(_, failure) | Ending::Cancelled(failure) => {
                Some(failure)
            }
        }
    }

    /// The limit that ended the run.
    pub fn limit(&self) -> Option<&LimitHit> {
        match &self.ending {
            Ending::Limit(hit, _) => Some(hit),
            _ => None,
        }
    }
}

impl Ending {
    /// A limit that stopped the program from outside.
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

/// Milliseconds to the microsecond.
fn milliseconds(time: Duration) -> f64 {
    time.as_micros() as f64 / 1000.0
}
