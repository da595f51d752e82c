//! Reads text files, which may turn out to be anything.

use std::{fs, io, path::Path};

/// The size of a configuration; a larger file is something else. (Claude Code keeps megabytes in its
/// own.)
const MAX_BYTES: u64 = 64 << 20;

/// Reads a text file, and refuses one that is too large, since the path may lead to anything.
pub fn read_text(path: &Path) -> io::Result<String> {
    use io::Read;
    let mut text = String::new();
    let length = fs::File::open(path)?.take(MAX_BYTES + 1).read_to_string(&mut text)?;
    if length as u64 > MAX_BYTES {
        let message = "it is too large to be a configuration";
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, message));
    }
    Ok(text)
}
