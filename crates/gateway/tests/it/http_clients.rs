//! Clients of one gateway over HTTP, who do not meet, and cannot make it deaf for each other. What they
//! can take of each other by sending much is in `floods`.
#![cfg(unix)]

use std::{
    io::{Read, Write},
    net::TcpStream,
};

use serde_json::{Value, json};

use crate::support::{
    http::{Answer, Caller, connect, health, is_closed, read_until},
    real::{HttpGateway, Site, repository, says, stdio, wait_for},
};

const KEYS: &str = "keys = [\"the-first-key-of-two\", \"the-second-key-of-two\"]";
const UNKNOWN_SESSION: &str = "3f0c1a52-0000-4000-8000-000000000000";

fn list() -> Value {
    json!({"jsonrpc": "2.0", "id": 7, "method": "tools/list"})
}

/// A server of which each call of `echo` needs a person.
fn asking_server() -> String {
    let script = repository().join("tests/servers/misbehave.py");
    let server = stdio("good", "python3", &[script.to_str().unwrap(), "good"]);
    let rule = "[[policy.rules]]\nname = \"ask\"\ntools = [\"good.echo\"]\naction = \"confirm\"\n";
    format!("{server}expose = \"both\"\n{rule}")
}

fn accept(asks: &Value) -> Value {
    let questions = asks["result"]["inputRequests"].as_object().unwrap();
    let answer = json!({"action": "accept", "content": {"allow": "once"}});
    let answers: serde_json::Map<_, _> =
        questions.keys().map(|key| (key.clone(), answer.clone())).collect();
    json!({"requestState": asks["result"]["requestState"], "inputResponses": answers})
}

// Whose it is.

#[test]
fn for_another_key_a_session_is_not_there() {
    let Some(site) = Site::new() else { return };
    let agent = "[agents.eve]\nkey = \"the-key-of-eve-alone\"\n";
    site.configure(&format!("[http]\n{KEYS}\n{agent}"));
    let gateway = HttpGateway::start(&site);
    let ours = Caller::new(&gateway, "the-first-key-of-two");
    let session = ours.session();
    let answer = json!({"jsonrpc": "2.0", "id": 0, "result": {"action": "accept"}});
    let cancel = json!({"jsonrpc": "2.0", "method": "notifications/cancelled",
                        "params": {"requestId": 7}});
    for key in ["the-second-key-of-two", "the-key-of-eve-alone"] {
        let other = Caller::new(&gateway, key);
        let bodies =
            [list(), answer.clone(), cancel.clone()].map(|body| ("POST", body.to_string()));
        for (method, body) in
            bodies.into_iter().chain([("GET", String::new()), ("DELETE", String::new())])
        {
            let refused = other.send(method, &[("mcp-session-id", &session)], &body);
            let unknown = other.send(method, &[("mcp-session-id", UNKNOWN_SESSION)], &body);
            assert_eq!(refused.status, 404, "{method}: {refused:?}");
            assert_eq!(refused.lasting(), unknown.lasting(), "{method}");
        }
    }
    // For us it is, and all of that works.
    assert_eq!(ours.post(&session, &answer).status, 202);
    assert_eq!(ours.post(&session, &list()).message()["id"], 7);
    drop(ours.listen(&session));
    // Clients of the SDKs take 200 and 204 for an end, and warn of anything else.
    let of_session = [("mcp-session-id", session.as_str())];
    assert_eq!(ours.send("DELETE", &of_session, "").status, 204);
    assert_eq!(ours.post(&session, &list()).status, 404);
    for method in ["GET", "DELETE"] {
        assert_eq!(ours.send(method, &of_session, "").status, 404, "{method}");
    }
}

