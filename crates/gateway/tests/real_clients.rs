//! Real clients of Narrows: over stdio and HTTP, in both eras of the protocol, asking, asked and
//! leaving.
#![cfg(unix)]
#![allow(clippy::unwrap_used, clippy::expect_used, missing_docs)]

use std::{
    fs,
    path::Path,
    sync::{Mutex, MutexGuard, OnceLock, PoisonError},
    time::{Duration, Instant},
};

use serde_json::{Value, json};

#[path = "support/real.rs"]
mod real;

use real::{HttpGateway, Site, Wire, document, report, text, wait_for};

const ERAS: [(&str, &str); 2] = [("legacy", "2025-11-25"), ("modern", "2026-07-28")];
/// The fixture, as a server that knows both eras, only the older, or only the newer one.
const FIXTURES: [&str; 3] = ["both", "legacy", "modern"];

/// One gateway for all tests that do not change anything: with the fixture in all eras.
fn shared() -> Option<&'static HttpGateway> {
    static SHARED: OnceLock<Option<HttpGateway>> = OnceLock::new();
    SHARED.get_or_init(|| Site::with(&FIXTURES).map(HttpGateway::lease)).as_ref()
}

/// As long as this is held, no other test uses the servers of the gateways here: one of the older
/// protocol does not say whose call its questions and logs belong to, and so they are refused when
/// there are several clients.
fn alone() -> MutexGuard<'static, ()> {
    static ALONE: Mutex<()> = Mutex::new(());
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// One gateway that shows the fixture as it is.
fn direct(era: &str) -> Option<&'static HttpGateway> {
    static DIRECT: [OnceLock<Option<HttpGateway>>; 2] = [OnceLock::new(), OnceLock::new()];
    let place = &DIRECT[usize::from(era == "modern")];
    place.get_or_init(|| direct_site(era).map(HttpGateway::lease)).as_ref()
}

fn direct_site(era: &str) -> Option<Site> {
    let site = Site::new()?;
    site.configure(&format!("{}expose = \"direct\"\n", site.server(era)));
    Some(site)
}

/// What `python_elicit.py` reports of a call.
#[track_caller]
fn elicit(gateway: &HttpGateway, options: &[&str], tool: &str, arguments: &Value) -> Value {
    let site = Site::new().unwrap();
    let mut client = site.client("python_elicit.py");
    client.args(options).args(["--call", tool, &arguments.to_string()]);
    client.args(gateway.over_http());
    report(client)
}

/// What it reports of a program.
#[track_caller]
fn execute(gateway: &HttpGateway, options: &[&str], code: &str) -> Value {
    elicit(gateway, options, "execute_code", &json!({"code": code, "timeout": 60}))
}

#[track_caller]
fn result_of(report: &Value) -> &Value {
    let answer = &report["result"]["structuredContent"];
    assert_eq!(answer["success"], true, "{report:#}");
    &answer["result"]
}

#[track_caller]
fn text_of(report: &Value) -> &str {
    let answer = report["result"]["content"][0]["text"].as_str();
    answer.unwrap_or_else(|| panic!("{report:#}"))
}

fn methods(report: &Value) -> Vec<&str> {
    let asked = report["asked"].as_array().unwrap();
    asked.iter().map(|one| one["method"].as_str().unwrap()).collect()
}

// Every client lists and calls.

