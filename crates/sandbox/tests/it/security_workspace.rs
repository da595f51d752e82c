//! A program against the disk behind `/workspace` and the memory behind `/tmp`.

use std::{
    ffi::OsStr,
    fs,
    os::unix::{
        ffi::OsStrExt,
        fs::{FileTypeExt, OpenOptionsExt, symlink},
        net::UnixListener,
    },
    path::{Path, PathBuf},
    sync::Arc,
};

use narrows_model::{LimitKind, Limits, Outcome};
use narrows_sandbox::{RunOptions, Workspace, WorkspaceMount};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::{
    security_host::attempting,
    support::{
        PATIENCE, TestHost, failure, limit, run, run_in, run_in_within, run_with, run_within, value,
    },
};

const SECRET: &str = "a secret of the host";

/// A workspace with a neighbour that no program may see or change.
struct Neighbours {
    folder: TempDir,
}

impl Neighbours {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("workspace")).unwrap();
        fs::create_dir(folder.path().join("outside")).unwrap();
        fs::write(folder.path().join("outside/secret.txt"), SECRET).unwrap();
        fs::write(folder.path().join("workspace/own.txt"), "mine").unwrap();
        Self { folder }
    }

    fn workspace(&self) -> PathBuf {
        self.folder.path().join("workspace")
    }

    fn outside(&self) -> PathBuf {
        self.folder.path().join("outside")
    }

    async fn run(&self, source: &str) -> Outcome {
        run_in(&self.workspace(), &attempting(source)).await
    }

    #[track_caller]
    fn assert_outside_unchanged(&self) {
        let entries: Vec<_> = fs::read_dir(self.outside()).unwrap().collect();
        assert_eq!(entries.len(), 1, "{entries:?}");
        assert_eq!(fs::read_to_string(self.outside().join("secret.txt")).unwrap(), SECRET);
        let mut names: Vec<_> = fs::read_dir(self.folder.path())
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        assert_eq!(names, ["outside", "workspace"]);
    }
}

fn small() -> Limits {
    Limits {
        wall_time: PATIENCE,
        workspace_bytes: 1 << 20,
        workspace_files: 20,
        tmp_bytes: 1 << 20,
        ..Limits::default()
    }
}

fn size_on_disk(folder: &Path) -> u64 {
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap());
    entries.map(|entry| entry.metadata().unwrap().len()).sum()
}

fn not_permitted(path: &str) -> String {
    format!("PermissionError: [Errno 63] Operation not permitted: '{path}'")
}

fn no_such_file(path: &str) -> String {
    format!("FileNotFoundError: [Errno 44] No such file or directory: '{path}'")
}

#[tokio::test]
async fn dots_do_not_lead_out_of_the_workspace() {
    let place = Neighbours::new();
    let paths = [
        "../outside/secret.txt",
        "/workspace/../outside/secret.txt",
        "/workspace/../../outside/secret.txt",
        "/workspace/./../outside/secret.txt",
        "sub/../../outside/secret.txt",
        "//workspace//..//outside/secret.txt",
        "/workspace/../etc/passwd",
        "../../../../../../../../etc/passwd",
    ];
    let source = format!(
        r#"
import os
os.mkdir("sub")
paths = {paths:?}
result = [[attempt(open, path) for path in paths], [attempt(os.stat, path) for path in paths],
          open("sub/../own.txt").read(), open("/tmp/../workspace/own.txt").read()]
"#
    );
    let refused = paths.map(no_such_file);
    let outcome = place.run(&source).await;
    assert_eq!(*value(&outcome), json!([refused, refused, "mine", "mine"]));
    place.assert_outside_unchanged();
}

#[tokio::test]
async fn writing_by_dots_or_by_absolute_paths_changes_nothing_outside() {
    let place = Neighbours::new();
    let outside = place.outside();
    let source = format!(
        r#"
import os, shutil
outside = {outside:?}
result = {{
    "dots": attempt(open, "../outside/new.txt", "w"),
    "absolute": attempt(open, outside + "/new.txt", "w"),
    "overwrite": attempt(open, outside + "/secret.txt", "r+"),
    "mkdir": attempt(os.mkdir, "../outside/new"),
    "remove": attempt(os.remove, "../outside/secret.txt"),
    "rmtree": attempt(shutil.rmtree, outside),
    "rename": attempt(os.rename, "own.txt", "../outside/own.txt"),
    "fetch": attempt(os.rename, "../outside/secret.txt", "stolen.txt"),
    "truncate": attempt(os.truncate, "../outside/secret.txt", 0),
    "utime": attempt(os.utime, "../outside/secret.txt", (1, 1)),
    "own": [open("new.txt", "w").write("mine"), os.rename("new.txt", "newer.txt"), os.listdir(".")],
}}
result["own"][2].sort()
"#
    );
    let read_only = |path: &str| format!("OSError: [Errno 69] Read-only file system: '{path}'");
    let new = outside.join("new.txt").display().to_string();
    let secret = outside.join("secret.txt").display().to_string();
    let expected = json!({
        "dots": read_only("../outside/new.txt"),
        "absolute": read_only(&new),
        "overwrite": no_such_file(&secret),
        "mkdir": read_only("../outside/new"),
        "remove": no_such_file("../outside/secret.txt"),
        "rmtree": no_such_file(outside.to_str().unwrap()),
        "rename": "OSError: [Errno 69] Read-only file system: 'own.txt' -> '../outside/own.txt'",
        "fetch": format!("{} -> 'stolen.txt'", no_such_file("../outside/secret.txt")),
        "truncate": no_such_file("../outside/secret.txt"),
        "utime": read_only("../outside/secret.txt"),
        "own": [4, null, ["newer.txt", "own.txt"]],
    });
    // A temporary folder below `/tmp` would be one of the program's own `/tmp`.
    let expected: Value = if outside.starts_with("/tmp") {
        let mut expected = expected;
        expected["absolute"] = no_such_file(&new).into();
        expected
    } else {
        expected
    };
    assert_eq!(*value(&place.run(&source).await), expected);
    place.assert_outside_unchanged();
}

