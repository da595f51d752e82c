//! The lasting state, as programs use it.

use super::*;
use crate::{
    program::host::tests::RunningProgram,
    safety::{Mode, SafetySettings},
};

async fn program() -> RunningProgram {
    RunningProgram::new(&[], SafetySettings::default()).await
}

#[test]
fn whoever_wants_to_wait_for_ever_waits_as_long_as_one_can() {
    assert_eq!(patience(2.5), Duration::from_millis(2_500));
    for seconds in [1e300, f64::INFINITY, 2e19] {
        assert_eq!(patience(seconds), Duration::MAX);
    }
    for seconds in [0.0, -1.0, f64::NAN, f64::NEG_INFINITY] {
        assert_eq!(patience(seconds), Duration::ZERO);
    }
}

#[tokio::test]
async fn a_shared_value_is_set_only_over_what_the_program_expects() {
    let program = program().await;
    let ask = async |name, arguments| program.query(name, arguments).await.unwrap();
    assert_eq!(ask("shared_get", json!({"key": "k"})).await, json!({"found": false}));
    let set = ask("shared_set", json!({"key": "k", "value": 1, "if_absent": true})).await;
    assert_eq!((&set["done"], &set["found"]), (&json!(true), &json!(true)));
    let version = set["version"].as_i64().unwrap();

    let again = ask("shared_set", json!({"key": "k", "value": 2, "if_absent": true})).await;
    let expected = json!({"done": false, "found": true, "version": version, "current": 1});
    assert_eq!(again, expected);
    let set = ask("shared_set", json!({"key": "k", "value": 3, "if_version": version})).await;
    assert_eq!(set["done"], true);
    // Somebody else was faster.
    let late = ask("shared_set", json!({"key": "k", "value": 4, "if_version": version})).await;
    assert_eq!((&late["done"], &late["current"]), (&json!(false), &json!(3)));
    let late = ask("shared_remove", json!({"key": "k", "if_version": version})).await;
    assert_eq!(late["done"], false);
    assert_eq!(ask("shared_get", json!({"key": "k"})).await["value"], 3);
}

#[tokio::test]
async fn a_value_that_is_null_is_there_and_one_that_was_removed_is_not() {
    let program = program().await;
    let ask = async |name, arguments| program.query(name, arguments).await.unwrap();
    ask("shared_set", json!({"key": "job/1", "value": null})).await;
    ask("shared_set", json!({"key": "job/2", "value": 2})).await;
    ask("shared_set", json!({"key": "other", "value": 3})).await;
    let found = ask("shared_get", json!({"key": "job/1"})).await;
    assert_eq!((&found["found"], &found["value"]), (&json!(true), &Value::Null));
    ask("shared_remove", json!({"key": "job/2"})).await;
    assert_eq!(ask("shared_get", json!({"key": "job/2"})).await, json!({"found": false}));
    assert_eq!(ask("shared_keys", json!({"prefix": "job/"})).await, json!(["job/1"]));
    assert_eq!(ask("shared_keys", json!({})).await, json!(["job/1", "other"]));
}

#[tokio::test]
async fn messages_of_a_board_are_read_from_a_number_on() {
    let program = program().await;
    let ask = async |name, arguments| program.query(name, arguments).await.unwrap();
    for number in 1..=3 {
        let posted = ask("board_post", json!({"board": "b", "body": {"n": number}})).await;
        assert_eq!((&posted["seq"], &posted["author"]), (&json!(number), &json!("local")));
    }
    let numbers = |messages: Value| -> Vec<i64> {
        let messages = messages.as_array().unwrap().iter();
        messages.map(|message| message["body"]["n"].as_i64().unwrap()).collect()
    };
    assert_eq!(numbers(ask("board_read", json!({"board": "b"})).await), [1, 2, 3]);
    assert_eq!(numbers(ask("board_read", json!({"board": "b", "since": 1})).await), [2, 3]);
    let limited = ask("board_read", json!({"board": "b", "limit": 2})).await;
    assert_eq!(numbers(limited), [1, 2]);
    assert_eq!(ask("board_read", json!({"board": "other"})).await, json!([]));
    let waited = program.call("narrows:board_wait", json!({"board": "b", "since": 2})).await;
    assert_eq!(numbers(waited.unwrap()), [3]);
}

#[tokio::test]
async fn a_wait_for_less_than_no_time_is_over_at_once() {
    let program = program().await;
    let wanted = json!({"board": "b", "timeout": -1.0});
    assert_eq!(program.call("narrows:board_wait", wanted).await, Ok(json!([])));
}

