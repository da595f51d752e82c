//! Files of the gateway's own in a workspace, for what is too large for an answer.

use std::sync::Arc;

use narrows_sandbox::{Workspace, WorkspaceFile};

/// How many names are tried before giving up on a free one: others may be taking them too.
const MAX_TRIES: usize = 1_000;

/// Makes a file with a name that nobody uses yet.
pub(crate) fn create(
    workspace: &Arc<Workspace>,
    stem: &str,
    extension: &str,
) -> std::io::Result<(String, WorkspaceFile)> {
    // Names count on, so that an answer does not name what a later program made.
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
