//! What is done once, and looked at when something does not work.

pub(crate) mod completions;
pub(crate) mod connect;
pub(crate) mod doctor;
pub(crate) mod import;
pub(crate) mod man;
