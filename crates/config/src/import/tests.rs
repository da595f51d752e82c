//! Imports typical files of all clients, in a temporary home.

use std::{
    fs,
    path::{Path, PathBuf},
    time::Duration,
};

use narrows_model::{Connection, HttpSpec, HttpTransport, StdioSpec, Template};
use tempfile::TempDir;

use super::{
    Applied, ClientApp, Force, Home, ImportReport, Launch, Plan,
    apply::apply,
    fate::{EntryFate, Skip},
    plan::Decision,
};
use crate::{
    places::Os,
    settings::{Config, ServerEntry},
};

const CLAUDE_DESKTOP: &str = include_str!("fixtures/claude_desktop_config.json");
const CLAUDE_CODE: &str = include_str!("fixtures/claude.json");
const CLAUDE_PROJECT: &str = include_str!("fixtures/project.mcp.json");
const CURSOR: &str = include_str!("fixtures/cursor_mcp.json");
const VSCODE: &str = include_str!("fixtures/vscode_mcp.json");
const VSCODE_SETTINGS: &str = include_str!("fixtures/vscode_settings.json");
const WINDSURF: &str = include_str!("fixtures/windsurf_mcp_config.json");
const ZED: &str = include_str!("fixtures/zed_settings.json");
const CODEX: &str = include_str!("fixtures/codex_config.toml");
const GEMINI: &str = include_str!("fixtures/gemini_settings.json");
const OPENCODE: &str = include_str!("fixtures/opencode.jsonc");
const OPENCODE_2: &str = include_str!("fixtures/opencode_v2.jsonc");
const GOOSE: &str = include_str!("fixtures/goose_config.yaml");

/// One file for each client, at its place on Linux.
const FILES: [(&str, &str); 10] = [
    (".config/Claude/claude_desktop_config.json", CLAUDE_DESKTOP),
    (".claude.json", CLAUDE_CODE),
    (".cursor/mcp.json", CURSOR),
    (".config/Code/User/mcp.json", VSCODE),
    (".codeium/windsurf/mcp_config.json", WINDSURF),
    (".config/zed/settings.json", ZED),
    (".codex/config.toml", CODEX),
    (".gemini/settings.json", GEMINI),
    (".config/opencode/opencode.jsonc", OPENCODE),
    (".config/goose/config.yaml", GOOSE),
];

/// A temporary home with files in it.
struct World {
    directory: TempDir,
}

impl World {
    fn new(files: &[(&str, &str)]) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let world = Self { directory };
        files.iter().for_each(|(path, text)| world.write(path, text));
        world
    }

    fn path(&self, path: &str) -> PathBuf {
        self.directory.path().join(path)
    }

    fn write(&self, path: &str, text: &str) {
        let path = self.path(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    fn text(&self, path: &str) -> String {
        fs::read_to_string(self.path(path)).unwrap()
    }

    fn plan(&self, project: Option<&Path>) -> Plan {
        self.plan_with(project, &Config::default())
    }

    fn plan_with(&self, project: Option<&Path>, config: &Config) -> Plan {
        let home = Home::at(Os::Linux, self.directory.path());
        Plan::make(&ClientApp::ALL, &home, project, config)
    }
}

/// Returns the decisions about all entries, in order.
fn decisions(plan: &Plan) -> Vec<&Decision> {
    let files = plan.files.iter().filter_map(|file| file.outcome.as_ref().ok());
    files.flat_map(|(_, decisions)| decisions).collect()
}

#[track_caller]
fn decision<'a>(plan: &'a Plan, name: &str) -> &'a Decision {
    decisions(plan).into_iter().find(|decision| decision.name == name).unwrap()
}

#[track_caller]
fn skipped(plan: &Plan, name: &str) -> String {
    match &decision(plan, name).fate {
        EntryFate::Skipped(skip) => skip.to_string(),
        other => panic!("{name}: {other:?}"),
    }
}

