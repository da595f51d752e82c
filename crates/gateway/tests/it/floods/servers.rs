//! Upstream servers that send more than anybody asked for.

use std::{
    io::{BufRead, BufReader, Read, Write},
    net::{TcpListener, TcpStream},
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    thread,
};

use narrows_testkit::{report_figures, size};
use serde_json::{Value, json};

use super::{ATTACKER, Bystander, Caller, OTHER, all_at_once, rest_of, start, with_agents};
use crate::support::{
    bystander::program,
    dead::{Place, assert_has, until},
};

const MEGABYTE: usize = 1 << 20;
/// The most that is read of one message.
const MAX_MESSAGE: usize = 32 * MEGABYTE;

/// Which answer of a server over HTTP does not end, and as what.
#[derive(Clone, Copy)]
struct Endless {
    method: &'static str,
    status: &'static str,
    kind: &'static str,
    start: &'static str,
}

/// Serves until the test ends. Returns its address, and the most that was taken of one answer.
fn serve(endless: Option<Endless>, bytes: usize) -> (String, Arc<AtomicUsize>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/mcp", listener.local_addr().unwrap());
    let most = Arc::new(AtomicUsize::new(0));
    let taken = Arc::clone(&most);
    thread::spawn(move || {
        for stream in listener.incoming().map_while(Result::ok) {
            let most = Arc::clone(&taken);
            thread::spawn(move || {
                most.fetch_max(answer(stream, endless, bytes).unwrap_or(0), Ordering::Relaxed)
            });
        }
    });
    (url, most)
}

/// Answers one request, and returns how much was taken of an answer without end.
fn answer(mut stream: TcpStream, endless: Option<Endless>, bytes: usize) -> Option<usize> {
    let Some(request) = read_request(&stream) else {
        let refusal = "HTTP/1.1 405 No\r\ncontent-length: 0\r\nconnection: close\r\n\r\n";
        let _ = stream.write_all(refusal.as_bytes());
        return None;
    };
    let end = |status: &str, kind: &str, body: &str| {
        let length = body.len();
        format!(
            "HTTP/1.1 {status}\r\ncontent-type: {kind}\r\ncontent-length: {length}\r\n\
             connection: close\r\n\r\n{body}"
        )
    };
    let id = &request["id"];
    let method = request["method"].as_str().unwrap_or_default();
    if let Some(endless) = endless.filter(|endless| endless.method == method) {
        let Endless { status, kind, start, .. } = endless;
        let head = format!(
            "HTTP/1.1 {status}\r\ncontent-type: {kind}\r\nconnection: close\r\n\r\n{}",
            start.replace("ID", &id.to_string())
        );
        stream.write_all(head.as_bytes()).ok()?;
        let piece = vec![b'x'; MEGABYTE];
        let mut sent = 0;
        while sent < bytes && stream.write_all(&piece).is_ok() {
            sent += piece.len();
        }
        return Some(sent);
    }
    let answer = if id.is_null() {
        end("202 Accepted", "text/plain", "")
    } else {
        let answer = json!({"jsonrpc": "2.0", "id": id, "result": result_of(method)});
        end("200 OK", "application/json", &answer.to_string())
    };
    stream.write_all(answer.as_bytes()).ok()?;
    None
}

fn read_request(stream: &TcpStream) -> Option<Value> {
    let mut reader = BufReader::new(stream);
    let mut length = 0;
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).ok()?;
        let line = line.trim_end().to_ascii_lowercase();
        if line.is_empty() {
            break;
        }
        if let Some(value) = line.strip_prefix("content-length: ") {
            length = value.parse().ok()?;
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).ok()?;
    // A request without a body is for a stream of events, which there is none of.
    serde_json::from_slice(&body).ok()
}

fn result_of(method: &str) -> Value {
    match method {
        "initialize" => json!({
            "protocolVersion": "2025-11-25", "capabilities": {"tools": {}},
            "serverInfo": {"name": "endless", "version": "1"},
        }),
        "tools/list" => json!({"tools": [{"name": "echo", "inputSchema": {"type": "object"}}]}),
        "tools/call" => json!({"content": [{"type": "text", "text": "called"}]}),
        _ => json!({}),
    }
}

const JSON: &str = "application/json";
const EVENTS: &str = "text/event-stream";
const LIST: &str = r#"{"jsonrpc":"2.0","id":ID,"result":{"tools":[{"name":"a","description":""#;
const LIST_EVENT: &str =
    r#"data: {"jsonrpc":"2.0","id":ID,"result":{"tools":[{"name":"a","description":""#;
