#![allow(clippy::unwrap_used)]
use std::{fs, os::unix::fs::PermissionsExt, process::Command, time::Duration};

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use super::*;

const WRITE: OpenHow = OpenHow {
    read: true,
    write: true,
    create: true,
    create_new: false,
    truncate: false,
    follow: true,
};

fn used(workspace: &Workspace) -> u64 {
    workspace.quota.usage().bytes
}

#[test]
fn programs_that_race_for_one_file_leave_the_count_right() {
    let directory = tempfile::tempdir().unwrap();
    let workspace = Workspace::open(directory.path(), &Limits::default()).unwrap();
    std::thread::scope(|scope| {
        for thread in 0..4 {
            let workspace = &workspace;
            scope.spawn(move || {
                for turn in 0_u64..300 {
                    if let Ok(file) = workspace.open_file("big", WRITE) {
                        let _ = file.set_size((turn % 7) << 20);
                    }
                    let _ = match thread % 3 {
                        0 => workspace.remove_file("big"),
                        1 => workspace
                            .open_file("small", WRITE)
                            .map(drop)
                            .and_then(|()| workspace.rename("small", "big")),
                        _ => workspace
                            .open_file("big", OpenHow { truncate: true, ..WRITE })
                            .map(drop),
                    };
                }
            });
        }
    });
    for name in ["big", "small"] {
        let _ = workspace.remove_file(name);
    }
    assert_eq!(used(&workspace), 0);
}

#[test]
fn a_removed_file_counts_as_long_as_it_is_open_and_no_longer() {
    let directory = tempfile::tempdir().unwrap();
    let workspace = Workspace::open(directory.path(), &Limits::default()).unwrap();
    let file = workspace.open_file("file", WRITE).unwrap();
    let same = workspace.open_file("file", WRITE).unwrap();
    file.set_size(5 << 20).unwrap();
    workspace.remove_file("file").unwrap();
    same.set_size(8 << 20).unwrap();
    assert_eq!(used(&workspace), 8 << 20);
    workspace.count_again(&workspace.open_files(), |_| true).unwrap();
    assert_eq!(used(&workspace), 8 << 20, "walking does not find it, and it counts all the same");
    drop(file);
    assert_eq!(used(&workspace), 8 << 20);
    drop(same);
    assert_eq!(used(&workspace), 0);
}

/// Tells whether this is a process in which only the named test runs. If not, the test is run in one.
fn is_alone(test: &str) -> bool {
    const ALONE: &str = "NARROWS_SANDBOX_TEST_ALONE";
    if std::env::var_os(ALONE).is_some() {
        return true;
    }
    let name = format!("fs::workspace::tests::{test}");
    let child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", &name, "--test-threads", "1"])
        .env(ALONE, "1")
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&child.stdout);
    assert!(child.status.success() && said.contains("1 passed"), "{said}");
    false
}

/// Lets this process open so many files, and gives the limit that it had.
fn allow_open_files(most: Option<u64>) -> Rlimit {
    let before = getrlimit(Resource::Nofile);
    setrlimit(Resource::Nofile, Rlimit { current: most, ..before }).unwrap();
    before
}

/// Makes the last count older than it is.
fn let_time_pass(workspace: &Workspace, seconds: u64) {
    workspace.last_count().at -= Duration::from_secs(seconds);
}

