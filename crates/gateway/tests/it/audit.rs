//! What is written down of every run and every call, and what happens if it cannot be.
#![cfg(unix)]

use std::{
    fs,
    time::{SystemTime, UNIX_EPOCH},
};

use serde_json::{Value, json};

use crate::support::{
    office::{AGENTS, ANALYST, CARD, CUSTOMER, INTERN, Office, PHONE, holds, printed, token},
    real::{self, HttpGateway, Site, Wire, document, report, repository, says, stdio, text},
    state::{Client, Clients},
};

/// Changes the database behind the gateway's back, and tells how many rows.
const EDIT: &str = r#"
import sqlite3, sys
database = sqlite3.connect(sys.argv[1], timeout=300)
changed = database.execute(sys.argv[2]).rowcount
database.commit()
database.execute("PRAGMA wal_checkpoint(TRUNCATE)")
print(changed)
"#;

fn edit(site: &Site, sql: &str) -> Value {
    let mut python = site.command("python3");
    let said = python.args(["-c", EDIT, &site.text("data/narrows.db"), sql]).output().unwrap();
    assert!(said.status.success(), "{}", text(&said.stderr));
    document(&said)
}

/// From now on the database refuses entries of this action, as a full one would.
fn refuse(site: &Site, action: &str) {
    edit(
        site,
        &format!(
            "CREATE TRIGGER refuse BEFORE INSERT ON audit WHEN NEW.action LIKE '{action}' \
             BEGIN SELECT RAISE(ABORT, 'the disk is full'); END"
        ),
    );
}

fn sha256(site: &Site, text: &str) -> Value {
    let code = "import hashlib, json, sys\n\
                print(json.dumps(hashlib.sha256(sys.argv[1].encode()).hexdigest()))";
    printed(site.command("python3").args(["-c", code, text]))
}

fn count(office: &Office, action: &str) -> usize {
    office.audit(&["--action", action]).len()
}

// What is written.

#[test]
fn a_run_and_its_calls_say_who_did_what_with_which_outcome() {
    let rules = "[[policy.rules]]\nname = \"no-pay\"\ntools = [\"crm.pay\"]\naction = \"deny\"\n";
    let Some(office) = Office::new(&format!("{rules}{AGENTS}")) else { return };
    let gateway = office.serve();
    let clients = Clients::start(&office.site);
    let analyst = clients.with_key(&gateway, ANALYST);
    let code = format!(
        "from servers import crm\n# for {CUSTOMER}\nfound = await crm.get_customer(id=7)\n\
         try: await crm.fail(email=to)\nexcept ToolError: pass\nprint('four')\n\
         await crm.pay(to=to, amount=1)"
    );
    let context = json!({"to": CUSTOMER, "how": {"nested": "the-secret-word"}});
    let now = || SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_millis() as i64;
    let begun = now();
    let asked = json!({"code": code, "context": context, "session_id": "s"});
    let answer = analyst.answer("execute_code", asked);
    assert_eq!(answer["structuredContent"]["success"], false, "{answer:#}");

    let entries = office.entries(4, &["--agent", "analyst"]);
    let of = |entry: &Value| {
        ["action", "target", "outcome"].map(|field| entry[field].as_str().unwrap().to_owned())
    };
    let [run, pay, fail, get] = &entries[..] else { panic!("{entries:#?}") };
    let hash = sha256(&office.site, &code);
    assert_eq!(of(run), ["run", hash.as_str().unwrap(), "failed"]);
    assert_eq!(of(pay), ["call", "crm.pay", "refused"]);
    assert_eq!(of(fail), ["call", "crm.fail", "failed"]);
    assert_eq!(of(get), ["call", "crm.get_customer", "ok"]);
    let ended = now();
    for entry in &entries {
        assert_eq!(
            (&entry["principal"], &entry["namespace"]),
            (&json!("analyst"), &json!("analyst"))
        );
        assert!((begun..=ended).contains(&entry["at"].as_i64().unwrap()), "{entry:#}");
        assert_eq!(entry["details"]["run"], run["details"]["run"], "{entry:#}");
        let shown = office.site.json(&["audit", "show", &entry["seq"].to_string()]);
        assert_eq!(shown, *entry);
    }
    // The run: its code with tokens, its context without values.
    let details = &run["details"];
    assert_eq!((&details["level"], &details["session"]), (&json!("production"), &json!("s")));
    assert_eq!(details["context"], json!(["to", "how"]));
    assert_eq!((&details["tool_calls"], &details["output_bytes"]), (&json!(3), &json!(5)));
    assert_eq!(details["error"], "ToolError");
    assert!(details["milliseconds"].is_u64(), "{details:#}");
    let written = details["code"].as_str().unwrap();
    assert_eq!(written.replace(&token(written, "EMAIL"), CUSTOMER), code);
    // The calls: the decision, the rule, time and bytes.
    assert_eq!(
        (&get["details"]["decision"], &get["details"]["rule"]),
        (&json!("allow"), &Value::Null)
    );
    assert!(
        get["details"]["milliseconds"].is_u64() && get["details"]["got_bytes"].as_u64() > Some(100)
    );
    assert_eq!(get["details"]["sent_bytes"], json!({"id": 7}).to_string().len());
    assert_eq!(
        (&pay["details"]["decision"], &pay["details"]["rule"]),
        (&json!("deny"), &json!("no-pay"))
    );
    says(&pay["details"]["why"], &["crm.pay was not called"]);
    let all = json!(entries).to_string();
    for value in [CUSTOMER, PHONE, CARD, "the-secret-word"] {
        assert!(!all.contains(value), "{value} is in {all}");
    }
}

