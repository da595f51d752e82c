//! Which calls are made: rules, a person's word, what was read before, and how often.
#![cfg(unix)]

use serde_json::{Value, json};

use crate::support::{
    office::{self, AGENTS, ANALYST, CUSTOMER, INTERN, Office, SENDER, approval, token},
    real::{self, PATIENCE, Running, Wire, report, says, text},
    state::{Client, Clients, text_of},
};

const IMPORTS: &str = "from servers import crm, http, mail\n";

fn program(code: &str) -> String {
    format!("{IMPORTS}{code}")
}

// Rules.

const RULES: &str = r#"
[[policy.rules]]
name = "interns-read"
principals = ["intern"]
read_only = false
action = "deny"
why = "ask an analyst"
[[policy.rules]]
name = "no-mail-outside"
tools = ["mail.send"]
arguments = { to = { not = "*@mail.example" } }
action = "deny"
[[policy.rules]]
name = "small-payments"
tools = ["crm.pay"]
arguments = { amount = { below = 100 } }
action = "allow"
[[policy.rules]]
name = "payments"
tools = ["crm.pay"]
action = "confirm"
why = "100 and more needs a person"
[[policy.rules]]
name = "analysts-tidy-up"
principals = ["analyst"]
tools = ["mail"]
destructive = true
action = "allow"
[[policy.rules]]
name = "no-updates"
tools = ["crm.update_*"]
action = "deny"
why = "the data team does that"
"#;

#[test]
fn rules_go_by_principal_tool_annotations_and_arguments() {
    let Some(office) = Office::new(&format!("{RULES}{AGENTS}")) else { return };
    let gateway = office.serve();
    let clients = Clients::start(&office.site);
    let (analyst, intern) =
        (clients.with_key(&gateway, ANALYST), clients.with_key(&gateway, INTERN));
    let fails = |client: &Client, code: &str| client.error(&program(code));

    // By argument: the first rule that fits decides.
    assert_eq!(analyst.run(&program("await crm.pay(to='shop', amount=99)")), "paid");
    says(&fails(&analyst, "await crm.pay(to='shop', amount=100)"), &["payments", "100 and more"]);
    assert_eq!(analyst.run(&program("await mail.send(to='bob@mail.example', body='')")), "sent");
    let refusal = fails(&analyst, "await mail.send(to='bob@else.example', body='')");
    says(&refusal, &["mail.send was not called", "\"no-mail-outside\"", "other arguments"]);
    // By tool, by annotation, by principal.
    let refusal = fails(&analyst, "await crm.update_customer(id=1, email='a')");
    says(&refusal, &["\"no-updates\"", "the data team does that"]);
    assert_eq!(analyst.run(&program("await mail.delete_message(id=1)")), "deleted");
    says(&fails(&analyst, "await crm.delete_customer(id=1, email='a')"), &["approval"]);
    assert_eq!(intern.run(&program("(await crm.get_customer(id=7))['id']")), 7);
    for writes in [
        "await crm.pay(to='shop', amount=1)",
        "await mail.send(to='bob@mail.example', body='')",
        "await mail.delete_message(id=2)",
    ] {
        says(&fails(&intern, writes), &["\"interns-read\"", "ask an analyst"]);
    }

    assert_eq!(office.received("crm.pay"), [json!({"to": "shop", "amount": 99})]);
    assert_eq!(office.received("mail.send"), [json!({"to": "bob@mail.example", "body": ""})]);
    assert_eq!(office.received("mail.delete_message"), [json!({"id": 1})]);
    assert_eq!(office.received("crm.get_customer").len(), 1);
    for never in ["crm.update_customer", "crm.delete_customer"] {
        assert_eq!(office.received(never), [Value::Null; 0], "{never}");
    }
}

#[test]
fn a_rule_sees_what_a_token_stands_for() {
    let Some(office) = Office::new(RULES) else { return };
    let inside = office.said(&["pii", "sanitize", "bob@mail.example"]);
    let outside = office.said(&["pii", "sanitize", "bob@else.example"]);
    let send = |to: &str| program(&format!("await mail.send(to='{}', body='')", to.trim()));
    assert_eq!(office.run(&send(&inside), &[]), "sent");
    says(&office.error(&send(&outside), &[]), &["no-mail-outside"]);
    assert_eq!(office.received("mail.send"), [json!({"to": "bob@mail.example", "body": ""})]);
}