#[tokio::test]
async fn a_symlink_to_a_file_outside_is_not_followed() {
    let place = Neighbours::new();
    symlink("../outside/secret.txt", place.workspace().join("relative")).unwrap();
    symlink(place.outside().join("secret.txt"), place.workspace().join("absolute")).unwrap();
    symlink("own.txt", place.workspace().join("inside")).unwrap();
    for link in ["relative", "absolute"] {
        let source = format!(
            r#"
import os, pathlib, shutil
link = {link:?}
result = [attempt(open, link), attempt(open, link, "w"), attempt(open, link, "a"), attempt(os.open, link, os.O_RDONLY),
          attempt(os.stat, link), attempt(os.truncate, link, 0), attempt(os.utime, link, (1, 1)),
          attempt(lambda: pathlib.Path(link).read_text()), attempt(shutil.copy, link, "copy.txt"),
          os.path.exists("copy.txt"), open("inside").read()]
"#
        );
        let refused = not_permitted(link);
        let outcome = place.run(&source).await;
        let found = value(&outcome).as_array().unwrap();
        for (place, refusal) in found[..9].iter().enumerate() {
            assert_eq!(*refusal, json!(refused), "{place}");
        }
        assert_eq!(found[9..], [json!(false), json!("mine")]);
        place.assert_outside_unchanged();
    }
}

#[tokio::test]
async fn a_symlink_to_a_folder_outside_is_not_entered() {
    let place = Neighbours::new();
    symlink("../outside", place.workspace().join("out")).unwrap();
    symlink("..", place.workspace().join("up")).unwrap();
    symlink("/", place.workspace().join("root")).unwrap();
    fs::create_dir(place.workspace().join("folder")).unwrap();
    fs::write(place.workspace().join("folder/in.txt"), "inner").unwrap();
    symlink("folder", place.workspace().join("inside")).unwrap();
    let source = r#"
import glob, os
result = {
    "list": [attempt(os.listdir, name) for name in ("out", "up", "root")],
    "read": [attempt(open, name) for name in ("out/secret.txt", "up/outside/secret.txt", "root/etc/passwd")],
    "create": attempt(open, "out/new.txt", "w"),
    "mkdir": attempt(os.mkdir, "out/new"),
    "remove": attempt(os.remove, "out/secret.txt"),
    "rename out": attempt(os.rename, "own.txt", "out/own.txt"),
    "rename in": attempt(os.rename, "out/secret.txt", "stolen.txt"),
    "chdir": attempt(os.chdir, "out"),
    "dir_fd": attempt(os.open, "out", os.O_RDONLY | os.O_DIRECTORY),
    "walk": sorted(path for path, _, _ in os.walk(".", followlinks=True) if path != "."),
    "glob": sorted(glob.glob("**/*.txt", recursive=True)),
    "inside": [os.listdir("inside"), open("inside/in.txt").read()],
}
"#;
    let refusals = |names: [&str; 3]| json!(names.map(not_permitted));
    let expected = json!({
        "list": refusals(["out", "up", "root"]),
        "read": refusals(["out/secret.txt", "up/outside/secret.txt", "root/etc/passwd"]),
        "create": not_permitted("out/new.txt"),
        "mkdir": not_permitted("out/new"),
        "remove": not_permitted("out/secret.txt"),
        "rename out": "PermissionError: [Errno 63] Operation not permitted: 'own.txt' -> 'out/own.txt'",
        "rename in": "PermissionError: [Errno 63] Operation not permitted: 'out/secret.txt' -> 'stolen.txt'",
        "chdir": not_permitted("out"),
        "dir_fd": not_permitted("out"),
        "walk": ["./folder", "./inside"],
        "glob": ["folder/in.txt", "inside/in.txt", "own.txt"],
        "inside": [["in.txt"], "inner"],
    });
    assert_eq!(*value(&place.run(source).await), expected);
    place.assert_outside_unchanged();
}

#[tokio::test]
async fn a_loop_of_symlinks_ends() {
    let place = Neighbours::new();
    symlink("itself", place.workspace().join("itself")).unwrap();
    symlink("two", place.workspace().join("one")).unwrap();
    symlink("one", place.workspace().join("two")).unwrap();
    symlink("own.txt", place.workspace().join("fine")).unwrap();
    let source = r#"
import os
result = [[attempt(open, name) for name in ("itself", "one", "two/x")], attempt(os.listdir, "itself"),
          open("fine").read(), sorted(os.listdir("."))]
"#;
    let looped = |path: &str| format!("OSError: [Errno 32] Symbolic link loop: '{path}'");
    let opened = ["itself", "one", "two/x"].map(looped);
    let expected =
        json!([opened, looped("itself"), "mine", ["fine", "itself", "one", "own.txt", "two"],]);
    assert_eq!(*value(&place.run(source).await), expected);
}

