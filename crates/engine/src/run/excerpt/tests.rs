//! The excerpts of long output that a model is shown.

use narrows_model::{Ending, Limits};
use serde_json::json;
use tempfile::TempDir;

use super::*;

const MAX: usize = 32 << 10;
/// The sizes at which clients cut answers.
const CUT_BYTES: usize = 48 << 10;

fn workspace() -> (TempDir, Arc<Workspace>) {
    let home = tempfile::tempdir().unwrap();
    let workspace = Workspace::open(home.path(), &Limits::default()).unwrap();
    (home, workspace)
}

fn outcome(stdout: &str, stderr: &str, result: Value) -> Outcome {
    Outcome {
        ending: Ending::Success,
        stdout: stdout.to_owned(),
        stderr: stderr.to_owned(),
        result,
        ..Outcome::not_run(Failure::default())
    }
}

fn fitted(whole: &Outcome, workspace: Option<&Arc<Workspace>>) -> Outcome {
    let mut outcome = whole.clone();
    fit(&mut outcome, whole, workspace, MAX);
    outcome
}

fn text_of(workspace: &Workspace, name: &str) -> String {
    String::from_utf8(workspace.read(name, u64::MAX).unwrap()).unwrap()
}

#[test]
fn what_fits_is_left_as_it_is() {
    let (_home, workspace) = workspace();
    for whole in [
        outcome("", "", Value::Null),
        outcome(&"x".repeat(20_000), "e", json!([1, 2])),
        outcome(&"x\n".repeat(1_400), "", json!("text")),
        outcome("", "", json!(vec![json!({"a": "b"}); 3_000])),
    ] {
        assert_eq!(fitted(&whole, Some(&workspace)), whole);
    }
    assert_eq!(workspace.names().unwrap(), [""; 0]);
}

#[test]
fn of_what_is_too_long_the_beginning_and_the_end_are_shown_and_all_is_in_one_file() {
    let (_home, workspace) = workspace();
    let lines: String = (0..9_000).map(|n| format!("line {n} of this output\n")).collect();
    let whole = outcome(&lines, "short", json!({"ok": true}));
    let shown = fitted(&whole, Some(&workspace));
    assert!(
        shown.stdout.len() <= MAX && shown.stdout.len() > MAX - (MAX / 4),
        "{}",
        shown.stdout.len()
    );
    assert!(shown.stdout.starts_with("line 0 of this output\nline 1 "));
    assert!(shown.stdout.ends_with("\nline 8999 of this output\n"));
    let [head, tail] = shown.stdout.split("\n[... ").collect::<Vec<_>>().try_into().unwrap();
    assert!(head.ends_with(" of this output"), "whole lines: {head}");
    let (note, tail) = tail.split_once(" bytes are not shown ...]\n").unwrap();
    assert!(tail.starts_with("line "), "{tail}");
    let left_out: usize = note.parse().unwrap();
    assert!(left_out.abs_diff(lines.len() - head.len() - tail.len()) <= 1);
    assert_eq!((shown.stderr.as_str(), &shown.result), ("short", &json!({"ok": true})));
    assert_eq!(
        Excerpt::note(&shown.excerpts).unwrap(),
        format!(
            "stdout is shown in part; all {} bytes of it are in /workspace/stdout-1.txt",
            lines.len()
        )
    );
    assert_eq!(text_of(&workspace, "stdout-1.txt"), lines);
    assert_eq!(workspace.names().unwrap(), ["stdout-1.txt"]);
}

/// The parts share the space, counted as the bytes that each takes in JSON.
#[test]
fn an_answer_stays_below_what_clients_cut_whatever_is_in_it() {
    let failure = Failure {
        kind: "ValueError".into(),
        message: "\"quoted\"\n".repeat(9_000),
        line: Some(1),
        traceback: format!("Traceback\n{}", "  File \"x\", line 1\n".repeat(9_000)),
    };
    for text in ["x", "\n", "\"", "\u{1}", "é", "x\r\n\t\\", "{\"a\": 1}\n"] {
        let long = text.repeat(60_000);
        let rows = json!(vec![json!({"text": text}); 50_000]);
        for result in [Value::String(long.clone()), rows] {
            let mut whole = outcome(&long, &long, result);
            whole.ending = Ending::Failed(failure.clone());
            whole.notes = vec![
                long.clone(),
                "short".into(),
                long.clone(),
                long.clone(),
                long.clone(),
                long.clone(),
            ];
            let shown = fitted(&whole, None);
            let failure = shown.failure().unwrap();
            let note = Excerpt::note(&shown.excerpts).unwrap();
            let all = json!([shown.stdout, shown.stderr, shown.result, failure, shown.notes, note]);
            assert!(all.to_string().len() < CUT_BYTES, "{text:?}: {}", all.to_string().len());
            let texts = [&shown.stdout, &shown.stderr, &failure.traceback];
            let lines: usize = texts.iter().map(|text| text.lines().count()).sum();
            assert!(lines < 2_000, "{text:?}: {lines}");
            let parts: Vec<&str> = shown.excerpts.iter().map(|one| one.part.name()).collect();
            assert_eq!(parts, ["stdout", "stderr", "result", "traceback"]);
        }
    }
}

