//! How real servers are reached: over HTTP, slowly, not at all, or from what was known before.
#![cfg(unix)]

use std::{fs, path::Path};

use serde_json::json;

use crate::support::real::{Everything, Site, document, says, stdio, succeeded, text};

/// What a server is given, and nobody else may see.
const SECRET: &str = "a-token-that-nobody-may-see";

// Over HTTP.

#[test]
fn a_server_over_streamable_http_is_called_and_gets_its_headers() {
    let Some(site) = Site::new() else { return };
    let everything = Everything::start(&site, "streamableHttp");
    let url = json!(everything.url);
    site.configure(&format!(
        "[servers.auto]\nurl = {url}\nheaders = {{ Authorization = \"Bearer ${{TOKEN}}\" }}\n\
         [servers.http]\nurl = {url}\ntransport = \"http\"\n",
    ));
    let mut command = site.narrows();
    command.env("TOKEN", SECRET).args(["run", "--json", "--timeout", "120", "-c"]);
    let output = command
        .arg(
            "import servers\nresult = [await servers.auto.get_sum(a=1, b=2), \
             (await servers.http.get_structured_content(location='Chicago'))['conditions']]",
        )
        .output()
        .unwrap();
    let result = succeeded(document(&output));
    assert_eq!(result[0], "The sum of 1 and 2 is 3.");
    assert!(result[1].is_string());
}

#[test]
fn a_server_over_the_older_event_stream_is_found_and_called() {
    let Some(site) = Site::new() else { return };
    let everything = Everything::start(&site, "sse");
    let url = json!(everything.url);
    site.configure(&format!(
        "[servers.found]\nurl = {url}\ntransport = \"auto\"\n\
         [servers.told]\nurl = {url}\ntransport = \"sse\"\n\
         [servers.wrong]\nurl = {url}\ntransport = \"http\"\n",
    ));
    let result = site.run(
        r#"
import asyncio, client, servers
result = [
    await servers.found.echo(message="found"),
    *await asyncio.gather(*(servers.told.get_sum(a=n, b=1) for n in range(3))),
]
try:
    await client.call_mcp_tool("mcp__wrong__echo", {"message": "x"})
except client.ToolError as error:
    result.append(str(error))
"#,
    );
    assert_eq!(
        result.as_array().unwrap()[..4],
        [
            "Echo: found",
            "The sum of 0 and 1 is 1.",
            "The sum of 1 and 1 is 2.",
            "The sum of 2 and 1 is 3."
        ]
        .map(|said| json!(said))
    );
    says(&result[4], &["\"wrong\" is not available"]);
    let status = site.json(&["servers", "status", "told", "--json"]);
    assert_eq!(status["servers"][0]["health"], "ready");
    assert_eq!(status["servers"][0]["tools"], 15);
}

// How servers start.

/// It takes longer than the patience with a server that ignores `server/discover`; a server of
/// both eras that is asked to `initialize` after that refuses it.
#[test]
fn a_server_of_both_eras_that_starts_slowly_is_reached() {
    let Some(site) = Site::new() else { return };
    let server = site.tool("python/mcp-server-time");
    site.configure(&stdio("time", "sh", &["-c", "sleep 3; exec \"$0\"", &server]));
    let status = site.json(&["servers", "status", "--json"]);
    assert_eq!(status["servers"][0]["health"], "ready", "{status:#}");
    assert_eq!(status["servers"][0]["tools"], 2);
}

#[test]
fn a_server_that_ends_at_once_is_explained_by_its_exit_and_its_last_words() {
    let Some(site) = Site::new() else { return };
    site.configure(&stdio("dead", "sh", &["-c", "echo the database is locked >&2; exit 7"]));
    // Its end may be met at any step of the handshake.
    for _ in 0..5 {
        let status = site.json(&["servers", "status", "--json"]);
        let error = &status["servers"][0]["last_error"];
        says(error, &["exit status: 7", "the database is locked"]);
    }
}

#[test]
fn what_went_wrong_is_told_without_names_of_rust_types() {
    let Some(site) = Site::new() else { return };
    site.configure(&format!(
        "[servers.gone]\nurl = \"http://127.0.0.1:9/mcp\"\n{}",
        stdio("dead", "sh", &["-c", "exit 7"])
    ));
    for command in [vec!["servers", "status"], vec!["doctor"]] {
        let output = site.says(&command);
        assert_eq!(output.status.code(), Some(1));
        let said = text(&output.stdout);
        assert!(said.contains("gone") && said.contains("dead"), "{said}");
        assert!(!said.contains("::"), "{said}");
    }
}

#[test]
fn tools_are_known_from_the_last_time_when_the_server_does_not_start() {
    let Some(site) = Site::new() else { return };
    let link = site.path("server");
    std::os::unix::fs::symlink(site.tool("node/mcp-server-everything"), &link).unwrap();
    site.configure(&stdio("everything", link.to_str().unwrap(), &["stdio"]));
    let before = site.json(&["tools", "list", "--json"]);
    assert_eq!(before["tools"].as_array().unwrap().len(), 15);

    fs::remove_file(&link).unwrap();
    assert_eq!(site.json(&["tools", "list", "--json"]), before);
    let shown = site.says(&["tools", "show", "everything.get_sum"]);
    assert!(text(&shown.stdout).contains("async def get_sum("), "{shown:?}");
    let result = site.run(
        r#"
import client
from servers.everything import get_sum
try:
    await get_sum(a=1, b=2)
except client.ToolError as error:
    result = str(error)
"#,
    );
    says(&result, &["everything", "not installed or not in PATH"]);
    let status = site.json(&["servers", "status", "--json"]);
    assert_eq!(status["servers"][0]["health"], "failed");
}

#[test]
fn a_changed_command_does_not_get_the_tools_of_the_old_one() {
    let Some(site) = Site::with(&["time"]) else { return };
    assert_eq!(site.json(&["tools", "list", "--json"])["tools"].as_array().unwrap().len(), 2);
    let memory = site.server("memory").replace("[servers.memory]", "[servers.time]");
    site.configure(&memory);
    let listed = site.json(&["tools", "list", "--json"]);
    let names: Vec<&str> = listed["tools"]
        .as_array()
        .unwrap()
        .iter()
        .map(|tool| tool["name"].as_str().unwrap())
        .collect();
    assert!(names.contains(&"read_graph") && !names.contains(&"convert_time"), "{names:?}");
}

#[test]
fn a_disabled_server_is_listed_and_never_started() {
    let Some(site) = Site::new() else { return };
    let mark = site.text("started");
    site.configure(&format!(
        "{}enabled = false\n{}",
        stdio("off", "touch", &[&mark]),
        site.server("time")
    ));
    let listed = site.json(&["servers", "list", "--json"]);
    let off =
        listed["servers"].as_array().unwrap().iter().find(|one| one["name"] == "off").unwrap();
    assert_eq!(off["enabled"], false);
    let status = site.json(&["servers", "status", "--json"]);
    assert_eq!(status["servers"].as_array().unwrap().len(), 1);
    let result = site.run(
        r#"
try:
    import servers.off
    result = "imported"
except ModuleNotFoundError as error:
    result = str(error)
"#,
    );
    says(&result, &["servers.off", "narrows servers enable off"]);
    assert_eq!(site.json(&["doctor", "--json"])["ok"], true);
    assert!(!Path::new(&mark).exists());
}
