//! Connects Narrows in homes with and without clients.

use serde_json::{Value, json};
use tempfile::TempDir;

use super::*;
use crate::places::Os;

/// Returns each client's entry for Narrows, and the place of its file on Linux.
fn places() -> [(ClientApp, &'static str, &'static [&'static str], Value); 10] {
    let plain = json!({"command": "/opt/narrows", "args": ["serve", "--stdio"]});
    let with = |key: &str, value: &str| {
        let mut entry = json!({ key: value });
        entry.as_object_mut().unwrap().extend(plain.as_object().unwrap().clone());
        entry
    };
    let goose = json!({
        "enabled": true, "type": "stdio", "name": "narrows", "cmd": "/opt/narrows",
        "args": ["serve", "--stdio"], "description": "one MCP server in front of many",
        "envs": {}, "env_keys": [], "timeout": 300,
    });
    let opencode = json!({"type": "local", "command": ["/opt/narrows", "serve", "--stdio"]});
    let servers: &[&str] = &["mcpServers"];
    let desktop = ".config/Claude/claude_desktop_config.json";
    let windsurf = ".codeium/windsurf/mcp_config.json";
    [
        (ClientApp::ClaudeDesktop, desktop, servers, plain.clone()),
        (ClientApp::ClaudeCode, ".claude.json", servers, with("type", "stdio")),
        (ClientApp::Cursor, ".cursor/mcp.json", servers, plain.clone()),
        (ClientApp::VsCode, ".config/Code/User/mcp.json", &["servers"], with("type", "stdio")),
        (ClientApp::Windsurf, windsurf, servers, plain.clone()),
        (
            ClientApp::Zed,
            ".config/zed/settings.json",
            &["context_servers"],
            with("source", "custom"),
        ),
        (ClientApp::Codex, ".codex/config.toml", &["mcp_servers"], plain.clone()),
        (ClientApp::Gemini, ".gemini/settings.json", servers, plain),
        (ClientApp::Opencode, ".config/opencode/opencode.json", &["mcp"], opencode),
        (ClientApp::Goose, ".config/goose/config.yaml", &["extensions"], goose),
    ]
}

struct World {
    directory: TempDir,
    home: Home,
}

impl World {
    fn new(files: &[(&str, &str)]) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let home = Home::at(Os::Linux, directory.path());
        let world = Self { directory, home };
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

    fn files_in(&self, path: &str) -> usize {
        fs::read_dir(self.path(path)).unwrap().count()
    }

    fn connect(&self, client: ClientApp) -> ConnectReport {
        let launch = Launch::new("/opt/narrows".to_owned(), None, None);
        connect(client, &self.home, &launch, Mode::Write)
    }

    fn disconnect(&self, client: ClientApp) -> ConnectReport {
        disconnect(client, &self.home, Mode::Write)
    }
}

/// Parses a file of a client.
fn plain(client: ClientApp, text: &str) -> Value {
    Format::of(client).parse(text).unwrap().plain()
}

fn at<'v>(value: &'v Value, path: &[&str]) -> &'v Value {
    path.iter().fold(value, |value, key| &value[key])
}

#[test]
fn narrows_is_put_into_every_client_that_has_nothing_yet_once() {
    let world = World::new(&[]);
    for (client, path, container, entry) in places() {
        let report = world.connect(client);
        assert_eq!(report.outcome, ConnectOutcome::Connected, "{report:?}");
        assert_eq!((report.path, report.backup), (world.path(path), None));
        let text = world.text(path);
        let found = plain(client, &text);
        assert_eq!(at(&found, container), &json!({"narrows": entry}), "{text}");

        let again = world.connect(client);
        assert_eq!(again.outcome, ConnectOutcome::AlreadyConnected, "{again:?}");
        assert_eq!(world.text(path), text);

        let gone = world.disconnect(client);
        assert_eq!(gone.outcome, ConnectOutcome::Disconnected, "{gone:?}");
        assert!(!world.text(path).contains("narrows"), "{}", world.text(path));
        assert_eq!(world.disconnect(client).outcome, ConnectOutcome::NotConnected);
    }
}

#[test]
fn what_else_is_in_a_file_stays_with_its_comments() {
    let zed = "// mine\n{\n  \"theme\": \"One\", // dark\n  \"vim_mode\": true\n}\n";
    let codex = "# mine\nmodel = \"o3\" # best\n\n[mcp_servers.docs]\ncommand = \"docs\"\n";
    let goose = "# mine\nGOOSE_MODE: auto\nextensions:\n  docs:\n    type: stdio\n    \
                 cmd: docs\n    enabled: true\n";
    for (client, path, text) in [
        (ClientApp::Zed, ".config/zed/settings.json", zed),
        (ClientApp::Codex, ".codex/config.toml", codex),
        (ClientApp::Goose, ".config/goose/config.yaml", goose),
    ] {
        let world = World::new(&[(path, text)]);
        let report = world.connect(client);
        assert_eq!(report.outcome, ConnectOutcome::Connected, "{report:?}");
        let backup = report.backup.unwrap();
        assert_eq!(fs::read_to_string(backup).unwrap(), text);
        assert_eq!(report.other_servers, usize::from(client != ClientApp::Zed));
        let after = world.text(path);
        for line in text.lines().map(|line| line.trim_end_matches(['{', '}'])) {
            assert!(after.contains(line), "{line} is not in {after}");
        }
        // The client rewrites its file in the meantime.
        let more = after.replace("mine", "still mine");
        fs::write(world.path(path), &more).unwrap();
        assert_eq!(world.disconnect(client).outcome, ConnectOutcome::Disconnected);
        let (left, before) = (plain(client, &world.text(path)), plain(client, text));
        let without = |mut value: Value| {
            value.as_object_mut().unwrap().retain(|_, inner| *inner != json!({}));
            value
        };
        assert_eq!(without(left), without(before));
        assert!(world.text(path).contains("still mine"));
    }
}

