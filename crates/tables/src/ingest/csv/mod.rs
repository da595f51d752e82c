//! Files of separated values. They are read twice: a type is known only after the last row.

mod file;
mod guess;
mod header;
mod records;

pub(super) use file::load;
