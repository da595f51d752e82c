//! Servers that say too much, change, or have colliding names; clients that misbehave; configurations
//! that are wrong.
#![cfg(target_os = "linux")] // Processes are observed in /proc.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::support::dead::{
    Gateway, Place, assert_good_works, assert_has, failure_beside_good, peak_memory, until,
};

// Servers that say too much.

#[test]
fn a_server_that_floods_its_standard_error_works_in_bounded_memory() {
    let place = Place::with_good().server("bad", "flood-stderr", "");
    let mut gateway = place.legacy();
    let call = "from servers.bad import echo\nprint(await echo(text='x' * 1000))";
    assert_eq!(gateway.run(call).len(), 1000);
    let before = peak_memory(gateway.id());
    // However slow the machine is, this often, and for long enough that memory could grow.
    let (begun, mut rounds) = (Instant::now(), 0);
    while rounds < 20 || begun.elapsed() < Duration::from_secs(3) {
        assert_eq!(gateway.run(call).len(), 1000);
        rounds += 1;
    }
    let grown = peak_memory(gateway.id()) - before;
    assert!(grown < 200, "its memory grew by {grown} MB");
    assert_good_works(&mut gateway);
    assert_eq!(place.pids("bad").len(), 1);
}

#[test]
fn an_answer_that_is_too_long_fails_its_call_alone() {
    let place = Place::with_good().server("bad", "huge-line 50", "");
    let mut gateway = place.legacy();
    let call = "from servers.bad import echo\nprint(await echo(text='x'))";
    assert_eq!(gateway.run(call), "x");
    let before = peak_memory(gateway.id());
    for _ in 0..3 {
        let message = failure_beside_good(&mut gateway, "huge()");
        assert_has(&message, &["MB", "ask for less"]);
        assert_eq!(gateway.run(call), "x");
    }
    let grown = peak_memory(gateway.id()) - before;
    assert!(grown < 300, "its memory grew by {grown} MB");
    assert_eq!(place.pids("bad").len(), 1, "the server was started again");
    assert_has(&place.last_error_in_gateway("bad"), &["MB"]);
}

#[test]
fn lines_that_are_no_messages_are_passed_over() {
    let place = Place::with_good().server("bad", "garbage", "");
    let mut gateway = place.legacy();
    let call = "from servers.bad import add, echo
print(await echo(text='x'), await add(a=1, b=2))";
    assert_eq!(gateway.run(call), "x 3");
    assert_eq!(gateway.run(call), "x 3");
    assert_eq!(place.pids("bad").len(), 1);
    assert_has(&place.last_error_in_gateway("bad"), &["no JSON-RPC", "Starting the server"]);
}

#[test]
fn a_server_with_three_thousand_tools_works() {
    let place = Place::with_good().server("lots", "many 3000", "");
    let mut gateway = place.legacy();
    let output = gateway.run(
        "from servers.lots import tool_0, tool_2999
import servers.lots
print(await tool_0(text='a'), await tool_2999(text='b'), len(servers.lots.__all__))",
    );
    assert_eq!(output, "0: a 2999: b 3000");
    let found = gateway.call("search_tools", json!({ "query": "tool_1234" }));
    assert_has(&found.to_string(), &["tool_1234"]);
    assert_good_works(&mut gateway);
}

// Servers that change.

/// The notification when the tool `fresh` is listed. One of the start may come before it.
fn told_of_fresh_tool(gateway: &mut Gateway) -> Value {
    until("a notification, and then the tool in the list", || {
        let told = gateway.notification("notifications/tools/list_changed");
        gateway.tool_names().contains(&"fresh".to_owned()).then_some(told)
    })
}

#[test]
fn a_client_of_the_older_protocol_is_told_of_new_tools() {
    let place = Place::with_good().server("bad", "changing", "expose = \"direct\"");
    let mut gateway = place.legacy();
    gateway.tool_names_with("add_tool");
    assert_good_works(&mut gateway);
    gateway.forget();
    let answer = gateway.call("add_tool", json!({ "name": "fresh" }));
    assert_eq!(answer["result"]["content"][0]["text"], "added fresh", "{answer}");
    told_of_fresh_tool(&mut gateway);
    let answer = gateway.call("fresh", json!({}));
    assert_eq!(answer["result"]["content"][0]["text"], "I am fresh", "{answer}");
}

