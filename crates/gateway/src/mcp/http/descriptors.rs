//! File descriptors, of which each connection takes one.

/// The highest limit that is asked for: children inherit it, and some close every descriptor below it
/// one by one when they start.
#[cfg(unix)]
const MAX_DESCRIPTORS: u64 = 1 << 16;

/// Raises the limit of open files to the one that the system allows us, and returns it. Many systems
/// begin with 1024, which connections alone can use up.
#[cfg(unix)]
pub(super) fn raise_limit() -> Option<u64> {
    use rustix::process::{Resource, getrlimit, setrlimit};

    let mut limit = getrlimit(Resource::Nofile);
    let before = limit.current;
    let allowed = limit.maximum.unwrap_or(MAX_DESCRIPTORS).min(MAX_DESCRIPTORS);
    if before.is_some_and(|before| before < allowed) {
        limit.current = Some(allowed);
        if let Err(error) = setrlimit(Resource::Nofile, limit) {
            tracing::warn!(%error, ?before, "the limit of open files could not be raised");
            return before;
        }
    }
    getrlimit(Resource::Nofile).current
}

#[cfg(not(unix))]
pub(super) fn raise_limit() -> Option<u64> {
    None
}