#[track_caller]
fn server<'a>(plan: &'a Plan, name: &str) -> &'a ServerEntry {
    plan.additions.iter().find(|server| server.name == name).unwrap()
}

#[track_caller]
fn stdio<'a>(plan: &'a Plan, name: &str) -> &'a StdioSpec {
    match &server(plan, name).connection {
        Connection::Stdio(stdio) => stdio,
        Connection::Http(_) => panic!("{name}"),
    }
}

#[track_caller]
fn http<'a>(plan: &'a Plan, name: &str) -> &'a HttpSpec {
    match &server(plan, name).connection {
        Connection::Http(http) => http,
        Connection::Stdio(_) => panic!("{name}"),
    }
}

fn words(stdio: &StdioSpec) -> Vec<&str> {
    std::iter::once(&stdio.command).chain(&stdio.args).map(Template::as_written).collect()
}

fn names(plan: &Plan) -> Vec<&str> {
    plan.additions.iter().map(|server| server.name.as_str()).collect()
}

#[test]
fn claude_desktop() {
    let plan = World::new(&FILES[..1]).plan(None);
    assert_eq!(names(&plan), ["filesystem", "github", "shell"]);
    let env = &stdio(&plan, "github").env["GITHUB_PERSONAL_ACCESS_TOKEN"];
    assert_eq!(env.as_written(), "fake-secret-desktop");
    // The client has no variables, so this one is for the shell.
    let args = words(stdio(&plan, "shell"));
    assert_eq!(args, ["bash", "-c", "exec my-server --home $${HOME}"]);
}

#[test]
fn claude_code_with_its_projects() {
    let world = World::new(&FILES[1..2]);
    let plan = world.plan(None);
    assert_eq!(names(&plan), ["context7", "filesystem", "postgres"]);
    assert_eq!(http(&plan, "context7").transport, HttpTransport::Http);
    let postgres = stdio(&plan, "postgres");
    assert_eq!(postgres.cwd.as_deref(), Some(Path::new("/work/shop")));
    let uri = postgres.env["DATABASE_URI"].as_written();
    assert_eq!(uri, "${SHOP_DB:-postgresql://localhost/shop}");
    assert_eq!(skipped(&plan, "paused"), "disabled in the client");
    // Of the projects, only the given one is read.
    assert_eq!(names(&world.plan(Some(Path::new("/work/blog")))), ["context7", "filesystem"]);
}

#[test]
fn files_of_a_project() {
    let world = World::new(&[("p/.mcp.json", CLAUDE_PROJECT)]);
    let project = world.path("p");
    let plan = world.plan(Some(&project));
    assert_eq!(names(&plan), ["tests", "api"]);
    assert_eq!(stdio(&plan, "tests").cwd.as_ref(), Some(&project));
    assert_eq!(decision(&plan, "tests").notes, [format!("it was only for {}", project.display())]);
    let api = http(&plan, "api");
    assert_eq!(api.url.as_written(), "${API_BASE_URL:-https://api.example.com}/mcp");
    assert!(world.plan(None).files.is_empty());
}

#[test]
fn cursor() {
    let world = World::new(&FILES[2..3]);
    let plan = world.plan(None);
    assert_eq!(names(&plan), ["github", "context7", "My-Notes", "slack"]);
    let github = http(&plan, "github");
    assert_eq!(github.headers["Authorization"].as_written(), "Bearer ${GITHUB_TOKEN}");
    let script = world.path("notes/server.py");
    assert_eq!(words(stdio(&plan, "My-Notes")), ["python3", script.to_str().unwrap()]);
    let notes = &decision(&plan, "My Notes").notes;
    assert!(notes[0].contains("envFile") && notes[1].contains("\"My Notes\""), "{notes:?}");
    let oauth = &http(&plan, "slack").oauth;
    assert_eq!(oauth.client_secret.as_ref().unwrap().as_written(), "${SLACK_SECRET}");
    assert_eq!(oauth.scopes, ["chat:write"]);
}