#[test]
fn a_client_of_the_newer_protocol_is_told_of_new_tools() {
    let place = Place::with_good().server("bad", "changing", "expose = \"direct\"");
    let mut gateway = place.modern();
    gateway.tool_names_with("add_tool");
    assert_good_works(&mut gateway);
    let id = gateway
        .request("subscriptions/listen", json!({ "notifications": { "toolsListChanged": true } }));
    gateway.notification("notifications/subscriptions/acknowledged");
    gateway.forget();
    gateway.call("add_tool", json!({ "name": "fresh" }));
    let told = told_of_fresh_tool(&mut gateway);
    let meta = &told["params"]["_meta"];
    assert_eq!(meta["io.modelcontextprotocol/subscriptionId"], id, "{told}");
    let answer = gateway.call("fresh", json!({}));
    assert_eq!(answer["result"]["content"][0]["text"], "I am fresh", "{answer}");
}

#[test]
fn a_new_tool_can_be_called_by_the_next_program() {
    let place = Place::new().server("bad", "changing", "");
    let mut gateway = place.legacy();
    for number in 0..5 {
        gateway.run(&format!("from servers.bad import add_tool\nawait add_tool(name='t{number}')"));
        let code = format!("from servers.bad import t{number}\nprint(await t{number}())");
        assert_eq!(gateway.run(&code), format!("I am t{number}"));
    }
}

#[test]
fn a_new_tool_can_be_called_by_the_program_that_made_it() {
    let place = Place::new().server("bad", "changing", "");
    let mut gateway = place.legacy();
    let output = gateway.run(
        "from servers.bad import add_tool
await add_tool(name='fresh')
from servers.bad import fresh
print(await fresh())",
    );
    assert_eq!(output, "I am fresh");
}

// Clients that misbehave.

#[test]
fn malformed_lines_of_a_client_do_not_end_the_gateway() {
    let place = Place::with_good();
    let mut gateway = place.gateway();
    let lines = [
        &b"not json"[..],
        b"",
        b"null",
        b"[]",
        b"7",
        b"{}",
        b"{\"jsonrpc\": \"2.0\"}",
        b"{\"jsonrpc\": \"2.0\", \"id\": 7, \"method\"",
        b"{\"jsonrpc\": \"1.0\", \"id\": 70, \"method\": \"ping\"}",
        b"{\"jsonrpc\": \"2.0\", \"id\": {}, \"method\": \"ping\"}",
        b"\xff\xfe\x00",
    ];
    for line in lines {
        gateway.send_line(line);
    }
    gateway.initialize();
    for line in lines {
        gateway.send_line(line);
    }
    let pong = gateway.ask("ping", json!({}));
    assert!(pong["result"].is_object(), "{pong}");
    assert_good_works(&mut gateway);
}

#[test]
fn a_message_that_is_nested_too_deeply_is_answered() {
    let place = Place::with_good();
    let mut gateway = place.legacy();
    let nested = |depth: usize| format!("{}{}", "[".repeat(depth), "]".repeat(depth));
    let ping = |id: u32, nested: &str| {
        let params = format!("{{\"_meta\":{{\"x\":{nested}}}}}");
        format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"method\":\"ping\",\"params\":{params}}}")
    };
    gateway.send_line(ping(800, &nested(200)).as_bytes());
    let refusal = gateway.wait("an error", |message| message["id"] == 800);
    assert_eq!(refusal["error"]["code"], -32600, "{refusal}");
    assert_has(&refusal.to_string(), &["nested"]);
    gateway.send_line(ping(801, &nested(100)).as_bytes());
    assert!(gateway.answer(801)["result"].is_object());
    assert_good_works(&mut gateway);
}

/// Each was looked at for seconds, by the threads that answer everybody.
#[test]
fn names_queries_and_programs_that_are_too_long_are_refused_with_their_bounds() {
    let place = Place::with_good();
    let mut gateway = place.legacy();
    let name = "y".repeat(2 << 20);
    let answer = gateway.call(&name, json!({})).to_string();
    assert_has(&answer, &["there is no tool", "…"]);
    assert!(answer.len() < 1_000, "the name is not repeated");
    let query = "create issue ".repeat(10_000);
    let source = "x = 1\n".repeat(200_000);
    for (tool, arguments, parts) in [
        ("get_tool_definition", json!({ "name": name }), ["2097152 bytes", "at most 1024"]),
        ("search_tools", json!({ "query": query }), ["130000 bytes", "may have 2048"]),
        ("execute_code", json!({ "code": source }), ["1200000 bytes", "may have 1048576"]),
    ] {
        let answer = gateway.call(tool, arguments);
        assert_eq!(answer["result"]["isError"], true, "{tool}");
        assert_has(&answer.to_string(), &parts);
    }
    // Programs are told the same.
    for (code, parts) in [
        ("await call_mcp_tool('y' * (2 << 20), {})", ["2097152 bytes", "at most 1024"]),
        ("get_tool_definition('y' * (2 << 20))", ["2097152 bytes", "at most 1024"]),
        ("search_tools('create issue ' * 10_000)", ["130000 bytes", "may have 2048"]),
        ("list_skills('create issue ' * 10_000)", ["130000 bytes", "may have 2048"]),
    ] {
        assert_has(&gateway.failure(code), &parts);
    }
    assert_good_works(&mut gateway);
}