const CALL: &str = r#"{"jsonrpc":"2.0","id":ID,"result":{"content":[{"type":"text","text":""#;
const CALL_EVENT: &str =
    r#"data: {"jsonrpc":"2.0","id":ID,"result":{"content":[{"type":"text","text":""#;

/// A body of 2.5 GB was read whole, twice.
#[test]
fn a_body_without_end_is_not_read_whoever_asked_for_it() {
    let endless = |method, status, kind, start| Some(Endless { method, status, kind, start });
    let bytes = size(2 * MAX_MESSAGE, 2_500 * MEGABYTE);
    for (name, answer, told) in [
        // The control.
        ("answers that end", None, "called"),
        ("a list", endless("tools/list", "200 OK", JSON, LIST), "more than 32 MB"),
        (
            "a list of events",
            endless("tools/list", "200 OK", EVENTS, LIST_EVENT),
            "more than 32 MB",
        ),
        ("an answer", endless("tools/call", "200 OK", JSON, CALL), "more than 32 MB"),
        ("an event", endless("tools/call", "200 OK", EVENTS, CALL_EVENT), "more than 32 MB"),
        ("an error", endless("tools/call", "500 No", "text/plain", "no xxx"), "HTTP 500"),
    ] {
        let (url, most) = serve(answer, bytes);
        let place = with_agents(Place::new().toml(&format!("[servers.h]\nurl = {url:?}\n")));
        let gateway = start(&place);
        let attacker = Caller::new(&gateway, ATTACKER);
        let session = attacker.session();
        let bystander = Bystander::new(&gateway, OTHER);
        let code = "from servers.h import echo\nresult = await echo()";
        let call = program(2, &json!({"code": code, "timeout": 100})).to_string();
        let answers = bystander.during(name, || all_at_once(attacker, &session, &[call]));
        assert_has(&answers[0].text, &[told]);
        // What the system keeps between both is a few megabytes.
        let most = most.load(Ordering::Relaxed);
        assert!(most <= MAX_MESSAGE + MAX_MESSAGE / 2, "{name}: {most}");
        bystander.memory_goes_back(name);
    }
}

/// Four hundred took 3.5 GB.
#[test]
fn a_list_of_huge_descriptions_is_not_kept() {
    let mode = size(format!("pages {} 3", 2 * MEGABYTE), format!("pages {} 400", 16 * MEGABYTE));
    let place = with_agents(Place::with_good().server("bad", &mode, ""));
    let gateway = start(&place);
    let bystander = Bystander::new(&gateway, OTHER);
    let attacker = Caller::new(&gateway, ATTACKER);
    let session = attacker.session();
    // The control: the other tools of the server, which are small, can be called.
    let code = "from servers.bad import echo\nresult = await echo(text='still here')";
    let call = program(2, &json!({"code": code, "timeout": 100})).to_string();
    let answers =
        bystander.during("huge descriptions", || all_at_once(attacker, &session, &[call]));
    assert_has(&answers[0].text, &["still here"]);
    let told = bystander.during("huge descriptions, told", || place.last_error_in_gateway("bad"));
    assert_has(&told, &["larger than 1 MB"]);
    bystander.memory_goes_back("huge descriptions");
}

/// 250 of 4 MB took 1.8 GB.
#[test]
fn answers_that_a_program_does_not_take_are_not_called_for() {
    let (bytes, count) = (size(MEGABYTE, 4 * MEGABYTE), 250);
    let place = with_agents(Place::new().server("large", &format!("large {bytes}"), ""));
    let gateway = start(&place);
    let attacker = Caller::new(&gateway, ATTACKER);
    let session = attacker.session();
    let bystander = Bystander::new(&gateway, OTHER);
    let code = |then: &str| {
        format!(
            "import asyncio, time\nfrom servers.large import text\n\
             async def length(): return len(await text())\n\
             calls = [asyncio.create_task(length()) for _ in range({count})]\n\
             await asyncio.sleep(0)\n{then}"
        )
    };
    let call = |then: &str| program(2, &json!({"code": code(then), "timeout": 110}));
    let name = "answers that are not taken";
    // It ends without taking any: at its usual end it would take what has come.
    let then = "time.sleep(10)\nimport os\nos._exit(0)";
    let answer = bystander.during(name, || attacker.post(&session, &call(then)));
    let error = &answer.message()["result"]["structuredContent"]["error"];
    assert_eq!(error["type"], "SystemExit", "{answer:?}");
    let made = place.begun("large");
    report_figures(&format!("{name}: {made} of {count} calls were made"));
    // Some are, and those that were in flight when there was enough.
    assert!((1..count / 2).contains(&made), "{made} of {count}");
    // The control: a program that takes them gets all.
    let then = "result = sum(await asyncio.gather(*calls))";
    let answer =
        bystander.during("answers that are taken", || attacker.post(&session, &call(then)));
    let result = &answer.message()["result"]["structuredContent"]["result"];
    assert_eq!(*result, count * bytes, "{answer:?}");
    bystander.memory_goes_back(name);
}

