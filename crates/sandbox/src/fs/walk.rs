//! Walks a tree of folders with two descriptors, however many folders there are and however deep
//! they are: what could not be opened would not be counted.

use std::{
    ffi::{CStr, CString, OsStr},
    io,
    os::{
        fd::{AsFd, BorrowedFd},
        unix::ffi::OsStrExt,
    },
    path::{Path, PathBuf},
    time::{Duration, SystemTime},
};

use rustix::{
    fs::{AtFlags, Dir, FileType, Mode, OFlags, Stat, fstat, openat, statat},
    io::Errno,
};

/// An entry of a tree, never one that a link leads to.
pub(super) struct WalkEntry<'a> {
    /// The folder that it is in, open.
    pub(super) folder: BorrowedFd<'a>,
    /// The path of that folder below the top of the tree.
    pub(super) above: &'a Path,
    pub(super) name: &'a CStr,
    pub(super) stat: &'a Stat,
}

impl WalkEntry<'_> {
    pub(super) fn kind(&self) -> FileType {
        FileType::from_raw_mode(self.stat.st_mode)
    }

    pub(super) fn bytes(&self) -> u64 {
        u64::try_from(self.stat.st_size).unwrap_or_default()
    }

    /// Returns when it was last written to, if that is after 1970.
    pub(super) fn modified(&self) -> Option<SystemTime> {
        let seconds = u64::try_from(self.stat.st_mtime).ok()?;
        let nanoseconds = u32::try_from(self.stat.st_mtime_nsec).ok()?;
        SystemTime::UNIX_EPOCH.checked_add(Duration::new(seconds, nanoseconds))
    }
}

/// Whether a folder is looked into.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Next {
    Enter,
    PassBy,
}

/// What to do with a folder that may not be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Unreadable {
    Fail,
    PassBy,
}

/// A folder on the way from the top to where we are.
struct Level {
    identity: (u64, u64),
    /// The folders in it that are still to be looked into.
    folders: Vec<CString>,
}

/// Visits all that is below a folder. What vanishes meanwhile is passed by; where something else
/// changes that we stand on, this fails.
pub(super) fn walk(
    top: impl AsFd,
    unreadable: Unreadable,
    mut visit: impl FnMut(&WalkEntry<'_>) -> io::Result<Next>,
) -> io::Result<()> {
    let mut path = PathBuf::new();
    let mut here = open(top.as_fd(), c".")?;
    let folders = read(&mut here, &path, &mut visit)?;
    let mut levels = vec![Level { identity: identity(&fstat(here.fd()?)?), folders }];
    while let Some(level) = levels.last_mut() {
        let Some(name) = level.folders.pop() else {
            levels.pop();
            path.pop();
            let Some(above) = levels.last() else { break };
            // Without a descriptor for each level there is no other way back. A folder that was moved
            // meanwhile leads elsewhere.
            let parent = open(here.fd()?, c"..")?;
            if identity(&fstat(parent.fd()?)?) != above.identity {
                return Err(io::Error::new(io::ErrorKind::ResourceBusy, "a folder was moved"));
            }
            here = parent;
            continue;
        };
        let mut folder = match open(here.fd()?, &name) {
            Ok(folder) => folder,
            Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP) => continue,
            Err(Errno::ACCESS) if unreadable == Unreadable::PassBy => continue,
            Err(error) => return Err(error.into()),
        };
        path.push(OsStr::from_bytes(name.to_bytes()));
        let folders = read(&mut folder, &path, &mut visit)?;
        if folders.is_empty() {
            path.pop();
            continue;
        }
        levels.push(Level { identity: identity(&fstat(folder.fd()?)?), folders });
        here = folder;
    }
    Ok(())
}

/// Visits what is in a folder, and returns the folders to look into.
fn read(
    folder: &mut Dir,
    path: &Path,
    visit: &mut impl FnMut(&WalkEntry<'_>) -> io::Result<Next>,
) -> io::Result<Vec<CString>> {
    let mut folders = Vec::new();
    while let Some(entry) = folder.read() {
        let entry = entry?;
        let name = entry.file_name();
        if name == c"." || name == c".." {
            continue;
        }
        let folder = folder.fd()?;
        let stat = match statat(folder, name, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(stat) => stat,
            Err(Errno::NOENT) => continue,
            Err(error) => return Err(error.into()),
        };
        let entry = WalkEntry { folder, above: path, name, stat: &stat };
        if visit(&entry)? == Next::Enter && entry.kind() == FileType::Directory {
            folders.push(name.to_owned());
        }
    }
    Ok(folders)
}

fn open(folder: BorrowedFd<'_>, name: &CStr) -> rustix::io::Result<Dir> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    Dir::new(openat(folder, name, flags, Mode::empty())?)
}

/// Returns the device and the number of a file, which no other one has.
#[allow(clippy::unnecessary_cast, reason = "their types are not the same on all systems")]
fn identity(stat: &Stat) -> (u64, u64) {
    (stat.st_dev as u64, stat.st_ino as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(top: &Path) -> Vec<String> {
        let top = std::fs::File::open(top).unwrap();
        let mut paths = Vec::new();
        walk(&top, Unreadable::Fail, |entry| {
            let path = entry.above.join(OsStr::from_bytes(entry.name.to_bytes()));
            paths.push(path.display().to_string());
            Ok(Next::Enter)
        })
        .unwrap();
        paths.sort();
        paths
    }

    #[test]
    fn everything_is_found_once_and_links_are_not_followed() {
        let home = tempfile::tempdir().unwrap();
        let folder = |path: &str| std::fs::create_dir_all(home.path().join(path)).unwrap();
        for path in ["top/a/b/c", "top/a/d", "top/e", "outside/f"] {
            folder(path);
        }
        for path in ["top/a/b/c/1", "top/a/2", "top/3", "outside/f/4"] {
            std::fs::write(home.path().join(path), "").unwrap();
        }
        std::os::unix::fs::symlink("../outside", home.path().join("top/link")).unwrap();
        let expected =
            ["3", "a", "a/2", "a/b", "a/b/c", "a/b/c/1", "a/d", "e", "link"].map(str::to_owned);
        assert_eq!(found(&home.path().join("top")), expected);
    }

    #[test]
    fn a_path_that_is_longer_than_the_system_takes_is_walked_too() {
        let home = tempfile::tempdir().unwrap();
        let name = "x".repeat(200);
        // One tree is moved to the bottom of another, and that again: no path leads there.
        let long = vec![name.as_str(); 15].join("/");
        for _ in 0..3 {
            let next = home.path().join("next").join(&long);
            std::fs::create_dir_all(&next).unwrap();
            let _ = std::fs::rename(home.path().join("top"), next.join("top"));
            std::fs::rename(home.path().join("next"), home.path().join("top")).unwrap();
        }
        let paths = found(&home.path().join("top"));
        assert_eq!(paths.len(), 3 * 15 + 2);
        assert!(paths.iter().any(|path| path.len() > 9_000));
    }
}