#[tokio::test]
async fn a_dangling_symlink_creates_nothing_outside() {
    let place = Neighbours::new();
    symlink("../outside/new.txt", place.workspace().join("out")).unwrap();
    symlink(place.outside().join("new"), place.workspace().join("absolute")).unwrap();
    symlink("not-there.txt", place.workspace().join("inside")).unwrap();
    let source = r#"
import os
result = [attempt(open, "out", "w"), attempt(open, "out", "x"), attempt(os.mkdir, "absolute"), attempt(open, "absolute", "a"),
          attempt(open, "inside", "w"), open("plain.txt", "w").write("mine")]
"#;
    let expected = json!([
        not_permitted("out"),
        not_permitted("out"),
        "FileExistsError: [Errno 20] File exists: 'absolute'",
        not_permitted("absolute"),
        "FileExistsError: [Errno 20] File exists: 'inside'",
        4,
    ]);
    assert_eq!(*value(&place.run(source).await), expected);
    place.assert_outside_unchanged();
    assert!(!place.workspace().join("not-there.txt").exists());
}

#[tokio::test]
async fn a_program_makes_no_links() {
    let place = Neighbours::new();
    let source = r#"
import os, pathlib
result = [attempt(os.symlink, "/etc/passwd", "soft"), attempt(os.symlink, "own.txt", "soft"),
          attempt(lambda: pathlib.Path("soft").symlink_to("own.txt")), attempt(os.link, "own.txt", "hard"),
          attempt(os.symlink, "x", "/tmp/soft"), attempt(os.link, "own.txt", "/tmp/hard"), sorted(os.listdir("."))]
os.rename("own.txt", "moved.txt")
result.append(open("moved.txt").read())
"#;
    let refused = |from: &str, to: &str| {
        format!("PermissionError: [Errno 63] Operation not permitted: '{from}' -> '{to}'")
    };
    let expected = json!([
        refused("/etc/passwd", "soft"),
        refused("own.txt", "soft"),
        refused("own.txt", "soft"),
        refused("own.txt", "hard"),
        refused("x", "/tmp/soft"),
        refused("own.txt", "/tmp/hard"),
        ["own.txt"],
        "mine",
    ]);
    assert_eq!(*value(&place.run(source).await), expected);
    assert!(!place.workspace().join("soft").is_symlink());
}

/// Opening a pipe waits for its other end, and what waits in the host no limit ends.
#[tokio::test]
async fn a_pipe_or_a_socket_in_the_workspace_is_not_opened() {
    let place = Neighbours::new();
    make_pipe(&place.workspace().join("pipe"));
    let _socket = UnixListener::bind(place.workspace().join("socket")).unwrap();
    let source = r#"
import os
result = [[attempt(open, name, mode) for name in ("pipe", "socket") for mode in ("r", "w", "a", "r+")],
          sorted(os.listdir(".")), open("own.txt").read(), os.remove("pipe")]
"#;
    let running = place.run(source);
    let outcome = tokio::time::timeout(PATIENCE, running).await.expect("it hangs");
    let mut refused = vec![not_permitted("pipe"); 4];
    refused.extend(vec![not_permitted("socket"); 4]);
    let expected = json!([refused, ["own.txt", "pipe", "socket"], "mine", null]);
    assert_eq!(*value(&outcome), expected);
}

/// Opening a pipe to set its times would wait for its other end: the run would hang in the host
/// past all of its limits, and with it its thread and its place.
#[tokio::test]
async fn the_times_of_a_pipe_are_set_without_waiting_for_its_other_end() {
    let place = Neighbours::new();
    let pipe = place.workspace().join("pipe");
    make_pipe(&pipe);
    let source = attempting(
        r#"
import os
own = os.utime("own.txt", (1, 1)), os.stat("own.txt").st_mtime
result = [attempt(os.utime, "pipe", (1, 1)), own[1]]
"#,
    );
    let workspace = place.workspace();
    let running = run_in_within(&workspace, &source, small());
    let outcome = tokio::time::timeout(PATIENCE, running).await;
    // Frees the thread that waits for a writer, whatever came of it.
    let writer = fs::OpenOptions::new().write(true).custom_flags(0o4000).open(&pipe);
    drop(writer);
    let outcome = outcome.expect("the host hangs, and no limit ends the run");
    assert_eq!(value(&outcome)[1], json!(1.0));
    assert!(fs::metadata(pipe).unwrap().file_type().is_fifo());
}

fn make_pipe(path: &Path) {
    let made = std::process::Command::new("mkfifo").arg(path).status().unwrap();
    assert!(made.success());
}

