//! A client and its running program: what the program's servers ask of it, what it hears meanwhile,
//! and how the program ends when the client no longer wants it.
#![cfg(unix)]

use std::{
    fs,
    path::Path,
    thread,
    time::{Duration, Instant},
};

use serde_json::{Value, json};

use crate::support::{
    MAX_PROGRAM_TIME, PATIENCE,
    fixture::{ERAS, FIXTURES, alone, execute, result_of, shared},
    real::{HttpGateway, Site, Wire, report, wait_for},
};

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
    // Each line is for itself, unless the machine is so busy that it comes in pieces.
    assert!(printed.len() >= 3, "{printed:?}");
    assert_eq!(printed.concat(), "before\nbetween\nafter\n");
    increases(progress);
}

fn call_code(code: &str) -> Value {
    json!({
        "name": "execute_code",
        "arguments": {"code": code, "timeout": MAX_PROGRAM_TIME.as_secs()},
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
    let message = told["params"]["message"].as_str().unwrap();
    assert!(message.starts_with("first"), "{told}");
    let question = wire.next("question", |message| message["method"] == "elicitation/create");
    let content = json!({"username": "me", "email": "me@example.invalid"});
    wire.send(&json!({
        "jsonrpc": "2.0", "id": question["id"],
        "result": {"action": "accept", "content": content},
    }));
    let answer = wire.answer(call);
    let structured = &answer["result"]["structuredContent"];
    assert_eq!(structured["stdout"], "first\nlast\n", "{answer}");
    // The server was told the address, and says it again: for the model it is a token.
    assert!(structured["result"].as_str().unwrap().contains("[EMAIL_"), "{answer}");
}

/// Who is asked answers when the program would have been out of time.
#[test]
fn the_time_of_a_person_is_not_the_programs() {
    let Some(site) = Site::with(&["legacy"]) else { return };
    let mut wire = Wire::initialized(&site);
    let asks = "from servers.legacy import test_elicitation\n\
                result = await test_elicitation(message='Go on?')";
    // The first time the server is started.
    for (seconds, person) in [(120, Duration::ZERO), (10, Duration::from_secs(11))] {
        let mut call = call_code(asks);
        call["arguments"]["timeout"] = json!(seconds);
        let call = wire.request("tools/call", call);
        let question = wire.next("question", |message| message["method"] == "elicitation/create");
        thread::sleep(person);
        wire.send(
            &json!({"jsonrpc": "2.0", "id": question["id"], "result": {"action": "decline"}}),
        );
        let answer = wire.answer(call);
        assert_eq!(answer["result"]["structuredContent"]["success"], true, "{answer}");
    }
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
        // On a busy machine a line may come in pieces.
        let mut said = String::new();
        while said != data {
            let log = wire.next("log", |message| message["method"] == "notifications/message");
            let piece = log["params"]["data"].as_str().unwrap_or_default();
            let expected = json!({"level": level, "logger": logger, "data": piece});
            assert_eq!(log["params"], expected);
            said += piece;
            assert!(data.starts_with(&said), "{said:?} instead of {data:?}");
        }
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
    let content = &report["result"]["content"];
    assert_eq!(content[0]["text"], "result: image/png", "{report:#}");
    // In the place of which a client would hand over the structure.
    assert!(report["result"].get("structuredContent").is_none_or(Value::is_null), "{report:#}");
    let image = &content[1];
    assert_eq!((&image["type"], &image["mimeType"]), (&json!("image"), &json!("image/png")));
    assert!(image["data"].as_str().unwrap().starts_with("iVBORw0KGgo"), "{image}");
}

// How it ends.

/// What has to end before this does so because nobody wants it any more, and not because a program
/// comes to the end of its time.
const BEFORE_ITS_TIME: Duration = Duration::from_secs(MAX_PROGRAM_TIME.as_secs() / 2);

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
        assert!(start.elapsed() < BEFORE_ITS_TIME, "it still runs");
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
            "name": "execute_code", "_meta": meta,
            "arguments": {"code": code, "timeout": MAX_PROGRAM_TIME.as_secs()},
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
        wire.process.ends_within(BEFORE_ITS_TIME);
    });
}

#[test]
fn a_client_that_leaves_while_it_listens_is_let_go() {
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
    // It would listen for ever.
    wire.process.ends_within(PATIENCE);
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

#[test]
fn the_hint_of_a_failure_is_told_once_in_the_text_and_in_the_structure() {
    let Some(site) = Site::new() else { return };
    let mut wire = Wire::initialized(&site);
    for (code, hint) in [
        ("open('/etc/hostname').read()", "programs see the files of /workspace only"),
        ("x = {'title': 1}\nx.title", "it is a dict: write ['title']"),
        ("input('name?')", "nobody can answer input()"),
    ] {
        let asked = json!({"name": "execute_code", "arguments": {"code": code}});
        let answer = wire.ask("tools/call", asked)["result"].clone();
        let text = answer["content"][0]["text"].as_str().unwrap();
        for form in [text, &answer["structuredContent"].to_string()] {
            assert_eq!(form.matches(hint).count(), 1, "{code}: {form}");
            assert_eq!(form.matches("line ").count(), 1, "{code}: {form}");
        }
    }
}
