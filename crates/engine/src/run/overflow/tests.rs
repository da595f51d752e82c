//! Output and results that are too large for an answer, and their excerpts.

use narrows_model::{DroppedBytes, Failure, LimitHit, Principal};
use tempfile::TempDir;

use super::*;
use crate::safety::{Safety, SafetySettings};

/// A host whose answers show that it was asked.
#[derive(Default)]
struct Host {
    printed: Mutex<String>,
}

impl ToolHost for Host {
    fn call(&self, call: ToolCall) -> BoxFuture<'_, Result<ToolAnswer, ToolFailure>> {
        Box::pin(async move { Err(ToolFailure::new(format!("called {}", call.tool))) })
    }

    fn query(&self, query: Query) -> BoxFuture<'_, Result<Box<RawValue>, ToolFailure>> {
        Box::pin(async move { Err(ToolFailure::new(format!("asked {}", query.name))) })
    }

    fn module(&self, name: String) -> BoxFuture<'_, Option<ModuleSource>> {
        Box::pin(async move { Some(ModuleSource { source: name, is_package: true }) })
    }

    fn output(&self, stream: OutputStream, text: &str) {
        self.printed.lock().unwrap().push_str(&format!("{stream}<{text}>"));
    }
}

fn workspace(limits: &Limits) -> (TempDir, Arc<Workspace>) {
    let home = tempfile::tempdir().unwrap();
    let workspace = Workspace::open(home.path(), limits).unwrap();
    (home, workspace)
}

/// Five bytes of each stream are shown.
fn few() -> Limits {
    Limits { output_bytes: 5, ..Limits::default() }
}

/// Returns the outcome of a program that printed so many bytes beyond the limit of each stream.
fn printed(stdout: u64, stderr: u64) -> Outcome {
    Outcome {
        ending: Ending::Success,
        dropped_bytes: DroppedBytes { stdout, stderr },
        ..Outcome::not_run(Failure::default())
    }
}

/// Returns the outcome of a program whose result is too large.
fn returned(result: Value) -> Outcome {
    let hit = LimitHit::of(LimitKind::Result, &Limits::default());
    Outcome { ending: Ending::Limit(hit, Failure::default()), result, ..printed(0, 0) }
}

fn text_of(workspace: &Workspace, name: &str) -> String {
    String::from_utf8(workspace.read(name, u64::MAX).unwrap()).unwrap()
}

#[test]
fn output_within_the_limit_leaves_no_file_and_no_note() {
    let (_home, workspace) = workspace(&few());
    let host = Host::default();
    let overflow =
        Overflow::new(&host, &few(), OutputUse::Kept, Some(Arc::clone(&workspace)), None);
    overflow.output(OutputStream::Stdout, "abc");
    overflow.output(OutputStream::Stdout, "de");
    overflow.output(OutputStream::Stdout, "");
    assert_eq!(overflow.finish(printed(0, 0)), printed(0, 0));
    assert_eq!(workspace.names().unwrap(), [""; 0]);
}

/// Returns the one note about all parts that are only shown in part.
fn note(outcome: &Outcome) -> String {
    Excerpt::note(&outcome.excerpts).unwrap()
}

#[test]
fn output_past_the_limit_is_in_one_file_as_a_whole() {
    let (_home, workspace) = workspace(&few());
    let host = Host::default();
    let overflow =
        Overflow::new(&host, &few(), OutputUse::Kept, Some(Arc::clone(&workspace)), None);
    // The fifth byte is in the middle of a letter.
    overflow.output(OutputStream::Stdout, "gr");
    overflow.output(OutputStream::Stdout, "ößer");
    overflow.output(OutputStream::Stdout, " noch");
    let outcome = overflow.finish(printed(9, 0));
    assert_eq!(
        note(&outcome),
        "stdout is shown in part; all 13 bytes of it are in /workspace/stdout-1.txt"
    );
    assert_eq!(outcome.excerpts[0].tail, "größer noch");
    assert_eq!(text_of(&workspace, "stdout-1.txt"), "größer noch");
}

#[test]
fn the_end_of_a_long_stream_is_at_hand() {
    let host = Host::default();
    let overflow = Overflow::new(&host, &few(), OutputUse::Kept, None, None);
    for _ in 0..5 {
        overflow.output(OutputStream::Stdout, &"x".repeat(TAIL_BYTES));
    }
    overflow.output(OutputStream::Stdout, &format!("é{}", "y".repeat(TAIL_BYTES - 1)));
    let outcome = overflow.finish(printed(9, 0));
    assert_eq!(outcome.excerpts[0].tail, "y".repeat(TAIL_BYTES - 1));
    assert_eq!(outcome.excerpts[0].bytes, 6 * TAIL_BYTES as u64 + 1);
}

