//! What Narrows keeps is for its owner only, whatever the umask is and was.
#![cfg(unix)]

use std::{
    fs,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
};

use serde_json::json;

use crate::support::{
    dead::{Gateway, Place, until},
    real::text,
};

/// All that is below a directory, with the directory itself.
fn all_below(directory: &Path) -> Vec<PathBuf> {
    let mut found = vec![directory.to_owned()];
    for entry in fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path()) {
        let is_folder = fs::symlink_metadata(&entry).unwrap().is_dir();
        found.extend(if is_folder { all_below(&entry) } else { vec![entry] });
    }
    found
}

fn mode(path: &Path) -> u32 {
    fs::symlink_metadata(path).unwrap().permissions().mode() & 0o777
}

/// Finds that nobody else can read anything in the directories of a place; gives their names.
#[track_caller]
fn assert_private(place: &Place, directories: &[&str]) -> Vec<String> {
    let all = directories.iter().flat_map(|name| all_below(&place.file(name)));
    let all: Vec<PathBuf> = all.collect();
    let open: Vec<String> = all
        .iter()
        .filter(|path| mode(path) & 0o077 != 0)
        .map(|path| format!("{} {:o}", path.display(), mode(path)))
        .collect();
    assert!(open.is_empty(), "{open:#?}");
    all.iter().map(|path| path.file_name().unwrap().to_string_lossy().into_owned()).collect()
}

/// What a program writes, of every kind.
const PROGRAM: &str = r#"
import os
os.makedirs("/workspace/folder/below")
open("/workspace/folder/below/file", "w").write("x")
write_file("written/whole.txt", "x")
save_skill("one", "def one():\n    return 1\n", description="one")
board("plan").post("x")
from servers.good import echo
await echo(text="ada@example.com")
print("x" * 100_000)
kept = 1
"#;

#[test]
fn nobody_else_can_read_what_is_kept_whatever_the_umask_is() {
    let place = Place::with_good();
    let run = |args: &[&str]| {
        let output = place.narrows_with_umask("000", args).output().unwrap();
        assert!(output.status.success(), "{args:?}: {}", text(&output.stderr));
    };
    // The positive control: under this umask others can write to what the user asks for.
    run(&["man", "--out", "man"]);
    assert_eq!(mode(&place.file("man")), 0o777);

    let mut gateway = Gateway::start(place.narrows_with_umask("000", &["serve"]));
    gateway.initialize();
    let id = gateway.start_in("s", PROGRAM);
    let answer = gateway.answer(id);
    assert_eq!(answer["result"]["structuredContent"]["success"], true, "{answer}");
    gateway.call("sanitize_pii", json!({"text": "ada@example.com"}));
    until("the gateway's status", || fs::read_dir(place.file("cache/gateways")).ok());
    fs::write(place.file("put.txt"), "x").unwrap();
    for args in [
        &["workspace", "put", "put.txt"][..],
        &["run", "--session", "t", "-c", "y = 1"],
        &["skills", "export", "one", "-o", "one.skill.json"],
        &["servers", "logs", "good"],
        &["pii", "sanitize", "ada@example.com"],
        &["audit", "search"],
        &["doctor"],
    ] {
        run(args);
    }
    let names = assert_private(&place, &["data", "cache", "config"]);
    for name in [
        "narrows.db",
        "narrows.db-wal",
        "narrows.db-shm",
        "place",
        "vault-key",
        "logs",
        "put.txt",
        "gateways",
        "catalog",
        "below",
    ] {
        assert!(names.iter().any(|known| known == name), "{name} is not in {names:?}");
    }
    drop(gateway);

    // What was open before is closed by the next start.
    for path in ["data", "cache"].iter().flat_map(|name| all_below(&place.file(name))) {
        let mode = if path.is_dir() { 0o777 } else { 0o666 };
        fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
    }
    run(&["workspace", "list"]);
    assert_private(&place, &["data", "cache"]);
}
