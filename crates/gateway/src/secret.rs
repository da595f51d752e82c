//! Random secrets, and files that keep them.

use std::{fs, io, path::Path};

use anyhow::Context;

use crate::config::create_private;

/// Returns 128 random bits as hexadecimal digits.
pub(crate) fn random_hex() -> Result<String, getrandom::Error> {
    let mut bytes = [0u8; 16];
    getrandom::fill(&mut bytes)?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}

/// Returns the text of a file, or makes one and writes it if there is no file yet.
pub(crate) fn kept_text(
    path: &Path,
    is_good: impl Fn(&str) -> bool,
    make: impl FnOnce() -> anyhow::Result<String>,
) -> anyhow::Result<String> {
    let read = || fs::read_to_string(path).map(|text| text.trim().to_owned());
    if let Ok(text) = read()
        && is_good(&text)
    {
        return Ok(text);
    }
    let text = make()?;
    match create_private(path, &format!("{text}\n"), None) {
        Ok(()) => Ok(text),
        // Another process was faster, and its text counts.
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(read()?),
        Err(error) => Err(error).with_context(|| format!("cannot write {}", path.display())),
    }
}
