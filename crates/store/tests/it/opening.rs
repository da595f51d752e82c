//! Places at which no store can be opened, and disks that are full.

use std::{
    fs,
    os::unix::fs::{PermissionsExt, chown},
    path::Path,
    process::Command,
};

use narrows_store::{SCHEMA_VERSION, Store, StoreError, StoreUrl};
use serde_json::json;

use crate::{
    child,
    home::{Home, on_both, open, place},
    processes::{assert_all_is_there, assert_sound},
    skills::skill,
};

async fn refusal(path: &Path) -> StoreError {
    Store::open(&StoreUrl::Sqlite(path.to_owned())).await.unwrap_err()
}

on_both! {
    async fn a_store_of_a_newer_version_is_refused_and_left_alone(home) {
        home.store.skills().save(&skill("team", "f", "code")).await.unwrap();
        home.tamper("UPDATE narrows_schema SET version = 99").await;
        let looked = Store::look(&place(&home.url)).await.unwrap_err();
        assert!(matches!(looked, StoreError::Newer { found: 99, .. }), "{looked}");
        let refused = Store::open(&place(&home.url)).await.unwrap_err();
        assert!(matches!(refused, StoreError::Newer { found: 99, known: SCHEMA_VERSION, .. }));
        let said = refused.to_string();
        assert!(said.contains("version 99") && said.contains("use a newer Narrows"), "{said}");
        assert_eq!(home.store.skills().revision().await.unwrap(), 1);
        assert_eq!(home.tamper("DELETE FROM narrows_schema WHERE version = 99").await, 1);
    }

    async fn whoever_only_looks_changes_nothing(home) {
        Store::look(&place(&home.url)).await.unwrap();
        home.tamper("UPDATE narrows_schema SET version = 1").await;
        Store::look(&place(&home.url)).await.unwrap();
        assert_eq!(home.tamper("DELETE FROM narrows_schema WHERE version = 1").await, 1);
    }

    async fn a_closed_store_says_so(home) {
        home.store.close().await;
        let refused = home.store.skills().revision().await.unwrap_err();
        assert!(matches!(refused, StoreError::Closed { .. }), "{refused}");
    }
}

#[tokio::test]
async fn a_file_that_is_no_database_is_refused_and_left_alone() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("notes.txt");
    let text = "these are my notes, not a database\n".repeat(100);
    fs::write(&file, &text).unwrap();
    let refused = refusal(&file).await;
    assert!(matches!(refused, StoreError::NotADatabase { .. }), "{refused}");
    let looked = Store::look(&StoreUrl::Sqlite(file.clone())).await.unwrap_err();
    assert!(matches!(looked, StoreError::NotADatabase { .. }), "{looked}");
    assert_eq!(fs::read_to_string(&file).unwrap(), text);
}

#[tokio::test]
async fn a_directory_is_refused() {
    let directory = tempfile::tempdir().unwrap();
    let refused = refusal(directory.path()).await;
    assert!(matches!(refused, StoreError::Directory { .. }), "{refused}");
    let below_file = directory.path().join("file");
    fs::write(&below_file, "").unwrap();
    let refused = refusal(&below_file.join("narrows.db")).await;
    assert!(matches!(refused, StoreError::Make { .. }), "{refused}");
}

#[tokio::test]
async fn directories_are_made_and_nobody_else_may_read_the_store() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("a/b/narrows.db");
    let store = Store::open(&StoreUrl::Sqlite(file.clone())).await.unwrap();
    store.skills().save(&skill("team", "f", "code")).await.unwrap();
    let files = fs::read_dir(file.parent().unwrap()).unwrap().map(|entry| entry.unwrap());
    let modes: Vec<_> = files
        .map(|file| (file.file_name(), file.metadata().unwrap().permissions().mode() & 0o777))
        .collect();
    assert_eq!(modes.len(), 3, "{modes:?}");
    assert!(modes.iter().all(|(_, mode)| *mode == 0o600), "{modes:?}");
    let mode = fs::metadata(directory.path().join("a")).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o700);
}

/// Opens a store in a process that may not do everything, also if we are root.
fn open_without_rights(file: &Path) -> serde_json::Value {
    let url = format!("sqlite:{}", file.display());
    let root: &[&str] =
        &["setpriv", "--bounding-set=-dac_override,-dac_read_search", "--inh-caps=-all"];
    let before = if is_root() { root } else { &[] };
    child::finish(child::start("try to open", &url, 0, before)).remove(0)
}

fn is_root() -> bool {
    Command::new("id").arg("-u").output().unwrap().stdout == b"0\n"
}

/// Takes all rights to it from whoever runs the tests.
fn forbid(path: &Path) {
    if is_root() {
        chown(path, Some(1), Some(1)).unwrap();
    }
    fs::set_permissions(path, fs::Permissions::from_mode(0o500)).unwrap();
}

#[tokio::test]
async fn a_place_without_permission_is_refused() {
    let directory = tempfile::tempdir().unwrap();
    let closed = directory.path().join("closed");
    fs::create_dir(&closed).unwrap();
    assert_eq!(open_without_rights(&closed.join("control.db")), json!({ "Ok": null }));

    forbid(&closed);
    let refused = open_without_rights(&closed.join("narrows.db"));
    assert!(refused["Err"].as_str().unwrap().starts_with("Make"), "{refused}");

    let file = directory.path().join("narrows.db");
    open(&format!("sqlite:{}", file.display())).await.close().await;
    forbid(&file);
    let refused = open_without_rights(&file);
    assert!(refused["Err"].as_str().unwrap().starts_with("Forbidden"), "{refused}");
}

#[tokio::test]
async fn a_full_disk_is_told_nothing_is_lost_and_it_goes_on_when_there_is_room() {
    let home = Home::sqlite().await;
    home.store.close().await;
    // No file of the process may become larger than this; a disk that is full looks the same.
    let limited = ["sh", "-c", "trap '' XFSZ; ulimit -S -f 2000; exec \"$0\" \"$@\""];
    let mut told = child::finish(child::start("fill", &home.url, 0, &limited));
    let error = told.pop().unwrap();
    assert!(error[1].as_str().unwrap().starts_with("Full"), "{error}");
    assert!(error[2].as_str().unwrap().contains("make room"), "{error}");
    assert!(told.len() > 3, "{}", told.len());

    let store = home.another().await;
    assert_all_is_there(&store, &told).await;
    assert_sound(&home).await;
    assert!(store.skills().save(&skill("team", "after", "code")).await.unwrap().is_new);
}

#[tokio::test]
async fn a_damaged_file_is_told() {
    let home = Home::sqlite().await;
    for turn in 0..50 {
        let new = skill("team", &format!("f{turn}"), &"x".repeat(5_000));
        home.store.skills().save(&new).await.unwrap();
    }
    home.store.close().await;
    let mut bytes = fs::read(home.file()).unwrap();
    bytes[8_192..].fill(0xAA);
    fs::write(home.file(), bytes).unwrap();
    let read = async {
        let store = Store::open(&place(&home.url)).await?;
        store.skills().list("team", None, 100).await?;
        store.audit().verify().await
    };
    let refused = read.await.unwrap_err();
    assert!(matches!(refused, StoreError::Damaged { .. }), "{refused}");
}
