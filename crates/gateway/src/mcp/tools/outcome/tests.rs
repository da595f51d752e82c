//! What a model reads of an outcome, whichever form its client takes.

use narrows_model::{Ending, LimitHit, LimitKind, Limits, OutcomePart};

use super::*;

fn failed() -> Outcome {
    let mut outcome = Outcome::not_run(Failure {
        kind: "ValueError".into(),
        message: "no such row".into(),
        line: Some(2),
        traceback:
            "Traceback:\n  File \"<code>\", line 2\nValueError: no such row\nlog is a list\n".into(),
    });
    outcome.notes.push("the code was taken out of its fence".into());
    outcome.stdout = "printed\n".into();
    outcome.stderr = "warned\n".into();
    outcome
}

fn succeeded() -> Outcome {
    Outcome { ending: Ending::Success, ..Outcome::not_run(Failure::default()) }
}

fn joined(outcome: &Outcome) -> String {
    format!("{}{}", outcome.stdout, outcome.stderr)
}

/// The text, and the structure as the JSON that clients hand over.
fn forms(outcome: Outcome, form: Form) -> [String; 2] {
    let output = (form == Form::Joined).then(|| joined(&outcome));
    let result = serde_json::to_value(answer(outcome, Vec::new(), output)).unwrap();
    let text = result["content"][0]["text"].as_str().unwrap().to_owned();
    [text, result["structuredContent"].to_string()]
}

#[test]
fn hints_notes_and_the_traceback_are_in_both_forms_once() {
    for form in [Form::Streams, Form::Joined] {
        for form in forms(failed(), form) {
            for part in [
                "printed",
                "warned",
                "File ",
                "line 2",
                "ValueError",
                "no such row",
                "log is a list",
                "taken out of its fence",
            ] {
                assert_eq!(form.matches(part).count(), 1, "{part}: {form}");
            }
        }
    }
}

/// The guest says it at the end of the message, and as the last note of the traceback.
#[test]
fn the_hint_of_a_failure_is_in_both_forms_once() {
    let frames = "Traceback:\n  File <code>, line 2\n";
    let hint = "use a relative path; list_files() shows them";
    for (kind, message, note) in [
        ("FileNotFoundError", "there is no file a", "a note"),
        ("ValueError", "of two\nlines; and parts", "a note"),
        ("EOFError", "", ""),
    ] {
        let colon = if message.is_empty() { "" } else { ": " };
        let line = if note.is_empty() { String::new() } else { format!("{note}\n") };
        let mut outcome = failed();
        *outcome.failure_mut().unwrap() = Failure {
            kind: kind.into(),
            message: format!("{message}; {hint}"),
            line: Some(2),
            traceback: format!("{frames}{kind}{colon}{message}\n{line}{hint}\n"),
        };
        let last = message.lines().last().unwrap_or(kind);
        for form in forms(outcome, Form::Streams) {
            for part in
                [hint, "File <code>", kind, last, note].into_iter().filter(|it| !it.is_empty())
            {
                assert_eq!(form.matches(part).count(), 1, "{part}: {form}");
            }
        }
    }
}

#[test]
fn what_is_shown_in_part_is_told_first_and_once() {
    let mut outcome = failed();
    for part in [OutcomePart::Stdout, OutcomePart::Result] {
        outcome.excerpts.push(Excerpt {
            part,
            bytes: 70_000,
            tail: String::new(),
            file: Some(format!("{}-1.txt", part.name())),
            lost: None,
        });
    }
    let [text, structure] = forms(outcome, Form::Streams);
    assert!(
        text.starts_with("note: stdout is shown in part; all 70000 bytes of it are in"),
        "{text}"
    );
    assert!(
        structure.starts_with(r#"{"success":false,"notes":["stdout is shown in part;"#),
        "{structure}"
    );
    for form in [text, structure] {
        assert_eq!(form.matches("stdout-1.txt").count(), 1, "{form}");
        assert_eq!(form.matches("result-1.txt").count(), 1, "{form}");
    }
}

#[test]
fn notes_and_errors_come_before_what_is_long() {
    let result = answer(failed(), Vec::new(), None);
    let structured = result.structured_content.unwrap();
    let keys: Vec<&String> = structured.as_object().unwrap().keys().collect();
    assert_eq!(
        keys,
        ["success", "notes", "error", "result", "execution_time_ms", "stdout", "stderr"]
    );
    let error = json!({"type": "ValueError", "message": "no such row", "line": 2,
        "traceback": "Traceback:\n  File \"<code>\", line 2\nlog is a list"});
    assert_eq!(structured["error"], error);
}

/// Its message says what to do, and Python's traceback does not.
#[test]
fn a_limit_is_told_beside_the_traceback() {
    let mut outcome = succeeded();
    let failure = Failure {
        kind: "MemoryError".into(),
        message: "over the memory limit; ask for less".into(),
        line: None,
        traceback: "Traceback:\nMemoryError\n".into(),
    };
    outcome.ending = Ending::Limit(LimitHit::of(LimitKind::Memory, &Limits::default()), failure);
    for form in forms(outcome, Form::Streams) {
        assert_eq!(form.matches("ask for less").count(), 1, "{form}");
    }
}

#[test]
fn a_program_without_output_is_told_how_to_give_some() {
    for form in forms(succeeded(), Form::Streams) {
        assert_eq!(form.matches("print something, or set `result`").count(), 1, "{form}");
    }
    let mut outcome = succeeded();
    outcome.result = json!(0);
    for form in forms(outcome, Form::Streams) {
        assert!(!form.contains("print something"), "{form}");
    }
}

/// Clients that take the structure drop all content, images too.
#[test]
fn an_answer_with_an_image_has_no_structure_in_its_place() {
    let shown = vec![Shown { mime_type: "image/png".into(), data: "AAEC".into() }];
    let mut outcome = succeeded();
    outcome.result = json!(7);
    let result = answer(outcome, shown.clone(), None);
    assert_eq!(result.structured_content, None);
    let content = serde_json::to_value(&result.content).unwrap();
    assert_eq!((&content[0]["text"], &content[1]["type"]), (&json!("result: 7"), &json!("image")));
    // Without a word, the image is the answer.
    assert_eq!(answer(succeeded(), shown, None).content.len(), 1);
}

#[test]
fn execute_python_gives_what_its_callers_know() {
    let result = answer(failed(), Vec::new(), Some(joined(&failed())));
    let structured = result.structured_content.unwrap();
    assert_eq!(structured["output"], "printed\nwarned\n");
    assert!(structured["execution_time_ms"].is_number());
    assert_eq!((structured.get("stdout"), structured.get("stderr")), (None, None));
}