#[test]
fn denied_tools_are_neither_found_nor_listed() {
    let Some(office) = Office::exposing("both", &format!("{RULES}{AGENTS}")) else { return };
    let gateway = office.serve();
    let clients = Clients::start(&office.site);
    let find = |client: &Client, query: &str| {
        let found = client.call("search_tools", json!({"query": query, "limit": 50}));
        let in_code = client.run(&format!(
            "import tool_discovery\n\
             found = tool_discovery.search_tools({query:?}, limit=50)\n\
             sorted(tool['name'] for tool in found)"
        ));
        (text_of(&found).to_owned(), in_code.to_string())
    };
    let list = |key: &str| {
        let mut client = office.site.client("python_mcp.py");
        client.args(["http", &gateway.url(), key]);
        report(client)["tools"].to_string()
    };
    let (analyst, intern) =
        (clients.with_key(&gateway, ANALYST), clients.with_key(&gateway, INTERN));
    let listed = [list(ANALYST), list(INTERN)];
    for (tool, query, by_analyst, by_intern) in [
        ("update_customer", "update customer", false, false),
        // A rule with arguments does not hide; and whatever asks a person can be called.
        ("pay", "pay", true, false),
        ("delete_customer", "delete customer", true, false),
        ("get_customer", "get customer", true, true),
    ] {
        let quoted = format!("\"{tool}\"");
        for (client, listed, expected) in
            [(&analyst, &listed[0], by_analyst), (&intern, &listed[1], by_intern)]
        {
            let (text, in_code) = find(client, query);
            let seen = [
                text.contains(&format!(" {tool} #")),
                in_code.contains(&quoted),
                listed.contains(&quoted),
            ];
            assert_eq!(seen, [expected; 3], "{tool}: {text}\n{in_code}\n{listed}");
        }
    }
    // Who knows its name does not get further.
    let direct = intern.refusal("pay", json!({"to": "shop", "amount": 1}));
    says(&direct, &["interns-read"]);
    assert_eq!(office.received("crm.pay"), [Value::Null; 0]);
}

#[test]
fn what_destroys_asks_by_default_and_what_says_nothing_is_allowed() {
    let Some(office) = Office::new("") else { return };
    let delete = program("await crm.delete_customer(id=1, email='a')");
    assert_eq!(office.run(&program("await crm.update_customer(id=1, email='a')"), &[]), "updated");
    approval(&office.error(&delete, &[]));
    office.configure("code", "[policy]\ndestructive = \"deny\"\n");
    says(&office.error(&delete, &["--yes"]), &["it says that it destroys", "denied"]);
    assert_eq!(office.received("crm.delete_customer"), [Value::Null; 0]);
    office.configure("code", "[policy]\ndestructive = \"allow\"\n");
    assert_eq!(office.run(&delete, &[]), "deleted");
    // Whoever says --yes is the person.
    office.configure("code", "");
    assert_eq!(office.run(&delete, &["--yes"]), "deleted");
    assert_eq!(office.received("crm.delete_customer").len(), 2);
}

// A person's word.

/// The address comes from a server: the model that wrote this has never seen it.
const DELETES: &str = "from servers import crm\n\
                       found = await crm.get_customer(id=7)\n\
                       result = await crm.delete_customer(id=7, email=found['email'])";

#[track_caller]
fn the_person_is_asked(era: &str, choices: &Value) {
    let Some(office) = Office::new("") else { return };
    let gateway = office.serve();
    let code = json!({"code": DELETES});
    let accepted = office.elicit(&gateway, &["--era", era], "execute_code", &code);
    assert_eq!(accepted["result"]["structuredContent"]["result"], "deleted", "{accepted:#}");
    let [asked] = &accepted["asked"].as_array().unwrap()[..] else { panic!("{accepted:#}") };
    assert_eq!(asked["method"], "elicitation/create");
    let schema = &asked["params"]["requestedSchema"];
    assert_eq!(schema["required"], json!(["allow"]));
    assert_eq!(schema["properties"]["allow"]["enum"], *choices);
    let message = &asked["params"]["message"];
    says(message, &["crm.delete_customer", "\"id\": 7", "it says that it destroys"]);
    let token = token(message.as_str().unwrap(), "EMAIL");
    assert!(!accepted.to_string().contains(CUSTOMER), "{accepted:#}");
    assert_eq!(office.said(&["pii", "restore", &token]).trim(), CUSTOMER);
    assert_eq!(office.received("crm.delete_customer"), [json!({"id": 7, "email": CUSTOMER})]);

    let answered = |action: &str| {
        let options = ["--era", era, "--action", action];
        let mut report = office.elicit(&gateway, &options, "execute_code", &code);
        report["result"]["structuredContent"]["error"]["message"].take()
    };
    let declined = answered("decline");
    says(&declined, &["crm.delete_customer was not called", "the person did not allow it"]);
    assert!(office.said(&["approvals", "list"]).starts_with("nothing waits"));
    // A client that cancels by itself has asked nobody.
    let id = approval(&answered("cancel"));
    assert_eq!(office.received("crm.delete_customer").len(), 1);
    let outcomes = office.entries(3, &["--target", "crm.delete_customer", "--action", "call"]);
    let decided: Vec<_> =
        outcomes.iter().map(|entry| entry["details"]["decision"].as_str().unwrap()).collect();
    assert_eq!(decided, ["not confirmed", "not confirmed", "confirmed"]);
    office.said(&["approvals", "allow", &id]);
    // The person's yes is found before anybody is asked.
    assert_eq!(answered("decline"), Value::Null);
    assert_eq!(office.received("crm.delete_customer").len(), 2);
}

#[test]
fn a_person_is_asked_with_tokens_through_a_client_of_the_older_protocol() {
    the_person_is_asked("legacy", &json!(["once", "run", "session", "always", "no"]));
}

#[test]
fn a_person_is_asked_with_tokens_through_a_client_of_the_newer_protocol() {
    // Over HTTP it has no session.
    the_person_is_asked("modern", &json!(["once", "run", "always", "no"]));
}

