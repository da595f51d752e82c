//! `narrows import`, as a user of the command line meets it.

use std::{
    fs,
    path::PathBuf,
    process::{Command, Output, Stdio},
};

use serde_json::{Value, json};
use tempfile::TempDir;

const CURSOR: &str = r#"{
  // mine
  "mcpServers": {
    "github": {
      "command": "npx",
      "args": ["-y", "server-github", "--key", "fake-secret-argument"],
      "env": { "GITHUB_TOKEN": "fake-secret-token" }
    },
    "off": { "command": "off", "disabled": true }
  }
}
"#;

const CODEX: &str = "\
# Codex
[mcp_servers.docs]
url = \"https://docs.example/fake-secret-path\"
bearer_token_env_var = \"DOCS_TOKEN\"
";

/// A home of its own, so that nothing of the machine is read or written.
struct World {
    directory: TempDir,
}

impl World {
    fn new(files: &[(&str, &str)]) -> Self {
        let world = Self { directory: tempfile::tempdir().unwrap() };
        for (path, text) in files {
            let path = world.path(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        world
    }

    fn path(&self, path: &str) -> PathBuf {
        self.directory.path().join(path)
    }

    fn text(&self, path: &str) -> String {
        fs::read_to_string(self.path(path)).unwrap()
    }

    fn narrows(&self, arguments: &[&str]) -> Output {
        let home = self.directory.path();
        Command::new(env!("CARGO_BIN_EXE_narrows"))
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
            .unwrap()
    }

    /// Runs `narrows import`, which must end with this code and show no secret.
    #[track_caller]
    fn import(&self, code: i32, arguments: &[&str]) -> String {
        let mut all = vec!["import"];
        all.extend(arguments);
        let output = self.narrows(&all);
        let shown = format!(
            "{}{}",
            String::from_utf8(output.stdout).unwrap(),
            String::from_utf8(output.stderr).unwrap()
        );
        assert_eq!(output.status.code(), Some(code), "{shown}");
        assert!(!shown.contains("fake-secret"), "{shown}");
        shown
    }

    #[track_caller]
    fn import_json(&self, code: i32, arguments: &[&str]) -> Value {
        let mut all = vec!["--json"];
        all.extend(arguments);
        let shown = self.import(code, &all);
        serde_json::from_str(&shown).unwrap_or_else(|error| panic!("{error}: {shown}"))
    }
}

fn both() -> World {
    World::new(&[(".cursor/mcp.json", CURSOR), (".codex/config.toml", CODEX)])
}

#[test]
fn servers_of_clients_are_written_to_the_configuration() {
    let world = both();
    let shown = world.import(0, &[]);
    assert!(shown.contains("+ github  npx -y server-github (and 2 arguments)  env: GITHUB_TOKEN"));
    assert!(shown.contains("- off     disabled in the client"), "{shown}");
    assert!(shown.contains("+ docs  https://docs.example/…  headers: Authorization"), "{shown}");
    assert!(shown.contains("added 2 servers to "), "{shown}");
    let expected = r#"[servers.github]
command = "npx"
args = ["-y", "server-github", "--key", "fake-secret-argument"]
env = { GITHUB_TOKEN = "fake-secret-token" }

[servers.docs]
url = "https://docs.example/fake-secret-path"
headers = { Authorization = "Bearer ${DOCS_TOKEN}" }
transport = "http"
"#;
    assert_eq!(world.text("config/narrows.toml"), expected);
    // The clients are as they were.
    assert_eq!(world.text(".cursor/mcp.json"), CURSOR);
    assert_eq!(world.text(".codex/config.toml"), CODEX);
    // A second time there is nothing to add.
    assert!(world.import(0, &[]).contains("there was nothing to add"));
    assert_eq!(world.text("config/narrows.toml"), expected);
}

#[cfg(unix)]
#[test]
fn the_configuration_is_only_for_its_owner() {
    use std::os::unix::fs::PermissionsExt;
    let world = both();
    world.import(0, &[]);
    let mode = fs::metadata(world.path("config/narrows.toml")).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
}

#[test]
fn a_dry_run_writes_nothing() {
    let world = both();
    assert!(world.import(0, &["--dry-run"]).contains("nothing was written"));
    assert!(!world.path("config").exists());
    assert!(!world.path("data").exists());
}

#[test]
fn the_same_is_told_as_json() {
    let report = both().import_json(0, &["--from", "cursor"]);
    assert_eq!(report["added"], 1);
    let servers = &report["files"][0]["servers"];
    assert_eq!(
        servers[0],
        json!({
            "name": "github", "outcome": "imported", "imported_as": "github",
            "start": "npx -y server-github (and 2 arguments)", "env": ["GITHUB_TOKEN"],
        })
    );
    assert_eq!(servers[1]["outcome"], "skipped");
    assert_eq!(servers[1]["reason"], "disabled in the client");
}

#[test]
fn another_configuration_can_be_named_and_clients_are_told_of_it() {
    let world = both();
    world.import(0, &["--config", "other.toml", "--from", "cursor", "--apply"]);
    assert!(world.text("other.toml").contains("[servers.github]"));
    assert!(!world.path("config/narrows.toml").exists());
    let cursor = world.text(".cursor/mcp.json");
    assert!(cursor.contains("\"--config\", \""), "{cursor}");
    assert!(cursor.contains("other.toml\", \"serve\", \"--stdio\"]"), "{cursor}");
}

#[test]
fn applying_puts_narrows_into_clients_and_undoing_puts_them_back() {
    let world = both();
    let report = world.import_json(0, &["--apply"]);
    let backups: Vec<_> = report["applied"].as_array().unwrap().iter().collect();
    assert_eq!(backups.len(), 2);
    let backup = backups[0]["backup"].as_str().unwrap();
    assert!(backup.contains("mcp.json.narrows-backup-"), "{backup}");
    assert_eq!(fs::read_to_string(backup).unwrap(), CURSOR);

    let cursor = world.text(".cursor/mcp.json");
    assert!(cursor.contains("// mine"), "{cursor}");
    let without = cursor.replace("// mine", "");
    let document: Value = serde_json::from_str(&without).unwrap();
    let narrows = &document["mcpServers"]["narrows"];
    assert_eq!(narrows["args"], json!(["serve", "--stdio"]));
    let program = PathBuf::from(narrows["command"].as_str().unwrap());
    assert_eq!(program, fs::canonicalize(env!("CARGO_BIN_EXE_narrows")).unwrap());
    assert_eq!(document["mcpServers"]["off"]["disabled"], true);
    assert!(document["mcpServers"].get("github").is_none());
    let codex = world.text(".codex/config.toml");
    assert!(codex.contains("[mcp_servers.narrows]\ncommand = "), "{codex}");
    assert!(!codex.contains("docs"), "{codex}");

    // Narrows does not import itself.
    let again = world.import_json(0, &[]);
    assert_eq!(again["files"][0]["servers"][0]["reason"], "this is Narrows");
    assert_eq!(again["added"], 0);

    world.import(0, &["--undo"]);
    assert_eq!(world.text(".cursor/mcp.json"), CURSOR);
    assert_eq!(world.text(".codex/config.toml"), CODEX);
    assert!(world.import(1, &["--undo"]).contains("nothing to undo"));
}

/// Both directories are locked while they are used, and here they are the same.
#[test]
fn one_directory_for_configuration_and_data_is_no_deadlock() {
    let world = both();
    world.import(0, &[]);
    fs::rename(world.path("config"), world.path("data")).unwrap();
    std::fs::write(world.path("config"), "in the way").unwrap();
    let config = world.path("data/narrows.toml");
    world.import(0, &["--config", config.to_str().unwrap(), "--apply"]);
    assert!(world.text(".cursor/mcp.json").contains("\"narrows\""));
}

#[test]
fn a_file_that_was_changed_since_is_not_put_back_without_force() {
    let world = both();
    world.import(0, &["--apply"]);
    fs::write(world.path(".cursor/mcp.json"), "{}").unwrap();
    let shown = world.import(1, &["--undo"]);
    assert!(shown.contains("changed since") && shown.contains("--force"), "{shown}");
    assert_eq!(world.text(".cursor/mcp.json"), "{}");
    assert_eq!(world.text(".codex/config.toml"), CODEX, "the other one was put back");
    world.import(0, &["--undo", "--force"]);
    assert_eq!(world.text(".cursor/mcp.json"), CURSOR);
}

#[test]
fn a_malformed_file_is_reported_and_the_others_go_on() {
    let broken = "{\n  \"mcpServers\": { \"a\": fake-secret }\n}";
    let world = World::new(&[(".cursor/mcp.json", broken), (".codex/config.toml", CODEX)]);
    let shown = world.import(0, &[]);
    assert!(shown.contains("! it is malformed: line 2, column "), "{shown}");
    assert!(shown.contains("added 1 server to "), "{shown}");
    // When it is the only one, nothing could be read.
    let report = world.import_json(1, &["--from", "cursor"]);
    assert!(report["files"][0]["error"].as_str().unwrap().contains("line 2"));
}

#[test]
fn without_any_client_it_says_where_it_looked() {
    let shown = World::new(&[]).import(1, &["--from", "cursor,zed"]);
    assert!(shown.contains("no configuration of a client was found"), "{shown}");
    assert!(shown.contains("mcp.json") && shown.contains("settings.json"), "{shown}");
}

#[test]
fn servers_of_a_project_are_imported_when_it_is_named() {
    let project = r#"{"mcpServers": {"tests": {"command": "./tests.sh"}}}"#;
    let world = World::new(&[("shop/.mcp.json", project)]);
    let shown = world.import(0, &["--project", "shop"]);
    assert!(shown.contains("it was only for "), "{shown}");
    let written = world.text("config/narrows.toml");
    assert!(written.contains("command = \"./tests.sh\"\ncwd = "), "{written}");
    assert!(world.import(1, &["--project", "nowhere"]).contains("is not a directory"));
}

#[test]
fn a_configuration_with_mistakes_is_not_touched() {
    let world = both();
    fs::create_dir(world.path("config")).unwrap();
    let text = "[servers.a]\ncomand = \"fake-secret\"\ncommand = \"a\"\n";
    fs::write(world.path("config/narrows.toml"), text).unwrap();
    let shown = world.import(1, &["--apply"]);
    assert!(shown.contains("line 2: servers.a.comand is not a known key; did you mean command?"));
    assert_eq!(world.text("config/narrows.toml"), text);
    assert_eq!(world.text(".cursor/mcp.json"), CURSOR);
}

#[test]
fn an_unknown_client_has_a_suggestion() {
    let shown = both().import(2, &["--from", "curser"]);
    assert!(shown.contains("did you mean cursor?"), "{shown}");
}
