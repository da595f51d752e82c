//! Names, queries, programs and texts that take long to look at. `/health` waited for up to 85 s, and the
//! programs of others for 107 s.

use narrows_testkit::size;
use serde_json::{Value, json};

use super::{ATTACKER, Bystander, Caller, OTHER, all_at_once, start, with_agents};
use crate::support::{bystander::call, dead::Place};

/// What is asked for, and a part of the answer.
struct Request {
    name: &'static str,
    tool: String,
    arguments: Value,
    answer: &'static str,
}

fn request(name: &'static str, tool: &str, arguments: Value, answer: &'static str) -> Request {
    Request { name, tool: tool.to_owned(), arguments, answer }
}

fn lines(count: usize, line: impl Fn(usize) -> String) -> String {
    (0..count).map(|number| line(number) + "\n").collect()
}

fn joined(count: usize, separator: &str, part: impl Fn(usize) -> String) -> String {
    (0..count).map(part).collect::<Vec<_>>().join(separator)
}

/// Those that are too long, and are told their bounds.
fn too_long() -> Vec<Request> {
    let name = "x".repeat(size(2_000, 2 << 20));
    let query = "create issue ".repeat(size(1_000, 1 << 20));
    let words = joined(size(1_000, 1_500_000), " ", |number| format!("w{number}"));
    let source = "x=1\n".repeat(size(300_000, 3_000_000));
    let sum = format!("x={}1", "1+".repeat(size(550_000, 7_000_000)));
    let pattern = "*a".repeat(size(1_000, 20_000));
    let in_program =
        format!("import client\nawait client.call_mcp_tool('x' * {}, {{}})", name.len());
    let definition = json!({ "name": name });
    vec![
        request("name of a tool", &name, json!({}), "there is no tool"),
        request("name in a program", "execute_code", json!({ "code": in_program }), "at most 1024"),
        request("name of a definition", "get_tool_definition", definition, "at most 1024"),
        request("query", "search_tools", json!({ "query": query }), "may have 2048"),
        request("query of many words", "search_tools", json!({ "query": words }), "may have 2048"),
        request("lines", "execute_code", json!({ "code": source }), "may have 1048576"),
        request("one expression", "execute_code", json!({ "code": sum }), "may have 1048576"),
        request("pattern", "list_workspace_files", json!({ "pattern": pattern }), "may have 1024"),
    ]
}

/// Those that are looked at, in bounded time.
fn laborious() -> Vec<Request> {
    let code = |name, code: String, answer| {
        request(name, "execute_code", json!({"code": code, "timeout": 60}), answer)
    };
    let sanitize =
        |name, text: String, answer| request(name, "sanitize_pii", json!({ "text": text }), answer);
    let functions =
        lines(size(500, 25_000), |n| format!("def f{n}(a): return f{}(a)", n.saturating_sub(1)));
    let calls = lines(size(500, 20_000), |n| format!("await servers.many.tol_{n}()"));
    let misspelt = joined(size(500, 20_000), ", ", |n| format!("{}{n}", "tol".repeat(10)));
    let fields: serde_json::Map<String, Value> =
        (0..size(500, 450_000)).map(|n| (format!("name{n}"), json!("x"))).collect();
    // Four of them took 1.5 GB, and were answered with 81 MB.
    let mut unknown = json!(fields);
    unknown["query"] = json!("tool_7");
    vec![
        code("functions", functions, "\"success\":true"),
        code("calls of tools", format!("import servers\n{calls}"), "tol_0"),
        code("misspelt names", format!("from servers.many import {misspelt}"), "toltol"),
        code(
            "a result of addresses",
            format!("['u%d@example.com' % i for i in range({})]", size(500, 700_000)),
            "result",
        ),
        code(
            "a result of lists",
            format!("[[] for _ in range({})]", size(500, 2_000_000)),
            "result",
        ),
        sanitize(
            "addresses and cards",
            "a.b@c.co 4556737586899855 ".repeat(size(500, 550_000)),
            "[EMAIL_",
        ),
        sanitize("digits", "1".repeat(size(10_000, 15_000_000)), "111"),
        sanitize("signs", "a@".repeat(size(5_000, 7_500_000)), "a@"),
        sanitize(
            "people",
            "Name: Ada Lovelace, born 1.1.1990 at 5 Main Street. ".repeat(size(500, 280_000)),
            "Ada Lovelace",
        ),
        request("unknown arguments", "search_tools", unknown, "more arguments are no parameters"),
        request("keys", "sanitize_pii", json!({ "data": fields }), "name0"),
    ]
}

#[test]
fn no_request_keeps_others_waiting_however_much_there_is_to_look_at() {
    let place = with_agents(Place::new().server("many", "many 200", ""));
    let gateway = start(&place);
    let attacker = Caller::new(&gateway, ATTACKER);
    let session = attacker.session();
    let bystander = Bystander::new(&gateway, OTHER);
    // The control: requests of the same kinds that ask for little.
    for (tool, arguments, answer) in [
        (
            "execute_code",
            json!({"code": "from servers.many import tool_7\nawait tool_7(text='a')"}),
            "7: a",
        ),
        ("search_tools", json!({"query": "tool_7"}), "tool_7"),
        ("get_tool_definition", json!({"name": "many.tool_7"}), "tool_7"),
        ("sanitize_pii", json!({"text": "a.b@c.co"}), "[EMAIL_"),
        ("list_workspace_files", json!({"pattern": "*a*"}), "result"),
    ] {
        let done = attacker.post(&session, &call(1, tool, &arguments)).text;
        assert!(done.contains(answer), "{tool}: {done}");
    }
    for Request { name, tool, arguments, answer } in too_long().into_iter().chain(laborious()) {
        let bodies = [2, 3].map(|id| call(id, &tool, &arguments).to_string());
        let answers = bystander.during(name, || all_at_once(attacker, &session, &bodies));
        for given in answers {
            let start: String = given.text.chars().take(2_000).collect();
            assert!(given.text.contains(answer), "{name}: {start}");
        }
    }
    bystander.memory_goes_back("requests");
}
