#![allow(clippy::unwrap_used)]
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
    workspace.count(&workspace.open_files()).unwrap();
    assert_eq!(used(&workspace), 8 << 20, "walking does not find it, and it counts all the same");
    drop(file);
    assert_eq!(used(&workspace), 8 << 20);
    drop(same);
    assert_eq!(used(&workspace), 0);
}