#[test]
fn a_second_request_with_an_id_that_is_in_use_is_refused() {
    let place = Place::with_good();
    let mut gateway = place.legacy();
    let call = json!({"jsonrpc": "2.0", "id": 850, "method": "tools/call", "params": {
        "name": "execute_code", "arguments": {"code": "6 * 7"},
    }});
    // Both are there before the first can be answered.
    gateway.send_line(format!("{call}\n{call}").as_bytes());
    let of_both = |message: &Value| message["id"] == 850;
    let refusal =
        gateway.wait("a refusal", |message| of_both(message) && message["error"]["code"] == -32600);
    assert_has(&refusal.to_string(), &["850", "give each request an id of its own"]);
    let result = gateway.wait("the answer to the first", |message| {
        of_both(message) && !message["result"].is_null()
    });
    assert_eq!(result["result"]["structuredContent"]["result"], 42, "{result}");
    // What was answered leaves its id.
    gateway.send(&call);
    gateway.wait("another answer", |message| of_both(message) && !message["result"].is_null());
}

#[test]
fn messages_that_nobody_waits_for_do_not_end_the_gateway() {
    let place = Place::with_good();
    let messages = [
        json!({ "jsonrpc": "2.0", "id": 900, "result": {} }),
        json!({ "jsonrpc": "2.0", "id": 901, "error": { "code": 1, "message": "no" } }),
        json!({ "jsonrpc": "2.0", "method": "notifications/no-such" }),
        json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": { "requestId": 999 } }),
    ];
    for mut gateway in [place.legacy(), place.modern()] {
        messages.iter().for_each(|message| gateway.send(message));
        assert_good_works(&mut gateway);
    }
}

#[test]
fn messages_before_the_handshake_do_not_end_the_gateway() {
    let place = Place::with_good();
    for message in [
        json!({ "jsonrpc": "2.0", "id": 900, "result": {} }),
        json!({ "jsonrpc": "2.0", "method": "notifications/no-such" }),
        json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": { "requestId": 999 } }),
    ] {
        let mut gateway = place.gateway();
        gateway.send(&message);
        gateway.initialize();
    }
}

#[test]
fn unknown_methods_are_answered_with_errors() {
    let place = Place::with_good();
    for mut gateway in [place.legacy(), place.modern()] {
        let answer = gateway.ask("no/such", json!({}));
        assert_eq!(answer["error"]["code"], -32601, "{answer}");
        let answer = gateway.call("no_such_tool", json!({}));
        assert_eq!(answer["error"]["code"], -32602, "{answer}");
        assert_has(&answer.to_string(), &["no_such_tool"]);
        assert_good_works(&mut gateway);
    }
}

// Configurations that are wrong.

fn assert_config_is_refused(text: &str, parts: &[&str]) {
    let place = Place::new().toml(text);
    for command in [&["serve"][..], &["servers", "status"], &["run", "-c", "1"]] {
        let output = place.run(command);
        let errors = String::from_utf8(output.stderr).unwrap();
        assert!(!output.status.success(), "{command:?}: {errors}");
        assert_has(&errors, parts);
        assert!(output.stdout.is_empty(), "{command:?} printed to its standard output");
    }
}

#[test]
fn a_malformed_configuration_is_refused_with_its_place() {
    assert_config_is_refused("[servers.good\ncommand = 1\n", &["error", "narrows.toml", "1"]);
}

#[test]
fn an_unknown_setting_is_refused_with_the_one_that_was_meant() {
    let text = "[servers.good]\ncommand = \"python3\"\ncall_timout = 3\n";
    assert_config_is_refused(text, &["narrows.toml", "call_timout", "call_timeout", "good"]);
}

// Names that collide.

