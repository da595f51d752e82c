//! Commands for setting up Narrows, and for finding out why something does not work.

pub(crate) mod completions;
pub(crate) mod connect;
pub(crate) mod doctor;
pub(crate) mod import;
pub(crate) mod man;