/// Runs that were not begun and calls that were not made are part of what was tried.
#[test]
fn refusals_of_all_kinds_are_written() {
    let config = "[isolation.levels.strange]\ninherits = \"hardened\"\naudit_must_hold = false\n\
                  [[policy.quotas]]\nname = \"few\"\nprincipals = [\"intern\"]\n\
                  runs_per_minute = 1\ncalls_per_minute = { \"crm.*\" = 1 }\n";
    let agents =
        AGENTS.replace("[agents.analyst]\n", "[agents.analyst]\nisolation = \"strange\"\n");
    let Some(office) = Office::exposing("both", &format!("{config}{agents}")) else { return };
    let gateway = office.serve();
    let clients = Clients::start(&office.site);
    let (analyst, intern) =
        (clients.with_key(&gateway, ANALYST), clients.with_key(&gateway, INTERN));
    let count = |agent: &str| office.audit(&["--agent", agent]).len();
    // The details of the one entry that comes of something.
    let written = |agent: &str, outcome: &str, act: &dyn Fn()| {
        let before = count(agent);
        act();
        let entries = office.entries(before + 1, &["--agent", agent]);
        assert_eq!((entries.len(), &entries[0]["outcome"]), (before + 1, &json!(outcome)));
        entries[0]["details"].clone()
    };
    let refused = |client: &Client, agent: &str, tool: &str, arguments: Value| {
        written(agent, "refused", &|| drop(client.refusal(tool, arguments.clone())))
    };
    let errs =
        |code: &str, outcome: &str| written("analyst", outcome, &|| drop(analyst.error(code)));
    says(&analyst.error("import os"), &["nothing was run"]);
    assert_eq!(office.entries(1, &["--agent", "analyst"])[0]["details"]["error"], "ReviewError");
    let denied = refused(&analyst, "analyst", "pay", json!({"to": "a", "amount": 1}));
    assert_eq!(denied["rule"], "isolation.strange");
    let arguments = json!({"id": 1, "email": "a"});
    let unconfirmed = refused(&intern, "intern", "delete_customer", arguments);
    assert_eq!(unconfirmed["decision"], "not confirmed");
    let quota = refused(&intern, "intern", "get_customer", json!({"id": 1}));
    assert_eq!((&quota["decision"], &quota["rule"]), (&json!("limit"), &json!("few")));
    assert_eq!(office.received("crm.get_customer"), [Value::Null; 0]);

    // A program that cannot work, at the gateway and on the command line.
    let wrong = "from servers import crm\nawait crm.get_customer(number=7)";
    assert_eq!(errs(wrong, "refused")["error"], "CheckError");
    let on_command_line =
        || says(&office.error(wrong, &["--agent", "analyst"]), &["nothing was run"]);
    assert_eq!(written("analyst", "refused", &on_command_line)["code"], wrong);
    // Who only says so was run.
    let failed = errs("class CheckError(Exception): pass\nraise CheckError", "failed");
    assert_eq!(failed["error"], "CheckError");

    // Runs that were not even begun: over the quota, and at a looser level.
    written("intern", "ok", &|| drop(intern.run("1")));
    refused(&intern, "intern", "execute_code", json!({"code": "2"}));
    let looser = json!({"code": "2", "isolation": "production"});
    refused(&analyst, "analyst", "execute_code", looser);
}