/// Runs a command at a terminal, interrupts it when it asks, and prints its exit code.
const INTERRUPTS: &str = r#"
import os, pty, signal, sys
signal.alarm(300)
process, terminal = pty.fork()
if process == 0:
    os.execv(sys.argv[1], sys.argv[1:])
said = b""
while b"[n]o" not in said:
    said += os.read(terminal, 4096)
os.write(terminal, b"\x03")
print(os.waitstatus_to_exitcode(os.waitpid(process, 0)[1]))
"#;

#[test]
fn a_person_who_is_asked_at_the_terminal_can_interrupt() {
    let Some(office) = Office::new("") else { return };
    let narrows = office.site.narrows();
    let mut command = office.site.command("python3");
    command.args(["-c", INTERRUPTS]).arg(narrows.get_program()).args(narrows.get_args());
    command.args(["run", "-c", DELETES]);
    assert_eq!(report(command), 130);
    assert_eq!(office.received("crm.delete_customer"), [Value::Null; 0]);
}

/// Runs a command at a terminal, answers what it asks with the word, and prints how often it asked.
const ANSWERS: &str = r#"
import os, pty, signal, sys
signal.alarm(300)
process, terminal = pty.fork()
if process == 0:
    os.execv(sys.argv[2], sys.argv[2:])
said, asked = b"", 0
while True:
    try:
        part = os.read(terminal, 4096)
    except OSError:
        break
    if not part:
        break
    said += part
    if said.count(b"[n]o: ") > asked:
        asked += 1
        os.write(terminal, sys.argv[1].encode() + b"\n")
code = os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])
import json
print(json.dumps({"asked": asked, "code": code, "said": said.decode()}))
"#;

const DELETES_TWO: &str = "from servers import crm\n\
                           for id in (1, 2): await crm.delete_customer(id=id, email='a')";

#[test]
fn the_same_can_be_chosen_at_the_terminal() {
    let Some(office) = Office::new("# Mine.\n") else { return };
    let narrows = office.site.narrows();
    let answer = |word: &str| {
        let mut command = office.site.command("python3");
        command.args(["-c", ANSWERS, word]).arg(narrows.get_program()).args(narrows.get_args());
        command.args(["run", "-c", DELETES_TWO]);
        let told = report(command);
        (told["asked"].as_u64().unwrap(), told["code"].as_i64().unwrap(), told["said"].clone())
    };
    let (asked, code, _) = answer("no");
    assert_eq!((asked, code), (1, 1));
    let (asked, code, _) = answer("o");
    assert_eq!((asked, code), (2, 0));
    let (asked, code, _) = answer("run");
    assert_eq!((asked, code), (1, 0));
    let (asked, code, said) = answer("a");
    assert_eq!((asked, code), (1, 0));
    let rule = RULE.replace("PRINCIPAL", "local");
    says(&said.as_str().unwrap().replace("\r\n", "\n").into(), &[&rule]);
    let written = std::fs::read_to_string(office.site.path("narrows.toml")).unwrap();
    assert!(written.starts_with("# Mine.\n") && written.contains(&rule), "{written}");
    assert_eq!(answer("no").0, 0, "nobody is asked any more");
    assert_eq!(office.received("crm.delete_customer").len(), 8);
}

/// What `always` writes.
const RULE: &str = r#"[[policy.rules]]
name = "always-PRINCIPAL-crm.delete_customer"
principals = ["PRINCIPAL"]
tools = ["crm.delete_customer"]
action = "allow"
"#;

#[test]
fn an_approval_can_be_for_the_session_that_asked() {
    let Some(office) = Office::new(AGENTS) else { return };
    let gateway = office.serve();
    let clients = Clients::start(&office.site);
    let connect = |era: &str| {
        clients.connect(&["--era", era, "http", &gateway.url(), ANALYST].map(str::to_owned))
    };
    let (one, other) = (connect("legacy"), connect("legacy"));
    let delete = |id: u32| program(&format!("await crm.delete_customer(id={id}, email='a')"));
    let id = approval(&one.error(&delete(1)));
    office.said(&["approvals", "allow", &id, "--session"]);
    for number in [1, 2, 1] {
        assert_eq!(one.run(&delete(number)), "deleted");
    }
    assert_ne!(approval(&other.error(&delete(1))), id);
    // One without a session is told what to say instead, and nothing is decided.
    let modern = connect("modern");
    let id = approval(&modern.error(&delete(9)));
    says(&office.refusal(&["approvals", "allow", &id, "--session"]), &["no session", "--always"]);
    says(
        &office.refusal(&["approvals", "allow", &id, "--run", "--once"]),
        &["cannot be used with"],
    );
    office.said(&["approvals", "allow", &id]);
    assert_eq!(modern.run(&delete(9)), "deleted");
    assert_eq!(office.received("crm.delete_customer").len(), 4);
}