#[test]
fn each_stream_has_a_limit_and_a_file_of_its_own_and_all_have_one_note() {
    let (_home, workspace) = workspace(&few());
    let host = Host::default();
    let overflow =
        Overflow::new(&host, &few(), OutputUse::Kept, Some(Arc::clone(&workspace)), None);
    overflow.output(OutputStream::Stdout, "abcdef");
    overflow.output(OutputStream::Stderr, "12345");
    overflow.output(OutputStream::Stdout, "g");
    overflow.output(OutputStream::Stderr, "6");
    assert_eq!(
        note(&overflow.finish(printed(2, 1))),
        "stdout is shown in part; all 7 bytes of it are in /workspace/stdout-1.txt; stderr is \
         shown in part; all 6 bytes of it are in /workspace/stderr-1.txt"
    );
    assert_eq!(text_of(&workspace, "stdout-1.txt"), "abcdefg");
    assert_eq!(text_of(&workspace, "stderr-1.txt"), "123456");
}

#[test]
fn what_the_caller_has_seen_already_is_neither_kept_nor_noted() {
    let (_home, workspace) = workspace(&few());
    let host = Host::default();
    let overflow =
        Overflow::new(&host, &few(), OutputUse::Streamed, Some(Arc::clone(&workspace)), None);
    overflow.output(OutputStream::Stdout, "abcdefgh");
    assert!(overflow.finish(printed(3, 0)).excerpts.is_empty());
    assert_eq!(workspace.names().unwrap(), [""; 0]);
    assert_eq!(*host.printed.lock().unwrap(), "stdout<abcdefgh>");
}

#[test]
fn without_a_workspace_it_is_said_how_much_is_lost() {
    let host = Host::default();
    let overflow = Overflow::new(&host, &few(), OutputUse::Kept, None, None);
    overflow.output(OutputStream::Stderr, "abcdefgh");
    let expected = "stderr is shown in part; its 8 bytes are not kept here; give less, or in parts";
    assert_eq!(note(&overflow.finish(printed(0, 3))), expected);
}

#[test]
fn a_workspace_that_becomes_full_is_told_with_what_is_there() {
    let (_home, workspace) = workspace(&Limits { workspace_bytes: 9, ..few() });
    let host = Host::default();
    let overflow =
        Overflow::new(&host, &few(), OutputUse::Kept, Some(Arc::clone(&workspace)), None);
    overflow.output(OutputStream::Stdout, "abcde123");
    overflow.output(OutputStream::Stdout, "456");
    // There would be room for this, but what came before it is missing.
    overflow.output(OutputStream::Stdout, "7");
    let note = note(&overflow.finish(printed(7, 0)));
    let expected = "stdout is shown in part; of its 12 bytes the first are in \
                    /workspace/stdout-1.txt, the others are lost: the workspace is full";
    assert!(note.starts_with(expected), "{note}");
    assert_eq!(text_of(&workspace, "stdout-1.txt"), "abcde123");
}

#[test]
fn a_workspace_that_takes_no_file_is_told() {
    for limits in [Limits { workspace_files: 0, ..few() }, Limits { workspace_bytes: 4, ..few() }] {
        let (_home, workspace) = workspace(&limits);
        let host = Host::default();
        let kept = Some(Arc::clone(&workspace));
        let overflow = Overflow::new(&host, &few(), OutputUse::Kept, kept, None);
        overflow.output(OutputStream::Stdout, "abcdefgh");
        let note = note(&overflow.finish(printed(3, 0)));
        let expected = "stdout is shown in part; its 8 bytes could not be kept in the workspace: \
                        the workspace is full";
        assert!(note.starts_with(expected), "{note}");
        assert_eq!(workspace.names().unwrap(), [""; 0]);
    }
}

#[test]
fn a_large_result_is_a_file_and_the_run_a_success() {
    let (_home, workspace) = workspace(&Limits::default());
    let host = Host::default();
    let overflow = Overflow::new(
        &host,
        &Limits::default(),
        OutputUse::Streamed,
        Some(Arc::clone(&workspace)),
        None,
    );
    // With its quotation marks, the cuts go through letters of two bytes.
    let result = Value::String("ö".repeat(2_000));
    let outcome = overflow.finish(returned(result.clone()));
    assert!(outcome.is_success());
    let letters = "ö".repeat(499);
    let shown = format!("\"{letters}\n[... 2004 bytes are not shown ...]\n{letters}\"");
    assert_eq!(outcome.result, shown);
    assert_eq!(
        note(&outcome),
        "result is shown in part; all 4002 bytes of it are in /workspace/result-1.json"
    );
    let kept: Value = serde_json::from_str(&text_of(&workspace, "result-1.json")).unwrap();
    assert_eq!(kept, result);
}