#[tokio::test]
async fn a_namespace_of_others_is_neither_read_nor_changed() {
    let program = program().await;
    for (name, arguments, verb) in [
        ("shared_get", json!({"key": "k"}), "read"),
        ("shared_keys", json!({}), "read"),
        ("shared_set", json!({"key": "k", "value": 1}), "change"),
        ("shared_remove", json!({"key": "k"}), "change"),
        ("board_read", json!({"board": "b"}), "read"),
        ("board_post", json!({"board": "b"}), "change"),
        ("boards", json!({}), "read"),
        ("list_skills", json!({}), "read"),
        ("save_skill", json!({"name": "s", "code": "def s(): pass"}), "change"),
    ] {
        let mut arguments = arguments;
        arguments["namespace"] = "theirs".into();
        let told = program.query(name, arguments).await.unwrap_err().message;
        let expected =
            format!(r#""local" may not {verb} the namespace "theirs"; it may do so in default"#);
        assert_eq!(told, expected, "{name}");
    }
}

#[tokio::test]
async fn a_skill_that_is_saved_can_be_imported_and_found() {
    let program = program().await;
    let code = "def double(x: int) -> int:\n    \"\"\"Doubles a number.\"\"\"\n    return x * 2\n";
    let draft = json!({"name": "double", "code": code});
    let saved = program.query("save_skill", draft).await.unwrap();
    assert_eq!((&saved["name"], &saved["version"]), (&json!("double"), &json!(1)));
    let loaded = program.query("load_skill", json!({"name": "double"})).await;
    assert_eq!(loaded, Ok(json!({"code": code, "version": 1})));
    let near = program.query("skill_names", json!({"near": "duoble"})).await;
    assert_eq!(near, Ok(json!(["double"])));
    let host: &dyn narrows_sandbox::ToolHost = &program.host;
    let module = host.module("skills.double".to_owned()).await.unwrap();
    assert!(module.source.contains("return x * 2"), "{module:?}");
    // It is told as a tool is.
    let definition = program.query("get_tool_definition", json!({"name": "double"})).await;
    let definition = definition.unwrap();
    assert!(definition.as_str().unwrap().starts_with("from skills import double\n"));
}

#[tokio::test]
async fn tokens_can_be_made_and_turned_back_but_not_in_strict_mode() {
    let program = program().await;
    let value = json!({"mail": "ada@example.com", "n": 1});
    let tokens = program.query("sanitize_pii", json!({"value": value})).await.unwrap();
    assert!(tokens["mail"].as_str().unwrap().starts_with("[EMAIL_"), "{tokens}");
    assert_eq!(tokens["n"], 1);
    let back = program.query("restore_pii", json!({"value": tokens})).await;
    assert_eq!(back, Ok(value));

    let strict = SafetySettings { mode: Mode::Strict, ..SafetySettings::default() };
    let program = RunningProgram::new(&[], strict).await;
    let refused = program.query("restore_pii", json!({"value": tokens})).await.unwrap_err();
    assert!(refused.message.starts_with("in strict mode programs do not see"), "{refused:?}");
}

/// A program's own queries are bounded like those of clients, and take its agent's places.
#[tokio::test]
async fn what_a_program_asks_for_is_bounded_and_waits_for_a_place_if_it_is_large() {
    let program = program().await;
    let told = async |name, arguments| program.query(name, arguments).await.unwrap_err().message;
    let long = "x".repeat(MAX_SANITIZED_BYTES);
    let refused = told("sanitize_pii", json!({ "value": long })).await;
    assert!(refused.ends_with("takes 16777216 at once; give it one part after the other"));
    let words = "many words ".repeat(1_000);
    for name in ["search_tools", "list_skills"] {
        let refused = told(name, json!({ "query": words })).await;
        assert!(refused.contains("the query has 11000 bytes, and may have 2048"), "{refused}");
    }
    let name = "y".repeat(2_000_000);
    for (query, arguments) in [
        ("wrapper", json!({"server": "s", "name": name})),
        ("get_tool_definition", json!({ "name": name })),
    ] {
        let refused = told(query, arguments).await;
        assert!(refused.ends_with("2000000 bytes, and names have at most 1024"), "{refused}");
    }

    let places = program.host.agent().take_places();
    let small = program.query("sanitize_pii", json!({"value": "ada@example.com"})).await;
    assert!(small.unwrap().as_str().unwrap().starts_with("[EMAIL_"));
    let large = json!({"value": "ada@example.com ".repeat(1_000)});
    let mut waiting = Box::pin(program.query("sanitize_pii", large));
    assert!(futures::poll!(&mut waiting).is_pending());
    drop(places);
    assert!(!waiting.await.unwrap().to_string().contains("ada@"));
}

#[tokio::test]
async fn what_others_posted_enters_a_strict_program_as_tokens() {
    let strict = SafetySettings { mode: Mode::Strict, ..SafetySettings::default() };
    let program = RunningProgram::new(&[], strict).await;
    let post = json!({"board": "b", "body": "ask ada@example.com"});
    program.host.agent().post("b", &post["body"], None).await.unwrap();
    let read = program.query("board_read", json!({"board": "b"})).await.unwrap();
    let waited = json!({"board": "b", "since": 0});
    let waited = program.call("narrows:board_wait", waited).await.unwrap();
    for messages in [read, waited] {
        let body = messages[0]["body"].as_str().unwrap();
        assert!(body.starts_with("ask [EMAIL_"), "{body}");
    }
}