#[test]
fn a_question_is_answered_by_the_key_that_was_asked_and_lost_to_no_other() {
    let Some(site) = Site::new() else { return };
    site.configure(&format!("[http]\n{KEYS}\n{}", asking_server()));
    let gateway = HttpGateway::start(&site);
    gateway.wait_for_tools(&site);
    let ours = Caller::new(&gateway, "the-first-key-of-two");
    let other = Caller::new(&gateway, "the-second-key-of-two");
    let asks = ours.call("echo", &json!({}));
    assert!(asks["result"]["requestState"].is_string(), "{asks:#}");
    let stolen = other.call("echo", &accept(&asks));
    says(&stolen["error"]["message"], &["nothing waits for this requestState"]);
    // As many as one key may have.
    let questions: Vec<Value> = (0..64).map(|_| other.call("echo", &json!({}))).collect();
    for question in &questions {
        assert!(question["result"]["requestState"].is_string(), "{question:#}");
    }
    let refused = other.call("echo", &json!({}));
    says(&refused["error"]["message"], &["64 questions wait for your answers", "answer one"]);
    for (caller, asks) in [(ours, &asks), (other, &questions[0])] {
        let done = caller.call("echo", &accept(asks));
        assert_eq!(done["result"]["content"][0]["text"], "called", "{done:#}");
    }
}

#[test]
fn for_another_agent_of_its_namespace_a_result_of_an_analysis_is_not_there() {
    let Some(site) = Site::new() else { return };
    let agent =
        |name: &str, key: &str| format!("[agents.{name}]\nkey = \"{key}\"\nhome = \"team\"\n");
    let agents = agent("ada", "the-first-key-of-two") + &agent("eve", "the-second-key-of-two");
    site.configure(&agents);
    let gateway = HttpGateway::start(&site);
    let analyse = |key: &'static str, rows: (&str, &Value)| {
        let caller = Caller::new(&gateway, key);
        let mut arguments = json!({"analysis_type": "describe"});
        arguments[rows.0] = rows.1.clone();
        let params = json!({"name": "execute_analysis", "arguments": arguments});
        let call = json!({"jsonrpc": "2.0", "id": 3, "method": "tools/call", "params": params});
        caller.post(&caller.session(), &call).message()["result"].take()
    };
    let first = analyse("the-first-key-of-two", ("data", &json!([{"n": 1}, {"n": 2}])));
    let name = &first["structuredContent"]["result"]["result_id"];
    assert!(name.is_string(), "{first}");
    let earlier = json!({ "result": name });
    let refused = analyse("the-second-key-of-two", ("source", &earlier));
    assert_eq!(refused["isError"], true, "{refused}");
    says(&refused["content"][0]["text"], &["there is no result", "keeps none yet"]);
    // For whoever asked for it it is.
    let again = analyse("the-first-key-of-two", ("source", &earlier));
    assert_eq!(again["structuredContent"]["result"]["row_count"], 1, "{again}");
}

#[test]
fn the_state_of_a_server_that_asks_by_itself_is_for_the_key_that_was_asked() {
    let Some(site) = Site::new() else { return };
    let server = format!("{}expose = \"direct\"\n", site.server("modern"));
    site.configure(&format!("[http]\n{KEYS}\n{server}"));
    let gateway = HttpGateway::start(&site);
    gateway.wait_for_tools(&site);
    let ours = Caller::new(&gateway, "the-first-key-of-two");
    let other = Caller::new(&gateway, "the-second-key-of-two");
    let tool = "test_input_required_result_request_state";
    let asks = ours.call(tool, &json!({"arguments": {}}));
    let state = asks["result"]["requestState"].as_str().unwrap_or_else(|| panic!("{asks:#}"));
    assert!(state.starts_with("narrows:"), "{state}");
    let answered = |caller: Caller<'_>, state: &str| {
        let mut extra = accept(&asks);
        extra["arguments"] = json!({});
        extra["requestState"] = state.into();
        caller.call(tool, &extra)
    };
    // What the server itself has given is `{}`.
    for (caller, state) in [(other, state), (ours, "{}")] {
        let stolen = answered(caller, state);
        says(&stolen["error"]["message"], &["nothing waits for this requestState"]);
    }
    let done = answered(ours, state);
    assert_eq!(done["result"]["content"][0]["text"], "state-ok", "{done:#}");
    let again = answered(ours, state);
    says(&again["error"]["message"], &["nothing waits for this requestState"]);
}