/// 150 took 1.6 GB.
#[test]
fn answers_that_nobody_asked_for_are_not_kept() {
    let mode = size(
        format!("unsolicited {} 5", 2 * MEGABYTE),
        format!("unsolicited {} 150", 8 * MEGABYTE),
    );
    let place = with_agents(Place::new().server("bad", &mode, ""));
    let gateway = start(&place);
    let bystander = Bystander::new(&gateway, OTHER);
    let attacker = Caller::new(&gateway, ATTACKER);
    let session = attacker.session();
    let code = "from servers.bad import echo\nresult = await echo(text='still here')";
    let call = program(2, &json!({"code": code, "timeout": 100}));
    let answer = bystander.during("unsolicited answers", || {
        let answer = attacker.post(&session, &call);
        until("the last answer", || (place.begun("bad") > 0).then_some(()));
        answer
    });
    // The control: what was asked for is there, and nothing else.
    assert_has(&answer.text, &["still here"]);
    let code = "import servers.bad as bad\ndir(bad)\nresult = sorted(bad.__all__)";
    let tools = attacker.post(&session, &program(3, &json!({ "code": code })));
    assert_has(&tools.text, &["echo"]);
    assert!(!tools.text.contains("unasked"), "{tools:?}");
    bystander.memory_goes_back("unsolicited answers");
}

/// All 20,000 reached the person, or the model.
#[test]
fn of_the_questions_of_a_call_a_handful_reaches_the_client() {
    let place = with_agents(Place::new().server("bad", "flood", "expose = \"direct\""));
    let gateway = start(&place);
    let bystander = Bystander::new(&gateway, OTHER);
    let attacker = Caller::new(&gateway, ATTACKER);
    let count = size(40, 20_000);
    for (tool, method) in [("ask", "elicitation/create"), ("sample", "sampling/createMessage")] {
        let session = attacker.session();
        let call = crate::support::bystander::call(2, tool, &json!({ "n": count })).to_string();
        let name = format!("questions: {tool}");
        let answers = bystander.during(&name, || all_at_once(attacker, &session, &[call]));
        // That some do is the control.
        assert_eq!(answers[0].text.matches(method).count(), 16, "{:?}", answers[0]);
        assert_eq!(answers[0].message()["result"]["content"][0]["text"], "asked");
    }
    bystander.memory_goes_back("questions");
}

/// What a client did not read took 1.9 GB.
#[test]
fn progress_that_a_client_does_not_read_is_left_out() {
    let place = with_agents(Place::new().server("bad", "flood", "expose = \"direct\""));
    let gateway = start(&place);
    let bystander = Bystander::new(&gateway, OTHER);
    let attacker = Caller::new(&gateway, ATTACKER);
    let session = attacker.session();
    let header = [("mcp-session-id", session.as_str())];
    let tell = |count: usize, file: &str| {
        let arguments = json!({"n": count, "size": 4_000, "file": place.file(file)});
        let mut call = crate::support::bystander::call(2, "tell", &arguments);
        call["params"]["_meta"] = json!({"progressToken": 9});
        attacker.open("POST", &header, &call.to_string())
    };
    // The control: what is read is heard.
    let heard = rest_of(tell(3, "few"));
    assert_has(&heard, &["notifications/progress", "\"told\""]);
    let count = size(20_000, 400_000);
    let stream = bystander.during("progress that is not read", || {
        let stream = tell(count, "many");
        until("the last of the progress", || place.file("many").exists().then_some(()));
        stream
    });
    let read = rest_of(stream).matches("notifications/progress").count();
    report_figures(&format!("progress that is not read: {read} of {count} were passed on"));
    assert!(read < count / 2, "{read} of {count}");
    bystander.memory_goes_back("progress that is not read");
}