#[test]
fn a_direct_call_is_written_whatever_it_gives() {
    let Some(office) = Office::exposing("direct", "") else { return };
    let gateway = office.serve();
    let clients = Clients::start(&office.site);
    let client = clients.connect(&gateway.over_http());
    client.call("get_customer", json!({"id": 7}));
    client.refusal("fail", json!({"email": "a"}));
    // A content of a kind that nobody knows; the client may not know what to do with it either.
    let _ = client.begin("odd", json!({}));
    real::wait_for("the call", || (office.received("crm.odd").len() == 1).then_some(()));
    client.call("get_customer", json!({"id": 8}));
    let of = |entry: &Value| (entry["target"].clone(), entry["outcome"].clone());
    // The entry of a direct call is written beside its answer.
    let entries = office.entries(4, &["--action", "call"]);
    let mut written: Vec<_> = entries.iter().map(of).collect();
    written.sort_by_key(|(tool, _)| tool.to_string());
    let expected = [
        ("crm.fail", "failed"),
        ("crm.get_customer", "ok"),
        ("crm.get_customer", "ok"),
        ("crm.odd", "ok"),
    ];
    assert_eq!(written, expected.map(|(tool, outcome)| (json!(tool), json!(outcome))));
}

/// Nobody waits for it any more, but the server was asked and the program was run.
#[test]
fn calls_and_runs_that_are_given_up_are_written() {
    let Some(site) = Site::new() else { return };
    let script = repository().join("tests/servers/misbehave.py");
    site.configure(&stdio("slow", "python3", &[script.to_str().unwrap(), "slow"]));
    let mut wire = Wire::initialized(&site);
    let run = |code: &str| json!({"name": "execute_code", "arguments": {"code": code}});
    let entries = || {
        let found = site.json(&["audit", "search", "--json"]);
        let of = |entry: &Value| ["action", "target", "outcome"].map(|field| entry[field].clone());
        found["entries"].as_array().unwrap().iter().map(of).collect::<Vec<_>>()
    };
    // The server is there before the time runs.
    let code = "import asyncio\nfrom servers import slow\nawait slow.echo(text='x')\n\
                try: await asyncio.wait_for(slow.slow(), 1)\nexcept TimeoutError: result = 'late'";
    let answer = wire.ask("tools/call", run(code));
    assert_eq!(answer["result"]["structuredContent"]["result"], "late", "{answer:#}");
    let hash = sha256(&site, code);
    let expected = [
        [json!("run"), hash, json!("ok")],
        ["call", "slow.slow", "cancelled"].map(Value::from),
        ["call", "slow.echo", "ok"].map(Value::from),
    ];
    real::wait_for("all entries", || (entries().len() >= 3).then_some(()));
    assert_eq!(entries(), expected);

    let code = "from servers import slow\nwrite_file('begun', '')\nawait slow.slow()";
    let id = wire.request("tools/call", run(code));
    let begun = site.path("data/workspaces/default/begun");
    real::wait_for("the program", || begun.exists().then_some(()));
    wire.notify("notifications/cancelled", json!({"requestId": id}));
    let cancelled = [json!("run"), sha256(&site, code), json!("cancelled")];
    real::wait_for("its entry", || entries().contains(&cancelled).then_some(()));
}

