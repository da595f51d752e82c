//! The analysis `validate`: which rows break which rules.

mod bounds;
mod contents;
mod direct;
mod entry;
mod plan;
mod report;
mod rules;
#[cfg(test)]
mod tests;
mod text;
mod types;

pub(crate) use rules::run;
