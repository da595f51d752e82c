//! Commands about what agents keep: files, variables, messages.

pub(crate) mod boards;
pub(crate) mod sessions;
pub(crate) mod workspace;