// What is not written.

const SENDS: &str = "from servers import crm, mail\nfound = await crm.get_customer(id=7)\n\
                     await mail.send(to=found['email'], body='hello')\nresult = found['email']";

#[test]
fn contents_are_keyed_hashes() {
    let Some(office) = Office::new("") else { return };
    office.run(SENDS, &[]);
    let told = office.run(SENDS, &["--protect"]);
    office.run(&SENDS.replace("hello", "bye"), &[]);
    let hash = |entry: &Value, field: &str| {
        let content = entry["details"][field].as_object().unwrap().clone();
        assert_eq!(content.len(), 1, "{entry:#}");
        content["hash"].as_str().unwrap().to_owned()
    };
    let sent = office.audit(&["--target", "mail.send"]);
    let [third, second, first] = &sent[..] else { panic!("{sent:#?}") };
    assert_eq!(hash(first, "arguments"), hash(second, "arguments"));
    assert_ne!(hash(second, "arguments"), hash(third, "arguments"));
    assert_eq!(hash(first, "result"), hash(third, "result"));
    // Whoever guesses the content cannot check the guess.
    let guess = json!({"to": CUSTOMER, "body": "hello"}).to_string();
    let plain = sha256(&office.site, &guess).as_str().unwrap().to_owned();
    assert!(!plain.starts_with(&hash(first, "arguments")));
    let all = office.said(&["audit", "export", "--action", "call"]);
    for content in ["hello", CUSTOMER, told.as_str().unwrap(), PHONE] {
        assert!(!all.contains(content), "{content}: {all}");
    }
    // Another key, other hashes.
    let other = Office::new("").unwrap();
    other.run(SENDS, &[]);
    assert_ne!(hash(&other.audit(&["--target", "mail.send"])[0], "result"), hash(first, "result"));
}

#[test]
fn contents_are_texts_with_tokens_if_they_are_wanted() {
    let config = "[audit]\ncontents = \"protected\"\n\
                  [[pii.exceptions]]\ntools = [\"crm.public_directory\"]\n";
    let Some(office) = Office::new(config) else { return };
    let told = office.run(SENDS, &["--protect"]);
    let [sent] = &office.audit(&["--target", "mail.send"])[..] else { panic!() };
    let details = &sent["details"];
    assert_eq!(details["arguments"], json!({"to": told, "body": "hello"}));
    assert_eq!(details["result"], "sent");
    let [got] = &office.audit(&["--target", "crm.get_customer"])[..] else { panic!() };
    says(&got["details"]["result"], &[told.as_str().unwrap(), "[PHONE_", "[CREDIT_CARD_"]);
    // What a model may read as it is, is protected here.
    let public = "from servers import crm\nresult = (await crm.public_directory())['email']";
    assert_eq!(office.run(public, &["--protect"]), CUSTOMER);
    let [got] = &office.audit(&["--target", "crm.public_directory"])[..] else { panic!() };
    says(&got["details"]["result"], &["[EMAIL_"]);
    assert!(!holds(&office.database(), CUSTOMER));
}

