//! Two builds of the guest give the same bytes, so that its hash says all there is to say of it.
#![allow(clippy::unwrap_used, reason = "a test may fail loudly")]

use std::{
    fs,
    path::Path,
    process::{Child, Command},
};

#[test]
fn two_builds_in_different_surroundings_give_the_same_bytes() {
    let scratch = tempfile::tempdir().unwrap();
    let surroundings = [("one", "UTC"), ("a/deeper/other", "Asia/Tokyo")];
    // Beside each other, which also shows that builds do not meet.
    let builds = surroundings.map(|(name, zone)| {
        let directory = scratch.path().join(name);
        fs::create_dir_all(&directory).unwrap();
        let guest = directory.join("guest.cwasm");
        (start(&directory, zone, &guest), guest)
    });
    let [one, other] = builds.map(|(mut build, guest)| {
        assert!(build.wait().unwrap().success());
        fs::read(guest).unwrap()
    });
    assert!(one.len() > 10_000_000, "a guest of {} bytes", one.len());
    assert!(one == other, "the guests differ from byte {:?}", first_difference(&one, &other));
}

/// Starts a build that has a time zone, home and temporary directory of its own.
fn start(directory: &Path, zone: &str, guest: &Path) -> Child {
    let target = format!("{}-unknown-linux-gnu", std::env::consts::ARCH);
    Command::new(env!("CARGO_BIN_EXE_narrows-guest-builder"))
        .arg("--sources")
        .arg(Path::new(env!("CARGO_MANIFEST_DIR")).join(".."))
        .args(["--target", &target, "--out"])
        .arg(guest)
        .current_dir(directory)
        .env("HOME", directory)
        .env("TMPDIR", directory)
        .env("TZ", zone)
        .spawn()
        .unwrap()
}

fn first_difference(one: &[u8], other: &[u8]) -> Option<usize> {
    one.iter().zip(other).position(|(one, other)| one != other)
}
