//! `narrows connect`, as a user of the command line meets it.

use std::{
    fs,
    path::Path,
    process::{Command, Stdio},
};

use serde_json::{Value, json};

/// Runs `narrows` in a home of its own, and returns its exit code and all that it said.
fn narrows(home: &Path, arguments: &[&str]) -> (Option<i32>, String) {
    let output = Command::new(env!("CARGO_BIN_EXE_narrows"))
        .args(arguments)
        .current_dir(home)
        .env_clear()
        .env("HOME", home)
        .env("USERPROFILE", home)
        .env("XDG_CONFIG_HOME", home.join(".config"))
        .env("APPDATA", home.join(".config"))
        .env("NARROWS_CONFIG_DIR", home.join("config"))
        .env("NARROWS_DATA_DIR", home.join("data"))
        .env("NARROWS_CACHE_DIR", home.join("cache"))
        .stdin(Stdio::null())
        .output()
        .unwrap();
    let said = [output.stdout, output.stderr].map(|said| String::from_utf8(said).unwrap());
    (output.status.code(), said.concat())
}

#[test]
fn a_client_is_connected_and_disconnected() {
    let home = tempfile::tempdir().unwrap();
    let (path, home) = (home.path().join(".cursor/mcp.json"), home.path());
    let (code, said) = narrows(home, &["connect", "cursor", "--dry-run"]);
    assert_eq!(code, Some(0), "{said}");
    assert!(said.contains("would be put into") && !path.exists(), "{said}");

    let (code, said) = narrows(home, &["connect", "cursor"]);
    assert_eq!(code, Some(0), "{said}");
    assert!(said.contains("cursor: Narrows is in ") && said.contains("restart cursor"), "{said}");
    assert!(said.contains("Narrows has no servers yet"), "{said}");
    let file: Value = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
    let entry = json!({"command": env!("CARGO_BIN_EXE_narrows"), "args": ["serve", "--stdio"]});
    assert_eq!(file, json!({"mcpServers": {"narrows": entry}}));

    let (code, said) = narrows(home, &["connect", "cursor", "--json"]);
    assert_eq!(code, Some(0), "{said}");
    let report: Value = serde_json::from_str(&said).unwrap();
    assert_eq!(report["clients"][0]["outcome"], "already_connected");

    let (code, said) = narrows(home, &["connect", "cursor", "--undo"]);
    assert_eq!(code, Some(0), "{said}");
    assert!(said.contains("no longer in") && said.contains("backup"), "{said}");
    let file: Value = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
    assert_eq!(file, json!({"mcpServers": {}}));
}

/// The client starts what the user has here, wherever the client is.
#[test]
fn a_client_starts_narrows_with_the_options_that_it_was_connected_with() {
    let home = tempfile::tempdir().unwrap();
    // As the process itself sees it, without links.
    let home = home.path().canonicalize().unwrap();
    let own = |name: &str| home.join(name).to_str().unwrap().to_owned();
    let options = ["--config", "own.toml", "--data-dir", "own-data"];
    let absolute = ["--config", &own("own.toml"), "--data-dir", &own("own-data")];
    let expected = json!([&absolute[..], &["serve", "--stdio"]].concat());
    let args_of = |file: &str| {
        let file: Value = serde_json::from_slice(&fs::read(home.join(file)).unwrap()).unwrap();
        file["mcpServers"]["narrows"]["args"].clone()
    };
    let (code, said) = narrows(&home, &[&["connect", "cursor"][..], &options].concat());
    assert_eq!(code, Some(0), "{said}");
    assert_eq!(args_of(".cursor/mcp.json"), expected);
    // It is there already as it should be, but for other options it is not.
    for (options, code) in [(&options[..], 0), (&[], 0), (&["--data-dir", "other"], 1)] {
        let (found, said) = narrows(&home, &[&["connect", "cursor"][..], options].concat());
        assert_eq!(found, Some(code), "{said}");
        assert_eq!(said.contains("other options") && said.contains("--undo"), code == 1, "{said}");
    }
    assert_eq!(args_of(".cursor/mcp.json"), expected);

    let gemini = home.join(".gemini/settings.json");
    fs::create_dir(gemini.parent().unwrap()).unwrap();
    fs::write(&gemini, r#"{"mcpServers": {"one": {"command": "one"}}}"#).unwrap();
    let import = ["import", "--from", "gemini"];
    let (code, said) = narrows(&home, &[&import[..], &["--apply"], &options].concat());
    assert_eq!(code, Some(0), "{said}");
    assert_eq!(args_of(".gemini/settings.json"), expected);
    // The record of it is kept there too.
    assert!(home.join("own-data/applied-imports.json").exists() && !home.join("data").exists());
    let (code, said) = narrows(&home, &[&import[..], &["--undo"], &options].concat());
    assert_eq!(code, Some(0), "{said}");
    assert!(!fs::read_to_string(&gemini).unwrap().contains("narrows"));
}

#[test]
fn wrong_clients_and_malformed_files_are_told() {
    let home = tempfile::tempdir().unwrap();
    let (code, said) = narrows(home.path(), &["connect", "curser"]);
    assert_eq!(code, Some(2), "{said}");
    assert!(said.contains("did you mean cursor?"), "{said}");
    let (code, said) = narrows(home.path(), &["connect", "all"]);
    assert_eq!(code, Some(1), "{said}");
    assert!(said.contains("none of the clients is on this machine"), "{said}");
    fs::create_dir(home.path().join(".codex")).unwrap();
    fs::write(home.path().join(".codex/config.toml"), "model = ").unwrap();
    let (code, said) = narrows(home.path(), &["connect", "all"]);
    assert_eq!(code, Some(1), "{said}");
    assert!(said.contains("codex: ") && said.contains("malformed"), "{said}");
}
