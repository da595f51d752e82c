//! What a server can learn of the gateway, and take of it.
#![cfg(unix)]

use std::fs;

use crate::support::dead::Place;

const KEY: &str = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";

/// The names of the variables that a server called `s` with these settings was given.
fn names_given(settings: &str) -> Vec<String> {
    let place = Place::new();
    let file = place.file("given");
    let line = format!("env > '{}'; exit 7", file.display());
    let place = place.command("s", "sh", &["-c", &line], settings);
    let mut command = place.narrows(&["servers", "status"]);
    command.env("NARROWS_VAULT_KEY", KEY).env("OTHER_TOKEN", "s3cret").env("LC_TIME", "C");
    let output = command.output().unwrap();
    let given = fs::read_to_string(file).unwrap_or_else(|_| panic!("{output:?}"));
    let names = given.lines().filter_map(|line| line.split_once('=')).map(|(name, _)| name.into());
    names.collect()
}

#[test]
fn a_server_does_not_see_the_vaults_key_nor_the_credentials_of_others() {
    let given = names_given("env = { OWN = \"${OTHER_TOKEN}\" }");
    for name in ["PATH", "HOME", "LC_TIME", "OWN"] {
        assert!(given.iter().any(|given| given == name), "{name}: {given:?}");
    }
    for name in ["NARROWS_VAULT_KEY", "OTHER_TOKEN", "NARROWS_DATA_DIR"] {
        assert!(given.iter().all(|given| given != name), "{name}: {given:?}");
    }
    // Control: where the entry names them, they are given.
    let given = names_given("inherit_env = [\"NARROWS_VAULT*\", \"OTHER_TOKEN\"]");
    for name in ["NARROWS_VAULT_KEY", "OTHER_TOKEN"] {
        assert!(given.iter().any(|given| given == name), "{name}: {given:?}");
    }
}

#[test]
fn a_server_that_misses_a_variable_is_told_with_the_setting_that_gives_it() {
    let line = "test -n \"$OTHER_TOKEN\" || echo OTHER_TOKEN is not set >&2; exit 7";
    let place = Place::new().command("s", "sh", &["-c", line], "");
    let mut command = place.narrows(&["doctor"]);
    let output = command.env("OTHER_TOKEN", "s3cret").output().unwrap();
    let told = String::from_utf8_lossy(&output.stdout);
    assert!(told.contains(r#"add inherit_env = ["OTHER_TOKEN"] to [servers.s]"#), "{told}");
    assert!(told.contains("→ give it the variable: inherit_env of servers.s"), "{told}");
}