/// The gateway says all it can, and is asked in every way; what it says ends in the client's
/// standard error.
#[test]
fn revealed_values_are_neither_in_the_database_nor_in_the_log() {
    let Some(office) = Office::exposing("both", "[audit]\ncontents = \"protected\"\n") else {
        return;
    };
    let hidden = office.said(&["pii", "sanitize", CUSTOMER]);
    let hidden = hidden.trim();
    let code = format!(
        "from servers import crm, mail\n\
         await mail.send(to={hidden:?}, body='hello')\n\
         try: await crm.fail(email={hidden:?})\nexcept ToolError as error: print(error)\n\
         found = await crm.get_customer(id=7)\nprint(found)\n\
         raise ValueError(found['email'])"
    );
    let mut client = office.site.client("python_elicit.py");
    let asked = json!({"code": code}).to_string();
    client.args(["--call", "execute_code", &asked]).args(office.site.over_stdio());
    let output = client.env("NARROWS_LOG", "trace").output().unwrap();
    let log = text(&output.stderr);
    assert!(output.status.success() && log.contains(" TRACE "), "{log}");
    let direct = json!({"to": hidden, "body": "hello"}).to_string();
    let mut client = office.site.client("python_elicit.py");
    client.args(["--call", "send", &direct]).args(office.site.over_stdio());
    let answer = report(client);
    assert_eq!(answer["result"]["content"][0]["text"], "sent", "{answer:#}");

    // It was revealed, and what was said of it is there.
    let sent = json!({"to": CUSTOMER, "body": "hello"});
    assert_eq!(office.received("mail.send"), [sent.clone(), sent]);
    assert!(holds(&office.database(), hidden));
    let report = document(&output).to_string();
    assert!(report.contains(hidden), "{report}");
    for value in [CUSTOMER, PHONE, CARD] {
        for (place, text) in [("log", log.as_str()), ("answer", &report)] {
            let line = text.lines().find(|line| line.contains(value));
            assert_eq!(line, None, "{value} is in the {place}");
        }
        assert!(!holds(&office.database(), value), "{value} is in the database");
    }
}

// What can be done with it.

#[test]
fn the_export_is_the_whole_chain_line_by_line() {
    let Some(office) = Office::new(AGENTS) else { return };
    for agent in ["analyst", "intern", "analyst"] {
        office.run(SENDS, &["--agent", agent]);
    }
    let export = |more: &[&str]| {
        let said = office.said(&[&["audit", "export"], more].concat());
        said.lines().map(|line| serde_json::from_str(line).unwrap()).collect::<Vec<Value>>()
    };
    let all = export(&[]);
    let mut searched = office.audit(&[]);
    searched.reverse();
    assert_eq!((all.len(), &all), (9, &searched));
    for pair in all.windows(2) {
        assert_eq!(pair[0]["hash"], pair[1]["previous"]);
    }
    assert_eq!(export(&["--after", "6"]), all[6..]);
    assert_eq!(export(&["--agent", "intern"]), all[3..6]);
    let calls = export(&["--action", "call", "--target", "mail.send"]);
    assert_eq!(calls.len(), 3);
    assert_eq!(export(&["--namespace", "nobody"]), [Value::Null; 0]);
}

#[test]
fn old_entries_are_removed_and_the_rest_is_still_whole() {
    let Some(office) = Office::new("") else { return };
    let site = &office.site;
    let verify = || office.said(&["audit", "verify"]);
    for _ in 0..3 {
        office.run("1", &[]);
    }
    assert!(verify().starts_with("3 entries, all as they were written"), "{}", verify());
    // Nothing is old, and nothing large.
    office.configure("code", "[audit]\nkeep_days = 1\nkeep_mb = 1\n");
    for prune in [&["audit", "prune"][..], &["audit", "prune", "--older-than", "1"]] {
        assert!(office.said(prune).starts_with("0 entries"), "{prune:?}");
    }
    assert_eq!(count(&office, "run"), 3);

    assert!(office.said(&["audit", "prune", "--older-than", "0"]).starts_with("3 entries"));
    let [pruned] = &office.audit(&[])[..] else { panic!() };
    assert_eq!((&pruned["action"], &pruned["seq"]), (&json!("audit.prune"), &json!(4)));
    assert_eq!(pruned["details"]["entries"], 3);
    assert!(verify().contains("older ones were removed"), "{}", verify());
    office.run("1", &[]);
    office.run("2", &[]);
    assert!(verify().starts_with("3 entries"), "{}", verify());

    // Whoever removes more than that is found.
    assert_eq!(edit(site, "DELETE FROM audit WHERE seq = 4"), 1);
    says(&office.refusal(&["audit", "verify"]), &["entry"]);
}

