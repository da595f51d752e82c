//! The analysis `describe`: what is in each column.

mod overview;
mod profile;
mod table;

pub(crate) use overview::run;