/// A server whose tools are its arguments, and say how they were called.
const NAMES: &str = r#"
import json, sys
for line in sys.stdin:
    message = json.loads(line)
    if "id" not in message:
        continue
    method, params = message["method"], message.get("params") or {}
    if method == "initialize":
        result = {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}},
                  "serverInfo": {"name": "names", "version": "1"}}
    elif method == "tools/list":
        result = {"tools": [{"name": name, "inputSchema": {"type": "object"}} for name in sys.argv[1:]]}
    elif method == "tools/call":
        result = {"content": [{"type": "text", "text": "called " + params["name"]}]}
    else:
        error = {"code": -32601, "message": "no such method"}
        print(json.dumps({"jsonrpc": "2.0", "id": message["id"], "error": error}), flush=True)
        continue
    print(json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result}), flush=True)
"#;

/// Calls all functions of a server's module, and says which tools they reached.
fn reached(gateway: &mut Gateway, module: &str) -> Vec<String> {
    let output = gateway.run(&format!(
        "import servers.{module} as m
print(dir(m) and '', end='')
for name in sorted(m.__all__):
    print(await getattr(m, name)())"
    ));
    let mut tools: Vec<String> =
        output.lines().map(|line| line.trim_start_matches("called ").to_owned()).collect();
    tools.sort();
    tools
}

#[test]
fn tools_whose_names_collide_can_all_be_called() {
    let names = ["read-file", "read_file", "read.file", "class", "print", "2nd", "ToolError"];
    let place = Place::new().program("names", NAMES, &names, "");
    let mut gateway = place.legacy();
    // Something has to start the server: its tools are not known yet.
    let first = gateway.run("from servers.names import read_file\nprint(await read_file())");
    assert_eq!(first, "called read_file");
    let mut all: Vec<String> = names.map(str::to_owned).into();
    all.sort();
    assert_eq!(reached(&mut gateway, "names"), all);
}

#[test]
fn servers_whose_names_collide_can_all_be_called() {
    let place = Place::new().program("my-server", NAMES, &["first"], "").program(
        "my_server",
        NAMES,
        &["second"],
        "",
    );
    let mut gateway = place.legacy();
    let output = gateway.run(
        "import importlib, servers
from tool_discovery import search_tools
for module in sorted(servers.__all__):
    part = importlib.import_module(f'servers.{module}')
    for tool in ('first', 'second'):
        try:
            print(await getattr(part, tool)())
        except (AttributeError, ImportError):
            pass",
    );
    let mut lines: Vec<&str> = output.lines().collect();
    lines.sort_unstable();
    assert_eq!(lines, ["called first", "called second"]);
}

#[test]
fn direct_tools_that_two_servers_have_can_both_be_called() {
    let place = Place::new()
        .program("one", NAMES, &["same", "execute_code"], "expose = \"direct\"")
        .program("two", NAMES, &["same"], "expose = \"direct\"");
    let mut gateway = place.legacy();
    // Only when both servers are there, the names of their tools collide.
    let names = gateway.tool_names_with("two__same");
    for name in ["one__same", "two__same", "one__execute_code", "execute_code"] {
        assert_eq!(names.iter().filter(|known| *known == name).count(), 1, "{name} in {names:?}");
    }
    let answer = gateway.call("one__execute_code", json!({}));
    assert_eq!(answer["result"]["content"][0]["text"], "called execute_code", "{answer}");
    assert_eq!(gateway.run("print('ours')"), "ours");
}

#[test]
fn a_rule_binds_to_the_direct_tool_that_is_called_whatever_names_others_have() {
    let rule = "[[policy.rules]]\nname = \"never\"\ntools = [\"b.x\"]\naction = \"deny\"\n";
    let direct = "expose = \"direct\"";
    // One server has the name that the tool of another would get.
    let place = Place::new()
        .program("a", NAMES, &["b__x"], direct)
        .program("b", NAMES, &["x", "y"], direct)
        .program("c", NAMES, &["x"], direct)
        .toml(rule);
    let mut gateway = place.legacy();
    // The tool that is denied is not listed.
    gateway.tool_names_with("b__x");
    let names = gateway.tool_names_with("c__x");
    assert_eq!(names.iter().filter(|name| *name == "b__x").count(), 1, "{names:?}");
    let answer = gateway.call("b__x", json!({}));
    assert_eq!(answer["result"]["content"][0]["text"], "called b__x", "{answer}");
    let refused = gateway.call("b__x_2", json!({})).to_string();
    assert_has(&refused, &["b.x was not called", "never"]);
    let unknown = gateway.call("x", json!({})).to_string();
    assert_has(&unknown, &["there is no tool"]);
}