#[track_caller]
fn is_served(report: &Value, protocol: &str) {
    let tools: Vec<&str> =
        report["tools"].as_array().unwrap().iter().map(|name| name.as_str().unwrap()).collect();
    assert_eq!(tools, ["execute_code", "search_tools", "get_tool_definition"]);
    assert_eq!(report["protocol"], protocol);
    assert_eq!(report["structured"], json!({"success": true, "result": 42, "stdout": "hi\n"}));
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
    let Some(site) = Site::with(&["time"]) else { return };
    for (tool, arguments) in [
        ("search_tools", json!({"query": "convert time zones"})),
        ("get_tool_definition", json!({"name": "convert_time"})),
        (
            "execute_code",
            json!({"code": "from tool_discovery import search_tools\n\
            result = str(search_tools('convert time zones'))"}),
        ),
    ] {
        let mut wire = Wire::initialized(&site);
        let answer = wire.ask("tools/call", json!({"name": tool, "arguments": arguments}));
        let said = answer["result"]["content"][0]["text"].as_str().unwrap_or_default();
        assert!(said.contains("convert_time"), "{tool}: {answer}");
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

// What servers ask of the client, while its program runs.

#[track_caller]
fn answers_reach_tools_of_programs(era: &str) {
    let _alone = alone();
    let Some(gateway) = shared() else { return };
    let report = execute(
        gateway,
        &["--era", era],
        r#"
import servers
result = {}
for name in ["both", "legacy", "modern"]:
    server = getattr(servers, name)
    result[name] = [
        await server.test_elicitation(message=f"Who is {name}?"),
        await server.test_sampling(prompt=f"Think of {name}"),
    ]
"#,
    );
    let result = result_of(&report);
    for name in FIXTURES {
        let expected = [
            "User response: action=accept, content={\"username\": \"fixed\", \"email\": \"fixed\"}",
            "LLM response: This is a fixed answer",
        ];
        assert_eq!(result[name], json!(expected), "{name}");
    }
    let questions: Vec<_> =
        report["asked"].as_array().unwrap().iter().map(|asked| &asked["params"]).collect();
    for (index, name) in FIXTURES.iter().enumerate() {
        assert_eq!(questions[2 * index]["message"], format!("Who is {name}?"));
        let schema = &questions[2 * index]["requestedSchema"];
        assert_eq!(schema["required"], json!(["username", "email"]));
        let message = &questions[2 * index + 1]["messages"][0];
        assert_eq!(message["content"]["text"], format!("Think of {name}"));
    }
}

#[test]
fn answers_of_an_older_client_reach_the_tools_that_a_program_calls() {
    answers_reach_tools_of_programs("legacy");
}

#[test]
fn answers_of_a_newer_client_reach_the_tools_that_a_program_calls() {
    answers_reach_tools_of_programs("modern");
}

/// Questions of calls that run beside each other, and of rounds that follow each other.
#[test]
fn many_questions_at_once_are_all_answered() {
    let _alone = alone();
    let Some(gateway) = shared() else { return };
    for (era, _) in ERAS {
        let report = execute(
            gateway,
            &["--era", era],
            r#"
import asyncio, json, servers
servers_ = [servers.both, servers.legacy, servers.modern]
names = await asyncio.gather(*(s.test_input_required_result_elicitation() for s in servers_ * 2))
rounds = await asyncio.gather(*(s.test_input_required_result_multi_round() for s in servers_))
result = [names, [sorted(one) for one in rounds]]
"#,
        );
        let result = result_of(&report);
        assert_eq!(result[0], json!(vec!["Hello, fixed!"; 6]), "{era}");
        assert_eq!(result[1], json!(vec![["step1", "step2"]; 3]), "{era}");
        assert_eq!(report["asked"].as_array().unwrap().len(), 12);
    }
}

/// A server of the older protocol does not say which call its question belongs to.
#[test]
fn a_client_never_gets_the_questions_and_logs_of_another() {
    let Some(site) = Site::with(&["legacy"]) else { return };
    let gateway = HttpGateway::start(&site);
    let program = |me: &str, other: &str| {
        format!(
            r#"
import asyncio, os
from servers.legacy import test_elicitation, test_tool_with_logging
open("/workspace/{me}", "w").close()
while not os.path.exists("/workspace/{other}"):
    await asyncio.sleep(0.01)
said = await asyncio.gather(
    *(test_elicitation(message="for {me}") for _ in range(8)), test_tool_with_logging(),
    return_exceptions=True,
)
result = [str(one) for one in said[:8]]
"#
        )
    };
    let options = ["--era", "modern", "--action", "decline"];
    let reports = std::thread::scope(|scope| {
        let one = scope.spawn(|| execute(&gateway, &["--era", "legacy"], &program("one", "two")));
        let two = scope.spawn(|| execute(&gateway, &options, &program("two", "one")));
        [("one", "accept", one.join().unwrap()), ("two", "decline", two.join().unwrap())]
    });
    for (me, action, report) in reports {
        let asked = report["asked"].as_array().unwrap().iter();
        let asked: Vec<&Value> = asked.map(|asked| &asked["params"]["message"]).collect();
        // A question that cannot be told apart from another client's is refused instead.
        assert!(asked.iter().all(|asked| **asked == json!(format!("for {me}"))), "{asked:?}");
        for said in result_of(&report).as_array().unwrap() {
            let said = said.as_str().unwrap();
            assert!(
                said.starts_with(&format!("User response: action={action}"))
                    || said.contains("several clients use this server"),
                "{me}: {said}"
            );
        }
        assert!(report["logs"].as_array().unwrap().len() <= 3, "{me}");
    }
}

#[test]
fn a_client_that_declines_or_cancels_is_heard() {
    let _alone = alone();
    let Some(gateway) = shared() else { return };
    for (era, action) in [("legacy", "decline"), ("modern", "cancel")] {
        let report = execute(
            gateway,
            &["--era", era, "--action", action],
            "import servers\nresult = [await getattr(servers, name).test_elicitation(message='?') \
             for name in ['legacy', 'modern']]",
        );
        for said in result_of(&report).as_array().unwrap() {
            let said = said.as_str().unwrap();
            assert!(said.starts_with(&format!("User response: action={action}")), "{era}: {said}");
        }
    }
}

#[test]
fn what_the_client_cannot_answer_is_refused_clearly() {
    let _alone = alone();
    let Some(gateway) = shared() else { return };
    for (era, _) in ERAS {
        let report = execute(
            gateway,
            &["--era", era, "--without", "elicitation", "--without", "sampling"],
            r#"
import client, servers
result = []
for name in ["both", "legacy", "modern"]:
    server = getattr(servers, name)
    for call in [lambda: server.test_elicitation(message="?"), lambda: server.test_sampling(prompt="?")]:
        try:
            result.append(await call())
        except client.ToolError as error:
            result.append([error.server, str(error)])
"#,
        );
        assert_eq!(report["asked"], json!([]));
        let refusals = result_of(&report).as_array().unwrap();
        assert_eq!(refusals.len(), 6);
        for (index, refusal) in refusals.iter().enumerate() {
            let said = refusal[1].as_str().unwrap_or_else(|| panic!("{refusal}"));
            assert_eq!(refusal[0], FIXTURES[index / 2]);
            assert!(said.contains(["elicitation", "sampling"][index % 2]), "{era}: {said}");
            assert!(said.contains("the client does not"), "{era}: {said}");
        }
    }
}

// What the client hears while its program runs.

/// The protocol wants progress that increases, whatever it is made of.
#[track_caller]
fn increases(progress: &[Value]) {
    let values: Vec<f64> = progress.iter().map(|one| one["progress"].as_f64().unwrap()).collect();
    assert!(values.windows(2).all(|pair| pair[0] < pair[1]), "{progress:?}");
}

#[test]
fn logs_and_progress_of_tools_reach_the_client() {
    let _alone = alone();
    let Some(gateway) = shared() else { return };
    for ((era, _), other) in ERAS.into_iter().zip(["modern", "legacy"]) {
        let report = execute(
            gateway,
            &["--era", era],
            &format!(
                "import servers\nresult = [await servers.{other}.test_tool_with_progress(), \
                 await servers.legacy.test_tool_with_logging(), \
                 await servers.modern.test_tool_with_logging()]"
            ),
        );
        assert_eq!(result_of(&report)[0], "Progressed to 100");
        let logs = report["logs"].as_array().unwrap().iter();
        let logs: Vec<&str> = logs.map(|log| log["data"].as_str().unwrap()).collect();
        let once = ["Tool execution started", "Tool processing data", "Tool execution completed"];
        assert_eq!(logs, [once, once].concat(), "{era}");
        let progress = report["progress"].as_array().unwrap();
        assert!(progress.len() >= 2, "{era}: {progress:?}");
        increases(progress);
    }
}

#[test]
fn progress_increases_over_several_tools_and_what_is_printed() {
    let _alone = alone();
    let Some(gateway) = shared() else { return };
    let report = execute(
        gateway,
        &["--era", "legacy"],
        r#"
import asyncio
from servers.legacy import test_tool_with_progress
print("before")
await test_tool_with_progress()
print("between")
await asyncio.gather(test_tool_with_progress(), test_tool_with_progress())
print("after")
"#,
    );
    result_of(&report);
    let progress = report["progress"].as_array().unwrap();
    let printed: Vec<_> = progress.iter().filter_map(|one| one["message"].as_str()).collect();
    let printed: Vec<_> = printed.into_iter().filter(|text| !text.contains(" of 100")).collect();
    assert_eq!(printed, ["before\n", "between\n", "after\n"]);
    increases(progress);
}

fn call_code(code: &str) -> Value {
    json!({
        "name": "execute_code",
        "arguments": {"code": code, "timeout": 60},
        "_meta": {"progressToken": "the-program"},
    })
}

/// The tool waits for an answer that is given only after the output was seen.
#[test]
fn printed_output_comes_while_the_program_runs() {
    let Some(site) = Site::with(&["legacy"]) else { return };
    let mut wire = Wire::initialized(&site);
    let call = wire.request(
        "tools/call",
        call_code(
            "from servers.legacy import test_elicitation\nprint('first')\n\
             answer = await test_elicitation(message='Go on?')\nprint('last')\nresult = answer",
        ),
    );
    let told = wire.next("output", |message| message["method"] == "notifications/progress");
    assert_eq!(told["params"]["progressToken"], "the-program");
    assert_eq!(told["params"]["message"], "first\n");
    let question = wire.next("question", |message| message["method"] == "elicitation/create");
    let content = json!({"username": "me", "email": "me@example.invalid"});
    wire.send(&json!({
        "jsonrpc": "2.0", "id": question["id"],
        "result": {"action": "accept", "content": content},
    }));
    let answer = wire.answer(call);
    let structured = &answer["result"]["structuredContent"];
    assert_eq!(structured["stdout"], "first\nlast\n", "{answer}");
    assert!(structured["result"].as_str().unwrap().contains("me@example.invalid"), "{answer}");
}

#[test]
fn without_a_progress_token_output_comes_as_log_messages() {
    let Some(site) = Site::new() else { return };
    let mut wire = Wire::initialized(&site);
    let mut call = call_code("import sys\nprint('said')\nprint('complained', file=sys.stderr)");
    call.as_object_mut().unwrap().remove("_meta");
    wire.request("tools/call", call);
    for (level, logger, data) in
        [("info", "stdout", "said\n"), ("warning", "stderr", "complained\n")]
    {
        let log = wire.next("log", |message| message["method"] == "notifications/message");
        assert_eq!(log["params"], json!({"level": level, "logger": logger, "data": data}));
    }
}

#[test]
fn an_image_that_a_program_shows_reaches_the_client() {
    let _alone = alone();
    let Some(gateway) = shared() else { return };
    let report = execute(
        gateway,
        &[],
        "from servers.modern import test_image_content\nimage = await test_image_content()\n\
         display(image)\nresult = image['mime_type']",
    );
    assert_eq!(result_of(&report), "image/png");
    let image = &report["result"]["content"][1];
    assert_eq!((&image["type"], &image["mimeType"]), (&json!("image"), &json!("image/png")));
    assert!(image["data"].as_str().unwrap().starts_with("iVBORw0KGgo"), "{image}");
}

// How it ends.

/// Clients wait two seconds for a server to leave, and then kill it.
const LEAVING_TIME: Duration = Duration::from_secs(2);

/// A program that never gives control away, and leaves a trace of being alive.
fn beating(name: &str) -> String {
    format!(
        "n = 0\nwith open('/workspace/{name}', 'w') as file:\n    while True:\n        n += 1\n        \
         file.seek(0); file.write(str(n)); file.flush()\n"
    )
}

/// Where a gateway keeps the files of its programs.
fn heart(data: &Path, name: &str) -> std::path::PathBuf {
    fn find(dir: &Path, name: &str) -> Option<std::path::PathBuf> {
        fs::read_dir(dir).ok()?.flatten().find_map(|entry| {
            let path = entry.path();
            if path.is_dir() { find(&path, name) } else { path.ends_with(name).then_some(path) }
        })
    }
    wait_for("the program's file", || find(data, name))
}

/// It beats now, and after what is done it stops.
#[track_caller]
fn stops_beating(file: &Path, stop: impl FnOnce()) {
    let beat = || fs::read_to_string(file).unwrap_or_default();
    let first = wait_for("the first beat", || Some(beat()).filter(|beat| !beat.is_empty()));
    wait_for("another beat", || (beat() != first).then_some(()));
    stop();
    let start = Instant::now();
    loop {
        let before = beat();
        std::thread::sleep(Duration::from_millis(300));
        if beat() == before {
            return;
        }
        assert!(start.elapsed() < Duration::from_secs(10), "it still runs");
    }
}

#[test]
fn cancelling_the_call_ends_the_program() {
    let Some(site) = Site::new() else { return };
    let mut wire = Wire::initialized(&site);
    let call = wire.request("tools/call", call_code(&beating("beat")));
    stops_beating(&heart(&site.path("data"), "beat"), || {
        wire.notify("notifications/cancelled", json!({"requestId": call, "reason": "enough"}));
    });
    let next = wire.ask("tools/call", call_code("result = 'still here'"));
    assert_eq!(next["result"]["structuredContent"]["result"], "still here");
}

#[test]
fn a_newer_client_that_hangs_up_ends_its_program() {
    let Some(gateway) = shared() else { return };
    let key = format!("Bearer {}", gateway.key.as_ref().unwrap());
    let headers = [
        ("Authorization", key.as_str()),
        ("MCP-Protocol-Version", "2026-07-28"),
        ("Mcp-Method", "tools/call"),
        ("Mcp-Name", "execute_code"),
    ];
    let meta = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": {"name": "raw", "version": "1"},
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    let request = |code: &str| {
        json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {
            "name": "execute_code", "arguments": {"code": code, "timeout": 60}, "_meta": meta,
        }})
    };
    let (status, answer) = gateway.post(&headers, &request("result = 6 * 7"));
    assert_eq!(status, 200, "{answer}");
    assert!(answer.contains("\"result\":42"), "{answer}");

    let connection = gateway.open(&headers, &request(&beating("hung-up")));
    stops_beating(&heart(&gateway.data, "hung-up"), || drop(connection));
}

