//! What an operator reads in the log: what happened, to whom, with which outcome; and never what was said.
#![cfg(unix)]

use std::process::Stdio;

use serde_json::{Value, json};

use crate::support::{
    http::Caller,
    office::{AGENTS, ANALYST, BADGE, CARD, CUSTOMER, INTERN, Office, PHONE, SENDER},
    real::{self, HttpGateway, repository, stdio, text},
    state::{Client, Clients},
};

/// In the office's gateway as it is served to an operator, with these variables and arguments.
fn serve(office: &Office, variables: &[(&str, &str)], more: &[&str]) -> HttpGateway {
    let mut command = office.site.narrows();
    command.args(["serve", "--http", "127.0.0.1:0"]).args(more);
    command.env_remove("NARROWS_LOG").env_remove("NARROWS_LOG_FORMAT");
    command.envs(variables.iter().copied());
    HttpGateway::of(command, office.site.path("data"))
}

/// All that a gateway wrote to standard error, from its start to its end.
fn log_of(mut gateway: HttpGateway) -> Vec<String> {
    let mut lines = std::mem::take(&mut gateway.started);
    lines.extend(gateway.end());
    lines
}

/// The lines of a log as JSON, each of which has what all of them have.
#[track_caller]
fn documents(lines: &[String]) -> Vec<Value> {
    let documents = lines.iter().map(|line| {
        let document: Value =
            serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}"));
        for field in ["timestamp", "level", "target", "message"] {
            assert!(document[field].is_string(), "{field} is not in {line}");
        }
        assert!(document["fields"].is_null(), "{line}");
        document
    });
    documents.collect()
}

/// The one line that says this and is of this principal, if principals are in it.
#[track_caller]
fn line<'a>(log: &'a [Value], message: &str, principal: Option<&str>) -> &'a Value {
    let found: Vec<&Value> = log
        .iter()
        .filter(|line| line["message"] == message)
        .filter(|line| principal.is_none_or(|principal| line["principal"] == principal))
        .collect();
    let [line] = &found[..] else { panic!("{message}: {found:#?} in {log:#?}") };
    line
}

const READS: &str = "from servers import crm\nresult = (await crm.get_customer(id=7))['id']";

#[test]
fn a_log_as_json_says_in_one_document_a_line_who_did_what_with_which_outcome() {
    let rules = "[[policy.rules]]\nname = \"no-pay\"\ntools = [\"crm.pay\"]\naction = \"deny\"\n";
    let Some(office) = Office::new(&format!("{rules}{AGENTS}")) else { return };
    let gateway = serve(&office, &[], &["--log-format", "json"]);
    {
        // Only clients of the older protocol have connections over HTTP.
        let older = Caller::new(&gateway, ANALYST);
        let session = older.session();
        older.send("DELETE", &[("mcp-session-id", &session)], "");
        let clients = Clients::start(&office.site);
        let (analyst, intern) =
            (clients.with_key(&gateway, ANALYST), clients.with_key(&gateway, INTERN));
        assert_eq!(analyst.run(READS), 7);
        let pays = "from servers import crm\nawait crm.pay(to='a', amount=1)";
        intern.error(pays);
    }
    // The audit has no other words for it.
    let entries = office.entries(4, &[]);
    let lines = log_of(gateway);
    let log = documents(&lines);

    let start = line(&log, "the gateway has started", None);
    assert_eq!((&start["transport"], &start["level"]), (&json!("http"), &json!("INFO")));
    assert!(start["version"].is_string() && start["servers"] == 3, "{start:#}");
    let client = line(&log, "a client has connected", Some("analyst"));
    assert_eq!((&client["client"], &client["client_version"]), (&json!("raw"), &json!("1")));
    assert_eq!((&client["transport"], &client["protocol"]), (&json!("http"), &json!("2025-11-25")));
    let mut connected = log.iter().filter(|line| line["message"] == "a server is connected");
    let server = connected.find(|line| line["server"] == "crm").unwrap();
    assert!(server["process_id"].is_u64() && server["ms"].is_u64(), "{server:#}");

    let run = line(&log, "a run ended", Some("analyst"));
    let call = line(&log, "a call ended", Some("analyst"));
    assert_eq!((&run["outcome"], &call["outcome"]), (&json!("ok"), &json!("ok")));
    assert_eq!((&call["server"], &call["tool"]), (&json!("crm"), &json!("get_customer")));
    assert!(run["ms"].is_u64() && call["ms"].is_u64() && run["run_id"].is_string(), "{run:#}");
    assert_eq!(run["run_id"], call["run_id"]);
    let refused = line(&log, "a call ended", Some("intern"));
    assert_eq!((&refused["outcome"], &refused["tool"]), (&json!("refused"), &json!("pay")));
    assert_eq!(line(&log, "a run ended", Some("intern"))["outcome"], "failed");
    for entry in &entries {
        let message = format!("a {} ended", entry["action"].as_str().unwrap());
        let line = line(&log, &message, entry["principal"].as_str());
        assert_eq!(
            (&line["outcome"], &line["run_id"]),
            (&entry["outcome"], &entry["details"]["run"]),
            "{entry:#}"
        );
    }
    let left = line(&log, "a client has disconnected", Some("analyst"));
    assert_eq!(left["connection"], client["connection"]);
    assert!(left["connection"].is_u64() && left["ms"].is_u64(), "{left:#}");
    line(&log, "the gateway ends, and its servers with it", None);
    // Keys are not for logs.
    assert!(!lines.iter().any(|line| line.contains(ANALYST)), "{lines:#?}");
}