#[test]
fn calls_made_together_that_nobody_could_be_asked_about_are_made_once_after_one_command() {
    let Some(office) = Office::new("") else { return };
    let together = "import asyncio\nfrom servers import crm\n\
                    result = await asyncio.gather(*(crm.delete_customer(id=i, email='a') for i in (1, 2, 3)))";
    let sentence = office.error(together, &[]);
    says(&sentence, &["it and 2 other calls made with it need a person's approval"]);
    let (_, ids) = sentence.as_str().unwrap().split_once("`narrows approvals allow ").unwrap();
    let ids: Vec<&str> = ids.split('`').next().unwrap().split(' ').collect();
    assert_eq!(ids.len(), 3, "{sentence}");
    office.said(&[&["approvals", "allow"][..], &ids[..]].concat());
    assert_eq!(office.run(together, &[]), json!(["deleted", "deleted", "deleted"]));
    let mut deleted: Vec<Value> = office.received("crm.delete_customer");
    deleted.sort_by_key(|call| call["id"].as_u64());
    let expected = [1, 2, 3].map(|id| json!({"id": id, "email": "a"}));
    assert_eq!(deleted, expected);
}

#[test]
fn several_approvals_are_decided_at_once_and_each_is_told() {
    let Some(office) = Office::new("") else { return };
    let delete = |id: u32| program(&format!("await crm.delete_customer(id={id}, email='a')"));
    let ids = [1, 2, 3].map(|id| approval(&office.error(&delete(id), &[])));
    let [first, second, third] = ids.each_ref().map(String::as_str);
    // The list has ages, and the document the times.
    let list = office.said(&["approvals", "list"]);
    let ages = list.lines().filter(|line| line.contains(" ago\t")).count();
    assert_eq!(ages, 3, "{list}");
    let listed = office.said(&["approvals", "list", "--json"]);
    assert!(listed.contains("\"created_at\"") && listed.contains("\"age_seconds\""), "{listed}");
    let output = office.site.says(&["approvals", "allow", first, "none-such", second]);
    assert_eq!(output.status.code(), Some(1));
    let said = text(&output.stdout);
    assert_eq!(said.lines().count(), 2, "{said}");
    for id in [first, second] {
        says(&said.clone().into(), &[&format!("{id}: local may call crm.delete_customer once")]);
    }
    assert_eq!(
        text(&output.stderr),
        "error: there is no approval `none-such`: list those that there are\n"
    );
    for id in [1, 2] {
        assert_eq!(office.run(&delete(id), &[]), "deleted");
    }
    approval(&office.error(&delete(3), &[]));

    let output = office.site.says(&["approvals", "deny", first, third, "--json"]);
    assert_eq!(output.status.code(), Some(1));
    let decided = real::document(&output);
    assert_eq!(decided["approvals"][0]["state"], "denied", "{decided:#}");
    assert_eq!(
        (&decided["approvals"][0]["id"], &decided["errors"][0]["id"]),
        (&json!(third), &json!(first))
    );
    says(&decided["errors"][0]["error"], &["was decided already"]);
    // Those that mean the same are one rule.
    let ids = [4, 5].map(|id| approval(&office.error(&delete(id), &[])));
    office.said(&["approvals", "allow", &ids[0], &ids[1], "--always", "--yes"]);
    let written = std::fs::read_to_string(office.site.path("narrows.toml")).unwrap();
    assert_eq!(written.matches("[[policy.rules]]").count(), 1, "{written}");
    assert_eq!(office.said(&["approvals", "list"]), "nothing waits for approval\n");
    assert_eq!(office.site.says(&["approvals", "allow"]).status.code(), Some(2));
}

/// Makes a call again and again until it is allowed, as an agent would.
const INSISTS: &str = "import asyncio\nfrom servers import crm\n\
                       for _ in range(400):\n\
                       \u{20}   try:\n\
                       \u{20}       result = await crm.delete_customer(id=1, email='a')\n\
                       \u{20}       break\n\
                       \u{20}   except Exception:\n\
                       \u{20}       await asyncio.sleep(0.2)";

#[test]
fn a_yes_for_a_run_that_has_ended_is_refused_with_what_to_do() {
    let Some(office) = Office::new("") else { return };
    let id = approval(&office.error(DELETES, &[]));
    let refusal = office.refusal(&["approvals", "allow", &id, "--run"]);
    says(&refusal, &["the run ", "has ended", "use --once or --always", "run its program again"]);
    // Nothing was decided.
    assert_eq!(office.site.json(&["approvals", "show", &id, "--json"])["state"], "pending");
    office.said(&["approvals", "allow", &id]);
    assert_eq!(office.run(DELETES, &[]), "deleted");

    // The control: one that goes on.
    let mut command = office.site.narrows();
    command.args(["run", "--timeout", "120", "-c", INSISTS]);
    let mut run = Running(command.spawn().unwrap());
    let id = real::wait_for("an approval", || {
        let listed = office.site.json(&["approvals", "list", "--json"]);
        listed["approvals"][0]["id"].as_str().map(str::to_owned)
    });
    let said = office.said(&["approvals", "allow", &id, "--run"]);
    says(&said.into(), &["in the run ", "while it goes on"]);
    assert!(run.0.wait().unwrap().success());
    assert_eq!(office.received("crm.delete_customer").len(), 2);
}

