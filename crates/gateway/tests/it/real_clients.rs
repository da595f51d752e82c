//! Real clients of Narrows: each lists and calls, over stdio and HTTP, in both eras of the protocol;
//! and who may come in at all.
#![cfg(unix)]

use std::fs;

use serde_json::{Value, json};

use crate::support::{
    fixture::{ERAS, shared},
    real::{HttpGateway, Site, Wire, report, repository, stdio, text},
};

// Every client lists and calls.

#[track_caller]
fn is_served(report: &Value, protocol: &str) {
    let tools: Vec<&str> =
        report["tools"].as_array().unwrap().iter().map(|name| name.as_str().unwrap()).collect();
    assert_eq!(tools, ["execute_code", "search_tools", "get_tool_definition"]);
    assert_eq!(report["protocol"], protocol);
    let mut structured = report["structured"].clone();
    assert!(structured["execution_time_ms"].take().is_number(), "{report:#}");
    let expected =
        json!({"success": true, "result": 42, "execution_time_ms": null, "stdout": "hi\n"});
    assert_eq!(structured, expected);
    assert_eq!(report["text"], "hi\nresult: 42");
    assert_eq!(report["isError"], false);
}

#[track_caller]
fn works_over_stdio(script: &str, eras: &[(&str, &str)]) {
    let Some(site) = Site::new() else { return };
    for (era, protocol) in eras {
        let mut client = site.client(script);
        client.args(["--era", era]).args(site.over_stdio());
        is_served(&report(client), protocol);
    }
}

#[track_caller]
fn works_over_http(script: &str, eras: &[(&str, &str)]) {
    let Some(gateway) = shared() else { return };
    let site = Site::new().unwrap();
    for (era, protocol) in eras {
        let mut client = site.client(script);
        client.args(["--era", era]).args(gateway.over_http());
        is_served(&report(client), protocol);
    }
}

#[test]
fn python_mcp_is_served_over_stdio() {
    works_over_stdio("python_mcp.py", &ERAS);
}

#[test]
fn python_mcp_is_served_over_http() {
    works_over_http("python_mcp.py", &ERAS);
}

#[test]
fn python_fastmcp_is_served_over_stdio() {
    works_over_stdio("python_fastmcp.py", &ERAS);
}

#[test]
fn python_fastmcp_is_served_over_http() {
    works_over_http("python_fastmcp.py", &ERAS);
}

#[test]
fn the_typescript_client_is_served_over_stdio() {
    works_over_stdio("typescript.mjs", &ERAS);
}

#[test]
fn the_typescript_client_is_served_over_http() {
    works_over_http("typescript.mjs", &ERAS);
}

#[test]
fn the_older_typescript_sdk_is_served_over_stdio() {
    works_over_stdio("typescript_sdk.mjs", &ERAS[..1]);
}

#[test]
fn the_older_typescript_sdk_is_served_over_http() {
    works_over_http("typescript_sdk.mjs", &ERAS[..1]);
}

#[test]
fn inspector_is_served_over_stdio() {
    works_over_stdio("inspector.mjs", &ERAS);
}

#[test]
fn inspector_is_served_over_http() {
    works_over_http("inspector.mjs", &ERAS);
}

/// Nothing is known of its tools before its first start, and "nothing fits" would be wrong.
#[test]
fn the_first_search_waits_for_a_server_that_is_just_starting() {
    let Some(site) = Site::new() else { return };
    // It starts in a fraction of the time for which it is waited.
    let script = repository().join("tests/servers/misbehave.py");
    site.configure(&stdio("good", "python3", &[script.to_str().unwrap(), "good"]));
    let code = "from tool_discovery import search_tools\n\
                result = [found['name'] for found in search_tools('echo')]";
    for (tool, arguments, expected) in [
        ("search_tools", json!({"query": "echo"}), "from servers.good import echo"),
        ("get_tool_definition", json!({"name": "echo"}), "from servers.good import echo"),
        ("execute_code", json!({"code": code}), "\"echo\""),
    ] {
        let mut wire = Wire::initialized(&site);
        let answer = wire.ask("tools/call", json!({"name": tool, "arguments": arguments}));
        let said = answer["result"]["content"][0]["text"].as_str().unwrap_or_default();
        assert!(said.contains(expected), "{tool}: {answer}");
        // The next one shall not know it either.
        drop(wire);
        let _ = fs::remove_dir_all(site.path("cache"));
    }
}

// Who may come in over HTTP.

fn initialize() -> Value {
    json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
        "protocolVersion": "2025-11-25",
        "capabilities": {},
        "clientInfo": {"name": "raw", "version": "1"},
    }})
}