#[test]
fn a_key_that_is_made_is_shown_to_a_person_and_not_to_a_log() {
    let Some(office) = Office::new("") else { return };
    let gateway = serve(&office, &[("NARROWS_LOG_FORMAT", "json")], &[]);
    let key = gateway.key.clone().unwrap();
    let lines = log_of(gateway);
    let log = documents(&lines);
    assert!(line(&log, "clients need the key that is in a file", None)["file"].is_string());
    assert!(!lines.iter().any(|line| line.contains(&key)), "{lines:#?}");
    // Control: a person is shown it.
    let lines = log_of(serve(&office, &[("NARROWS_LOG_FORMAT", "")], &[]));
    assert!(lines.iter().any(|line| line.contains(&key)), "{lines:#?}");
    assert!(serde_json::from_str::<Value>(&lines[0]).is_err(), "{lines:#?}");
}

#[test]
fn a_gateway_that_cannot_start_says_so_in_the_format_of_its_log() {
    let Some(office) = Office::new("") else { return };
    office.site.configure("[servers.a]\nurl = 7\n");
    let output = office.site.says(&["serve", "--log-format", "json"]);
    assert_eq!(output.status.code(), Some(1));
    let lines: Vec<String> = text(&output.stderr).lines().map(str::to_owned).collect();
    let log = documents(&lines);
    let [line] = &log[..] else { panic!("{log:#?}") };
    assert_eq!(line["level"], "ERROR");
    real::says(&line["error"], &["narrows.toml"]);
    // A format that there is not.
    let mut serve = office.site.narrows();
    let output = serve.arg("serve").env("NARROWS_LOG_FORMAT", "xml").output().unwrap();
    assert!(!output.status.success());
    real::says(&text(&output.stderr).into(), &["NARROWS_LOG_FORMAT", "xml", "text or json"]);
}

/// A client shows what its servers write to whoever uses it.
#[test]
fn a_client_over_stdio_reads_nothing_of_what_goes_well() {
    let Some(office) = Office::new("") else { return };
    let run = |level: Option<&str>| {
        let mut client = office.site.client("python_elicit.py");
        client.env_remove("NARROWS_LOG").envs(level.map(|level| ("NARROWS_LOG", level)));
        let asked = json!({"code": READS}).to_string();
        client.args(["--call", "execute_code", &asked]).args(office.site.over_stdio());
        let output = client.output().unwrap();
        assert!(output.status.success(), "{}", text(&output.stderr));
        text(&output.stderr)
    };
    let quiet = run(None);
    assert!(!quiet.contains("INFO") && !quiet.contains("narrows::"), "{quiet}");
    // Control: it is there for who asks for it.
    let said = run(Some("info"));
    for message in ["a client has connected", "a run ended", "a call ended", "has started"] {
        assert!(said.contains(message), "{message}: {said}");
    }
}

/// Values that a client, a program or a server said. None of them is for the log.
const SECRET: &str = "sk_live_51HxWitnessQ7ZpLm2Rt8Vn4Kd";
const WORD: &str = "the-word-of-the-program";
const ARGUMENT: &str = "the-word-of-an-argument";

/// Says its last words when it is called, with all that it was sent.
const DIES: &str = "
import sys
from misbehave import Server, text
def dies(server, call):
    print('called with', call.arguments, file=sys.stderr, flush=True)
    import os
    os._exit(3)
server = Server()
server.add('die', dies, {'words': {'type': 'string'}})
server.run()
";

