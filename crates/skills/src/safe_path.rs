//! Reads files of an untrusted directory: with bounded size, and never outside of it. Links are not
//! followed, because a checkout could have one to a private file of the user.

use std::{
    fs::{File, Metadata},
    io::{self, Read},
    path::{Component, Path, PathBuf},
};

/// How many entries of a directory are read.
const MAX_ENTRIES: usize = 10_000;

/// Reads a file below `root`.
pub(crate) fn read(root: &Path, relative: &Path, max: usize) -> io::Result<Vec<u8>> {
    let path = resolve(root, relative)?;
    // Reading a pipe would wait forever.
    if !std::fs::symlink_metadata(&path)?.is_file() {
        return Err(refused("it is not a plain file"));
    }
    let limit = u64::try_from(max).unwrap_or(u64::MAX);
    let mut bytes = Vec::new();
    File::open(&path)?.take(limit.saturating_add(1)).read_to_end(&mut bytes)?;
    if bytes.len() > max {
        return Err(refused(&format!("it has more than {max} bytes")));
    }
    Ok(bytes)
}

/// Returns the path of something below `root`, and refuses links on the way.
fn resolve(root: &Path, relative: &Path) -> io::Result<PathBuf> {
    let mut path = root.to_owned();
    for component in relative.components() {
        let Component::Normal(name) = component else {
            return Err(refused("its path leads elsewhere"));
        };
        path.push(name);
        if std::fs::symlink_metadata(&path)?.is_symlink() {
            return Err(refused("it is a link, and links are not followed"));
        }
    }
    Ok(path)
}

fn refused(reason: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, reason)
}

/// Returns the entries of a directory, sorted by name. Links and names that are not UTF-8 are left out.
pub(crate) fn entries(dir: &Path) -> io::Result<Vec<(String, Metadata)>> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(dir)?.take(MAX_ENTRIES) {
        let entry = entry?;
        let data = entry.metadata()?;
        if let Ok(name) = entry.file_name().into_string()
            && !data.is_symlink()
        {
            found.push((name, data));
        }
    }
    found.sort_by(|a, b| a.0.cmp(&b.0));
    Ok(found)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn files_are_read_and_only_so_much_of_them() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::create_dir(dir.path().join("a")).unwrap();
        std::fs::write(dir.path().join("a/b"), "12345").unwrap();
        let read = |path: &str, max| read(dir.path(), Path::new(path), max);
        assert_eq!(read("a/b", 5).unwrap(), b"12345");
        assert!(read("a/b", 4).unwrap_err().to_string().contains("more than 4 bytes"));
        assert!(read("a", 5).unwrap_err().to_string().contains("not a plain file"));
    }

    #[test]
    #[cfg(unix)]
    fn nothing_outside_is_read() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().join("root");
        std::fs::create_dir(&root).unwrap();
        std::fs::write(dir.path().join("secret"), "s3cret").unwrap();
        std::os::unix::fs::symlink(dir.path().join("secret"), root.join("link")).unwrap();
        std::os::unix::fs::symlink(dir.path(), root.join("up")).unwrap();
        // The control: without the check, the link can be read.
        assert_eq!(std::fs::read(root.join("link")).unwrap(), b"s3cret");
        let absolute = dir.path().join("secret");
        for path in ["link", "up/secret", "../secret", absolute.to_str().unwrap()] {
            let error = read(&root, Path::new(path), 100).unwrap_err();
            assert_eq!(error.kind(), io::ErrorKind::InvalidData, "{path}: {error}");
        }
        assert_eq!(entries(&root).unwrap().len(), 0);
    }
}