#[test]
fn vs_code_in_both_places() {
    let world = World::new(&[FILES[3], (".config/Code/User/settings.json", VSCODE_SETTINGS)]);
    let plan = world.plan(None);
    assert_eq!(names(&plan), ["perplexity", "fetch", "time"]);
    let key = &stdio(&plan, "perplexity").env["PERPLEXITY_API_KEY"];
    assert_eq!(key.as_written(), "${INPUT_PERPLEXITY_KEY}");
    let notes = &decision(&plan, "perplexity").notes;
    assert!(notes[0].contains("INPUT_PERPLEXITY_KEY"), "{notes:?}");
    assert_eq!(stdio(&plan, "fetch").env["PORT"].as_written(), "8080");
}

#[test]
fn windsurf() {
    let plan = World::new(&FILES[4..5]).plan(None);
    assert_eq!(names(&plan), ["linear", "puppeteer"]);
    let linear = http(&plan, "linear");
    assert_eq!(linear.url.as_written(), "https://mcp.linear.app/mcp");
    assert_eq!(linear.headers["Authorization"].as_written(), "Bearer ${LINEAR_TOKEN}");
    assert_eq!(skipped(&plan, "git"), "disabled in the client");
}

#[test]
fn zed_in_both_forms() {
    let plan = World::new(&FILES[5..6]).plan(None);
    assert_eq!(names(&plan), ["hexdocs", "sqlite", "remote"]);
    assert_eq!(words(stdio(&plan, "sqlite")), ["/opt/mcp/sqlite", "--db", "/tmp/x.db"]);
    assert_eq!(skipped(&plan, "mcp-server-github"), "a part of the client itself");
}

#[test]
fn codex() {
    let plan = World::new(&FILES[6..7]).plan(None);
    assert_eq!(names(&plan), ["docs", "figma"]);
    let docs = server(&plan, "docs");
    assert_eq!(docs.start_timeout, Some(Duration::from_secs(20)));
    assert_eq!(docs.call_timeout, Some(Duration::from_millis(45_500)));
    assert_eq!(stdio(&plan, "docs").inherit_env, ["DOCS_TOKEN"]);
    let headers = &http(&plan, "figma").headers;
    assert_eq!(headers["Authorization"].as_written(), "Bearer ${FIGMA_OAUTH_TOKEN}");
    assert_eq!(headers["X-Figma-Region"].as_written(), "us-east-1");
    assert_eq!(headers["X-Team"].as_written(), "${FIGMA_TEAM}");
    assert_eq!(skipped(&plan, "off"), "disabled in the client");
}

#[test]
fn gemini() {
    let plan = World::new(&FILES[7..8]).plan(None);
    assert_eq!(names(&plan), ["pythonTools", "httpServer", "sseServer"]);
    let python = stdio(&plan, "pythonTools");
    assert_eq!(python.env["DATABASE_URL"].as_written(), "${DB_URL}");
    assert_eq!(python.env["API_KEY"].as_written(), "${EXTERNAL_API_KEY}");
    assert_eq!(python.cwd.as_deref(), Some(Path::new("/srv/tools")));
    assert_eq!(server(&plan, "pythonTools").call_timeout, Some(Duration::from_secs(15)));
    assert_eq!(http(&plan, "httpServer").transport, HttpTransport::Http);
    assert_eq!(http(&plan, "sseServer").transport, HttpTransport::Sse);
    assert_eq!(skipped(&plan, "experimental"), "disabled in the client");
}