/// Two programs kept `/health` waiting for 31 s, and their answers were cut off.
#[test]
fn a_schema_that_takes_exponential_time_to_check_keeps_nobody_waiting() {
    let place = with_agents(Place::new().server("bad", "exponential", ""));
    let gateway = start(&place);
    let bystander = Bystander::new(&gateway, OTHER);
    let attacker = Caller::new(&gateway, ATTACKER);
    let session = attacker.session();
    for depth in size(&[1, 9][..], &[1, 5, 6, 9]) {
        let code = format!(
            "import client\nv = 1\nfor _ in range({depth}): v = {{'x': v}}\n\
             try: result = await client.call_mcp_tool('bad.nested', {{'x': v}})\n\
             except Exception as error: result = str(error)[:500]"
        );
        let calls = [2, 3].map(|id| program(id, &json!({"code": code, "timeout": 30})).to_string());
        let name = format!("a schema, {depth} deep");
        let answers = bystander.during(&name, || all_at_once(attacker, &session, &calls));
        for answer in answers {
            let outcome = answer.message()["result"]["structuredContent"].take();
            assert_eq!(outcome["success"], true, "{depth}: {outcome}");
            // What is deeper than can be checked is left to the server; what is not is told.
            if *depth == 1 || *depth == 9 {
                assert_eq!(outcome["result"] == "nested", *depth == 9, "{depth}: {outcome}");
            }
        }
    }
    bystander.memory_goes_back("schemas");
}

/// Each unknown field was compared with each property: `/health` waited for 8 s.
#[test]
fn many_wrong_fields_keep_nobody_waiting() {
    let place = with_agents(Place::new().server("bad", "wide 300 1", ""));
    let gateway = start(&place);
    let bystander = Bystander::new(&gateway, OTHER);
    let attacker = Caller::new(&gateway, ATTACKER);
    let session = attacker.session();
    for fields in size(&[1, 20][..], &[1, 130, 15_000]) {
        let code = format!(
            "import client\nfor _ in range({}):\n \
             try: await client.call_mcp_tool('bad.wide_0', {{'p' * 35 + f'x{{n}}': 1 for n in range({fields})}})\n \
             except Exception as error: result = str(error)",
            size(2, 60)
        );
        let calls = [2, 3].map(|id| program(id, &json!({"code": code, "timeout": 60})).to_string());
        let name = format!("{fields} wrong fields");
        let answers = bystander.during(&name, || all_at_once(attacker, &session, &calls));
        for answer in answers {
            let outcome = answer.message()["result"]["structuredContent"].take();
            let told = outcome["result"].as_str().unwrap_or_default();
            // One wrong field, which is told as it is, is the control.
            let more = if *fields == 1 { "is not known" } else { "more are not known" };
            assert!(told.contains(more) && told.len() < 8_000, "{fields}: {outcome}");
        }
    }
    bystander.memory_goes_back("wrong fields");
}

/// A client that asked for the tools of such a server four times at once kept all others waiting.
#[test]
fn lists_of_many_tools_keep_nobody_waiting() {
    let count = size(200, 20_000);
    let direct = "expose = \"direct\"";
    let place = with_agents(Place::new().server("bad", &format!("many {count}"), direct));
    let gateway = start(&place);
    let bystander = Bystander::new(&gateway, OTHER);
    let attacker = Caller::new(&gateway, ATTACKER);
    let session = attacker.session();
    let list = |id| json!({"jsonrpc": "2.0", "id": id, "method": "tools/list"}).to_string();
    let lists = [2, 3, 4, 5].map(list);
    let answers = bystander.during("lists", || all_at_once(attacker, &session, &lists));
    for answer in answers {
        let tools = answer.message()["result"]["tools"].as_array().map(Vec::len);
        assert!(tools.is_some_and(|tools| tools > count), "{tools:?}");
    }
    bystander.memory_goes_back("lists");
}

/// Six servers, each within what it may list, took 750 MB for good. What is within the bound of all of
/// them is known, and stays in memory.
#[test]
fn lists_just_under_their_bounds_take_no_more_than_they_may() {
    let servers = size(2, 5);
    let mode = size("wide 20 3", "wide 1200 60");
    let place = (0..servers)
        .fold(Place::new(), |place, number| place.server(&format!("bad{number}"), mode, ""));
    let place = with_agents(place);
    let gateway = start(&place);
    let bystander = Bystander::new(&gateway, OTHER);
    let attacker = Caller::new(&gateway, ATTACKER);
    let session = attacker.session();
    let last = size(2, 59);
    let code = format!(
        "import client\nresult = [await client.call_mcp_tool(f'bad{{n}}.wide_{last}', {{}}) for n in range({servers})]"
    );
    let call = program(2, &json!({"code": code, "timeout": 100})).to_string();
    let answers = bystander.during("wide lists", || all_at_once(attacker, &session, &[call]));
    let outcome = answers[0].message()["result"]["structuredContent"].take();
    assert_eq!(outcome["result"], json!(vec!["wide"; servers]), "{outcome}");
}
