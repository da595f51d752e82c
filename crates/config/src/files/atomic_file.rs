//! Writes files atomically: a reader finds the old text or the new one, and never a part.

use std::{
    fs::{self, File, Permissions},
    io::{self, Write},
    path::{Path, PathBuf},
};

/// How many links are followed, as many as systems follow before they suspect a loop.
const MAX_LINKS: usize = 40;

/// Replaces or creates a file. If the path is a link, its target is written, because programs that
/// manage dotfiles use links. An existing file keeps its mode; a new one is only for its owner, since
/// configurations hold secrets.
pub(crate) fn replace(path: &Path, text: &str) -> io::Result<()> {
    let target = follow(path)?;
    let permissions = match fs::metadata(&target) {
        Ok(metadata) if metadata.permissions().readonly() => {
            // A rename would succeed although the owner made the file read-only.
            return Err(io::Error::new(io::ErrorKind::PermissionDenied, "it is read-only"));
        }
        Ok(metadata) => Some(metadata.permissions()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => None,
        Err(error) => return Err(error),
    };
    let temporary = write_beside(&target, text, permissions)?;
    temporary.persist(&target).map_err(|error| error.error)?;
    sync_directory(&target);
    Ok(())
}

/// Creates a file that must not exist yet, with the mode of the file `like` and at no moment a wider
/// one; without `like` it is only for its owner.
pub fn create_private(path: &Path, text: &str, like: Option<&Path>) -> io::Result<()> {
    let permissions = like.and_then(|like| fs::metadata(like).ok()).map(|like| like.permissions());
    let temporary = write_beside(path, text, permissions)?;
    temporary.persist_noclobber(path).map_err(|error| error.error)?;
    sync_directory(path);
    Ok(())
}

fn write_beside(
    target: &Path,
    text: &str,
    permissions: Option<Permissions>,
) -> io::Result<tempfile::NamedTempFile> {
    // In the directory of the target, because a rename needs the same file system; the mode is 0600.
    let mut temporary = tempfile::Builder::new()
        .prefix(".narrows-")
        .tempfile_in(target.parent().unwrap_or(Path::new(".")))?;
    temporary.write_all(text.as_bytes())?;
    if let Some(permissions) = permissions {
        temporary.as_file().set_permissions(permissions)?;
    }
    temporary.as_file().sync_all()?;
    Ok(temporary)
}

/// Follows the links at `path`; the target need not exist.
pub fn follow(path: &Path) -> io::Result<PathBuf> {
    let mut target = path.to_owned();
    for _ in 0..MAX_LINKS {
        match fs::read_link(&target) {
            // A relative link is relative to its own directory.
            Ok(next) => target = target.parent().unwrap_or(Path::new("")).join(next),
            Err(_) => return Ok(target),
        }
    }
    Err(io::Error::other("too many links"))
}

/// Writes a directory to disk, so that a crash does not lose the new name. Errors are ignored, because
/// not every system can do this.
fn sync_directory(path: &Path) {
    if cfg!(unix)
        && let Some(directory) = path.parent()
        && let Ok(directory) = File::open(directory)
    {
        let _ = directory.sync_all();
    }
}

#[cfg(test)]
#[cfg(unix)]
mod tests {
    use std::os::unix::fs::{PermissionsExt, symlink};

    use super::*;

    fn mode(path: &Path) -> u32 {
        fs::metadata(path).unwrap().permissions().mode() & 0o777
    }

    #[test]
    fn new_files_are_private_and_old_ones_keep_their_mode() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("a");
        replace(&path, "one").unwrap();
        assert_eq!(mode(&path), 0o600);
        fs::set_permissions(&path, Permissions::from_mode(0o640)).unwrap();
        replace(&path, "two").unwrap();
        assert_eq!((mode(&path), fs::read_to_string(&path).unwrap()), (0o640, "two".into()));
        assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 1, "nothing is left over");
    }

    #[test]
    fn a_link_stays_and_its_target_is_written() {
        let directory = tempfile::tempdir().unwrap();
        let (link, target) = (directory.path().join("link"), directory.path().join("dir/target"));
        fs::create_dir(directory.path().join("dir")).unwrap();
        symlink("dir/target", &link).unwrap();
        for text in ["through a dangling link", "through a link"] {
            replace(&link, text).unwrap();
            assert_eq!(fs::read_to_string(&target).unwrap(), text);
            assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
        }
    }

    #[test]
    fn what_is_read_only_or_there_already_is_not_overwritten() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("a");
        create_private(&path, "one", None).unwrap();
        assert!(create_private(&path, "two", None).is_err());
        fs::set_permissions(&path, Permissions::from_mode(0o400)).unwrap();
        assert!(replace(&path, "three").is_err());
        assert_eq!(fs::read_to_string(&path).unwrap(), "one");
    }
}