#[test]
fn what_answers_no_question_of_ours_runs_nothing() {
    let Some(site) = Site::new() else { return };
    site.configure(&format!("[http]\n{KEYS}\n{}expose = \"both\"\n", slow_server(&site)));
    let gateway = HttpGateway::start(&site);
    gateway.wait_for_tools(&site);
    let caller = Caller::new(&gateway, "the-first-key-of-two");
    let write = json!({"seconds": 0, "file": site.text("written")});
    let program = json!({"code": writes_twice(&site)});
    let answers = json!({"question-1": {"action": "accept", "content": {"allow": "once"}}});
    let unknown = "nothing waits for this requestState";
    for (tool, arguments) in [("slow_write", &write), ("execute_code", &program)] {
        for (given, why) in [
            (json!({"requestState": "anything"}), unknown),
            (json!({"requestState": "anything", "inputResponses": answers}), unknown),
            (json!({"inputResponses": answers}), "without the requestState of the question"),
        ] {
            let mut extra = given;
            extra["arguments"] = arguments.clone();
            let refused = caller.call(tool, &extra);
            says(&refused["error"]["message"], &[why, "nothing was run again"]);
        }
    }
    assert_eq!(lines(&site, "begun"), Vec::<String>::new());
    // The control: a call that answers nothing.
    let done = caller.call("slow_write", &json!({"arguments": write, "inputResponses": {}}));
    says(&done["result"]["content"][0]["text"], &["slept"]);
    assert_eq!(lines(&site, "begun").len(), 1);
}

// Clients that leave.

/// A server whose tool `slow_write` notes when it was begun.
fn slow_server(site: &Site) -> String {
    let script = repository().join("tests/servers/misbehave.py");
    let server = stdio("slow", "python3", &[script.to_str().unwrap(), "slow"]);
    format!("{server}env = {{ NARROWS_TEST_BEGUN = {:?} }}\n", site.text("begun"))
}

fn writes_twice(site: &Site) -> String {
    format!(
        "from servers.slow import slow_write\n\
         for _ in range(2): await slow_write(seconds=2, file={:?})",
        site.text("written")
    )
}

fn lines(site: &Site, name: &str) -> Vec<String> {
    let text = std::fs::read_to_string(site.path(name)).unwrap_or_default();
    text.lines().map(str::to_owned).collect()
}

fn wait_for_begun(site: &Site) {
    wait_for("the call at the server", || (lines(site, "begun").len() == 1).then_some(()));
}

/// Has a client leave during the first of two writes: that comes to its end and is written down so, and
/// the second is not begun.
#[track_caller]
fn a_write_ends_without_another(leave: impl FnOnce(&Site, Caller<'_>, &str)) {
    let Some(site) = Site::new() else { return };
    site.configure(&format!("[http]\n{KEYS}\n{}", slow_server(&site)));
    let gateway = HttpGateway::start(&site);
    leave(&site, Caller::new(&gateway, "the-first-key-of-two"), &writes_twice(&site));

    wait_for("the end of the write", || (lines(&site, "written") == ["ended"]).then_some(()));
    let search = ["audit", "search", "--json", "--target", "slow.slow_write"];
    let entries = wait_for("the entry of the write", || {
        let entries = site.json(&search)["entries"].as_array().unwrap().clone();
        (!entries.is_empty()).then_some(entries)
    });
    assert_eq!(entries.len(), 1, "{entries:#?}");
    assert_eq!(entries[0]["outcome"], "ok", "{entries:#?}");
    // The program ended with its client: nothing is left to be waited for, and no second write began.
    gateway.end();
    assert_eq!(lines(&site, "begun").len(), 1);
}

#[test]
fn a_write_comes_to_its_end_when_its_client_closes_the_connection() {
    a_write_ends_without_another(|site, caller, code| {
        let arguments = json!({"arguments": {"code": code, "timeout": 60}});
        let answer = caller.open_call("execute_code", &arguments);
        wait_for_begun(site);
        drop(answer);
    });
}

#[test]
fn a_write_comes_to_its_end_when_its_client_deletes_its_session() {
    a_write_ends_without_another(|site, caller, code| {
        let session = caller.session();
        let header = [("mcp-session-id", session.as_str())];
        let arguments = json!({"code": code, "timeout": 60});
        let params = json!({"name": "execute_code", "arguments": arguments});
        let call = json!({"jsonrpc": "2.0", "id": 5, "method": "tools/call", "params": params});
        let _answer = caller.open("POST", &header, &call.to_string());
        wait_for_begun(site);
        assert_eq!(caller.send("DELETE", &header, "").status, 204);
    });
}

// Sessions.

#[test]
fn a_key_has_so_many_sessions_and_those_that_nobody_uses_end() {
    let Some(site) = Site::new() else { return };
    let limits = "max_sessions_per_key = 2\nmax_sessions = 3\nsession_idle = 1\n";
    site.configure(&format!("[http]\n{KEYS}\n{limits}"));
    let gateway = HttpGateway::start(&site);
    let one = Caller::new(&gateway, "the-first-key-of-two");
    let other = Caller::new(&gateway, "the-second-key-of-two");
    // A session whose events somebody reads is in use.
    let listening = |caller: Caller<'_>| {
        let session = caller.session();
        let stream = caller.listen(&session);
        (session, stream)
    };
    let (first, stream) = listening(one);
    let (second, _kept) = listening(one);
    let full = one.initialize();
    assert_eq!(full.status, 429, "{full:?}");
    assert!(full.text.contains("this key has 2 sessions"), "{full:?}");
    assert!(full.header("retry-after").unwrap().parse::<u32>().unwrap() > 0, "{full:?}");
    // Others have room, until all have too many.
    let _third = listening(other);
    let full = other.initialize();
    assert_eq!(full.status, 503, "{full:?}");
    assert!(full.text.contains("there are 3 sessions"), "{full:?}");
    assert!(full.header("retry-after").is_some(), "{full:?}");

    drop(stream);
    wait_for("an idle session to end", || (one.initialize().status == 200).then_some(()));
    assert_eq!(one.post(&first, &list()).status, 404);
    assert_eq!(one.post(&second, &list()).message()["id"], 7);
}