#[test]
fn opencode_of_both_versions() {
    let plan = World::new(&FILES[8..9]).plan(None);
    assert_eq!(names(&plan), ["everything", "sentry"]);
    let everything = stdio(&plan, "everything");
    assert_eq!(words(everything), ["npx", "-y", "@modelcontextprotocol/server-everything"]);
    assert_eq!(everything.env["TOKEN"].as_written(), "${EVERYTHING_TOKEN}");
    assert_eq!(server(&plan, "everything").start_timeout, Some(Duration::from_secs(8)));
    let sentry = http(&plan, "sentry");
    assert_eq!(sentry.headers["Authorization"].as_written(), "Bearer ${SENTRY_TOKEN}");
    assert!(skipped(&plan, "jira").contains("defined elsewhere"));
    assert_eq!(skipped(&plan, "off"), "disabled in the client");
    let plan = World::new(&[(".config/opencode/opencode.jsonc", OPENCODE_2)]).plan(None);
    assert_eq!(names(&plan), ["everything"]);
    assert_eq!(skipped(&plan, "off"), "disabled in the client");
}

#[test]
fn goose() {
    let plan = World::new(&FILES[9..]).plan(None);
    assert_eq!(names(&plan), ["jira", "notes"]);
    let jira = stdio(&plan, "jira");
    assert_eq!(words(jira), ["uvx", "mcp-atlassian", "--read-only"]);
    assert_eq!(jira.env["JIRA_URL"].as_written(), "https://jira.example.com");
    assert_eq!(jira.env["JIRA_API_TOKEN"].as_written(), "${JIRA_API_TOKEN}");
    assert!(decision(&plan, "jira").notes[0].contains("JIRA_API_TOKEN"));
    let notes = http(&plan, "notes");
    assert_eq!(notes.headers["Authorization"].as_written(), "Bearer fake-secret-goose");
    assert_eq!(notes.transport, HttpTransport::Http);
    assert_eq!(skipped(&plan, "developer"), "a part of the client itself");
    assert_eq!(skipped(&plan, "off"), "disabled in the client");
}

#[test]
fn the_same_server_is_imported_once_and_the_same_name_twice() {
    let plan = World::new(&FILES).plan(None);
    let fates = |name: &str| -> Vec<_> {
        decisions(&plan).into_iter().filter(|found| found.name == name).map(|d| &d.fate).collect()
    };
    let duplicate = |name: &str, of| EntryFate::Duplicate { name: name.into(), of };
    let imported = |name: &str| EntryFate::Imported { name: name.into() };
    assert_eq!(
        fates("filesystem"),
        [&imported("filesystem"), &duplicate("filesystem", ClientApp::ClaudeDesktop)]
    );
    // Claude Code writes the type http, and Cursor writes none.
    assert_eq!(
        fates("context7"),
        [&imported("context7"), &duplicate("context7", ClientApp::ClaudeCode)]
    );
    assert_eq!(fates("github"), [&imported("github"), &imported("github-cursor")]);
    let github = decisions(&plan).into_iter().rfind(|found| found.name == "github").unwrap();
    assert_eq!(github.notes, ["another server has the name github"]);
}

#[test]
fn what_the_configuration_has_is_not_imported_again_and_not_overwritten() {
    let text = "[servers.fetch]\ncommand = \"other\"\n[servers.pup]\ncommand = \"npx\"\n\
                args = [\"-y\", \"@modelcontextprotocol/server-puppeteer\"]\n\
                [servers.hex]\ncommand = \"npx\"\nargs = [\"-y\", \"hexdocs-mcp@0.5.0\"]\n\
                enabled = false\n";
    let config = Config::parse(text, Path::new("/x/narrows.toml")).unwrap();
    let plan = World::new(&FILES).plan_with(None, &config);
    assert_eq!(decision(&plan, "puppeteer").fate, EntryFate::Present { name: "pup".into() });
    assert_eq!(decision(&plan, "fetch").fate, EntryFate::Imported { name: "fetch-vscode".into() });
    // The client keeps the server, because it still needs it.
    assert!(!decision(&plan, "hexdocs").fate.is_taken_over());
    assert!(skipped(&plan, "hexdocs").ends_with("as hex, and disabled there"));
}