#[tokio::test]
async fn odd_names_are_refused_or_kept_as_they_are() {
    let place = Neighbours::new();
    let source = r#"
import os
odd = ["new\nline", " ", "-rf", "a\\b", "é", "\u202e", "~", "$HOME", "*", "..."]
for name in odd:
    open(name, "w").write(name)
same = all(open(name).read() == name for name in odd) and set(os.listdir(".")) == {*odd, "own.txt"}
def told(action, *arguments):
    refusal = attempt(action, *arguments)
    return refusal if isinstance(refusal, list) else refusal.partition(": '")[0].partition(": b'")[0]
result = [told(open, "a\0b"), told(open, "/workspace/\0/../x", "w"), told(open, "x" * 256, "w"), told(os.mkdir, "x" * 256),
          told(open, "x/" * 3000 + "y", "w"), told(open, b"\xff\xfe", "w"), told(open, "", "w"), same,
          open("y" * 255, "w").write("mine")]
"#;
    let expected = json!([
        "ValueError: embedded null byte",
        "ValueError: embedded null byte",
        "OSError: [Errno 37] Filename too long",
        "OSError: [Errno 37] Filename too long",
        "OSError: [Errno 37] Filename too long",
        "OSError: [Errno 25] Illegal byte sequence",
        "IsADirectoryError: [Errno 31] Is a directory",
        true,
        4,
    ]);
    assert_eq!(*value(&place.run(source).await), expected);
    place.assert_outside_unchanged();
}

/// The C library asks for the inode of every name that is listed. One that cannot be named again
/// must not make the whole listing fail.
#[tokio::test]
async fn a_file_of_the_host_whose_name_is_no_text_does_not_hide_the_others() {
    let place = Neighbours::new();
    fs::write(place.workspace().join(OsStr::from_bytes(b"\xff\xfe.txt")), "odd").unwrap();
    let source = r#"
import os
result = [open("own.txt").read(), attempt(lambda: "own.txt" in os.listdir("."))]
"#;
    assert_eq!(*value(&place.run(source).await), json!(["mine", ["allowed", "True"]]));
}

#[tokio::test]
async fn renaming_does_not_lead_out_of_the_mounts() {
    let place = Neighbours::new();
    let source = r#"
import os, shutil
os.mkdir("folder")
result = [attempt(os.rename, "own.txt", "/tmp/own.txt"), attempt(os.rename, "own.txt", "/own.txt"),
          attempt(os.rename, "/workspace", "/tmp/w"), attempt(os.rename, "/tmp", "/workspace/t"),
          attempt(os.rename, "/", "/workspace/r"), attempt(os.rename, "folder", "folder/inner"),
          attempt(os.rmdir, "/workspace"), attempt(os.rmdir, "/tmp"), attempt(os.rmdir, "/"),
          shutil.move("own.txt", "/tmp/own.txt"), open("/tmp/own.txt").read(), os.path.exists("own.txt")]
"#;
    let between =
        |error: &str, from: &str, to: &str| format!("OSError: {error}: '{from}' -> '{to}'");
    let expected = json!([
        between("[Errno 75] Cross-device link", "own.txt", "/tmp/own.txt"),
        between("[Errno 69] Read-only file system", "own.txt", "/own.txt"),
        between("[Errno 75] Cross-device link", "/workspace", "/tmp/w"),
        between("[Errno 75] Cross-device link", "/tmp", "/workspace/t"),
        between("[Errno 10] Resource busy", "/", "/workspace/r"),
        between("[Errno 28] Invalid argument", "folder", "folder/inner"),
        "OSError: [Errno 10] Resource busy: '/workspace'",
        "OSError: [Errno 10] Resource busy: '/tmp'",
        "OSError: [Errno 10] Resource busy: '/'",
        "/tmp/own.txt",
        "mine",
        false,
    ]);
    assert_eq!(*value(&place.run(source).await), expected);
    place.assert_outside_unchanged();
}

#[tokio::test]
async fn changing_the_folder_does_not_lead_out() {
    let place = Neighbours::new();
    let source = r#"
import os
os.makedirs("a/b")
os.chdir("a/b")
for _ in range(20):
    os.chdir("..")
at_the_top = sorted(os.listdir("."))
refused = [attempt(open, "outside/secret.txt"), attempt(open, "etc/passwd"), attempt(os.chdir, "/etc"), attempt(os.chdir, "/workspace/own.txt")]
# The folder under its feet, gone.
os.chdir("/workspace/a/b")
os.rmdir("/workspace/a/b")
refused.append(attempt(open, "x", "w"))
refused.append(attempt(open, "../../../outside/secret.txt"))
os.chdir("/workspace")
result = [at_the_top, refused, open("own.txt").read()]
"#;
    let expected = json!([
        ["tmp", "workspace"],
        [
            no_such_file("outside/secret.txt"),
            no_such_file("etc/passwd"),
            no_such_file("/etc"),
            "NotADirectoryError: [Errno 54] Not a directory: '/workspace/own.txt'",
            no_such_file("x"),
            no_such_file("../../../outside/secret.txt"),
        ],
        "mine",
    ]);
    assert_eq!(*value(&place.run(source).await), expected);
    place.assert_outside_unchanged();
}