#[test]
fn an_approval_can_be_for_good_and_holds_at_once_in_a_gateway_that_runs() {
    let Some(office) = Office::new(&format!("# Who may what.\n{AGENTS}")) else { return };
    let gateway = office.serve();
    let clients = Clients::start(&office.site);
    let (analyst, intern) =
        (clients.with_key(&gateway, ANALYST), clients.with_key(&gateway, INTERN));
    let id = approval(&analyst.error(DELETES));
    let file = || std::fs::read_to_string(office.site.path("narrows.toml")).unwrap();
    let before = file();
    // Nobody is there to look at the rule.
    let refusal = office.refusal(&["approvals", "allow", &id, "--always"]);
    let rule = RULE.replace("PRINCIPAL", "analyst");
    says(&refusal, &["narrows.toml", rule.trim_end(), "--yes"]);
    assert_eq!(file(), before);
    approval(&analyst.error(DELETES));

    office.said(&["approvals", "allow", &id, "--always", "--yes"]);
    assert!(file().contains(&rule) && file().replace(&rule, "").contains(before.trim_end()));
    let other = program("await crm.delete_customer(id=1, email='a')");
    assert_eq!(analyst.run(&other), "deleted");
    assert_eq!(analyst.run(&other), "deleted");
    approval(&intern.error(&other));
    assert_eq!(office.received("crm.delete_customer").len(), 2);
}

#[test]
fn calls_of_a_program_at_the_same_time_are_one_question() {
    let Some(office) = Office::new("") else { return };
    let gateway = office.serve();
    let code = "import asyncio\nfrom servers import crm\n\
                calls = [crm.delete_customer(id=n, email='a') for n in (1, 2, 3)]\n\
                result = await asyncio.gather(*calls)";
    for era in ["legacy", "modern"] {
        let asked =
            office.elicit(&gateway, &["--era", era], "execute_code", &json!({"code": code}));
        let result = &asked["result"]["structuredContent"]["result"];
        assert_eq!(*result, json!(["deleted", "deleted", "deleted"]), "{asked:#}");
        let [question] = &asked["asked"].as_array().unwrap()[..] else { panic!("{asked:#}") };
        let message = &question["params"]["message"];
        says(message, &["these 3 calls", "3 × crm.delete_customer", "\"id\": 1", "\"id\": 3"]);
    }
    assert_eq!(office.received("crm.delete_customer").len(), 6);
}

#[test]
fn an_approval_is_for_one_principal_and_one_call_with_these_arguments_once() {
    let Some(office) = Office::new(AGENTS) else { return };
    let gateway = office.serve();
    let clients = Clients::start(&office.site);
    let (analyst, intern) =
        (clients.with_key(&gateway, ANALYST), clients.with_key(&gateway, INTERN));
    let other = DELETES.replace("id=7, email", "id=8, email");
    let called = || office.received("crm.delete_customer");

    let id = approval(&analyst.error(DELETES));
    assert_eq!(approval(&analyst.error(DELETES)), id, "it is one request, however often");
    assert!(called().is_empty());
    let list = || office.said(&["approvals", "list"]);
    let fields: Vec<String> = list().trim_end().split('\t').map(str::to_owned).collect();
    assert_eq!((&*fields[0], &*fields[1], &*fields[2]), (&*id, "pending", "analyst"), "{fields:?}");
    assert_eq!(fields[4], "crm.delete_customer", "{fields:?}");
    says(&list().into(), &["it says that it destroys", "\"id\": 7", "[EMAIL_"]);
    assert!(!list().contains(CUSTOMER));
    let listed = office.site.json(&["approvals", "list", "--json"])["approvals"][0].clone();
    for field in ["id", "principal", "tool", "arguments_hash", "shown", "why", "run", "age_seconds"]
    {
        assert!(!listed[field].is_null(), "{field}: {listed:#}");
    }
    assert_eq!((&listed["reasons"], &listed["scope"]), (&json!(["destructive"]), &json!("once")));
    let shown = office.said(&["approvals", "show", &id]);
    says(&shown.clone().into(), &[" s ago", "\"id\": 7", "[EMAIL_", "it says that it destroys"]);
    assert!(!shown.contains(CUSTOMER), "{shown}");
    let revealed = office.said(&["approvals", "show", &id, "--reveal"]);
    assert!(revealed.contains(CUSTOMER), "{revealed}");

    office.said(&["approvals", "allow", &id]);
    // Not for others, and not for another call.
    assert_ne!(approval(&intern.error(DELETES)), id);
    assert_ne!(approval(&analyst.error(&other)), id);
    assert!(called().is_empty());
    assert_eq!(analyst.run(DELETES), "deleted");
    assert_eq!(called(), [json!({"id": 7, "email": CUSTOMER})]);
    // Once.
    let second = approval(&analyst.error(DELETES));
    assert_ne!(second, id);
    assert_eq!(called().len(), 1);

    office.said(&["approvals", "deny", &second]);
    says(&analyst.error(DELETES), &["crm.delete_customer was not approved", "denied"]);
    assert_eq!(called().len(), 1);
    for wrong in [id.as_str(), "ffffffff"] {
        says(&office.refusal(&["approvals", "allow", wrong]), &[wrong]);
    }
    let decided = office.audit(&["--action", "approval."]);
    let actions: Vec<_> = decided.iter().map(|entry| entry["action"].clone()).collect();
    assert_eq!(actions, ["approval.deny", "approval.allow"]);
    assert!(decided[1].to_string().contains(&id), "{decided:#?}");
}

