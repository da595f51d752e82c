//! Programs and analyses, run from the command line.

pub(crate) mod analyze;
pub(super) mod ending;
pub(crate) mod run;