#[test]
fn narrows_itself_is_never_imported() {
    // A renamed program is recognised by its path.
    let this = std::env::current_exe().unwrap();
    for entry in [
        r#"{"command": "/usr/local/bin/narrows", "args": ["serve", "--stdio"]}"#,
        r#"{"command": "C:\\bin\\narrows.exe", "args": ["--config", "x", "serve"]}"#,
        r#"{"command": "npx", "args": ["-y", "narrows", "serve"]}"#,
        r#"{"url": "http://127.0.0.1:8321/mcp"}"#,
        &format!(r#"{{"command": {this:?}, "args": ["serve"]}}"#),
    ] {
        let text = format!("{{\"mcpServers\": {{\"narrows\": {entry}}}}}");
        let plan = World::new(&[(".cursor/mcp.json", &text)]).plan(None);
        assert_eq!(decision(&plan, "narrows").fate, EntryFate::Skipped(Skip::Narrows), "{entry}");
    }
}

/// Otherwise the client would be left without servers.
#[test]
fn a_narrows_that_is_disabled_does_not_count_as_there() {
    let text = r#"{"mcpServers": {
"narrows": {"command": "narrows", "args": ["serve"], "disabled": true},
"a": {"command": "a"}
}}"#;
    let world = World::new(&[(".cursor/mcp.json", text)]);
    assert_eq!(names(&world.plan(None)), ["a"]);
    apply_in(&world);
    assert!(world.text(".cursor/mcp.json").contains("\"narrows-gateway\""));
}

#[test]
fn what_cannot_be_used_is_skipped_with_its_line_and_without_its_secret() {
    let text = r#"{"mcpServers": {
"a": {"command": "x", "args": "fake-secret"},
"b": {"url": "ftp://fake-secret"},
"c": {},
"d": "fake-secret",
"e": {"url": "https://e.example", "headers": {"bad name": "fake-secret"}},
"f": {"command": "fine"}
}}"#;
    let plan = World::new(&[(".cursor/mcp.json", text)]).plan(None);
    assert_eq!(names(&plan), ["f"]);
    assert_eq!(
        skipped(&plan, "a"),
        "line 2: mcpServers.a.args must be an array of strings, not a string"
    );
    for name in ["b", "c", "d", "e"] {
        let reason = skipped(&plan, name);
        assert!(reason.starts_with("line ") && !reason.contains("fake-secret"), "{reason}");
    }
}

#[test]
fn a_malformed_file_does_not_stop_the_others() {
    let world = World::new(&[
        (".cursor/mcp.json", "{\n  \"mcpServers\": {\n    \"a\": fake-secret\n}}"),
        (".codex/config.toml", "[mcp_servers.a\ncommand = \"fake-secret\""),
        (".config/goose/config.yaml", "extensions:\n  a: [fake-secret\n"),
        FILES[4],
    ]);
    let plan = world.plan(None);
    assert_eq!(names(&plan), ["linear", "puppeteer"]);
    let report = ImportReport::of(&plan, "narrows.toml".into());
    let errors: Vec<_> = report.files.iter().filter_map(|file| file.error.as_deref()).collect();
    assert_eq!(errors.len(), 3);
    assert!(errors[0].starts_with("it is malformed: line 3, column 10: "), "{errors:?}");
    assert!(errors[1].starts_with("it is malformed: line 1, "), "{errors:?}");
    assert!(errors.iter().all(|error| !error.contains("fake-secret")), "{errors:?}");
}

/// Files that end anywhere, as after a crash of the client.
#[test]
fn a_file_that_was_cut_off_shows_no_secrets() {
    for (file, (_, text)) in FILES.iter().enumerate() {
        let format = super::client_file::Format::of(ClientApp::ALL[file]);
        for end in (0..text.len()).filter(|end| text.is_char_boundary(*end)) {
            if let Err(error) = format.parse(&text[..end]) {
                assert!(!error.to_string().contains("fake-secret"), "{error}");
                assert!(error.at.line <= text[..end].lines().count() + 1, "{error}");
            }
        }
    }
}