#[test]
fn a_client_that_leaves_ends_its_program_and_the_gateway() {
    let Some(site) = Site::with(&["legacy"]) else { return };
    let mut wire = Wire::initialized(&site);
    wire.request("tools/call", call_code(&beating("beat")));
    let file = heart(&site.path("data"), "beat");
    stops_beating(&file, || {
        wire.leave();
        wire.process.ends_within(LEAVING_TIME);
    });
}

#[test]
fn a_client_that_leaves_while_it_listens_is_let_go_at_once() {
    let Some(site) = Site::new() else { return };
    let mut wire = Wire::start(&site);
    let meta = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": {"name": "wire", "version": "1"},
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    let listen = json!({"notifications": {"toolsListChanged": true}, "_meta": meta});
    wire.request("subscriptions/listen", listen);
    wire.next("acknowledgement", |message| {
        message["method"] == "notifications/subscriptions/acknowledged"
    });
    wire.leave();
    wire.process.ends_within(LEAVING_TIME);
}

#[test]
fn a_gateway_over_http_writes_no_errors_when_clients_come_and_go() {
    let Some(site) = Site::new() else { return };
    site.configure("[http]\nno_key = true\n");
    let gateway = HttpGateway::start(&site);
    for (era, _) in ERAS {
        let mut client = site.client("python_elicit.py");
        client.args(["--era", era, "--listen", "--call", "execute_code", "{\"code\": \"1\"}"]);
        report({
            client.args(gateway.over_http());
            client
        });
    }
    let said = gateway.end();
    assert!(!said.iter().any(|line| line.contains("ERROR")), "{said:#?}");
}

