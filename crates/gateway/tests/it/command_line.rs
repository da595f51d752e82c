//! What the command line says of real servers.
#![cfg(unix)]

use std::{fs, os::unix::fs::PermissionsExt, path::Path};

use serde_json::{Value, json};

use crate::support::{
    dead::Place,
    real::{Everything, Site, document, says, stdio, succeeded, text},
};

/// What a server is given, and nobody else may see.
const SECRET: &str = "a-token-that-nobody-may-see";

#[test]
fn tools_are_listed_searched_and_shown() {
    let Some(site) = Site::with(&["time", "memory"]) else { return };
    let listed = text(&site.says(&["tools", "list"]).stdout);
    assert!(listed.contains("time.convert_time\tConvert time between timezones"), "{listed}");
    assert_eq!(listed.lines().count(), 11, "{listed}");
    let of_one = site.json(&["tools", "list", "time", "--json"]);
    assert_eq!(of_one["tools"].as_array().unwrap().len(), 2);
    assert_eq!(of_one["tools"][0]["server"], "time");

    let found =
        site.json(&["tools", "search", "add facts about an entity", "--json", "--limit", "3"]);
    let found = found["tools"].as_array().unwrap();
    assert!(found.len() <= 3 && !found.is_empty());
    let names: Vec<&Value> = found.iter().map(|one| &one["name"]).collect();
    assert!(names.contains(&&json!("add_observations")), "{names:?}");
    let none = site.says(&["tools", "search", "xylophone"]);
    assert_eq!(none.status.code(), Some(1));

    let shown = text(&site.says(&["tools", "show", "time.convert_time"]).stdout);
    assert!(shown.starts_with("from servers.time import convert_time"), "{shown}");
    for name in ["convert_time", "mcp__time__convert_time"] {
        assert_eq!(text(&site.says(&["tools", "show", name]).stdout), shown);
    }
    let raw = site.json(&["tools", "show", "convert_time", "--json"]);
    assert_eq!(
        raw["inputSchema"]["required"],
        json!(["source_timezone", "time", "target_timezone"])
    );
    let missing = site.says(&["tools", "show", "time.convert_tiem"]);
    assert_eq!(missing.status.code(), Some(1));
    says(&json!(text(&missing.stderr)), &["did you mean convert_time?"]);
}

#[test]
fn tools_of_a_server_that_is_not_there_are_an_error() {
    let Some(site) = Site::with(&["time"]) else { return };
    for command in
        [vec!["tools", "list", "tmie"], vec!["tools", "search", "convert", "--server", "tmie"]]
    {
        let output = site.says(&command);
        assert_eq!(output.status.code(), Some(1), "{command:?}: {output:?}");
        says(&json!(text(&output.stderr)), &["tmie", "did you mean time?"]);
    }
}

#[test]
fn the_status_of_servers_says_what_works_and_what_does_not() {
    let Some(site) = Site::new() else { return };
    let missing = stdio("missing", "no-such-command-anywhere", &[]);
    site.configure(&format!("{}{}{missing}", site.server("memory"), site.server("time")));
    let output = site.says(&["servers", "status", "--json"]);
    assert_eq!(output.status.code(), Some(1));
    let status = document(&output);
    let of = |name: &str| {
        let servers = status["servers"].as_array().unwrap();
        servers.iter().find(|one| one["server"] == name).unwrap().clone()
    };
    assert_eq!(
        (&of("memory")["health"], &of("memory")["protocol"]),
        (&json!("ready"), &json!("2025-11-25"))
    );
    assert_eq!(
        (&of("time")["health"], &of("time")["protocol"]),
        (&json!("ready"), &json!("2026-07-28"))
    );
    assert_eq!(of("memory")["tools"], 9);
    assert_eq!(of("missing")["health"], "failed");
    says(&of("missing")["last_error"], &["no-such-command-anywhere", "not in PATH"]);

    let one = site.says(&["servers", "status", "memory"]);
    assert_eq!(one.status.code(), Some(0), "{one:?}");
    says(&json!(text(&one.stdout)), &["memory: ready, 9 tools"]);
    let wrong = site.says(&["servers", "status", "memroy"]);
    says(&json!(text(&wrong.stderr)), &["memroy", "did you mean memory?"]);
}