#[test]
fn two_programs_at_once_use_an_approval_once() {
    let Some(office) = Office::new("") else { return };
    let gateway = office.serve();
    let clients = Clients::start(&office.site);
    let client = clients.connect(&gateway.over_http());
    let id = approval(&client.error(DELETES));
    office.said(&["approvals", "allow", &id]);
    let pending: Vec<_> =
        (0..4).map(|_| client.begin("execute_code", json!({"code": DELETES}))).collect();
    let done = pending.into_iter().map(|one| one.answer());
    let done = done.filter(|answer| answer["structuredContent"]["success"] == true).count();
    assert_eq!((done, office.received("crm.delete_customer").len()), (1, 1));
}

// What was read before.

const FLOWS: &str = r#"
[policy]
flows = ["pii:EMAIL -> http.get", "crm.export -> mail.send: confirm"]
[[policy.flow]]
name = "mail-stays"
from = ["mail.*"]
to = ["http.*"]
"#;
const READS: &str = "found = await mail.list_messages()";
const POSTS: &str = "await http.post(url='http://x.example', body='hello')";

#[test]
fn what_came_from_mail_does_not_go_out_in_the_same_run() {
    let Some(office) = Office::new(FLOWS) else { return };
    assert_eq!(office.run(&program(POSTS), &[]), "posted");
    let reads = program(&format!("{READS}\n{POSTS}"));
    says(&office.error(&reads, &[]), &["http.post was not called", "mail-stays", "mail.list"]);
    // What is sent first has not been read yet.
    assert_eq!(office.run(&program(&format!("result = {POSTS}\n{READS}")), &[]), "posted");
    // Catching the error does not help, nor does the other tool, nor --yes.
    let tries = format!(
        "{READS}\nresult = []\n\
         for call in [http.post(url='u', body='b'), http.get(url='u')]:\n    \
             try: await call\n    except ToolError as error: result.append(str(error))"
    );
    let told = office.run(&program(&tries), &["--yes"]);
    assert!(told.as_array().unwrap().len() == 2, "{told}");
    assert_eq!(office.received("http.post").len(), 2);
    assert_eq!(office.received("http.get"), [Value::Null; 0]);
}

#[test]
fn personal_data_does_not_go_where_its_kind_may_not() {
    let Some(office) = Office::new(FLOWS) else { return };
    let get = |before: &str, url: &str| program(&format!("{before}\nawait http.get(url={url})"));
    let says_so = ["http.get was not called", "pii:EMAIL -> http.get"];
    assert!(office.run(&get("", "'http://x.example'"), &[]).is_string());
    assert!(office.run(&get("await crm.export(bytes=9)", "'http://x.example'"), &[]).is_string());
    says(&office.error(&get("await crm.get_customer(id=7)", "'u'"), &[]), &says_so);
    says(&office.error(&get("", &format!("'http://x.example?to={SENDER}'")), &[]), &says_so);
    let token = office.said(&["pii", "sanitize", SENDER]);
    says(&office.error(&get("", &format!("'{}'", token.trim())), &[]), &says_so);
    says(&office.error(&get("", &format!("restore_pii('{}')[:3]", token.trim())), &[]), &says_so);
    assert_eq!(office.received("http.get").len(), 2);
}

#[test]
fn a_flow_rule_can_ask_a_person() {
    let Some(office) = Office::new(FLOWS) else { return };
    let sends = program("await crm.export(bytes=9)\nawait mail.send(to='bob', body='b')");
    let refusal = office.error(&sends, &[]);
    approval(&refusal);
    says(&refusal, &["crm.export -> mail.send: confirm"]);
    assert_eq!(office.received("mail.send"), [Value::Null; 0]);
    assert_eq!(office.run(&sends, &["--yes"]), "sent");
    assert_eq!(office.run(&program("await mail.send(to='bob', body='b')"), &[]), "sent");
}

#[test]
fn what_a_session_has_read_counts_in_later_programs_and_after_a_restart() {
    let Some(office) = Office::new(FLOWS) else { return };
    let clients = Clients::start(&office.site);
    let post = program(POSTS);
    let refused = |client: &Client, session: &str| {
        let answer = client.begin_in(session, &post).answer();
        says(&answer["structuredContent"]["error"]["message"], &["http.post", "mail-stays"]);
    };
    let gateway = office.serve();
    let client = clients.connect(&gateway.over_http());
    client.go_on("reader", &program(READS));
    refused(&client, "reader");
    assert_eq!(client.go_on("other", &post), "posted");
    gateway.end();
    let gateway = office.serve();
    let client = clients.connect(&gateway.over_http());
    assert_eq!(client.go_on("reader", "found['messages'][0]['id']"), 1, "the variables are there");
    refused(&client, "reader");
    assert_eq!(client.go_on("other", &post), "posted");
    assert_eq!(office.received("http.post").len(), 2);
}

