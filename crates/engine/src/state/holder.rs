//! The holder of this process's session leases, and a check whether the holder of another process is
//! alive.
//!
//! A gateway that is killed does not release its sessions, so the next user of one would have to wait
//! until the lease expires. Therefore each process keeps a file locked as long as it lives: the system
//! releases the lock when the process ends, in whatever way.

use std::{
    fs::{self, File},
    path::{Path, PathBuf},
    sync::OnceLock,
    time::Duration,
};

use narrows_model::is_plain_name;
use narrows_system::private_file;

use crate::hex::random_name;

/// Files of processes that ended longer ago are removed, because their leases have expired.
const MAX_AGE: Duration = Duration::from_secs(3_600);

/// The name under which this process holds leases.
#[derive(Debug)]
pub(super) struct Holder {
    name: String,
    dir: PathBuf,
    /// Locked since the first lease; `None` where files cannot be locked.
    file: OnceLock<Option<File>>,
}

impl Holder {
    /// Creates a holder with a new name, whose file is in the directory that all gateways of this place
    /// share.
    pub(super) fn new(dir: PathBuf) -> Self {
        // Without randomness, the process id alone must tell holders apart.
        let name = format!("{}-{}", std::process::id(), random_name::<8>());
        Self { name, dir, file: OnceLock::new() }
    }

    /// Returns the name to lease with, and locks the file, so that others can tell that this process is
    /// alive.
    pub(super) fn name(&self) -> &str {
        self.file.get_or_init(|| {
            let path = self.dir.join(&self.name);
            let file = private_file::open(&path).ok()?;
            if file.try_lock().is_err() {
                // An unlocked file would mean that this process is dead.
                let _ = fs::remove_file(&path);
                return None;
            }
            remove_old(&self.dir);
            Some(file)
        });
        &self.name
    }

    /// Tells whether a holder is certainly dead. One without a file here may live on another machine.
    pub(super) fn is_dead(&self, other: &str) -> bool {
        other != self.name && is_plain_name(other) && is_unlocked(&self.dir.join(other))
    }
}

impl Drop for Holder {
    fn drop(&mut self) {
        if self.file.get().is_some_and(Option::is_some) {
            let _ = fs::remove_file(self.dir.join(&self.name));
        }
    }
}

fn is_unlocked(path: &Path) -> bool {
    File::open(path).is_ok_and(|file| file.try_lock_shared().is_ok())
}

/// Removes the files of processes that ended long ago.
fn remove_old(dir: &Path) {
    for entry in fs::read_dir(dir).into_iter().flatten().flatten() {
        let modified = entry.metadata().and_then(|metadata| metadata.modified()).ok();
        let age = modified.and_then(|modified| modified.elapsed().ok());
        if age.is_some_and(|age| age > MAX_AGE) && is_unlocked(&entry.path()) {
            let _ = fs::remove_file(entry.path());
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::SystemTime;

    use super::*;

    #[test]
    fn a_holder_is_dead_when_its_file_is_no_longer_locked() {
        let home = tempfile::tempdir().unwrap();
        let (one, two) = (Holder::new(home.path().into()), Holder::new(home.path().into()));
        let name = one.name().to_owned();
        assert!(!two.is_dead(&name), "it lives");
        assert!(!two.is_dead("7-elsewhere"), "it may live on another machine");
        // As if it were killed: the file stays, and nobody has it locked.
        File::create(home.path().join("7-killed")).unwrap();
        assert!(two.is_dead("7-killed"));
        assert!(!two.is_dead("../7-killed"));
        drop(one);
        assert!(!home.path().join(&name).exists());
    }

    #[test]
    fn files_of_processes_that_ended_long_ago_are_removed() {
        let home = tempfile::tempdir().unwrap();
        let old = SystemTime::now() - 2 * MAX_AGE;
        for (name, is_old) in [("1-old", true), ("2-locked", true), ("3-new", false)] {
            let file = File::create(home.path().join(name)).unwrap();
            if is_old {
                file.set_modified(old).unwrap();
            }
        }
        let locked = File::open(home.path().join("2-locked")).unwrap();
        locked.lock().unwrap();
        let holder = Holder::new(home.path().into());
        holder.name();
        let mut names: Vec<_> = fs::read_dir(home.path())
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        let mut expected = vec!["2-locked", "3-new", holder.name()];
        expected.sort_unstable();
        assert_eq!(names, expected);
    }
}
