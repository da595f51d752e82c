//! The analysis `test`: whether a difference is more than chance.

mod counts;
mod hypothesis;
mod report;
mod samples;
#[cfg(test)]
mod tests;

pub(crate) use hypothesis::run;