// Servers that the client sees as they are.

#[test]
fn a_direct_server_shows_its_tools_prompts_and_resources_under_their_own_names() {
    let Some(site) = direct_site("modern") else { return };
    let mut wire = Wire::initialized(&site);
    let listed = |wire: &mut Wire, method: &str, list: &str, name: &str| -> Vec<String> {
        let answer = wire.ask(method, json!({}));
        let list = answer["result"][list].as_array().unwrap_or_else(|| panic!("{answer}"));
        list.iter().map(|one| one[name].as_str().unwrap().to_owned()).collect()
    };
    // A server that starts slowly follows; the list does not wait for it for ever.
    let tools = wait_for("the server's tools", || {
        Some(listed(&mut wire, "tools/list", "tools", "name")).filter(|tools| tools.len() > 3)
    });
    assert_eq!(tools[..3], ["execute_code", "search_tools", "get_tool_definition"]);
    assert!(tools.contains(&"test_simple_text".to_owned()), "{tools:?}");
    let prompts = listed(&mut wire, "prompts/list", "prompts", "name");
    assert!(prompts.contains(&"test_prompt_with_arguments".to_owned()), "{prompts:?}");
    let resources = listed(&mut wire, "resources/list", "resources", "uri");
    assert!(resources.contains(&"test://static-text".to_owned()), "{resources:?}");
    let templates =
        listed(&mut wire, "resources/templates/list", "resourceTemplates", "uriTemplate");
    assert_eq!(templates, ["test://template/{id}/data"]);

    let called = wire.ask("tools/call", json!({"name": "test_simple_text", "arguments": {}}));
    assert_eq!(
        called["result"]["content"][0]["text"],
        "This is a simple text response for testing."
    );
    let failed = wire.ask("tools/call", json!({"name": "test_error_handling", "arguments": {}}));
    assert_eq!(failed["result"]["isError"], true);
    let read = wire.ask("resources/read", json!({"uri": "test://template/7/data"}));
    let read = read["result"]["contents"][0]["text"].as_str().unwrap();
    assert!(read.contains("Data for ID: 7"), "{read}");
    let picture = wire.ask("resources/read", json!({"uri": "test://static-binary"}));
    assert_eq!(picture["result"]["contents"][0]["mimeType"], "image/png");
    let got = wire.ask(
        "prompts/get",
        json!({"name": "test_prompt_with_arguments", "arguments": {"arg1": "a", "arg2": "b"}}),
    );
    let said = &got["result"]["messages"][0]["content"]["text"];
    assert_eq!(said, "Prompt with arguments: arg1='a', arg2='b'");
    let completed = wire.ask(
        "completion/complete",
        json!({
            "ref": {"type": "ref/prompt", "name": "test_prompt_with_arguments"},
            "argument": {"name": "arg1", "value": "par"},
        }),
    );
    let values = &completed["result"]["completion"]["values"];
    assert_eq!(values, &json!(["paris", "park", "party"]));
    let missing = wire.ask("tools/call", json!({"name": "test_simple_txt", "arguments": {}}));
    let missing = missing["error"]["message"].as_str().unwrap();
    assert!(missing.contains("did you mean test_simple_text"), "{missing}");
}