#[test]
fn secrets_are_not_in_the_report() {
    let plan = World::new(&FILES).plan(None);
    let report = ImportReport::of(&plan, "narrows.toml".into());
    let shown = report.lines().join("\n") + &serde_json::to_string(&report).unwrap();
    assert!(!shown.contains("fake-secret"), "{shown}");
    // The control: they are there.
    let has_secret = |server: &ServerEntry| match &server.connection {
        Connection::Stdio(spec) => {
            spec.env.values().any(|v| v.as_written().contains("fake-secret"))
        }
        Connection::Http(spec) => {
            spec.headers.values().any(|v| v.as_written().contains("fake-secret"))
        }
    };
    assert_eq!(plan.additions.iter().filter(|server| has_secret(server)).count(), 6);
    assert!(shown.contains("GITHUB_PERSONAL_ACCESS_TOKEN"));
}

/// Runs `--apply` in a home.
fn apply_in(world: &World) -> ImportReport {
    let plan = world.plan(None);
    let launch = Launch::new("/opt/narrows".into(), None, None);
    let mut applied = Applied::open(&world.path("data")).unwrap();
    let results = apply(&plan, &launch, &mut applied);
    ImportReport::of(&plan, "narrows.toml".into()).with_applied(results)
}

fn undo_in(world: &World, force: Force) -> Vec<Result<(), String>> {
    let mut applied = Applied::open(&world.path("data")).unwrap();
    let undone = applied.undo(&ClientApp::ALL, force).unwrap();
    undone.into_iter().map(|file| file.outcome.map_err(|error| error.to_string())).collect()
}

#[test]
fn after_applying_each_client_has_narrows_and_what_was_not_taken_over() {
    let world = World::new(&FILES);
    let report = apply_in(&world);
    assert_eq!(report.applied.len(), 10);
    assert!(!report.has_failed_changes(), "{:?}", report.applied);
    let plan = world.plan(None);
    assert!(plan.additions.is_empty(), "{:?}", names(&plan));
    for file in &plan.files {
        let (_, decisions) = file.outcome.as_ref().unwrap();
        let narrows: Vec<_> = decisions
            .iter()
            .filter(|decision| decision.fate == EntryFate::Skipped(Skip::Narrows))
            .collect();
        assert_eq!(narrows.len(), 1, "{:?}", file.location);
        let others = decisions.len() - 1;
        let expected = match file.location.client {
            ClientApp::ClaudeCode | ClientApp::Windsurf | ClientApp::Zed | ClientApp::Codex => 1,
            ClientApp::Gemini => 1,
            ClientApp::Opencode | ClientApp::Goose => 2,
            _ => 0,
        };
        assert_eq!(others, expected, "{:?}", file.location);
    }
    // Applying again finds nothing to do.
    assert!(apply_in(&world).applied.is_empty());
}

#[test]
fn json_keeps_its_comments_and_everything_else() {
    let world = World::new(&FILES);
    apply_in(&world);
    let expected = r#"// Zed settings
{
  "theme": "One Dark",
  "context_servers": {
    "narrows": {
      "source": "custom",
      "command": "/opt/narrows",
      "args": ["serve", "--stdio"],
    },
    // still in the old form
    "mcp-server-github": {
      "source": "extension",
      "enabled": true,
      "settings": { "github_personal_access_token": "fake-secret-zed" },
    },
  },
  "vim_mode": true,
}
"#;
    assert_eq!(world.text(".config/zed/settings.json"), expected);
    let claude = world.text(".claude.json");
    assert!(
        claude.starts_with("{\n  \"numStartups\": 42,\n  \"theme\": \"dark\",\n  \"mcpServers\"")
    );
    assert!(claude.contains("\"disabledMcpServers\": [\"paused\"],\n"), "{claude}");
    let vscode = world.text(".config/Code/User/mcp.json");
    assert!(vscode.contains("  // Servers for every workspace.\n  \"inputs\": ["), "{vscode}");
}

