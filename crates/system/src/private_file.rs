//! Files and directories that only the user can read, whatever the umask is. All files that Narrows
//! keeps for itself are created here, or get their mode from here.

use std::{
    fs::{self, DirBuilder, File, OpenOptions},
    io::{Result, Write},
    path::{Path, PathBuf},
    time::Duration,
};

/// The prefixes of temporary files that are renamed when they are complete, and the number of letters
/// that follow.
const UNFINISHED: [&str; 2] = [".tmp", ".narrows-"];
const UNFINISHED_LETTERS: usize = 6;

/// The age after which a temporary file is abandoned: writing never takes so long, so its writer was
/// killed.
const MAX_UNFINISHED_AGE: Duration = Duration::from_secs(3_600);

/// Whether a file must survive a power failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Durability {
    /// It can be made again.
    Cache,
    Kept,
}

/// Replaces a file. Creates its directory, for the owner only, if it does not exist.
pub fn write(path: &Path, text: &[u8], durability: Durability) -> Result<()> {
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

/// Opens a file for locking, and creates it if needed, without changing its content.
pub fn open(path: &Path) -> Result<File> {
    make_dir(path.parent().unwrap_or(Path::new(".")))?;
    let mut options = OpenOptions::new();
    options.create(true).truncate(false).write(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path)
}

/// Creates a directory and its parents, for their owner only, if they do not exist.
pub fn make_dir(dir: &Path) -> Result<()> {
    if dir.is_dir() {
        return Ok(());
    }
    let mut builder = DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(dir)
}

/// Creates a directory for its owner only, which is removed when the value is dropped.
pub fn temporary_dir() -> Result<tempfile::TempDir> {
    let mut builder = tempfile::Builder::new();
    #[cfg(unix)]
    let builder = builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o700));
    builder.tempdir()
}

/// Removes the permissions of other users on a file or a directory. Files of another user are left
/// alone, and so are the targets of links.
#[cfg(unix)]
pub fn close_to_others(path: &Path) -> Result<()> {
    use std::{io::ErrorKind, os::unix::fs::PermissionsExt};

    let metadata = match fs::symlink_metadata(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
        found => found?,
    };
    let mode = metadata.permissions().mode();
    if metadata.is_symlink() || mode & 0o077 == 0 {
        return Ok(());
    }
    match fs::set_permissions(path, fs::Permissions::from_mode(mode & 0o700)) {
        Err(error) if matches!(error.kind(), ErrorKind::PermissionDenied | ErrorKind::NotFound) => {
            Ok(())
        }
        done => done,
    }
}

/// Does nothing: other systems keep a user's files private by default.
#[cfg(not(unix))]
pub fn close_to_others(_: &Path) -> Result<()> {
    Ok(())
}

/// Makes a file or a directory tree private, entering the directories that `is_entered` accepts, and
/// removes temporary files that killed processes left there. Goes from the top down: once the top is
/// private, nobody else can change what is below.
pub fn put_in_order(top: &Path, is_entered: impl Fn(&Path) -> bool) -> Result<()> {
    close_to_others(top)?;
    let is_directory = fs::symlink_metadata(top).is_ok_and(|metadata| metadata.is_dir());
    let mut directories: Vec<PathBuf> = is_directory.then(|| top.to_owned()).into_iter().collect();
    while let Some(directory) = directories.pop() {
        // The directory has vanished, or belongs to another user.
        let Ok(entries) = fs::read_dir(&directory) else { continue };
        for entry in entries.flatten() {
            let path = entry.path();
            if remove_abandoned(&path) {
                continue;
            }
            close_to_others(&path)?;
            if entry.file_type().is_ok_and(|kind| kind.is_dir()) && is_entered(&path) {
                directories.push(path);
            }
        }
    }
    Ok(())
}

/// Removes a temporary file that nobody will complete, and tells whether it did.
pub fn remove_abandoned(path: &Path) -> bool {
    let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    let is_unfinished =
        UNFINISHED.iter().filter_map(|start| name.strip_prefix(start)).any(|rest| {
            rest.len() == UNFINISHED_LETTERS
                && rest.bytes().all(|byte| byte.is_ascii_alphanumeric())
        });
    if !is_unfinished {
        return false;
    }
    let Ok(metadata) = fs::symlink_metadata(path) else { return false };
    let age = metadata.modified().ok().and_then(|modified| modified.elapsed().ok());
    let is_old = age.is_some_and(|age| age > MAX_UNFINISHED_AGE);
    is_old && metadata.is_file() && fs::remove_file(path).is_ok()
}

#[cfg(all(test, unix))]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::{
        os::unix::fs::{PermissionsExt, symlink},
        time::SystemTime,
    };

    use super::*;

    fn mode(path: &Path) -> u32 {
        fs::symlink_metadata(path).unwrap().permissions().mode() & 0o777
    }

    fn set_mode(path: &Path, mode: u32) {
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    }

    #[test]
    fn what_is_made_is_for_its_owner_only() {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("a/b/file");
        write(&path, b"x", Durability::Kept).unwrap();
        open(&path.with_extension("lock")).unwrap();
        for dir in ["a", "a/b"] {
            assert_eq!(mode(&home.path().join(dir)), 0o700);
        }
        assert_eq!((mode(&path), mode(&path.with_extension("lock"))), (0o600, 0o600));
        assert_eq!(mode(temporary_dir().unwrap().path()), 0o700);
    }

    #[test]
    fn a_tree_is_closed_and_what_links_lead_to_is_not() {
        let home = tempfile::tempdir().unwrap();
        let at = |path: &str| home.path().join(path);
        for dir in ["top/open/below", "top/passed/below", "outside"] {
            fs::create_dir_all(at(dir)).unwrap();
        }
        for file in ["top/open/file", "top/passed/below/file", "outside/file"] {
            fs::write(at(file), "x").unwrap();
            set_mode(&at(file), 0o666);
        }
        for dir in ["top", "top/open", "top/open/below", "top/passed", "outside"] {
            set_mode(&at(dir), 0o777);
        }
        symlink(at("outside"), at("top/link")).unwrap();
        symlink(at("outside/file"), at("top/open/link")).unwrap();
        put_in_order(&at("top"), |path| !path.ends_with("passed")).unwrap();
        for dir in ["top", "top/open", "top/open/below", "top/passed"] {
            assert_eq!(mode(&at(dir)), 0o700, "{dir}");
        }
        assert_eq!(mode(&at("top/open/file")), 0o600);
        for file in ["top/passed/below/file", "outside/file"] {
            assert_eq!(mode(&at(file)), 0o666, "{file}");
        }
        assert_eq!(mode(&at("outside")), 0o777);
        put_in_order(&at("nowhere"), |_| true).unwrap();
    }

    #[test]
    fn what_killed_processes_left_unfinished_is_removed() {
        let home = tempfile::tempdir().unwrap();
        let old = SystemTime::now() - 2 * MAX_UNFINISHED_AGE;
        for (name, is_old) in [
            (".tmpAb12Cd", true),
            (".narrows-Ab12Cd", true),
            (".tmpNew123", false),
            (".tmp", true),
            ("kept", true),
        ] {
            let file = File::create(home.path().join(name)).unwrap();
            if is_old {
                file.set_modified(old).unwrap();
            }
        }
        put_in_order(home.path(), |_| true).unwrap();
        let mut names: Vec<_> = fs::read_dir(home.path())
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        assert_eq!(names, [".tmp", ".tmpNew123", "kept"]);
    }
}