#[test]
fn tampering_with_calls_and_with_the_head_is_found() {
    let Some(office) = Office::new("") else { return };
    let site = &office.site;
    office.run(SENDS, &[]);
    office.run(SENDS, &[]);
    let (store, pristine) = (site.path("data/narrows.db"), site.path("pristine.db"));
    // All of it is in one file then.
    edit(site, "SELECT 1");
    fs::copy(&store, &pristine).unwrap();
    let swap = "UPDATE audit SET target = CASE seq WHEN 1 THEN 'mail.send' ELSE \
                'crm.get_customer' END WHERE seq IN (1, 2)";
    for (sql, rows) in [
        ("UPDATE audit SET outcome = 'refused' WHERE seq = 2", 1),
        ("UPDATE audit SET principal = 'eve' WHERE seq = 4", 1),
        ("UPDATE audit SET details = replace(details, 'allow', 'deny') WHERE seq = 1", 1),
        (swap, 2),
        ("DELETE FROM audit WHERE seq = 1", 1),
        ("DELETE FROM audit WHERE seq = 6", 1),
        ("DELETE FROM audit WHERE seq >= 4", 3),
        ("DELETE FROM audit", 6),
        ("UPDATE audit_head SET seq = 5", 1),
        ("UPDATE audit_head SET hash = previous FROM audit WHERE audit.seq = 6", 1),
    ] {
        assert_eq!(edit(site, sql), rows, "{sql}");
        says(&office.refusal(&["audit", "verify"]), &["entry"]);
        for suffix in ["-wal", "-shm"] {
            let _ = fs::remove_file(site.path(&format!("data/narrows.db{suffix}")));
        }
        fs::copy(&pristine, &store).unwrap();
        assert!(office.said(&["audit", "verify"]).starts_with("6 entries"), "{sql}");
    }
}

// When it cannot be written.

/// What a hardened gateway, and one of production, answer when the database refuses something.
#[track_caller]
fn when_refusing(action: &str, check: impl Fn(&Office, &Client, &Client)) {
    let agents = AGENTS.replace("[agents.intern]\n", "[agents.intern]\nisolation = \"hardened\"\n");
    let Some(office) = Office::exposing("both", &agents) else { return };
    let gateway = office.serve();
    let clients = Clients::start(&office.site);
    let (analyst, intern) =
        (clients.with_key(&gateway, ANALYST), clients.with_key(&gateway, INTERN));
    // It works as long as it can be written.
    assert_eq!(intern.run(READS), 7);
    assert_eq!(office.received("crm.get_customer").len(), 1);
    refuse(&office.site, action);
    check(&office, &intern, &analyst);
    let said = gateway.end().join("\n");
    assert!(said.contains("the audit was not written"), "{said}");
    edit(&office.site, "DROP TRIGGER refuse");
    assert!(office.said(&["audit", "verify"]).contains("all as they were written"));
}

const READS: &str = "from servers import crm\nprint('seen')\n\
                     result = (await crm.get_customer(id=7))['id']";

/// Nothing of what the program did is told.
#[track_caller]
fn gives_nothing_back(answer: &Value) {
    assert_eq!(answer["isError"], true, "{answer:#}");
    let told = answer.to_string();
    assert!(told.contains("the audit cannot be written"), "{told}");
    assert!(!told.contains("seen") && !told.contains("EMAIL"), "{told}");
}