/// Data may be elsewhere than in variables.
#[test]
fn what_a_session_has_read_counts_even_if_its_variables_stay_as_they_are() {
    let Some(office) = Office::new(FLOWS) else { return };
    let keep = "write_file('m.txt', str(await mail.list_messages()))";
    for (session, reads) in [
        ("file", keep.to_owned()),
        ("limit", format!("{keep}\nwhile len('x'): print('x' * 10_000)")),
        ("failure", format!("{keep}\n1 / 0")),
    ] {
        let options = ["--session", session, "--timeout", "120"];
        office.run(&program("done = 1"), &options);
        let ended = office.outcome(&reads, &options);
        assert_eq!(ended["error"]["limit"].is_object(), session == "limit", "{ended:#}");
        let post = "await http.post(url='u', body=read_file('m.txt'))";
        says(&office.error(post, &options), &["mail-stays"]);
    }
    assert_eq!(office.received("mail.list_messages").len(), 3);
    assert_eq!(office.received("http.post"), [Value::Null; 0]);
}

// How often.

#[test]
fn quotas_say_when_to_try_again_and_hold_for_each_principal_by_itself() {
    let quotas = r#"
[[policy.quotas]]
name = "runs"
principals = ["analyst"]
runs_per_minute = 2
[[policy.quotas]]
name = "calls"
principals = ["intern"]
calls_per_run = 3
calls_per_minute = { "crm.*" = 5 }
[[policy.quotas]]
name = "bytes"
principals = ["local"]
bytes_per_minute = 5000
"#;
    let Some(office) = Office::new(&format!("{quotas}{AGENTS}")) else { return };
    let gateway = office.serve();
    let clients = Clients::start(&office.site);
    let (analyst, intern) =
        (clients.with_key(&gateway, ANALYST), clients.with_key(&gateway, INTERN));
    for _ in 0..2 {
        analyst.run("1");
    }
    let used_up = analyst.refusal("execute_code", json!({"code": "1"}));
    says(&used_up, &["the quota \"runs\" is used up", "2 runs per minute", "try again in"]);

    let calls = "import asyncio\nfrom servers import crm, http\nfailed = []\n\
                 for n in range(TIMES):\n    try: await SERVER\n    \
                 except ToolError as error: failed.append(str(error))\nresult = failed";
    let calls = |n: u32, call: &str| calls.replace("TIMES", &n.to_string()).replace("SERVER", call);
    let told = intern.run(&calls(5, "crm.get_customer(id=1)"));
    let told = told.as_array().unwrap().clone();
    assert_eq!(told.len(), 2, "{told:?}");
    for one in &told {
        says(one, &["a run may make 3 calls"]);
    }
    let told = intern.run(&calls(3, "crm.get_customer(id=1)"));
    let told = told.as_array().unwrap().clone();
    assert_eq!(told.len(), 1, "{told:?}");
    says(&told[0], &["the quota \"calls\"", "5 calls of crm.* per minute", "try again in"]);
    // Other tools are not meant.
    assert_eq!(intern.run(&calls(3, "http.get(url='u')")), json!([]));
    assert_eq!(office.received("crm.get_customer").len(), 5);

    let exports = calls(2, "crm.export(bytes=6000)");
    let told = office.run(&exports, &[]);
    says(&told[0], &["the quota \"bytes\"", "5000 bytes", "try again in"]);
    assert_eq!((told.as_array().unwrap().len(), office.received("crm.export").len()), (1, 1));
}

// Tools that clients see as they are.

#[test]
fn direct_tools_are_under_the_same_rules() {
    let quota = "[[policy.quotas]]\nname = \"few\"\ncalls_per_minute = { \"mail.send\" = 1 }\n";
    let Some(office) = Office::exposing("direct", &format!("{RULES}{quota}")) else { return };
    let gateway = office.serve();
    let clients = Clients::start(&office.site);
    let client = clients.connect(&gateway.over_http());
    client.call("pay", json!({"to": "shop", "amount": 99}));
    says(&client.refusal("update_customer", json!({"id": 1, "email": "a"})), &["no-updates"]);
    let inside = json!({"to": "bob@mail.example", "body": ""});
    client.call("send", inside.clone());
    says(&client.refusal("send", inside), &["the quota \"few\"", "try again in"]);

    // Who cannot be asked gets an approval for exactly this call; who can is asked.
    let pay = json!({"to": CUSTOMER, "amount": 100});
    let id = approval(&client.refusal("pay", pay.clone()));
    office.said(&["approvals", "allow", &id]);
    approval(&client.refusal("pay", json!({"to": CUSTOMER, "amount": 101})));
    client.call("pay", pay.clone());
    approval(&client.refusal("pay", pay.clone()));
    let report = office.elicit(&gateway, &["--era", "modern"], "pay", &pay);
    assert_eq!(report["result"]["content"][0]["text"], "paid", "{report:#}");
    let message = &report["asked"][0]["params"]["message"];
    says(message, &["crm.pay", "[EMAIL_", "\"amount\": 100", "100 and more needs a person"]);
    assert!(!message.to_string().contains(CUSTOMER), "{message}");
    let declined =
        office.elicit(&gateway, &["--era", "legacy", "--action", "decline"], "pay", &pay);
    assert_eq!(declined["result"]["isError"], true, "{declined:#}");
    let amounts: Vec<_> =
        office.received("crm.pay").iter().map(|call| call["amount"].clone()).collect();
    assert_eq!(amounts, [99, 100, 100]);
    assert_eq!(office.received("crm.update_customer"), [Value::Null; 0]);
    assert_eq!(office.received("mail.send").len(), 1);
}