#[test]
fn servers_with_the_same_tools_get_their_names_in_front_and_are_in_programs_too() {
    let Some(site) = Site::new() else { return };
    let time = site.server("time");
    let server = |name: &str, expose: &str| {
        let renamed = time.replace("[servers.time]", &format!("[servers.{name}]"));
        format!("{renamed}expose = \"{expose}\"\n")
    };
    site.configure(&format!("{}{}", server("east", "both"), server("west", "direct")));
    let mut wire = Wire::initialized(&site);
    let listed = wait_for("the tools of both servers", || {
        let listed = wire.ask("tools/list", json!({}));
        (listed["result"]["tools"].as_array()?.len() >= 7).then_some(listed)
    });
    let names: Vec<&str> = listed["result"]["tools"].as_array().unwrap()[3..]
        .iter()
        .map(|tool| tool["name"].as_str().unwrap())
        .collect();
    let expected = [
        "east__get_current_time",
        "east__convert_time",
        "west__get_current_time",
        "west__convert_time",
    ];
    assert_eq!(names, expected);
    let arguments =
        json!({"source_timezone": "UTC", "time": "12:00", "target_timezone": "Asia/Tokyo"});
    let called =
        wire.ask("tools/call", json!({"name": "west__convert_time", "arguments": arguments}));
    assert_eq!(called["result"]["structuredContent"]["time_difference"], "+9.0h", "{called}");
    let code = "from servers.east import convert_time\n\
                result = (await convert_time(**arguments))['time_difference']";
    let call = json!({"code": code, "context": {"arguments": arguments}});
    let ran = wire.ask("tools/call", json!({"name": "execute_code", "arguments": call}));
    assert_eq!(ran["result"]["structuredContent"]["result"], "+9.0h", "{ran}");
}