#[tokio::test]
async fn descriptors_of_folders_do_not_lead_out() {
    let place = Neighbours::new();
    symlink("../outside", place.workspace().join("out")).unwrap();
    let source = r#"
import os
os.mkdir("folder")
folder = os.open("folder", os.O_RDONLY)
root = os.open("/", os.O_RDONLY)
def inside(path, *flags, at=folder):
    return attempt(os.open, path, *(flags or [os.O_RDONLY]), dir_fd=at)
refused = [inside("../../outside/secret.txt"), inside("/etc/passwd"), inside("../out/secret.txt"),
           inside("etc/passwd", at=root), inside("../../etc/passwd", at=root), inside("new", os.O_CREAT | os.O_WRONLY, at=root),
           attempt(os.stat, "../../outside", dir_fd=folder), attempt(os.mkdir, "../../outside/x", dir_fd=folder)]
# A descriptor of a folder that a link to the outside took the place of.
os.rmdir("folder")
os.rename("out", "folder")
refused.append(inside("secret.txt"))
own = os.read(os.open("workspace/own.txt", os.O_RDONLY, dir_fd=root), 9).decode()
result = [refused, own]
"#;
    let expected = json!([
        [
            no_such_file("../../outside/secret.txt"),
            no_such_file("/etc/passwd"),
            not_permitted("../out/secret.txt"),
            no_such_file("etc/passwd"),
            no_such_file("../../etc/passwd"),
            "OSError: [Errno 69] Read-only file system: 'new'",
            no_such_file("../../outside"),
            "OSError: [Errno 69] Read-only file system: '../../outside/x'",
            not_permitted("secret.txt"),
        ],
        "mine",
    ]);
    assert_eq!(*value(&place.run(source).await), expected);
    place.assert_outside_unchanged();
}

#[tokio::test]
async fn the_root_is_read_only() {
    let source = r#"
import os
result = [attempt(open, "/x", "w"), attempt(open, "/python/x.py", "w"), attempt(os.mkdir, "/x"), attempt(os.makedirs, "/a/b"),
          attempt(open, "/", "w"), attempt(os.remove, "/"), attempt(open, "/workspace/x", "w"), attempt(os.mkdir, "/workspace"),
          os.listdir("/"), open("/tmp/x", "w").write("mine")]
"#;
    let read_only = |path: &str| format!("OSError: [Errno 69] Read-only file system: '{path}'");
    let outcome = run(&attempting(source)).await;
    let expected = json!([
        read_only("/x"),
        read_only("/python/x.py"),
        read_only("/x"),
        read_only("/a"),
        "IsADirectoryError: [Errno 31] Is a directory: '/'",
        "IsADirectoryError: [Errno 31] Is a directory: '/'",
        // This run has no workspace.
        no_such_file("/workspace/x"),
        no_such_file("/workspace"),
        ["tmp"],
        4,
    ]);
    assert_eq!(*value(&outcome), expected);
}

const OVER_QUOTA: &str = "OSError: [Errno 19] Quota exceeded";
/// The same from a write: the C library makes every failed write to a stream an I/O error.
const FAILED_WRITE: &str = "OSError: [Errno 29] I/O error";

#[tokio::test]
async fn the_disk_is_not_filled_by_any_way_of_writing() {
    for (name, refused, action) in [
        ("write", FAILED_WRITE, "put('big', 2 << 20)"),
        ("os.write", FAILED_WRITE, "[os.write(descriptor, bytes(1 << 16)) for _ in range(32)]"),
        ("append", FAILED_WRITE, "[put('big', 1 << 16, 'ab') for _ in range(32)]"),
        (
            "seek",
            FAILED_WRITE,
            "(lambda file: (file.seek(2 << 20), file.write(b'x'), file.flush()))(open('big', 'wb'))",
        ),
        (
            "far seek",
            FAILED_WRITE,
            "(lambda file: (file.seek(2**62), file.write(b'x'), file.flush()))(open('big', 'wb'))",
        ),
        ("truncate", OVER_QUOTA, "open('big', 'wb').truncate(2 << 20)"),
        ("os.truncate", OVER_QUOTA, "os.truncate('own.txt', 2 << 20)"),
        ("os.ftruncate", OVER_QUOTA, "os.ftruncate(descriptor, 2**62)"),
        ("pwrite", OVER_QUOTA, "os.pwrite(descriptor, b'x', 2 << 20)"),
        ("copy", FAILED_WRITE, "[shutil.copy('/tmp/half', f'copy{n}') for n in range(5)]"),
        ("many", FAILED_WRITE, "[put(f'part{n}', 200_000) for n in range(8)]"),
    ] {
        let place = Neighbours::new();
        let source = attempting(&format!(
            r#"
import os, shutil
descriptor = os.open("raw", os.O_CREAT | os.O_RDWR)
def put(path, size, mode="wb"):
    with open(path, mode) as file:
        file.write(bytes(size))
put("/tmp/half", 1 << 19)
put("fine", 1 << 18)
fine = os.stat("fine").st_size
refusal = attempt(lambda: {action})
result = [refusal if isinstance(refusal, list) else refusal.partition(": '")[0], fine]
"#
        ));
        let outcome = run_in_within(&place.workspace(), &source, small()).await;
        assert_eq!(*value(&outcome), json!([refused, 1 << 18]), "{name}");
        assert!(size_on_disk(&place.workspace()) <= 1 << 20, "{name}");
        place.assert_outside_unchanged();
    }
}

#[tokio::test]
async fn a_program_is_told_the_limit_of_the_workspace_whatever_its_own_says() {
    let place = Neighbours::new();
    let workspace = Workspace::open(place.workspace(), &small()).unwrap();
    let workspace = Some(WorkspaceMount::writable(workspace));
    let limits = Limits { wall_time: PATIENCE, ..Limits::default() };
    let options = RunOptions { limits, workspace, ..RunOptions::default() };
    let source = "open('large', 'wb').write(bytes(2 << 20))";
    let outcome = run_with(source, &TestHost::new(), options).await;
    let hit = outcome.limit().expect("a limit");
    assert_eq!((hit.name, hit.value), (LimitKind::WorkspaceBytes, f64::from(1 << 20)));
}