#[test]
fn a_client_that_reads_two_files_gets_narrows_once() {
    let settings = ".config/Code/User/settings.json";
    let world = World::new(&[FILES[3], (settings, VSCODE_SETTINGS)]);
    assert_eq!(apply_in(&world).applied.len(), 2);
    assert!(world.text(FILES[3].0).contains("\"narrows\""));
    let text = world.text(settings);
    assert!(text.contains("\"servers\": {}") && text.contains("// An older place"), "{text}");
    assert_eq!(undo_in(&world, Force::No), vec![Ok(()); 2]);
    assert_eq!(world.text(settings), VSCODE_SETTINGS);
}

#[test]
fn toml_keeps_its_comments_and_everything_else() {
    let world = World::new(&FILES[6..7]);
    apply_in(&world);
    let expected = r#"model = "gpt-5" # the default
approval_policy = "on-request"

[mcp_servers.off]
command = "off"
enabled = false

[mcp_servers.narrows]
command = "/opt/narrows"
args = ["serve", "--stdio"]

[profiles.fast]
model = "gpt-5-mini"
"#;
    assert_eq!(world.text(".codex/config.toml"), expected);
}

#[test]
fn yaml_keeps_its_comments_and_everything_else() {
    let world = World::new(&FILES[9..]);
    apply_in(&world);
    let expected = r#"# goose
GOOSE_PROVIDER: anthropic
GOOSE_MODEL: claude-sonnet-4-5
extensions:
  developer:
    bundled: true
    enabled: true
    name: developer
    timeout: 300
    type: builtin
  # issues
  narrows:
    enabled: true
    type: "stdio"
    name: "narrows"
    cmd: "/opt/narrows"
    args: ["serve","--stdio"]
    description: "one MCP server in front of many"
    envs: {}
    env_keys: []
    timeout: 300

  # remote
  off:
    enabled: false
    type: sse
    uri: https://off.example/sse
    name: off
GOOSE_MODE: auto
"#;
    assert_eq!(world.text(".config/goose/config.yaml"), expected);
}

#[test]
fn yaml_that_is_not_in_blocks_is_left_as_it_is() {
    let text = "extensions: {a: {type: stdio, cmd: x, enabled: true}}\n";
    let world = World::new(&[(".config/goose/config.yaml", text)]);
    let report = apply_in(&world);
    let error = report.applied[0].error.as_deref().unwrap();
    assert!(error.contains("by hand"), "{error}");
    assert_eq!(world.text(".config/goose/config.yaml"), text);
    let left = fs::read_dir(world.path(".config/goose")).unwrap().count();
    assert_eq!(left, 1, "no backup of what was not changed");
}

/// Removing only one of two equal keys would bring the other one back.
#[test]
fn a_file_that_says_a_thing_twice_is_left_as_it_is() {
    let text = r#"{"mcpServers": {"a": {"command": "x"}, "a": {"command": "y"}}}"#;
    let world = World::new(&[(".cursor/mcp.json", text)]);
    let report = apply_in(&world);
    assert!(report.applied[0].error.as_deref().unwrap().contains("by hand"));
    assert_eq!(world.text(".cursor/mcp.json"), text);
}

#[test]
fn undoing_puts_every_byte_back() {
    let world = World::new(&FILES);
    let report = apply_in(&world);
    let backups: Vec<_> = report.applied.iter().map(|file| file.backup.clone().unwrap()).collect();
    assert!(backups.iter().all(|backup| backup.exists()));
    assert_ne!(world.text(".cursor/mcp.json"), CURSOR);
    assert_eq!(undo_in(&world, Force::No), vec![Ok(()); 10]);
    for (path, text) in FILES {
        assert_eq!(world.text(path), text);
    }
    assert!(backups.iter().all(|backup| !backup.exists()));
    assert!(undo_in(&world, Force::No).is_empty());
}

