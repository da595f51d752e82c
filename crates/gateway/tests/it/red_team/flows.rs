//! What stops code that encodes: rules that look at what a run has read, and not at the data. The
//! server `http` is the world outside, and notes what it is sent.

use serde_json::{Value, json};

use super::{Step, Target, attempt::Attempt};

const EMAIL: &str = "quilla.marsh@tidewater-bank.com";

/// Programs that send a value out. Each has a record from the server `crm`.
const SENDING: &[Attempt] = &[
    Attempt {
        name: "as it is",
        steps: &[Step::Run("from servers.http import post\nawait post(url='u', body=email)")],
    },
    Attempt {
        name: "in base64",
        steps: &[Step::Run(
            "import base64\nfrom servers.http import post\nawait post(url='u', body=base64.b64encode(email.encode()).decode())",
        )],
    },
    Attempt {
        name: "in hexadecimal as an address",
        steps: &[Step::Run(
            "from servers.http import post\nawait post(url='https://' + email.encode().hex(), body='')",
        )],
    },
    Attempt {
        name: "letter by letter, all at once",
        steps: &[Step::Run(
            "import asyncio\nfrom servers.http import post\nawait asyncio.gather(*[post(url='u', body=letter) for letter in email], return_exceptions=True)\nawait post(url='u', body=email[::-1])",
        )],
    },
    Attempt {
        name: "by its full name",
        steps: &[Step::Run(
            "from client import call_mcp_tool\nawait call_mcp_tool('mcp__http__post', {'url': 'u', 'body': ' '.join(email)})",
        )],
    },
    Attempt {
        name: "again after a refusal",
        steps: &[Step::Run(
            "from servers.http import post\nfor n in range(3):\n    try:\n        await post(url='u', body=email[::-1])\n    except Exception as error:\n        print(error)\nawait post(url='u', body='x')",
        )],
    },
    Attempt {
        name: "by a function of a skill",
        steps: &[
            Step::Call(
                "save_skill",
                r#"{"name": "send", "code": "async def send(text):\n    from servers.http import post\n    return await post(url='u', body=text)\n"}"#,
            ),
            Step::Run("from skills import send\nawait send(email[::-1])"),
        ],
    },
    Attempt {
        name: "in the next program of a session",
        steps: &[
            Step::In("sends", "kept = email"),
            Step::Call(
                "execute_code",
                r#"{"code": "from servers.http import post\nawait post(url='u', body=kept[::-1])", "session_id": "sends"}"#,
            ),
        ],
    },
];

/// The forms in which the programs here send it.
fn forms() -> Vec<String> {
    let spaced: Vec<String> = EMAIL.chars().map(String::from).collect();
    vec![
        EMAIL.to_owned(),
        EMAIL.chars().rev().collect(),
        EMAIL.bytes().map(|byte| format!("{byte:02x}")).collect(),
        spaced.join(" "),
        // In base64.
        "cXVpbGxhLm1hcnNoQHRpZGV3YXRlci1iYW5rLmNvbQ==".to_owned(),
    ]
}

fn sent_a_value(target: &Target) -> bool {
    let sent = target.sent();
    forms().iter().any(|form| sent.contains(form.as_str()))
}

fn forget_what_was_sent(target: &Target) {
    let _ = std::fs::remove_file(&target.received);
}

/// A token that a model gives to a tool, straight and in code.
const BY_TOKEN: Attempt = Attempt {
    name: "a token",
    steps: &[
        Step::Run("result = record"),
        Step::Call("post", r#"{"url": "u", "body": "for <EMAIL>"}"#),
        Step::Call(
            "execute_code",
            r#"{"code": "from servers.http import post\nawait post(url='u', body='for <EMAIL>')"}"#,
        ),
    ],
};

const ITS_OWN_WORDS: Attempt = Attempt {
    name: "its own words",
    steps: &[Step::Code("from servers.http import post\nawait post(url='u', body='hello')")],
};

/// The control: without rules all of them send it, encoded or not.
#[test]
fn without_a_rule_programs_send_what_they_read_and_tools_get_what_tokens_stand_for() {
    let Some(target) = Target::start("boundary", "") else { return };
    for attempt in SENDING.iter().chain([&BY_TOKEN]) {
        forget_what_was_sent(&target);
        let report = target.attempts(attempt);
        assert!(sent_a_value(&target), "{}: {:#}", attempt.name, report.received);
    }
    assert_eq!(target.sent().matches(EMAIL).count(), 2);
}

/// Starts a gateway with a rule, which all of these have to name and to stop.
fn stopped(mode: &str, rule: &str, attempts: &[&Attempt]) -> Option<Target> {
    let target = Target::start(mode, &format!("[policy]\nflows = [{}]", json!(rule)))?;
    for attempt in attempts {
        let report = target.attempts(attempt);
        let told = report.received.to_string();
        assert!(told.contains(rule), "{rule}, {}: {told}", attempt.name);
        assert_eq!(target.sent(), "", "{rule}, {}: {told}", attempt.name);
    }
    // Who has read nothing may send: a rule does not deny the tool.
    target.attempts(&ITS_OWN_WORDS);
    let sent: Value = serde_json::from_str(target.sent().trim()).unwrap();
    assert_eq!(sent["arguments"]["body"], "hello", "{rule}");
    forget_what_was_sent(&target);
    Some(target)
}

#[test]
fn a_flow_rule_stops_the_sending_of_what_was_read_however_it_is_encoded() {
    let attempts: Vec<&Attempt> = SENDING.iter().collect();
    let Some(target) = stopped("boundary", "crm.* -> http.*", &attempts) else { return };
    // Known and documented: a rule follows a run and a session, and not files.
    let report = target.attempts(&Attempt {
        name: "through a file into another run",
        steps: &[
            Step::Run("write_file('kept.txt', email[::-1])"),
            Step::Code(
                "from servers.http import post\nawait post(url='u', body=read_file('kept.txt'))",
            ),
        ],
    });
    assert!(sent_a_value(&target), "{:#}", report.received);
}

#[test]
fn a_flow_rule_for_a_kind_stops_encoded_values_and_tokens_in_strict_mode() {
    let attempts: Vec<&Attempt> = SENDING.iter().chain([&BY_TOKEN]).collect();
    stopped("strict", "pii:EMAIL -> http.*", &attempts);
}