fn does_everything(client: &Client) {
    let code = format!(
        "from servers import crm, mail, dying\n\
         # {WORD} for {CUSTOMER}\n\
         found = await crm.get_customer(id=7)\nprint(found, '{SECRET}')\n\
         await mail.send(to=found['email'], body='{ARGUMENT} {SECRET}')\n\
         try: await crm.fail(email='{CUSTOMER}')\nexcept ToolError as error: print(error)\n\
         try: await crm.pay(to='{ARGUMENT}', amount=word)\nexcept Exception as error: print(error)\n\
         try: await dying.die(words='{ARGUMENT} {CUSTOMER} {SECRET}')\n\
         except ToolError as error: print(error)\n\
         write_file('{WORD}.txt', '{SECRET}')\n\
         raise ValueError('{SECRET} ' + found['email'])"
    );
    let context = json!({"token": SECRET, "who": CUSTOMER, "word": WORD});
    client.answer("execute_code", json!({"code": code, "context": context}));
    client.answer("execute_code", json!({"code": format!("{WORD} is no program of {SECRET}")}));
    client.answer("get_customer", json!({"id": 7}));
    client.answer("send", json!({"to": CUSTOMER, "body": format!("{ARGUMENT} {SECRET}")}));
    client.answer("search_tools", json!({"query": format!("{WORD} {CUSTOMER}")}));
    client.answer(
        "execute_analysis",
        json!({"analysis_type": "sql", "tables": {"data": [{"a": SECRET}]},
               "parameters": {"query": format!("SELECT '{WORD}' FROM data")}}),
    );
}

#[test]
fn no_value_argument_result_secret_or_program_is_in_the_log_at_any_level() {
    let Some(office) = Office::exposing("both", AGENTS) else { return };
    let servers = std::fs::read_to_string(office.site.path("narrows.toml")).unwrap();
    let dying = stdio("dying", "python3", &["-c", DIES]);
    let path = json!(repository().join("tests/servers"));
    let dying = format!("{dying}env = {{ PYTHONPATH = {path} }}\n");
    office.site.configure(&format!("{servers}\n{dying}"));
    for (level, format) in [("info", "text"), ("narrows=debug", "text"), ("narrows=trace", "json")]
    {
        let variables = [("NARROWS_LOG", level), ("NARROWS_LOG_FORMAT", format)];
        let gateway = serve(&office, &variables, &["--surface", "full"]);
        {
            let clients = Clients::start(&office.site);
            does_everything(&clients.with_key(&gateway, ANALYST));
        }
        let lines = log_of(gateway);
        // Control: it was done, and what was done is in the log.
        for message in ["a run ended", "a call ended", "an analysis ended", "a server is gone"] {
            let message = message.replace("a server", "an upstream server");
            let said = lines.iter().any(|line| line.contains(&message));
            assert!(said, "{message} is not in the log at {level}: {lines:#?}");
        }
        for witness in [SECRET, WORD, ARGUMENT, CUSTOMER, PHONE, CARD, BADGE, SENDER] {
            let line = lines.iter().find(|line| line.contains(witness));
            assert_eq!(line, None, "{witness} is in the log at {level}");
        }
    }
    // Control: the servers were sent and said all of it.
    let received = office.received("mail.send");
    assert!(json!(received).to_string().contains(SECRET), "{received:?}");
    let words = office.said(&["servers", "logs", "dying"]);
    assert!(words.contains(ARGUMENT), "{words}");
}

/// The same lines, beside the answers of a gateway that a client started.
#[test]
fn no_value_is_in_the_log_of_a_gateway_over_stdio() {
    let Some(office) = Office::new("") else { return };
    let code = format!(
        "from servers import crm\n# {WORD}\nfound = await crm.get_customer(id=7)\nprint(found, \
         '{SECRET}')\nraise ValueError('{ARGUMENT}' + found['email'])"
    );
    let mut client = office.site.client("python_elicit.py");
    client.args(["--call", "execute_code", &json!({"code": code}).to_string()]);
    client.args(office.site.over_stdio()).stderr(Stdio::piped());
    client.env("NARROWS_LOG", "narrows=trace").env("NARROWS_LOG_FORMAT", "json");
    let output = client.output().unwrap();
    let log = text(&output.stderr);
    assert!(log.contains("\"message\":\"a run ended\""), "{log}");
    for witness in [SECRET, WORD, ARGUMENT, CUSTOMER, PHONE, CARD, BADGE] {
        assert!(!log.contains(witness), "{witness}: {log}");
    }
}

#[test]
fn entries_are_found_by_their_outcome_in_the_words_of_today_and_of_before() {
    let Some(office) = Office::new("") else { return };
    assert_eq!(office.run(READS, &[]), 7);
    office.error("raise ValueError('a')", &[]);
    for (word, expected) in [
        ("ok", vec!["run", "call"]),
        ("success", vec!["run", "call"]),
        ("failed", vec!["run"]),
        ("error", vec!["run"]),
        ("busy", vec![]),
    ] {
        let found = office.audit(&["--outcome", word]);
        let actions: Vec<&str> = found.iter().map(|it| it["action"].as_str().unwrap()).collect();
        assert_eq!(actions, expected, "{word}");
    }
    let wrong = office.refusal(&["audit", "search", "--outcome", "faild"]);
    real::says(&wrong, &["no outcome", "faild", "did you mean failed?"]);
}