#[tokio::test]
async fn the_disk_is_not_filled_by_sqlite() {
    let place = Neighbours::new();
    let source = r#"
import sqlite3
data = sqlite3.connect("data.db")
data.execute("create table t (x)")
data.execute("insert into t values (zeroblob(100000))")
data.commit()
kept = data.execute("select count(*) from t").fetchone()[0]
print(kept, flush=True)
while True:
    data.execute("insert into t values (zeroblob(100000))")
    data.commit()
"#;
    let outcome = run_in_within(&place.workspace(), source, small()).await;
    assert_eq!(limit(&outcome), LimitKind::WorkspaceBytes);
    assert!(failure(&outcome).kind.starts_with("sqlite3."), "{}", failure(&outcome).kind);
    assert_eq!(outcome.stdout, "1\n");
    assert!(size_on_disk(&place.workspace()) <= 1 << 20);
}

#[tokio::test]
async fn an_unhandled_quota_is_the_limit_that_ended_the_run() {
    let place = Neighbours::new();
    let source = "open('big', 'wb').write(bytes(2 << 20))";
    let outcome = run_in_within(&place.workspace(), source, small()).await;
    assert_eq!(limit(&outcome), LimitKind::WorkspaceBytes);
    assert_eq!(failure(&outcome).kind, "OSError");
    // A quota that the program coped with is not what it then fails by.
    let source =
        "try:\n    open('big', 'wb').write(bytes(2 << 20))\nexcept OSError:\n    pass\n1 / 0";
    let outcome = run_in_within(&place.workspace(), source, small()).await;
    assert!(outcome.limit().is_none());
    assert_eq!(failure(&outcome).kind, "ZeroDivisionError");
}

#[tokio::test]
async fn a_file_that_is_unlinked_but_open_still_counts() {
    let place = Neighbours::new();
    let source = attempting(
        r#"
import os
def fill(name):
    file = open(name, "wb")
    written = file.write(bytes(900_000))
    file.flush()
    return written, file
_, held = fill("held")
os.unlink("held")
refused = attempt(fill, "more")
held.close()
os.unlink("more")
result = [refused, fill("after")[0]]
"#,
    );
    let outcome = run_in_within(&place.workspace(), &source, small()).await;
    let found = value(&outcome);
    assert_eq!(found[0], json!(FAILED_WRITE));
    // Closed, it gives its room back.
    assert_eq!(found[1], json!(900_000));
}

/// When the quota is reached, the directory is counted again, once a second. Files that are
/// unlinked but open are not in it; were they forgotten, each second would give the whole quota
/// anew, for as many files as can be open.
#[tokio::test]
async fn a_file_that_is_unlinked_but_open_still_counts_after_a_recount() {
    let place = Neighbours::new();
    let source = attempting(
        r#"
import os, time
files = []
def hold():
    file = open(f"held{len(files)}", "wb")
    files.append(file)
    os.unlink(file.name)
    written = file.write(bytes(900_000))
    file.flush()
    return written
result = [attempt(hold)]
for _ in range(2):
    # Not to wait for something: the time is what the attack needs.
    time.sleep(1.1)
    result.append(attempt(hold))
"#,
    );
    let outcome = run_in_within(&place.workspace(), &source, small()).await;
    assert_eq!(*value(&outcome), json!([["allowed", "900000"], FAILED_WRITE, FAILED_WRITE]));
}

#[tokio::test]
async fn inodes_are_not_used_up_by_files_or_folders() {
    for (what, action) in [
        ("files", "open(f'entry{n}', 'w').close()"),
        ("folders", "os.mkdir(f'entry{n}')"),
        ("nested folders", "os.makedirs('/'.join(['entry'] * (n + 1)))"),
    ] {
        let place = Neighbours::new();
        let source = format!("import os\nfor n in range(50):\n    {action}\n    print(n)");
        let outcome = run_in_within(&place.workspace(), &source, small()).await;
        assert_eq!(limit(&outcome), LimitKind::WorkspaceFiles, "{what}");
        assert!(failure(&outcome).message.contains("[Errno 19] Quota exceeded"), "{what}");
        // One place was taken by `own.txt`.
        assert_eq!(outcome.stdout.lines().count(), 19, "{what}");
        // A refused entry is not there, and a removed one makes room.
        let source = attempting(
            "import os\nos.remove('own.txt')\nresult = [attempt(open, 'again', 'w')[0], attempt(open, 'more', 'w')]",
        );
        let outcome = run_in_within(&place.workspace(), &source, small()).await;
        let refused = format!("{OVER_QUOTA}: 'more'");
        assert_eq!(*value(&outcome), json!(["allowed", refused]), "{what}");
    }
}