/// A client may know the name from the last time, and call before it lists.
#[test]
fn a_direct_tool_can_be_called_before_it_was_listed() {
    let Some(site) = direct_site("legacy") else { return };
    let mut wire = Wire::initialized(&site);
    let called = wire.ask("tools/call", json!({"name": "test_simple_text", "arguments": {}}));
    assert_eq!(
        called["result"]["content"][0]["text"], "This is a simple text response for testing.",
        "{called}"
    );
}

/// All four: who asks in which era, and who is asked in which.
fn combinations() -> impl Iterator<Item = (&'static str, &'static HttpGateway, String)> {
    ["legacy", "modern"].into_iter().flat_map(|server| {
        ERAS.into_iter().filter_map(move |(client, _)| {
            let name = format!("a {client} client of a {server} server");
            Some((client, direct(server)?, name))
        })
    })
}

/// Those two in which the gateway translates.
fn across_eras() -> impl Iterator<Item = (&'static str, &'static HttpGateway, String)> {
    combinations().filter(|(client, _, name)| !name.ends_with(&format!("{client} server")))
}

#[track_caller]
fn a_direct_tool_asks(client: &str, server: &str) {
    let _alone = alone();
    let Some(gateway) = direct(server) else { return };
    let report =
        elicit(gateway, &["--era", client], "test_elicitation", &json!({"message": "Who?"}));
    assert_eq!(methods(&report), ["elicitation/create"], "{report:#}");
    assert_eq!(report["asked"][0]["params"]["message"], "Who?");
    let expected =
        "User response: action=accept, content={\"username\": \"fixed\", \"email\": \"fixed\"}";
    assert_eq!(text_of(&report), expected);
    let report = elicit(gateway, &["--era", client], "test_sampling", &json!({"prompt": "Hm?"}));
    assert_eq!(methods(&report), ["sampling/createMessage"], "{report:#}");
    assert_eq!(text_of(&report), "LLM response: This is a fixed answer");
}