#[test]
fn the_doctor_finds_what_is_ill_and_says_how_to_mend_it() {
    let Some(site) = Site::with(&["time"]) else { return };
    let healthy = site.says(&["doctor", "--json"]);
    assert_eq!(healthy.status.code(), Some(0), "{}", text(&healthy.stdout));
    assert_eq!(document(&healthy)["ok"], true);

    site.configure(&format!(
        "{}{}env = {{ TOKEN = \"${{NARROWS_TEST_NOT_SET}}\" }}\n[servers.gone]\nurl = \"http://127.0.0.1:9/mcp\"\n",
        stdio("missing", "no-such-command-anywhere", &[]),
        stdio("unset", "true", &[]),
    ));
    let ill = site.says(&["doctor", "--json"]);
    assert_eq!(ill.status.code(), Some(1));
    let ill = document(&ill);
    let check = |subject: &str| {
        let checks = ill["checks"].as_array().unwrap();
        checks.iter().find(|check| check["subject"] == subject).unwrap().clone()
    };
    assert_eq!(check("sandbox")["ok"], true);
    says(&check("server missing")["remedy"], &["install the command"]);
    says(&check("server unset")["found"], &["NARROWS_TEST_NOT_SET"]);
    says(&check("server unset")["remedy"], &["export the variable"]);
    // It has no command that could be run by hand.
    let remedy = &check("server gone")["remedy"];
    assert!(!remedy.as_str().unwrap().contains("command"), "{remedy}");
}

/// What is ill at a place, as the doctor tells it.
#[track_caller]
fn ills(place: &Place) -> Vec<Value> {
    let output = place.run(&["doctor", "--json"]);
    let mut report = document(&output);
    let Value::Array(mut checks) = report["checks"].take() else { panic!("{report}") };
    checks.retain(|check| check["ok"] == false);
    assert_eq!(output.status.code(), Some(i32::from(!checks.is_empty())), "{checks:#?}");
    checks
}

#[test]
fn the_doctor_finds_what_other_commands_would_fail_with() {
    for (settings, subject, found) in [
        ("[store]\nurl = \"mysql://x\"\n", "store", "`mysql:` is no database"),
        ("[store]\nurl = \"postgres://a@127.0.0.1:9/b\"\n", "store", "cannot be reached"),
        ("[store]\nurl = \"narrows.toml/narrows.db\"\n", "store", "cannot be made"),
        ("[isolation]\nlevel = \"nosuch\"\n", "safety", "nosuch"),
        ("[agents.a]\nisolation = \"nosuch\"\n", "safety", "nosuch"),
        ("[http]\nkeys = [\"${NARROWS_TEST_NOT_SET}\"]\n", "HTTP keys", "NARROWS_TEST_NOT_SET"),
        ("[agents.a]\nkey = \"short\"\n", "HTTP keys", "agents.a.key"),
    ] {
        let place = Place::with_good().toml(settings);
        let ills = ills(&place);
        let [ill] = &ills[..] else { panic!("{settings}: {ills:#?}") };
        assert_eq!(ill["subject"], subject, "{ill:#}");
        says(&ill["found"], &[found]);
    }
}

#[test]
fn the_doctor_looks_at_what_lasts_and_makes_nothing() {
    let place = Place::with_good();
    let data = place.file("data");
    assert_eq!(ills(&place), [Value::Null; 0]);
    assert!(walk(&data).is_empty(), "{:?}", walk(&data));
    assert!(place.run(&["pii", "sanitize", "ada@example.com"]).status.success());
    assert_eq!(ills(&place), [Value::Null; 0]);

    let [database, key] = ["narrows.db", "vault-key"].map(|name| data.join(name));
    fs::write(&database, "junk").unwrap();
    fs::set_permissions(&key, fs::Permissions::from_mode(0o644)).unwrap();
    let ills = ills(&place);
    let [store, vault] = &ills[..] else { panic!("{ills:#?}") };
    says(&store["found"], &["narrows.db is not a database"]);
    says(&vault["found"], &["vault-key can be read by others", "chmod 600"]);
    assert_eq!(fs::read_to_string(&database).unwrap(), "junk");
}

#[test]
fn servers_are_added_tried_and_removed() {
    let Some(site) = Site::new() else { return };
    let time = site.tool("python/mcp-server-time");
    let added =
        site.says(&["servers", "add", "clock", "--", &time, "--local-timezone", "Asia/Tokyo"]);
    assert_eq!(added.status.code(), Some(0), "{added:?}");
    let result = site.run(
        "from servers.clock import convert_time\n\
         result = (await convert_time(source_timezone='UTC', time='01:00', target_timezone='UTC'))['time_difference']",
    );
    assert_eq!(result, "+0.0h");

    let again = site.says(&["servers", "add", "clock", "--", "true"]);
    assert_eq!(again.status.code(), Some(1));
    says(&json!(text(&again.stderr)), &["clock", "--force"]);
    let forced = site.says(&[
        "servers",
        "add",
        "clock",
        "--force",
        "--url",
        "http://127.0.0.1:9/mcp?token=${TOKEN}",
        "--header",
        "X-Team=blue",
        "--transport",
        "http",
        "--expose",
        "both",
    ]);
    assert_eq!(forced.status.code(), Some(0), "{forced:?}");
    let listed = site.json(&["servers", "list", "--json"]);
    let expected = json!({
        "name": "clock", "enabled": true, "expose": "both", "kind": "http",
        "target": "http://127.0.0.1:9/mcp",
    });
    assert_eq!(listed["servers"], json!([expected]));

    let removed = site.says(&["servers", "remove", "clock"]);
    assert_eq!(removed.status.code(), Some(0), "{removed:?}");
    assert_eq!(site.json(&["servers", "list", "--json"])["servers"], json!([]));
    let missing = site.says(&["servers", "remove", "clock"]);
    assert_eq!(missing.status.code(), Some(1));
    says(&json!(text(&missing.stderr)), &["clock"]);
}

