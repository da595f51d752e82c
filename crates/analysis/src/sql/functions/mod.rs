//! The functions that a query may use.
//!
//! Only what is listed here exists: functions of text, numbers, dates, conditions and simple lists,
//! and none that reads the machine. Those that can make much of little are bounded.

mod allowance;
mod arithmetic;
mod bounded;
mod extreme;
mod growth;
mod join_text;
mod like;
mod pattern;
mod registry;
mod rewrite;
mod series;
mod sum;
mod timezone;

pub(crate) use allowance::Allowance;
pub(crate) use registry::{aggregate, planners, rewrite, scalar, table, window};
pub(super) use registry::{is_bounded, may_be_windowed};
pub(super) use timezone::TIMEZONE;