#[test]
fn a_session_lives_as_long_as_a_question_to_a_person() {
    let Some(site) = Site::new() else { return };
    let limits = "max_sessions_per_key = 2\nsession_idle = 1\n";
    site.configure(&format!("[http]\n{KEYS}\n{limits}{}", asking_server()));
    let gateway = HttpGateway::start(&site);
    gateway.wait_for_tools(&site);
    let caller = Caller::new(&gateway, "the-first-key-of-two");
    let session = caller.session();
    let call = json!({"jsonrpc": "2.0", "id": 5, "method": "tools/call",
                      "params": {"name": "echo", "arguments": {"text": "called"}}});
    let header = [("mcp-session-id", session.as_str())];
    let mut stream = caller.open("POST", &header, &call.to_string());
    let asked = Answer::parse(read_until(&mut stream, &["elicitation/create", "\n\n"]));
    let question = asked.message()["id"].clone();
    let event = asked.text.lines().filter_map(|line| line.strip_prefix("id: ")).next_back();
    let event = event.unwrap().to_owned();
    // The client is gone, and comes back after other sessions were idle for too long.
    drop(stream);
    let idle = caller.session();
    wait_for("another session to end", || (caller.initialize().status == 200).then_some(()));
    assert_eq!(caller.post(&idle, &list()).status, 404);
    let resume = [("mcp-session-id", session.as_str()), ("last-event-id", event.as_str())];
    let mut stream = caller.open("GET", &resume, "");
    assert_eq!(Answer::parse(read_until(&mut stream, &["\r\n\r\n"])).status, 200);
    let answer = json!({"jsonrpc": "2.0", "id": question,
                        "result": {"action": "accept", "content": {"allow": "once"}}});
    assert_eq!(caller.post(&session, &answer).status, 202);
    let done = read_until(&mut stream, &["\"id\":5"]);
    assert!(done.contains("\"id\":5"), "{done}");
}