#[test]
fn the_json_of_other_clients_is_a_configuration() {
    let Some(site) = Site::new() else { return };
    let config = site.path("client.json");
    let servers = json!({"mcpServers": {
        "clock": {"command": site.tool("python/mcp-server-time"), "args": ["--local-timezone", "${ZONE:-UTC}"]},
        "off": {"command": "true", "disabled": true},
    }});
    fs::write(&config, servers.to_string()).unwrap();
    let narrows = |arguments: &[&str]| {
        let mut command = site.command(env!("CARGO_BIN_EXE_narrows"));
        command.arg("--config").arg(&config).args(arguments).output().unwrap()
    };
    let listed = document(&narrows(&["servers", "list", "--json"]));
    let names: Vec<_> = listed["servers"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| (&one["name"], &one["enabled"]))
        .collect();
    assert_eq!(names, [(&json!("clock"), &json!(true)), (&json!("off"), &json!(false))]);
    let code = "from servers.clock import get_current_time\nresult = (await get_current_time(timezone='Asia/Tokyo'))['timezone']";
    let outcome = document(&narrows(&["run", "--json", "--timeout", "120", "-c", code]));
    assert_eq!(succeeded(outcome), "Asia/Tokyo");

    // It belongs to another program: it is read, and never written.
    for change in [vec!["servers", "add", "more", "--", "true"], vec!["servers", "remove", "off"]] {
        let refused = narrows(&change);
        assert_eq!(refused.status.code(), Some(1), "{refused:?}");
        says(&json!(text(&refused.stderr)), &["JSON", "narrows import"]);
    }
    assert_eq!(fs::read_to_string(&config).unwrap(), servers.to_string());
}

#[test]
fn variables_are_filled_in_from_the_environment() {
    let Some(site) = Site::new() else { return };
    site.configure(&format!(
        "{}env = {{ GIVEN = \"${{NARROWS_TEST_GIVEN}}\", DEFAULT = \"${{NARROWS_TEST_NOT_SET:-a default}}\" }}\n",
        stdio("everything", &site.tool("node/mcp-server-everything"), &["${NARROWS_TEST_MODE}"]),
    ));
    let code = "from servers.everything import get_env\nenv = await get_env()\nresult = [env['GIVEN'], env['DEFAULT']]";
    let mut command = site.narrows();
    command.env("NARROWS_TEST_GIVEN", "given $HOME").env("NARROWS_TEST_MODE", "stdio");
    let output = command.args(["run", "--json", "--timeout", "120", "-c", code]).output().unwrap();
    assert_eq!(succeeded(document(&output)), json!(["given $HOME", "a default"]));

    let unset = site.says(&["run", "--json", "-c", code]);
    says(&document(&unset)["error"]["message"], &["NARROWS_TEST_MODE", "not set"]);
}

/// A script that fails with its arguments.
const PRINT: &str = "echo failed with $0 and $1 >&2; read x; exit 3";

