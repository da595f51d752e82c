//! Each namespace has one directory, and none is outside the directory of workspaces.

use super::*;
use crate::state::tests::state;

#[test]
fn a_namespace_has_one_workspace_and_no_other_has_it() {
    let home = tempfile::tempdir().unwrap();
    let state = state(home.path());
    let (first, again) = (state.workspaces.open("a").unwrap(), state.workspaces.open("a").unwrap());
    let other = state.workspaces.open("b").unwrap();
    assert!(Arc::ptr_eq(&first, &again), "its quota is counted once");
    first.write("file", b"x").unwrap();
    assert!(!other.has("file"));
    assert_eq!(first.path(), home.path().join("workspaces/a"));
}

#[test]
fn a_namespace_that_is_no_plain_name_gets_no_directory() {
    let home = tempfile::tempdir().unwrap();
    let state = state(home.path());
    let long = "x".repeat(65);
    for name in ["", ".", "..", "../a", "a/b", "/a", "a b", "ä", "a\0", long.as_str()] {
        let refused = state.workspaces.open(name).unwrap_err().to_string();
        assert!(refused.ends_with("a namespace has letters, digits, - and _ only"), "{refused}");
    }
    assert_eq!(std::fs::read_dir(home.path()).unwrap().count(), 0);
}
