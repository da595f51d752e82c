//! `narrows tools call`: one call of one tool, under the rules of programs.
#![cfg(target_os = "linux")]

use std::{
    fs,
    io::Write,
    process::{Output, Stdio},
};

use serde_json::{Value, json};

use crate::support::dead::{Place, assert_has};

fn said(output: &Output) -> String {
    [&output.stdout, &output.stderr].map(|said| String::from_utf8_lossy(said).into_owned()).concat()
}

#[track_caller]
fn call(place: &Place, code: i32, arguments: &[&str]) -> String {
    let all = [&["tools", "call"], arguments].concat();
    let output = place.run(&all);
    assert_eq!(output.status.code(), Some(code), "{arguments:?}: {}", said(&output));
    said(&output)
}

#[test]
fn a_tool_is_called_with_arguments_in_every_form() {
    let place = Place::with_good();
    for name in ["good.echo", "mcp__good__echo", "echo"] {
        assert_eq!(call(&place, 0, &[name, "text=7"]), "7\n");
    }
    assert_eq!(call(&place, 0, &["echo", r#"{"text": "a=b"}"#]), "a=b\n");
    fs::write(place.file("arguments.json"), r#"{"text": "from a file"}"#).unwrap();
    assert_eq!(call(&place, 0, &["echo", "@arguments.json"]), "from a file\n");
    let mut command = place.narrows(&["tools", "call", "echo", "-"]);
    let mut process = command.stdin(Stdio::piped()).spawn().unwrap();
    process.stdin.take().unwrap().write_all(br#"{"text": "from a pipe"}"#).unwrap();
    assert_eq!(said(&process.wait_with_output().unwrap()), "from a pipe\n");
    // Numbers are numbers where the tool says so.
    let sum: Value =
        serde_json::from_str(&call(&place, 0, &["add", "a=1", "b=2.5", "--json"])).unwrap();
    assert_eq!((&sum["success"], sum["result"].to_string().contains("3.5")), (&json!(true), true));
}

#[test]
fn what_is_wrong_with_a_call_is_told() {
    let place = Place::with_good();
    assert_has(&call(&place, 1, &["good.ecko", "text=x"]), &["did you mean echo?"]);
    assert_has(&call(&place, 1, &["god.echo", "text=x"]), &["good.echo"]);
    assert_has(&call(&place, 1, &["mcp__god__echo"]), &["did you mean good?"]);
    assert_has(&call(&place, 2, &["echo", "txet=x"]), &["\"txet\"", "did you mean text?"]);
    assert_has(&call(&place, 2, &["echo", "{\"text\": }"]), &["not JSON", "line 1 column 10"]);
    assert_has(&call(&place, 2, &["echo", "hello"]), &["write name=value"]);
    assert_has(&call(&place, 1, &["echo"]), &["\"text\" is missing"]);
    assert_has(&call(&place, 1, &["add", "a=one", "b=2"]), &["\"a\" is \"one\", expected"]);
    let failed: Value = serde_json::from_str(&call(&place, 1, &["fail", "--json"])).unwrap();
    assert_eq!(failed["success"], false, "{failed}");
    assert!(failed["error"].is_string(), "{failed}");
}

#[test]
fn calls_are_decided_on_and_written_down_as_those_of_programs() {
    let rules = "[[policy.rules]]\nname = \"asked\"\ntools = [\"good.echo\"]\naction = \"confirm\"\n\
                 [[policy.rules]]\nname = \"never\"\ntools = [\"good.add\"]\naction = \"deny\"\n";
    let place = Place::with_good().toml(rules);
    let refused = call(&place, 1, &["good.echo", "text=x"]);
    assert!(!refused.contains("x\n"), "{refused}");
    assert_eq!(call(&place, 0, &["good.echo", "text=x", "--yes"]), "x\n");
    assert_has(&call(&place, 1, &["good.add", "a=1", "b=2", "--yes"]), &["never"]);
    let audit = place.run(&["audit", "search", "--action", "call", "--json"]);
    let audit = said(&audit);
    assert_has(&audit, &["good.echo", "\"refused\"", "\"ok\""]);
}

#[test]
fn personal_data_is_shown_to_people_unless_it_is_to_be_protected() {
    let place = Place::with_good();
    let address = "text=ada@example.com";
    assert_has(&call(&place, 0, &["echo", address, "--protect"]), &["[EMAIL_"]);
    assert_eq!(call(&place, 0, &["echo", address]), "ada@example.com\n");
}