#[tokio::test]
async fn file_descriptors_of_the_host_are_not_used_up() {
    let place = Neighbours::new();
    let source = attempting(
        r#"
import os
for folder in ("/workspace", "/tmp"):
    files = []
    try:
        while len(files) < 2000:
            files.append(open(f"{folder}/file", "a"))
    except OSError as error:
        refused = f"{type(error).__name__}: {error}"
    print(len(files), refused)
    files.pop().close()
    print(attempt(lambda: open(f"{folder}/file").close()))
    for file in files:
        file.close()
"#,
    );
    let outcome = place.run(&source).await;
    value(&outcome);
    let lines: Vec<&str> = outcome.stdout.lines().collect();
    for (place, folder) in [(0, "/workspace"), (2, "/tmp")] {
        let (count, refused) = lines[place].split_once(' ').unwrap();
        // Open folders, such as the root, count too.
        assert!((240..=256).contains(&count.parse::<u32>().unwrap()), "{count}");
        assert_eq!(refused, format!("OSError: [Errno 48] Out of memory: '{folder}/file'"));
        // One that is closed makes room.
        assert_eq!(lines[place + 1], "['allowed', 'None']");
    }
}

/// The host keeps the path of each, which may be long.
#[tokio::test]
async fn open_folders_are_bounded_as_open_files_are() {
    let source = attempting(
        r#"
import os
held = []
def hold():
    while len(held) < 20_000:
        held.append(os.open("/tmp", os.O_RDONLY))
result = [attempt(lambda: os.close(os.open("/tmp", os.O_RDONLY))), attempt(hold)]
"#,
    );
    let outcome = run_within(&source, small()).await;
    let found = value(&outcome);
    assert_eq!(found[0], json!(["allowed", "None"]));
    assert!(found[1].is_string(), "20000 folders are open at once");
}

/// The host keeps all names of each: a folder of a thousand names, listed ten thousand times at
/// once, would be gigabytes of the host's memory.
#[tokio::test]
async fn open_listings_are_bounded() {
    let source = attempting(
        r#"
import os
for n in range(100):
    open(f"/tmp/{n:0200}", "w").close()
held = []
def hold():
    while len(held) < 5_000:
        listing = os.scandir("/tmp")
        next(listing)
        held.append(listing)
result = [len(os.listdir("/tmp")), attempt(hold)]
"#,
    );
    let outcome = run_within(&source, small()).await;
    let found = value(&outcome);
    assert_eq!(found[0], json!(100));
    assert!(found[1].is_string(), "5000 listings are open at once");
}

#[tokio::test]
async fn the_memory_behind_tmp_is_bounded() {
    for (name, refused, action) in [
        ("write", FAILED_WRITE, "put('/tmp/big', 2 << 20)"),
        ("append", FAILED_WRITE, "[put('/tmp/big', 1 << 16, 'ab') for _ in range(32)]"),
        ("truncate", OVER_QUOTA, "open('/tmp/big', 'wb').truncate(2**62)"),
        (
            "seek",
            FAILED_WRITE,
            "(lambda file: (file.seek(2**40), file.write(b'x')))(open('/tmp/big', 'wb', buffering=0))",
        ),
        ("many", FAILED_WRITE, "[put(f'/tmp/part{n}', 200_000) for n in range(8)]"),
        ("unlinked", FAILED_WRITE, "[hold(n) for n in range(8)]"),
        ("names", OVER_QUOTA, "[open(f'/tmp/name{n}', 'w').close() for n in range(2000)]"),
        ("folders", OVER_QUOTA, "[os.mkdir(f'/tmp/name{n}') for n in range(2000)]"),
    ] {
        let source = attempting(&format!(
            r#"
import os
held = []
def hold(n):
    held.append(open(f"/tmp/held{{n}}", "wb"))
    os.unlink(held[-1].name)
    held[-1].write(bytes(200_000))
    held[-1].flush()
def put(path, size, mode="wb"):
    with open(path, mode) as file:
        file.write(bytes(size))
put("/tmp/fine", 1 << 18)
fine = os.stat("/tmp/fine").st_size
refusal = attempt(lambda: {action})
result = [refusal if isinstance(refusal, list) else refusal.partition(": '")[0], fine]
"#
        ));
        let outcome = run_within(&source, small()).await;
        assert_eq!(*value(&outcome), json!([refused, 1 << 18]), "{name}");
    }
    let outcome = run_within("open('/tmp/big', 'wb').write(bytes(2 << 20))", small()).await;
    assert_eq!(limit(&outcome), LimitKind::TmpBytes);
}

#[tokio::test]
async fn a_shared_workspace_shares_its_quota() {
    let place = Neighbours::new();
    let workspace = Workspace::open(place.workspace(), &small()).unwrap();
    let fill = |number: u32| {
        let workspace = Some(WorkspaceMount::writable(workspace.clone()));
        async move {
            let source = attempting(&format!(
                r#"
def fill():
    with open("part{number}", "wb") as file:
        return file.write(bytes(300_000))
result = attempt(fill)
"#
            ));
            let options = RunOptions { limits: small(), workspace, ..RunOptions::default() };
            value(&run_with(&source, &TestHost::new(), options).await).clone()
        }
    };
    let fits = json!(["allowed", "300000"]);
    assert_eq!(fill(0).await, fits);
    let results = futures::future::join_all((1..6).map(fill)).await;
    // Two more of 300 kB fit into 1 MB, and fewer if the others took a part of it.
    assert!(results.iter().filter(|result| **result == fits).count() <= 2, "{results:?}");
    assert!(results.iter().filter(|result| **result == FAILED_WRITE).count() >= 3, "{results:?}");
    assert!(size_on_disk(&place.workspace()) <= 1 << 20);
}

