//! Files that only the user can read, written whole or not at all.

use std::{
    fs::{File, OpenOptions},
    io::{Result, Write},
    path::Path,
};

/// Whether a file must be there after the machine lost its power.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Durability {
    /// It can be made again.
    Cache,
    Kept,
}

/// Replaces a file. Its directory is made, and made private, if it is not there.
pub(crate) fn write(path: &Path, text: &[u8], durability: Durability) -> Result<()> {
    let dir = path.parent().unwrap_or(Path::new("."));
    make_dir(dir)?;
    // Temporary files are private from the first moment on.
    let mut file = tempfile::NamedTempFile::new_in(dir)?;
    file.write_all(text)?;
    if durability == Durability::Kept {
        file.as_file().sync_all()?;
    }
    file.persist(path)?;
    Ok(())
}

/// Opens a file for locking, without changing what is in it.
pub(crate) fn open(path: &Path) -> Result<File> {
    make_dir(path.parent().unwrap_or(Path::new(".")))?;
    let mut options = OpenOptions::new();
    options.create(true).truncate(false).write(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path)
}

fn make_dir(dir: &Path) -> Result<()> {
    if dir.is_dir() {
        return Ok(());
    }
    let mut builder = std::fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(dir)
}