#[test]
fn the_preview_of_a_result_has_no_half_of_a_value() {
    let (_home, workspace) = workspace(&Limits::default());
    let host = Host::default();
    let safety = Safety::new(SafetySettings::default(), Arc::new(|| Ok([7; 32]))).unwrap();
    let pii_filter = Some(PiiFilter::new(safety, &Principal::new("ada", "home")));
    let limits = Limits::default();
    let overflow =
        Overflow::new(&host, &limits, OutputUse::Kept, Some(Arc::clone(&workspace)), pii_filter);
    // The cuts go through the addresses.
    let (x, y) = ("x".repeat(990), "y".repeat(5_000));
    let text = format!("{x} ada@example.com {y} bob@example.com {x}");
    let json = format!("\"{text}\"");
    assert!(json[..PREVIEW_BYTES].ends_with("ada@exam"));
    assert!(json[json.len() - PREVIEW_BYTES..].starts_with("mple.com "));
    let outcome = overflow.finish(returned(Value::String(text.clone())));
    let shown = outcome.result.as_str().unwrap();
    assert_eq!(shown.matches("[EMAIL_").count(), 2, "{shown}");
    assert!(["ada", "exam", "ple.com"].iter().all(|half| !shown.contains(half)), "{shown}");
    // The program's own file has what the program returned.
    assert_eq!(text_of(&workspace, "result-1.json"), format!("\"{text}\""));
}

#[test]
fn a_result_that_cannot_be_kept_stays_a_failure_and_is_not_shown() {
    let host = Host::default();
    let finish = |workspace, result| {
        let limits = Limits::default();
        let overflow = Overflow::new(&host, &limits, OutputUse::Kept, workspace, None);
        let outcome = overflow.finish(returned(result));
        assert!(!outcome.is_success() && outcome.result.is_null());
        outcome.notes
    };
    assert_eq!(finish(None, Value::from("large")), [""; 0]);
    let (_home, full) = workspace(&Limits { workspace_files: 0, ..Limits::default() });
    let [note] = finish(Some(full), Value::from("large")).try_into().unwrap();
    assert!(note.starts_with("result: it could not be kept in the workspace: "), "{note}");
    // The sandbox did not hand it over.
    let (_home, roomy) = workspace(&Limits::default());
    let notes = finish(Some(Arc::clone(&roomy)), Value::Null);
    assert_eq!(notes, ["result: it is too large even for a file; write it in parts"]);
    assert_eq!(roomy.names().unwrap(), [""; 0]);
}

#[test]
fn other_limits_are_left_as_they_are() {
    let (_home, workspace) = workspace(&Limits::default());
    let host = Host::default();
    let limits = Limits::default();
    let overflow = Overflow::new(&host, &limits, OutputUse::Kept, Some(workspace), None);
    let hit = LimitHit::of(LimitKind::WallTime, &limits);
    let late = Outcome { ending: Ending::Limit(hit, Failure::default()), ..printed(0, 0) };
    assert_eq!(overflow.finish(late.clone()), late);
}

#[test]
fn a_new_file_comes_after_the_last_of_its_kind() {
    let (home, workspace) = workspace(&Limits::default());
    let create = |stem, extension| create(&workspace, stem, extension).unwrap().0;
    assert_eq!(create("result", "json"), "result-1.json");
    for name in ["result-7.json", "result-9.txt", "result-x.json", "results-20.json"] {
        std::fs::write(home.path().join(name), "").unwrap();
    }
    assert_eq!(create("result", "json"), "result-8.json");
    // A name that was used once is not used again while a later one is there.
    std::fs::remove_file(home.path().join("result-7.json")).unwrap();
    assert_eq!(create("result", "json"), "result-9.json");
    assert_eq!(create("result", "txt"), "result-10.txt");
}

#[tokio::test]
async fn everything_else_goes_to_the_programs_own_host() {
    let host = Host::default();
    let overflow = Overflow::new(&host, &few(), OutputUse::Kept, None, None);
    let nothing = || RawValue::from_string("{}".to_owned()).unwrap();
    let call =
        ToolCall { number: 1, tool: "go".to_owned(), arguments: nothing(), data: Vec::new() };
    assert_eq!(overflow.call(call).await.unwrap_err().message, "called go");
    let query = Query { name: "who".to_owned(), arguments: nothing() };
    assert_eq!(overflow.query(query).await.unwrap_err().message, "asked who");
    assert_eq!(overflow.module("m".to_owned()).await.unwrap().source, "m");
    overflow.output(OutputStream::Stderr, "text");
    assert_eq!(*host.printed.lock().unwrap(), "stderr<text>");
}