#[test]
fn a_file_that_was_changed_since_is_put_back_only_by_force() {
    let world = World::new(&FILES[2..3]);
    apply_in(&world);
    // The edit keeps the length, so only the hash can notice it.
    let edited = world.text(".cursor/mcp.json").replace("/opt/narrows", "/opt/harrows");
    world.write(".cursor/mcp.json", &edited);
    let refused = undo_in(&world, Force::No);
    assert!(refused[0].as_ref().unwrap_err().contains("--force"), "{refused:?}");
    assert_eq!(world.text(".cursor/mcp.json"), edited);
    assert_eq!(undo_in(&world, Force::Yes), [Ok(())]);
    assert_eq!(world.text(".cursor/mcp.json"), CURSOR);
    // The text that was overwritten is kept beside the file.
    let kept = fs::read_dir(world.path(".cursor"))
        .unwrap()
        .filter(|entry| fs::read_to_string(entry.as_ref().unwrap().path()).unwrap() == edited);
    assert_eq!(kept.count(), 1);
}

#[test]
fn two_changes_are_undone_one_after_the_other() {
    let world = World::new(&FILES[2..3]);
    apply_in(&world);
    let first = world.text(".cursor/mcp.json");
    let more =
        first.replacen("{\n", "{\n  \"mcpServers\": {\"new\": {\"command\": \"new\"}},\n", 1);
    let more = more.replacen("\n  \"mcpServers\": {\n", "\n  \"other\": {\n", 1);
    world.write(".cursor/mcp.json", &more);
    apply_in(&world);
    assert_ne!(world.text(".cursor/mcp.json"), more);
    assert_eq!(undo_in(&world, Force::No), [Ok(())]);
    assert_eq!(world.text(".cursor/mcp.json"), more);
    world.write(".cursor/mcp.json", &first);
    assert_eq!(undo_in(&world, Force::No), [Ok(())]);
    assert_eq!(world.text(".cursor/mcp.json"), CURSOR);
}

#[cfg(unix)]
#[test]
fn a_link_stays_a_link_and_a_backup_is_as_private_as_its_file() {
    use std::os::unix::fs::{PermissionsExt, symlink};
    let world = World::new(&[("dotfiles/mcp.json", CURSOR), (".cursor/keep", "")]);
    symlink(world.path("dotfiles/mcp.json"), world.path(".cursor/mcp.json")).unwrap();
    let private = fs::Permissions::from_mode(0o600);
    fs::set_permissions(world.path("dotfiles/mcp.json"), private).unwrap();
    let report = apply_in(&world);
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert!(fs::symlink_metadata(world.path(".cursor/mcp.json")).unwrap().is_symlink());
    assert!(world.text("dotfiles/mcp.json").contains("/opt/narrows"));
    assert_eq!(mode(report.applied[0].backup.as_deref().unwrap()), 0o600);
    assert_eq!(mode(&world.path("dotfiles/mcp.json")), 0o600);
    assert_eq!(undo_in(&world, Force::No), [Ok(())]);
    assert!(fs::symlink_metadata(world.path(".cursor/mcp.json")).unwrap().is_symlink());
    assert_eq!(world.text("dotfiles/mcp.json"), CURSOR);
}

#[test]
fn an_entry_of_the_same_name_that_stays_is_not_overwritten() {
    let text = r#"{"mcpServers": {"narrows": {"command": "mine", "disabled": true}, "a": {"command": "a"}}}"#;
    let world = World::new(&[(".cursor/mcp.json", text)]);
    apply_in(&world);
    let after: serde_json::Value = serde_json::from_str(&world.text(".cursor/mcp.json")).unwrap();
    assert_eq!(after["mcpServers"]["narrows"]["command"], "mine");
    assert_eq!(after["mcpServers"]["narrows-gateway"]["command"], "/opt/narrows");
}