/// The secret is in each place where one is put, and each server fails in a way that tells it.
#[test]
fn secrets_are_in_no_output_however_servers_fail() {
    let Some(site) = Site::new() else { return };
    let everything = Everything::start(&site, "streamableHttp");
    let origin = everything.url.trim_end_matches("/mcp");
    let config = [
        format!(
            "{}env = {{ TOKEN = \"${{NARROWS_TEST_SECRET}}\" }}\n",
            stdio("environment", "sh", &["-c", "echo failed with $TOKEN >&2; read x; exit 3"])
        ),
        stdio(
            "argument",
            "sh",
            &["-c", "echo failed with $0 >&2; read x; exit 3", "${NARROWS_TEST_SECRET}"],
        ),
        // They are typed as they are, in the ways of which each has another form, and printed.
        stdio("literal", "sh", &["-c", PRINT, "--token", SECRET]),
        stdio("typed", "sh", &["-c", PRINT, "--header", &format!("X-API-Key: {SECRET}")]),
        stdio("bearer", "sh", &["-c", PRINT, "-H", &format!("Authorization: Bearer {SECRET}")]),
        stdio("pairs", "sh", &["-c", PRINT, &format!("Server=db;Password={SECRET}"), "x"]),
        stdio("line", "sh", &["-c", PRINT, &format!("run --token {SECRET} now"), "x"]),
        stdio("command", "no-such-command-${NARROWS_TEST_SECRET}", &[]),
        format!(
            "{}env = {{ TOKEN = \"{SECRET}\" }}\n",
            stdio("written", "sh", &["-c", "echo $TOKEN; echo $TOKEN >&2; read x; exit 3"])
        ),
        format!("[servers.address]\nurl = \"{origin}/none?token=${{NARROWS_TEST_SECRET}}\"\n"),
        format!("[servers.path]\nurl = \"{origin}/${{NARROWS_TEST_SECRET}}/mcp\"\n"),
        "[servers.refused]\nurl = \"http://127.0.0.1:9/mcp?token=${NARROWS_TEST_SECRET}\"\n"
            .to_owned(),
        "[servers.user]\nurl = \"http://me:${NARROWS_TEST_SECRET}@127.0.0.1:9/mcp\"\n".to_owned(),
        format!(
            "[servers.header]\nurl = \"{origin}/none\"\nheaders = {{ Authorization = \"Bearer ${{NARROWS_TEST_SECRET}}\" }}\n"
        ),
    ];
    let names = [
        "environment",
        "argument",
        "literal",
        "typed",
        "bearer",
        "pairs",
        "line",
        "command",
        "written",
        "address",
        "path",
        "refused",
        "user",
        "header",
    ];
    site.configure(&config.concat());
    let code = format!(
        r#"
import client
result = []
for name in {}:
    try:
        result.append(await client.call_mcp_tool(f"mcp__{{name}}__anything", {{}}))
    except client.ToolError as error:
        result.append(str(error))
"#,
        json!(names)
    );
    let mut leaks = Vec::new();
    for arguments in [
        vec!["servers", "status"],
        vec!["servers", "status", "--json"],
        vec!["servers", "list"],
        vec!["servers", "list", "--json"],
        vec!["doctor"],
        vec!["doctor", "--json"],
        vec!["tools", "list"],
        vec!["tools", "show", "argument.anything"],
        vec!["run", "--json", "--timeout", "120", "-c", &code],
    ] {
        let output =
            site.narrows().env("NARROWS_TEST_SECRET", SECRET).args(&arguments).output().unwrap();
        let said = text(&output.stdout) + &text(&output.stderr);
        assert!(said.contains("argument"), "it says nothing of the servers: {said}");
        for line in said.lines().filter(|line| line.contains(SECRET)) {
            leaks
                .push(format!("narrows {}: {line}", arguments[..arguments.len().min(2)].join(" ")));
        }
        if arguments[0] == "run" {
            // The control: every server was tried, and failed.
            let result = succeeded(document(&output));
            assert_eq!(result.as_array().unwrap().len(), names.len());
        }
    }
    for file in walk(&site.path("cache")).into_iter().chain(walk(&site.path("data"))) {
        if text(&fs::read(&file).unwrap()).contains(SECRET) {
            leaks.push(format!("the file {}", file.display()));
        }
    }
    assert!(leaks.is_empty(), "{leaks:#?}");
}

fn walk(dir: &Path) -> Vec<std::path::PathBuf> {
    let mut files = Vec::new();
    for entry in fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            files.extend(walk(&path));
        } else {
            files.push(path);
        }
    }
    files
}

#[test]
fn completions_know_every_command() {
    let Some(site) = Site::new() else { return };
    for shell in ["bash", "elvish", "fish", "powershell", "zsh"] {
        let output = site.says(&["completions", shell]);
        assert_eq!(output.status.code(), Some(0));
        let script = text(&output.stdout);
        for command in ["serve", "servers", "tools", "run", "doctor", "import", "completions"] {
            assert!(script.contains(command), "{shell} does not know {command}");
        }
    }
    // The shell that runs here takes its script.
    fs::write(site.path("narrows.bash"), site.says(&["completions", "bash"]).stdout).unwrap();
    let line = "source ./narrows.bash; COMP_WORDS=(narrows serv); COMP_CWORD=1; \
                _narrows narrows serv narrows; echo ${COMPREPLY[@]}";
    let completed = site.command("bash").args(["-c", line]).output().unwrap();
    let completed = text(&completed.stdout);
    assert_eq!(completed.split_whitespace().collect::<Vec<_>>(), ["serve", "servers"]);
}