#[test]
fn without_the_right_key_nobody_comes_in() {
    let Some(gateway) = shared() else { return };
    let key = gateway.key.as_ref().unwrap();
    let right = format!("Bearer {key}");
    let (status, answer) = gateway.post(&[("Authorization", &right)], &initialize());
    assert_eq!(status, 200, "{answer}");
    assert!(answer.contains("\"serverInfo\""), "{answer}");

    let longer = format!("{right}x");
    let shorter = &right[..right.len() - 1];
    let basic = format!("Basic {key}");
    for wrong in
        [None, Some("Bearer wrong"), Some(&longer), Some(shorter), Some("Bearer "), Some(&basic)]
    {
        let header: Vec<_> = wrong.map(|value| ("Authorization", value)).into_iter().collect();
        let (status, answer) = gateway.post(&header, &initialize());
        assert_eq!(status, 401, "{wrong:?}: {answer}");
        assert!(answer.to_lowercase().contains("www-authenticate: bearer"), "{answer}");
        assert!(!answer.contains(key.as_str()), "{answer}");
    }
}

#[test]
fn a_real_client_with_a_wrong_key_is_refused() {
    let Some(gateway) = shared() else { return };
    let site = Site::new().unwrap();
    for arguments in [vec![], vec!["nrw-0123456789abcdef0123456789abcdef"]] {
        let mut client = site.client("typescript.mjs");
        client.args(["http", &gateway.url()]).args(&arguments);
        let output = client.output().unwrap();
        assert!(!output.status.success());
        assert_eq!(text(&output.stdout), "");
        let said = text(&output.stderr);
        assert!(said.contains("401") || said.to_lowercase().contains("unauthorized"), "{said}");
    }
}

/// A page in a browser, which sends its origin, must not reach a gateway on the same machine;
/// nor by a name of its own for 127.0.0.1 (DNS rebinding).
#[test]
fn a_strange_origin_or_host_is_refused_even_with_the_key() {
    let Some(gateway) = shared() else { return };
    let right = format!("Bearer {}", gateway.key.as_ref().unwrap());
    let port = gateway.port;
    let with = |name: &str, value: &str| {
        gateway.post(&[("Authorization", &right), (name, value)], &initialize())
    };
    for (name, value) in [
        ("Origin", "https://evil.example".to_owned()),
        ("Origin", "null".to_owned()),
        ("Host", "evil.example".to_owned()),
        ("Host", format!("evil.example:{port}")),
        ("Host", format!("127.0.0.1.evil.example:{port}")),
    ] {
        let (status, answer) = with(name, &value);
        assert_eq!(status, 403, "{name}: {value}: {answer}");
    }
    for (name, value) in
        [("Host", format!("localhost:{port}")), ("Host", format!("127.0.0.1:{port}"))]
    {
        let (status, answer) = with(name, &value);
        assert_eq!(status, 200, "{name}: {value}: {answer}");
    }
}

#[test]
fn on_loopback_it_can_be_open_to_all_on_the_machine_and_nowhere_else() {
    let Some(site) = Site::new() else { return };
    site.configure("[http]\nno_key = true\nallowed_origins = [\"https://friend.example\"]\n");
    let gateway = HttpGateway::start(&site);
    assert_eq!(gateway.key, None);
    let mut client = site.client("typescript.mjs");
    client.args(["--era", "modern", "http", &gateway.url()]);
    is_served(&report(client), "2026-07-28");
    let (status, answer) = gateway.post(&[("Origin", "https://evil.example")], &initialize());
    assert_eq!(status, 403, "{answer}");
    let (status, answer) = gateway.post(&[("Origin", "https://friend.example")], &initialize());
    assert_eq!(status, 200, "{answer}");

    let refused = site.says(&["serve", "--http", "0.0.0.0:0"]);
    assert_eq!(refused.status.code(), Some(1));
    assert!(text(&refused.stderr).contains("loopback"), "{refused:?}");
}

#[test]
fn keys_of_the_configuration_open_and_short_ones_are_refused() {
    let Some(site) = Site::new() else { return };
    site.configure("[http]\nkeys = [\"the-first-key-of-two\", \"${NARROWS_TEST_KEY:-the-second-key-of-two}\"]\n");
    let gateway = HttpGateway::start(&site);
    assert_eq!(gateway.key, None, "none is made");
    for key in ["the-first-key-of-two", "the-second-key-of-two"] {
        let (status, answer) =
            gateway.post(&[("Authorization", &format!("Bearer {key}"))], &initialize());
        assert_eq!(status, 200, "{answer}");
    }
    assert_eq!(gateway.post(&[], &initialize()).0, 401);
    site.configure("[http]\nkeys = [\"short\"]\n");
    let refused = site.says(&["serve", "--http", "127.0.0.1:0"]);
    assert_eq!(refused.status.code(), Some(1));
    assert!(!text(&refused.stderr).contains("\"short\""), "{refused:?}");
}
