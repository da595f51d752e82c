//! A limit that a run reached, and the message about it.

use std::{fmt, time::Duration};

use serde::Serialize;

use super::{GIB, KIB, LimitKind, LimitUnit, Limits, MIB};

/// A limit that a run reached, with its value in seconds, bytes or pieces.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct LimitHit {
    pub name: LimitKind,
    pub value: f64,
}

impl LimitHit {
    /// Returns the limit of this kind with its value in `limits`.
    pub fn of(name: LimitKind, limits: &Limits) -> Self {
        let value = match Limits::spec(name) {
            None => Limits::STACK_BYTES as f64,
            Some(spec) => match (spec.amount_of(limits), spec.unit) {
                (amount, LimitUnit::Seconds) => Duration::from_nanos(amount).as_secs_f64(),
                // The limit says how much output is kept; a run ends at a multiple of that.
                (amount, _) if name == LimitKind::Output => {
                    amount.saturating_mul(Limits::OUTPUT_CEILING) as f64
                }
                (amount, _) => amount as f64,
            },
        };
        Self { name, value }
    }

    /// Returns the advice what to do about it.
    pub fn advice(&self) -> &'static str {
        Limits::spec(self.name).map_or("recurse less deeply", |spec| spec.advice)
    }
}

impl fmt::Display for LimitHit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (reached, unit) = Limits::spec(self.name)
            .map_or(("stack limit of {}", LimitUnit::Megabytes), |spec| (spec.reached, spec.unit));
        let (before, after) = reached.split_once("{}").unwrap_or((reached, ""));
        f.write_str(before)?;
        match unit {
            LimitUnit::Seconds => write!(f, "{} s", self.value),
            LimitUnit::Kilobytes | LimitUnit::Megabytes => write!(f, "{}", Bytes(self.value)),
            LimitUnit::Pieces => write!(f, "{}", self.value),
        }?;
        f.write_str(after)
    }
}

/// A number of bytes as a person reads it.
struct Bytes(f64);

impl fmt::Display for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (value, unit) = match self.0 {
            bytes if bytes >= GIB as f64 => (bytes / GIB as f64, "GB"),
            bytes if bytes >= MIB as f64 => (bytes / MIB as f64, "MB"),
            bytes if bytes >= KIB as f64 => (bytes / KIB as f64, "KB"),
            bytes => (bytes, "bytes"),
        };
        // One decimal, or none if it is zero.
        write!(f, "{} {unit}", (value * 10.0).round() / 10.0)
    }
}
