//! Files of the gateway's own in a workspace, for what is too large for an answer.

use std::sync::Arc;

use narrows_sandbox::{Workspace, WorkspaceFile};

/// The most names that are tried until one is free: other programs may take names at the same time.
const MAX_TRIES: usize = 1_000;

/// Creates a file with a name that is not in use yet.
pub(crate) fn create(
    workspace: &Arc<Workspace>,
    stem: &str,
    extension: &str,
) -> std::io::Result<(String, WorkspaceFile)> {
    // Counts on from the highest number instead of filling gaps, so that an earlier answer does not
    // name the file of a later program.
    let begins = format!("{stem}-");
    let number_of = |name: &String| {
        name.strip_prefix(&begins)?.strip_suffix(extension)?.strip_suffix('.')?.parse::<u32>().ok()
    };
    let highest = workspace.names()?.iter().filter_map(number_of).max().unwrap_or(0);
    let mut last = None;
    for number in (highest + 1..).take(MAX_TRIES) {
        let name = format!("{stem}-{number}.{extension}");
        match workspace.create(&name) {
            Ok(file) => return Ok((name, file)),
            Err(error) if workspace.has(&name) => last = Some(error),
            Err(error) => return Err(error),
        }
    }
    Err(last.unwrap_or_else(|| std::io::ErrorKind::AlreadyExists.into()))
}