#[test]
fn hardened_does_not_begin_a_run_that_cannot_be_written() {
    when_refusing("run%", |office, intern, analyst| {
        gives_nothing_back(&intern.answer("execute_code", json!({"code": READS})));
        assert_eq!(office.received("crm.get_customer").len(), 1, "nothing was called");
        // Production goes on, and says so in its log and, once it is known, to the next caller.
        let lost = "could not be written";
        real::wait_for("a note", || {
            let answer = analyst.answer("execute_code", json!({"code": READS}));
            assert_eq!(answer["structuredContent"]["result"], 7, "{answer:#}");
            answer["structuredContent"]["notes"].to_string().contains(lost).then_some(())
        });
    });
}

#[test]
fn hardened_does_not_make_a_call_that_cannot_be_written() {
    when_refusing("call%", |office, intern, analyst| {
        gives_nothing_back(&intern.answer("execute_code", json!({"code": READS})));
        // Catching the error does not help.
        let caught = "from servers import crm\n\
                      try: await crm.get_customer(id=7)\nexcept ToolError: pass\nprint('seen')";
        gives_nothing_back(&intern.answer("execute_code", json!({"code": caught})));
        gives_nothing_back(&intern.answer("get_customer", json!({"id": 7})));
        assert_eq!(office.received("crm.get_customer").len(), 1, "nothing was called");
        assert_eq!(analyst.run(READS), 7);
        analyst.call("get_customer", json!({"id": 7}));
    });
}

#[test]
fn hardened_gives_nothing_back_of_a_call_or_run_that_could_not_be_written_afterwards() {
    when_refusing("call", |office, intern, _| {
        gives_nothing_back(&intern.answer("execute_code", json!({"code": READS})));
        gives_nothing_back(&intern.answer("get_customer", json!({"id": 7})));
        assert_eq!(office.received("crm.get_customer").len(), 3, "both began");
        edit(&office.site, "DROP TRIGGER refuse");
        refuse(&office.site, "run");
        gives_nothing_back(&intern.answer("execute_code", json!({"code": READS})));
    });
}

#[test]
fn without_a_store_hardened_runs_nothing_and_production_warns() {
    let Some(site) = Site::new() else { return };
    fs::create_dir(site.path("data/narrows.db")).unwrap();
    let run = |more: &[&str]| site.says(&[&["run", "-c", "result = 6 * 7"], more].concat());
    let hardened = run(&["--isolation", "hardened"]);
    assert_eq!(hardened.status.code(), Some(1), "{hardened:?}");
    says(&text(&hardened.stderr).into(), &["nothing was run", "the audit cannot be written"]);
    assert!(!text(&hardened.stdout).contains("42"));
    let production = run(&[]);
    assert!(production.status.success() && text(&production.stdout).contains("42"));
    says(&text(&production.stderr).into(), &["audit"]);
    fs::remove_dir(site.path("data/narrows.db")).unwrap();
    assert!(run(&["--isolation", "hardened"]).status.success());
}

/// What is written to a file that is no longer there is written nowhere.
#[test]
fn a_hardened_gateway_whose_store_was_removed_gives_nothing_back() {
    let Some(site) = Site::new() else { return };
    site.configure("[isolation]\nlevel = \"hardened\"\n");
    let gateway = HttpGateway::start(&site);
    let clients = Clients::start(&site);
    let client = clients.connect(&gateway.over_http());
    assert_eq!(client.run("print('seen')\nresult = 1"), 1);
    fs::rename(site.path("data"), site.path("elsewhere")).unwrap();
    fs::remove_dir_all(site.path("elsewhere")).unwrap();
    let answer = client.answer("execute_code", json!({"code": "print('seen')\nresult = 2"}));
    // Either it is refused, or there is a new store with the entry in it.
    if answer["isError"] == true {
        return gives_nothing_back(&answer);
    }
    let found = site.json(&["audit", "search", "--action", "run", "--json"]);
    let runs = found["entries"].as_array().unwrap();
    assert!(runs.iter().any(|run| run["outcome"] == "ok"), "it is lost: {answer:#}");
}