#[test]
fn a_second_request_with_an_id_that_is_in_use_is_refused() {
    let Some(site) = Site::new() else { return };
    site.configure(&format!("[http]\n{KEYS}\n{}", asking_server()));
    let gateway = HttpGateway::start(&site);
    gateway.wait_for_tools(&site);
    let caller = Caller::new(&gateway, "the-first-key-of-two");
    let session = caller.session();
    let call = json!({"jsonrpc": "2.0", "id": 7, "method": "tools/call",
                      "params": {"name": "echo", "arguments": {"text": "called"}}});
    let header = [("mcp-session-id", session.as_str())];
    let mut stream = caller.open("POST", &header, &call.to_string());
    let asked = Answer::parse(read_until(&mut stream, &["elicitation/create", "\n\n"]));
    // Its id is that of the call, which waits for a person.
    let refusal = caller.post(&session, &list()).message();
    assert_eq!((&refusal["id"], &refusal["error"]["code"]), (&json!(7), &json!(-32600)));
    says(&refusal["error"]["message"], &["id 7", "give each request an id of its own"]);
    // In another session the id is free, and so it is here when the call is answered.
    let other = caller.session();
    assert!(caller.post(&other, &list()).message()["result"]["tools"].is_array());
    let answer = json!({"jsonrpc": "2.0", "id": asked.message()["id"],
                        "result": {"action": "accept", "content": {"allow": "once"}}});
    assert_eq!(caller.post(&session, &answer).status, 202);
    let done = read_until(&mut stream, &["\"id\":7"]);
    assert!(done.contains("called"), "{done}");
    assert!(caller.post(&session, &list()).message()["result"]["tools"].is_array());
}

// Connections.

#[test]
fn connections_without_requests_make_room_and_health_always_answers() {
    let Some(site) = Site::new() else { return };
    let limits = "max_connections = 8\nmax_connections_per_address = 8\n";
    site.configure(&format!("[http]\n{KEYS}\n{limits}"));
    let gateway = HttpGateway::start(&site);
    let caller = Caller::new(&gateway, "the-first-key-of-two");
    let half = b"POST /mcp HTTP/1.1\r\nHost: localhost\r\n";
    let idle: Vec<TcpStream> = (0..40)
        .map(|number| {
            let mut stream = connect(&gateway);
            if number % 2 == 0 {
                let _ = stream.write_all(half);
            }
            stream
        })
        .collect();
    assert_eq!(health(&gateway).status, 200);
    let session = caller.session();
    idle[..32].iter().for_each(is_closed);
    // Nobody needs the places of the last ones, which get no longer for their requests.
    idle[32..].iter().for_each(is_closed);

    // Those that are in use stay, and whoever comes then is told.
    let mut streams: Vec<TcpStream> = (0..8).map(|_| caller.listen(&session)).collect();
    let full = caller.initialize();
    assert_eq!(full.status, 503, "{full:?}");
    assert!(full.text.contains("too many connections are open"), "{full:?}");
    assert!(full.header("retry-after").is_some(), "{full:?}");
    let answer = health(&gateway);
    assert!(answer.status == 200 && answer.text.ends_with("ok\n"), "{answer:?}");
    let _waiting: Vec<TcpStream> = (0..40).map(|_| connect(&gateway)).collect();
    assert_eq!(health(&gateway).status, 200);
    streams.pop();
    wait_for("a place", || (caller.initialize().status == 200).then_some(()));
}

#[cfg(target_os = "linux")]
#[test]
fn the_limit_of_open_files_is_raised_and_connections_stay_below_it() {
    let Some(site) = Site::new() else { return };
    site.configure(&format!("[http]\n{KEYS}\n"));
    let limits = |gateway: &HttpGateway| {
        let limits = format!("/proc/{}/limits", gateway.process_id());
        let limits = std::fs::read_to_string(limits).unwrap();
        let line = limits.lines().find(|line| line.starts_with("Max open files")).unwrap();
        let mut numbers = line.split_whitespace().filter_map(|word| word.parse::<u64>().ok());
        (numbers.next().unwrap(), numbers.next().unwrap())
    };
    let gateway = HttpGateway::start_after(&site, "ulimit -Sn 200");
    // Once it answers, it has started.
    assert_eq!(health(&gateway).status, 200);
    let (soft, hard) = limits(&gateway);
    assert_eq!(soft, hard.min(1 << 16));
    drop(gateway);

    let gateway = HttpGateway::start_after(&site, "ulimit -n 200");
    assert_eq!(limits(&gateway), (200, 200));
    let idle: Vec<TcpStream> = (0..300).map(|_| connect(&gateway)).collect();
    assert_eq!(health(&gateway).status, 200);
    assert_eq!(Caller::new(&gateway, "the-first-key-of-two").initialize().status, 200);
    is_closed(&idle[0]);
}