#[test]
fn a_table_that_is_empty_is_used() {
    for text in ["extensions:\n", "a: 1\nextensions: {}\nb: 2\n", "a: 1", ""] {
        let world = World::new(&[(".config/goose/config.yaml", text)]);
        let report = world.connect(ClientApp::Goose);
        assert_eq!(report.outcome, ConnectOutcome::Connected, "{text:?}: {report:?}");
        let found = plain(ClientApp::Goose, &world.text(".config/goose/config.yaml"));
        assert_eq!(found["extensions"]["narrows"]["cmd"], "/opt/narrows", "{found}");
        assert_eq!(found["b"], if text.contains("b:") { json!(2) } else { Value::Null });
    }
    let world = World::new(&[(".cursor/mcp.json", " \n")]);
    assert_eq!(world.connect(ClientApp::Cursor).outcome, ConnectOutcome::Connected);
    assert!(world.text(".cursor/mcp.json").contains("\"mcpServers\""));
}

#[test]
fn a_dry_run_writes_nothing() {
    let world = World::new(&[(".cursor/mcp.json", "{}")]);
    let launch = Launch::new("/opt/narrows".to_owned(), None, None);
    let report = connect(ClientApp::Cursor, &world.home, &launch, Mode::DryRun);
    assert_eq!(report.outcome, ConnectOutcome::Connected);
    let report = connect(ClientApp::Zed, &world.home, &launch, Mode::DryRun);
    assert_eq!(report.outcome, ConnectOutcome::Connected);
    assert_eq!((world.text(".cursor/mcp.json").as_str(), world.files_in(".cursor")), ("{}", 1));
    assert!(!world.path(".config").exists());
}

#[test]
fn what_cannot_be_changed_safely_is_left_as_it_is() {
    for (text, reason) in [
        ("{\"mcpServers\": ", "malformed"),
        ("{\"mcpServers\": 7}", "by hand"),
        ("[]", "by hand"),
        (r#"{"mcpServers": {"narrows": {"command": "x", "disabled": true}}}"#, "disabled there"),
    ] {
        let world = World::new(&[(".cursor/mcp.json", text)]);
        let report = world.connect(ClientApp::Cursor);
        assert_eq!(report.outcome, ConnectOutcome::Failed, "{report:?}");
        let error = report.error.unwrap();
        assert!(error.contains(reason), "{text}: {error}");
        assert_eq!((world.text(".cursor/mcp.json").as_str(), world.files_in(".cursor")), (text, 1));
    }
    // Another server has the name already.
    let text = r#"{"mcpServers": {"narrows": {"command": "other"}}}"#;
    let world = World::new(&[(".cursor/mcp.json", text)]);
    assert_eq!(world.connect(ClientApp::Cursor).outcome, ConnectOutcome::Connected);
    let after = plain(ClientApp::Cursor, &world.text(".cursor/mcp.json"));
    assert_eq!(after["mcpServers"]["narrows"]["command"], "other");
    assert_eq!(after["mcpServers"]["narrows-gateway"]["command"], "/opt/narrows");
}

#[test]
fn of_several_files_the_one_that_is_used_is_taken() {
    let world = World::new(&[(".config/opencode/opencode.jsonc", "{ /* mine */ }")]);
    let report = world.connect(ClientApp::Opencode);
    assert_eq!(report.path, world.path(".config/opencode/opencode.jsonc"));
    // An older VS Code has servers in its settings, where a newer one does not look.
    let world = World::new(&[(".config/Code/User/settings.json", "{}")]);
    let report = world.connect(ClientApp::VsCode);
    assert_eq!(report.path, world.path(".config/Code/User/mcp.json"));
    let world = World::new(&[(".config/Code - Insiders/User/settings.json", "{}")]);
    let report = world.connect(ClientApp::VsCode);
    assert_eq!(report.path, world.path(".config/Code - Insiders/User/mcp.json"));
}

#[test]
fn clients_are_known_to_be_there_by_their_files() {
    let world = World::new(&[(".cursor/x", ""), (".claude.json", "{}")]);
    let there = ClientApp::ALL.into_iter().filter(|client| client.is_installed(&world.home));
    assert_eq!(there.collect::<Vec<_>>(), [ClientApp::ClaudeCode, ClientApp::Cursor]);
}