#[test]
fn more_folders_than_files_that_can_be_open_are_all_counted() {
    if !is_alone("more_folders_than_files_that_can_be_open_are_all_counted") {
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    for number in 0..100 {
        let folder = directory.path().join(format!("beside{number}"));
        fs::create_dir(&folder).unwrap();
        fs::write(folder.join("file"), [0; 1_000]).unwrap();
    }
    let below = directory.path().join(vec!["below"; 100].join("/"));
    fs::create_dir_all(&below).unwrap();
    fs::write(below.join("file"), [0; 1_000]).unwrap();
    allow_open_files(Some(20));
    let limits = Limits { workspace_bytes: 101_000, ..Limits::default() };
    let workspace = Workspace::open(directory.path(), &limits).unwrap();
    let usage = workspace.quota.usage();
    assert_eq!((usage.bytes, usage.files), (101_000, 301));
    assert_eq!(workspace.walk().unwrap().len(), 101);
    let file = workspace.open_file("more", WRITE).unwrap();
    assert_eq!(file.append(b"x"), Err(ErrorCode::Quota));
}

#[test]
fn a_workspace_that_cannot_be_counted_is_not_written_to_and_says_why() {
    if !is_alone("a_workspace_that_cannot_be_counted_is_not_written_to_and_says_why") {
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    let workspace = Workspace::open(directory.path(), &Limits::default()).unwrap();
    let file = workspace.open_file("file", WRITE).unwrap();
    file.append(b"before").unwrap();
    let before = allow_open_files(Some(0));
    let_time_pass(&workspace, 60);
    assert_eq!(file.append(b"more"), Err(UNCOUNTED));
    let failure = workspace.count_failure().unwrap();
    assert!(failure.contains("cannot be counted (Too many open files"), "{failure}");
    assert_eq!(workspace.count_failure(), None, "it is told once");
    file.set_size(3).unwrap();

    setrlimit(Resource::Nofile, before).unwrap();
    // It is not tried again at once.
    let refused = workspace.write("new", b"x").unwrap_err().to_string();
    assert!(refused.contains("cannot be counted (Too many open files"), "{refused}");
    let_time_pass(&workspace, 1);
    file.append(b"more").unwrap();
    assert_eq!(used(&workspace), 7);
}

#[test]
fn a_folder_that_may_not_be_read_is_not_an_empty_one() {
    let directory = tempfile::tempdir().unwrap();
    let closed = directory.path().join("closed");
    fs::create_dir(&closed).unwrap();
    fs::set_permissions(&closed, fs::Permissions::from_mode(0o000)).unwrap();
    if fs::read_dir(&closed).is_ok() {
        return; // As root everything may be read.
    }
    let workspace = Workspace::open(directory.path(), &Limits::default()).unwrap();
    assert_eq!(workspace.open_file("file", WRITE).map(drop), Err(UNCOUNTED));
    assert!(workspace.walk().unwrap().is_empty());
    fs::set_permissions(&closed, fs::Permissions::from_mode(0o700)).unwrap();
    let_time_pass(&workspace, 1);
    workspace.open_file("file", WRITE).map(drop).unwrap();
}

#[test]
fn what_others_write_and_remove_is_counted_in_time() {
    let directory = tempfile::tempdir().unwrap();
    let limits = Limits { workspace_bytes: 1_000, ..Limits::default() };
    let workspace = Workspace::open(directory.path(), &limits).unwrap();
    let file = workspace.open_file("file", WRITE).unwrap();
    let of_others = directory.path().join("of-others");
    fs::write(&of_others, [0; 900]).unwrap();
    let_time_pass(&workspace, 30);
    assert_eq!(file.append(&[0; 200]), Err(ErrorCode::Quota));
    fs::remove_file(&of_others).unwrap();
    let_time_pass(&workspace, 1);
    file.append(&[0; 200]).unwrap();
    assert_eq!(used(&workspace), 200);
}

#[test]
fn a_full_workspace_can_be_made_smaller() {
    let directory = tempfile::tempdir().unwrap();
    fs::write(directory.path().join("file"), [0; 900]).unwrap();
    let limits = Limits { workspace_bytes: 100, ..Limits::default() };
    let workspace = Workspace::open(directory.path(), &limits).unwrap();
    let file = workspace.open_file("file", WRITE).unwrap();
    assert_eq!(file.append(b"x"), Err(ErrorCode::Quota));
    file.set_size(50).unwrap();
    file.append(b"x").unwrap();
    assert_eq!(used(&workspace), 51);
}

#[test]
fn a_workspace_of_our_own_is_closed_to_others_and_tidied_when_it_is_opened() {
    let home = tempfile::tempdir().unwrap();
    let path = home.path().join("workspace");
    let at = |name: &str| path.join(name);
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    fs::create_dir_all(at("folder")).unwrap();
    for name in ["file", "folder/file", ".narrows-1-1", "folder/.narrows-1-2", ".narrows-1-3"] {
        fs::write(at(name), "x").unwrap();
        fs::set_permissions(at(name), fs::Permissions::from_mode(0o666)).unwrap();
    }
    fs::set_permissions(at("file"), fs::Permissions::from_mode(0o577)).unwrap();
    for folder in [path.clone(), at("folder")] {
        fs::set_permissions(folder, fs::Permissions::from_mode(0o777)).unwrap();
    }
    // Somebody still writes this one.
    let locked = fs::File::open(at(".narrows-1-3")).unwrap();
    assert!(tidy::mark_unfinished(&locked));

    let workspace = Workspace::open_private(&path, &Limits::default()).unwrap();
    workspace.write("new/file", b"x").unwrap();
    let mut names: Vec<_> = workspace.names().unwrap();
    names.sort();
    assert_eq!(names, [".narrows-1-3", "file", "folder", "new"]);
    assert!(!at("folder/.narrows-1-2").exists());
    for folder in [path.clone(), at("folder"), at("new")] {
        assert_eq!(mode(&folder), 0o700, "{folder:?}");
    }
    for file in ["folder/file", "new/file", ".narrows-1-3"] {
        assert_eq!(mode(&at(file)), 0o600, "{file}");
    }
    assert_eq!(mode(&at("file")), 0o500, "what its owner may do stays");
    assert_eq!(used(&workspace), 4);

    // A directory that the user named is theirs.
    let named = home.path().join("named");
    fs::create_dir(&named).unwrap();
    fs::write(named.join(".narrows-1-1"), "x").unwrap();
    fs::set_permissions(&named, fs::Permissions::from_mode(0o755)).unwrap();
    Workspace::open(&named, &Limits::default()).unwrap();
    assert!(named.join(".narrows-1-1").exists());
    assert_eq!(mode(&named), 0o755);
}
