//! Who holds the leases of this process, and whether those of another one are still held.
//!
//! A gateway that is killed does not give its sessions back, and whoever goes on with one would have to
//! wait until the lease is over. So each process keeps a file locked for as long as it lives: the system
//! opens the lock when it ends, in whichever way.

use std::{
    fs::{self, File},
    path::{Path, PathBuf},
    sync::OnceLock,
    time::Duration,
};

use narrows_model::is_plain_name;
use narrows_system::private_file;

use crate::hex::random_name;

/// Whatever was leased by a process that ended so long ago is over.
const MAX_AGE: Duration = Duration::from_secs(3_600);

/// The name under which this process holds leases.
#[derive(Debug)]
pub(super) struct Holder {
    name: String,
    dir: PathBuf,
    /// Locked since the first lease; none where files cannot be locked.
    file: OnceLock<Option<File>>,
}

impl Holder {
    /// A new name, and the directory that all processes have their files in that share it.
    pub(super) fn new(dir: PathBuf) -> Self {
        // Without randomness the process' number has to do.
        let name = format!("{}-{}", std::process::id(), random_name::<8>());
        Self { name, dir, file: OnceLock::new() }
    }

    /// The name, to be leased with: from now on others can tell that this process lives.
    pub(super) fn name(&self) -> &str {
        self.file.get_or_init(|| {
            let path = self.dir.join(&self.name);
            let file = private_file::open(&path).ok()?;
            if file.try_lock().is_err() {
                // A file that is not locked would say that we are dead.
                let _ = fs::remove_file(&path);
                return None;
            }
            remove_old(&self.dir);
            Some(file)
        });
        &self.name
    }

    /// Whether a holder is surely dead. One that has no file here may live on another machine.
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