/// The request of a client of the newer protocol that asks its user.
fn call(code: &str, state: Option<&Value>) -> Value {
    let mut params = json!({
        "name": "execute_code",
        "arguments": {"code": code},
        "_meta": {
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientInfo": {"name": "wire", "version": "1"},
            "io.modelcontextprotocol/clientCapabilities": {"elicitation": {"form": {}}},
        },
    });
    if let Some(state) = state {
        params["requestState"] = state.clone();
    }
    params
}

/// The client of a program that asks leaves: what came of the program is written all the same.
#[track_caller]
fn a_question_is_left(office: &Office, mut wire: Wire) {
    let before = office.audit(&["--action", "run"]).len();
    wire.leave();
    wire.process.ends_within(PATIENCE);
    let runs = office.audit(&["--action", "run"]);
    assert_eq!(runs.len(), before + 1, "{runs:#?}");
    let calls = office.audit(&["--target", "crm.delete_customer"]);
    for entry in [&runs[0], &calls[0]] {
        assert_eq!(entry["outcome"], "cancelled", "{entry:#}");
        assert_eq!(entry["details"]["run"], runs[0]["details"]["run"], "{entry:#}");
    }
    assert_eq!(office.received("crm.delete_customer"), [Value::Null; 0]);
}

#[test]
fn a_program_whose_client_leaves_without_an_answer_is_in_the_audit() {
    let Some(office) = Office::new("") else { return };
    // A client of the newer protocol would come back with the answer.
    let mut wire = Wire::start(&office.site);
    let asks = wire.ask("tools/call", call(DELETES, None));
    assert!(asks["result"]["requestState"].is_string(), "{asks:#}");
    a_question_is_left(&office, wire);
    // One of the older protocol has an open request.
    let mut wire = Wire::initialized(&office.site);
    wire.request("tools/call", json!({"name": "execute_code", "arguments": {"code": DELETES}}));
    wire.next("question", |message| message["method"] == "elicitation/create");
    a_question_is_left(&office, wire);
}

/// A client of the newer protocol comes back with an answer, or with anything else.
#[test]
fn a_program_is_not_run_again_for_a_state_that_is_not_its_own() {
    let Some(office) = Office::new("") else { return };
    let mut wire = Wire::start(&office.site);
    let reads = format!("from servers import crm\nawait crm.get_customer(id=1)\n{DELETES}");
    let asks = wire.ask("tools/call", call(&reads, None));
    let state = asks["result"]["requestState"].clone();
    assert!(state.is_string(), "{asks:#}");
    let runs = || office.received("crm.get_customer").len();
    let begun = runs();
    assert!(begun > 0);
    let refused = |wire: &mut Wire, params: Value, why: &str| {
        let answer = wire.ask("tools/call", params);
        says(&answer["error"]["message"], &[why]);
    };
    let unknown = "nothing waits for this requestState";
    refused(&mut wire, call(&reads, Some(&json!("narrows:00"))), unknown);
    refused(&mut wire, call(&reads, Some(&json!("anything"))), unknown);
    refused(&mut wire, call("result = 1", Some(&state)), "belongs to another request");
    assert_eq!((runs(), office.received("crm.delete_customer").len()), (begun, 0));

    let mut answered = call(&reads, Some(&state));
    let questions = asks["result"]["inputRequests"].as_object().unwrap();
    let answer = json!({"action": "accept", "content": {"allow": "once"}});
    let answers: serde_json::Map<_, _> =
        questions.keys().map(|key| (key.clone(), answer.clone())).collect();
    answered["inputResponses"] = Value::Object(answers);
    let done = wire.ask("tools/call", answered.clone());
    assert_eq!(done["result"]["structuredContent"]["result"], "deleted", "{done:#}");
    refused(&mut wire, answered, unknown);
    assert_eq!((runs(), office.received("crm.delete_customer").len()), (begun, 1));
}

// Who gets what tokens stand for.

#[test]
fn a_tool_that_may_not_have_a_kind_gets_the_token() {
    let reveal = "[[pii.reveal]]\ntools = [\"http.*\"]\nkinds = [\"EMAIL\"]\nallow = false\n";
    let Some(office) = Office::exposing("both", reveal) else { return };
    let gateway = office.serve();
    let clients = Clients::start(&office.site);
    let client = clients.connect(&gateway.over_http());
    let told = client.run(&program("await crm.get_customer(id=7)"));
    let (email, phone) = (told["email"].as_str().unwrap(), told["phone"].as_str().unwrap());
    let body = format!("{email} {phone}");
    client.call("post", json!({"url": "u", "body": body}));
    client.run(&program(&format!("await http.post(url='u', body={body:?})")));
    client.run(&program(&format!("await mail.send(to={email:?}, body={body:?})")));

    let partly = json!({"url": "u", "body": format!("{email} {}", office::PHONE)});
    assert_eq!(office.received("http.post"), [partly.clone(), partly]);
    let whole = json!({"to": CUSTOMER, "body": format!("{CUSTOMER} {}", office::PHONE)});
    assert_eq!(office.received("mail.send"), [whole]);
}
