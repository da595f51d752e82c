//! Puts a workspace of Narrows' own in order when it is opened: what is in it is for its owner only, and
//! what killed processes left unfinished goes.

use std::os::fd::AsFd;

use rustix::{
    fs::{
        AtFlags, FileType, FlockOperation, Mode, OFlags, chmodat, flock, fstat, openat, unlinkat,
    },
    io::Errno,
};

use super::walk::WalkEntry;

/// The prefix of files that are not complete yet; nobody is shown them.
pub(super) const UNFINISHED: &str = ".narrows-";

/// Tells whether a file has the name of one that is not complete yet: by the host, with two numbers, or
/// by the guest, with 16 hexadecimal digits.
pub(super) fn is_unfinished(name: &[u8]) -> bool {
    let Some(rest) = name.strip_prefix(UNFINISHED.as_bytes()) else { return false };
    let is_number = |part: &[u8]| !part.is_empty() && part.iter().all(u8::is_ascii_digit);
    let numbers: Vec<&[u8]> = rest.split(|byte| *byte == b'-').collect();
    numbers.len() == 2 && numbers.iter().all(|part| is_number(part))
        || rest.len() == 16 && rest.iter().all(u8::is_ascii_hexdigit)
}

const OTHERS: Mode = Mode::RWXG.union(Mode::RWXO);

/// Takes away the rights of others to the directory itself. What cannot be changed belongs to somebody
/// else, who decides.
pub(super) fn close_to_others(dir: impl AsFd) {
    if let Ok(stat) = fstat(&dir) {
        let mode = Mode::from_raw_mode(stat.st_mode);
        if mode.intersects(OTHERS) {
            // Changed by its name: the descriptor may only be good for looking up paths in it.
            let _ = chmodat(&dir, c".", mode.difference(OTHERS), AtFlags::empty());
        }
    }
}

/// Takes away the rights of others to an entry, and removes it if nobody will finish it. Tells whether
/// it is still there.
pub(super) fn put_in_order(entry: &WalkEntry<'_>) -> bool {
    let kind = entry.kind();
    if !matches!(kind, FileType::RegularFile | FileType::Directory) {
        return true;
    }
    if kind == FileType::RegularFile && remove_abandoned(entry) {
        return false;
    }
    let mode = Mode::from_raw_mode(entry.stat.st_mode);
    if mode.intersects(OTHERS) {
        let _ = chmodat(entry.folder, entry.name, mode.difference(OTHERS), AtFlags::empty());
    }
    true
}

/// Marks a file as being written until it is closed, also if its process is killed. Returns false if
/// somebody is about to remove it. Where files cannot be locked, abandoned ones are not removed either.
pub(super) fn mark_unfinished(file: impl AsFd) -> bool {
    flock(file, FlockOperation::NonBlockingLockExclusive) != Err(Errno::WOULDBLOCK)
}

/// Removes an unfinished file that nobody writes any more; tells whether it did. It is locked while it is
/// removed, so that nobody begins to write it.
fn remove_abandoned(entry: &WalkEntry<'_>) -> bool {
    if !is_unfinished(entry.name.to_bytes()) {
        return false;
    }
    let flags = OFlags::RDWR | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let Ok(file) = openat(entry.folder, entry.name, flags, Mode::empty()) else { return false };
    flock(&file, FlockOperation::NonBlockingLockExclusive).is_ok()
        && unlinkat(entry.folder, entry.name, AtFlags::empty()).is_ok()
}