#[test]
fn a_direct_tool_of_an_older_server_asks_an_older_client() {
    a_direct_tool_asks("legacy", "legacy");
}

#[test]
fn a_direct_tool_of_an_older_server_asks_a_newer_client() {
    a_direct_tool_asks("modern", "legacy");
}

#[test]
fn a_direct_tool_of_a_newer_server_asks_an_older_client() {
    a_direct_tool_asks("legacy", "modern");
}

#[test]
fn a_direct_tool_of_a_newer_server_asks_a_newer_client() {
    a_direct_tool_asks("modern", "modern");
}

#[test]
fn a_direct_tool_that_asks_what_the_client_cannot_answer_is_refused_by_the_gateway() {
    let _alone = alone();
    for (era, gateway, name) in combinations() {
        let options = ["--era", era, "--without", "elicitation"];
        let report = elicit(gateway, &options, "test_elicitation", &json!({"message": "Who?"}));
        let said =
            report["error"]["message"].as_str().unwrap_or_else(|| panic!("{name}: {report:#}"));
        // What comes of a question that should not have been asked is said by the client's
        // library: "Elicitation not supported".
        assert!(said.contains("the client does not"), "{name}: {said}");
        assert!(said.contains("elicitation"), "{name}: {said}");
    }
}

#[test]
fn a_direct_prompt_asks_the_client_in_all_combinations_of_eras() {
    let _alone = alone();
    let mut wrong = Vec::new();
    for (era, gateway, name) in combinations() {
        let options = ["--era", era, "--prompt"];
        let report = elicit(gateway, &options, "test_input_required_result_prompt", &json!({}));
        let said = &report["result"]["messages"][0]["content"]["text"];
        if said != "Context: fixed" {
            wrong.push(format!("{name}: {}", report["error"]["message"]));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn progress_and_logs_of_a_direct_tool_reach_the_client_as_they_are() {
    let _alone = alone();
    for (era, gateway, name) in combinations() {
        let report = elicit(gateway, &["--era", era], "test_tool_with_progress", &json!({}));
        let progress: Vec<_> = report["progress"]
            .as_array()
            .unwrap()
            .iter()
            .map(|one| (one["progress"].as_f64().unwrap(), one["total"].as_f64().unwrap()))
            .collect();
        assert_eq!(progress, [(0.0, 100.0), (50.0, 100.0), (100.0, 100.0)], "{name}");
    }
    for (era, gateway, name) in across_eras() {
        let report = elicit(gateway, &["--era", era], "test_tool_with_logging", &json!({}));
        assert_eq!(report["logs"].as_array().unwrap().len(), 3, "{name}");
    }
}

#[test]
fn every_answer_to_a_newer_client_says_that_it_is_complete() {
    let _alone = alone();
    let Some(gateway) = direct("legacy") else { return };
    let site = Site::new().unwrap();
    let mut client = site.client("python_elicit.py");
    client.args(["--era", "modern", "--call", "test_simple_text", "{}"]);
    let output = client.args(gateway.over_http()).output().unwrap();
    let said = text(&output.stderr);
    assert!(
        output.status.success(),
        "{}",
        said.lines().rev().take(8).collect::<Vec<_>>().join("\n")
    );
    assert_eq!(document(&output)["result"]["resultType"], "complete");
}