/// Whatever a program tries on a workspace that it may only read, nothing in it changes. The
/// control does the same where it may write.
#[tokio::test]
async fn a_workspace_that_is_only_read_stays_as_it_is() {
    let source = attempting(
        r#"
import os
def note(mode):
    with open("own.txt", mode) as file:
        file.write("changed")
def touched():
    with open("own.txt") as file:
        os.utime(file.fileno(), (7, 7))
attempts = {
    "write": lambda: note("w"),
    "append": lambda: note("a"),
    "update": lambda: note("r+"),
    "create": lambda: open("new.txt", "w").close(),
    "rename": lambda: os.rename("own.txt", "other.txt"),
    "remove": lambda: os.remove("own.txt"),
    "folder": lambda: os.mkdir("folder"),
    "times": lambda: os.utime("own.txt", (7, 7)),
    "times of what is open": touched,
    "write_file": lambda: write_file("own.txt", "changed"),
    "delete_file": lambda: delete_file("own.txt"),
}
result = {name: attempt(action)[0] for name, action in attempts.items()}
seen = open("own.txt").read() if os.path.exists("own.txt") else None
open("/tmp/scratch", "w").close()
result["read"] = seen
"#,
    );
    let run = |place: &Neighbours, mount: fn(Arc<Workspace>) -> WorkspaceMount| {
        let workspace = Some(mount(Workspace::open(place.workspace(), &small()).unwrap()));
        let options = RunOptions { limits: small(), workspace, ..RunOptions::default() };
        let source = source.clone();
        async move { value(&run_with(&source, &TestHost::new(), options).await).clone() }
    };
    let place = Neighbours::new();
    let before = fs::metadata(place.workspace().join("own.txt")).unwrap().modified().unwrap();
    let outcome = run(&place, WorkspaceMount::read_only).await;
    let tried = outcome.as_object().unwrap();
    assert_eq!(tried["read"], "mine");
    let allowed: Vec<_> = tried.iter().filter(|(_, how)| **how == "allowed").collect();
    assert!(allowed.is_empty(), "{allowed:?}");
    let names: Vec<_> = fs::read_dir(place.workspace()).unwrap().collect();
    assert_eq!(names.len(), 1);
    let own = place.workspace().join("own.txt");
    assert_eq!(fs::read_to_string(&own).unwrap(), "mine");
    assert_eq!(fs::metadata(&own).unwrap().modified().unwrap(), before);

    let control = run(&Neighbours::new(), WorkspaceMount::writable).await;
    let allowed = control.as_object().unwrap().values().filter(|how| **how == "allowed").count();
    assert!(allowed >= 6, "{control}");
}

#[tokio::test]
async fn odd_times_do_not_hurt_the_host() {
    let place = Neighbours::new();
    let source = r#"
import os
for path in ("own.txt", "/tmp/own.txt", "/workspace"):
    if path.startswith("/tmp"):
        open(path, "w").close()
    for seconds in (0, -1, 2**31, 2**33, 2**62, 2**63 - 1, -2**63, 1e300):
        attempt(os.utime, path, (seconds, seconds))
    for nanoseconds in (-1, 2**63 - 1, 2**64, 2**70):
        attempt(os.utime, path, ns=(nanoseconds, nanoseconds))
    attempt(os.stat, path)
os.utime("own.txt", (7, 7))
result = [os.stat("own.txt").st_mtime, open("own.txt").read()]
"#;
    assert_eq!(*value(&place.run(source).await), json!([7.0, "mine"]));
    place.assert_outside_unchanged();
}

#[tokio::test]
async fn a_file_is_not_used_beyond_the_way_it_was_opened() {
    let place = Neighbours::new();
    let source = r#"
import os
reading, writing = os.open("own.txt", os.O_RDONLY), os.open("new.txt", os.O_CREAT | os.O_WRONLY)
result = [attempt(os.write, reading, b"x"), attempt(os.read, writing, 1), attempt(os.ftruncate, reading, 0),
          attempt(os.read, 99, 1), attempt(os.read, os.open("/workspace", os.O_RDONLY), 1),
          os.read(reading, 9).decode(), os.write(writing, b"mine")]
"#;
    let outcome = place.run(source).await;
    let found = value(&outcome).as_array().unwrap();
    for refused in &found[..5] {
        let text = refused.as_str().expect("a refusal");
        assert!(
            text.contains("OSError: [Errno ") || text.contains("IsADirectoryError: "),
            "{text}"
        );
    }
    assert_eq!(found[5..], [json!("mine"), json!(4)]);
    assert_eq!(fs::read_to_string(place.workspace().join("own.txt")).unwrap(), "mine");
}

/// What the host writes into a workspace itself, for output that is too long to return.
#[tokio::test]
async fn what_the_host_keeps_in_a_workspace_is_within_it_and_its_quota() {
    let place = Neighbours::new();
    symlink("../outside/new.txt", place.workspace().join("link")).unwrap();
    let workspace = Workspace::open(place.workspace(), &small()).unwrap();
    assert!(workspace.create("../outside/new.txt").is_err());
    assert!(workspace.create("link").is_err());
    assert!(workspace.create("own.txt").is_err(), "it would overwrite a file of the program");
    let file = workspace.create("stdout.txt").unwrap();
    file.append(b"kept").unwrap();
    assert!(file.append(&vec![0; 2 << 20]).is_err());
    assert_eq!(fs::read_to_string(place.workspace().join("stdout.txt")).unwrap(), "kept");
    place.assert_outside_unchanged();
}