#[test]
fn of_one_long_line_the_end_is_shown_too() {
    let line = format!("begin {} end\n", "x".repeat(100_000));
    let shown = fitted(&outcome(&line, "", Value::Null), None).stdout;
    assert!(shown.starts_with("begin xxx") && shown.ends_with("xxx end\n"), "{shown}");
}

#[test]
fn many_short_lines_are_cut_before_a_client_does() {
    let shown = fitted(&outcome(&"1\n".repeat(5_000), "", Value::Null), None);
    assert!(shown.stdout.lines().count() < 2_000);
    assert_eq!(shown.excerpts.len(), 1);
}

#[test]
fn a_result_that_is_too_long_is_a_file_as_json() {
    let (_home, workspace) = workspace();
    let rows = json!((0..9_000).map(|n| json!({"number": n})).collect::<Vec<_>>());
    let shown = fitted(&outcome("printed", "", rows.clone()), Some(&workspace));
    let text = shown.result.as_str().unwrap();
    assert!(text.starts_with(r#"[{"number":0},"#) && text.ends_with(r#"{"number":8999}]"#));
    assert_eq!(shown.stdout, "printed");
    let kept: Value = serde_json::from_str(&text_of(&workspace, "result-1.json")).unwrap();
    assert_eq!(kept, rows);
}

/// Output beyond the limit is already in the file, and its end in the excerpt.
#[test]
fn a_stream_that_was_kept_while_it_was_printed_has_no_second_file() {
    let (_home, workspace) = workspace();
    let mut whole = outcome(&"a".repeat(1 << 20), "", Value::Null);
    whole.excerpts.push(Excerpt {
        part: OutcomePart::Stdout,
        bytes: 5_000_000,
        tail: format!("{}the end\n", "z".repeat(40_000)),
        file: Some("stdout-7.txt".into()),
        lost: None,
    });
    let shown = fitted(&whole, Some(&workspace));
    assert!(shown.stdout.starts_with("aaa") && shown.stdout.ends_with("zzzthe end\n"));
    assert!(shown.stdout.len() <= MAX);
    assert_eq!(
        Excerpt::note(&shown.excerpts).unwrap(),
        "stdout is shown in part; all 5000000 bytes of it are in /workspace/stdout-7.txt"
    );
    assert_eq!(workspace.names().unwrap(), [""; 0]);
}

#[test]
fn nothing_is_shown_twice_where_beginning_and_end_meet() {
    let mut whole = outcome("0123456789", "", Value::Null);
    let tail = "0123456789abc".to_owned();
    let part = OutcomePart::Stdout;
    whole.excerpts.push(Excerpt { part, bytes: 13, tail, file: None, lost: None });
    let shown = fitted(&whole, None);
    assert_eq!(shown.stdout, "0123456789abc");
}

#[test]
fn a_long_message_is_shown_in_part_and_kept() {
    let (_home, workspace) = workspace();
    let message = "m".repeat(100_000);
    let failure = Failure {
        kind: "ValueError".into(),
        message: message.clone(),
        line: Some(3),
        traceback: format!("Traceback:\n  line 3\nValueError: {message}\na hint\n"),
    };
    let mut whole = outcome("", "", Value::Null);
    whole.ending = Ending::Failed(failure.clone());
    let shown = fitted(&whole, Some(&workspace));
    let told = shown.failure().unwrap();
    assert!(told.message.len() <= 2 << 10 && told.message.starts_with("mmm"));
    let expected = format!("Traceback:\n  line 3\nValueError: {}\na hint\n", told.message);
    assert_eq!(told.traceback, expected);
    assert_eq!(text_of(&workspace, "traceback-1.txt"), failure.traceback);
}

#[test]
fn small_parts_get_all_that_they_need() {
    assert_eq!(shares([10, 20, 30], 100), [10, 20, 30]);
    assert_eq!(shares([10, 500, 30], 100), [10, 60, 30]);
    assert_eq!(shares([500, 500, 500], 99), [33, 33, 33]);
    assert_eq!(shares([500, 10, 500], 100), [45, 10, 45]);
}