// Requests.

#[test]
fn a_request_that_names_two_hosts_or_origins_is_refused() {
    let Some(site) = Site::new() else { return };
    site.configure(&format!("[http]\n{KEYS}\n"));
    let gateway = HttpGateway::start(&site);
    let port = gateway.port;
    let caller = Caller::new(&gateway, "the-first-key-of-two");
    let own = format!("http://localhost:{port}");
    let send = |target: &str, headers: &str| {
        let mut stream = connect(&gateway);
        let body = json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
            "protocolVersion": "2025-11-25", "capabilities": {},
            "clientInfo": {"name": "raw", "version": "1"},
        }});
        let body = body.to_string();
        let request = format!(
            "POST {target} HTTP/1.1\r\nConnection: close\r\n{headers}\
             Authorization: Bearer {}\r\nAccept: application/json, text/event-stream\r\n\
             Content-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
            caller.key,
            body.len()
        );
        stream.write_all(request.as_bytes()).unwrap();
        let mut text = String::new();
        let _ = stream.read_to_string(&mut text);
        Answer::parse(text).status
    };
    let host = format!("Host: 127.0.0.1:{port}\r\n");
    assert_eq!(send("/mcp", &host), 200);
    assert_eq!(send("/mcp", &format!("{host}Origin: {own}\r\n")), 200);
    assert_eq!(send(&format!("http://127.0.0.1:{port}/mcp"), &host), 200);
    for (target, headers) in [
        ("/mcp", format!("{host}Host: evil.example\r\n")),
        ("/mcp", format!("Host: evil.example\r\n{host}")),
        ("/mcp", format!("{host}Origin: {own}\r\nOrigin: https://evil.example\r\n")),
        ("http://evil.example/mcp", host.clone()),
    ] {
        assert_eq!(send(target, &headers), 400, "{target} {headers}");
    }
    assert_eq!(send("http://evil.example/mcp", "Host: evil.example\r\n"), 403);
}

#[test]
fn a_request_of_millions_of_values_is_not_parsed() {
    let Some(site) = Site::new() else { return };
    site.configure(&format!("[http]\n{KEYS}\n"));
    let gateway = HttpGateway::start(&site);
    let caller = Caller::new(&gateway, "the-first-key-of-two");
    let session = caller.session();
    let header = [("mcp-session-id", session.as_str())];
    let request = |values: &str| {
        format!(
            "{{\"jsonrpc\":\"2.0\",\"id\":3,\"method\":\"tools/call\",\"params\":{{\"name\":\
             \"execute_code\",\"arguments\":{{\"code\":\"len(x)\",\"context\":{{\"x\":{values}}}}}}}}}"
        )
    };
    let many = format!("[{}[]]", "[],".repeat(600_000));
    let keys = format!("{{{}\"a\":1}}", "\"a\":1,".repeat(600_000));
    let deep = format!("{}{}", "[".repeat(200), "]".repeat(200));
    let large = format!("\"{}\"", "x".repeat(17 << 20));
    for (values, status, reason) in [
        (many, 413, "more than 1000000 JSON values and keys"),
        (keys, 413, "more than 1000000 JSON values and keys"),
        (deep, 400, "nested more than 127 deep"),
        (large, 413, "larger than 16 MB"),
    ] {
        let refused = caller.send("POST", &header, &request(&values));
        assert_eq!(refused.status, status, "{refused:?}");
        let body = refused.text.split("\r\n\r\n").nth(1).unwrap();
        let error: Value = serde_json::from_str(body).unwrap_or_else(|_| panic!("{refused:?}"));
        says(&error["error"]["message"], &[reason]);
    }
    // One that is large, and harmless.
    let text = format!("\"{}\"", "[,".repeat(1 << 20));
    let done = caller.send("POST", &header, &request(&text)).message();
    assert_eq!(done["result"]["structuredContent"]["result"], 2 << 20, "{done:#}");
}
