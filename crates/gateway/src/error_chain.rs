//! An error with its causes, in one line.

/// Writes an error with its causes, each of them once: many errors repeat their cause themselves.
pub(crate) fn error_chain(error: &anyhow::Error) -> String {
    let mut text = error.to_string();
    for cause in error.chain().skip(1).map(ToString::to_string) {
        if !text.contains(&cause) {
            text = format!("{text}: {cause}");
        }
    }
    text
}
