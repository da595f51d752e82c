//! `narrows run`, as a user of the command line meets it.

use std::{
    io::{BufRead, BufReader, Read, Write},
    path::Path,
    process::{Child, Command, Output, Stdio},
    time::{Duration, Instant},
};

use serde_json::{Value, json};

use crate::support::PATIENCE;

/// Where programs keep what they write, if a test does not say otherwise.
const DATA: &str = concat!(env!("CARGO_TARGET_TMPDIR"), "/run_command");

fn narrows() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_narrows"));
    command.env("NARROWS_DATA_DIR", DATA);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

/// A process that does not outlive its test.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl Running {
    fn interrupt(&self) {
        let pid = self.0.id().to_string();
        assert!(Command::new("kill").args(["-INT", &pid]).status().unwrap().success());
    }

    /// Its exit code and what it still writes to stderr.
    fn finish(&mut self) -> (Option<i32>, String) {
        let mut text = String::new();
        if let Some(mut stderr) = self.0.stderr.take() {
            stderr.read_to_string(&mut text).unwrap();
        }
        (self.0.wait().unwrap().code(), text)
    }
}

fn run(arguments: &[&str]) -> Output {
    narrows().arg("run").args(arguments).output().unwrap()
}

/// Runs a program whose level gives it no workspace.
fn run_without_workspace(arguments: &[&str]) -> Output {
    let directory = tempfile::tempdir().unwrap();
    let config = directory.path().join("narrows.toml");
    let level = "[isolation]\nlevel = \"bare\"\n[isolation.levels.bare]\nworkspace = \"none\"\n";
    std::fs::write(&config, level).unwrap();
    narrows().arg("--config").arg(config).arg("run").args(arguments).output().unwrap()
}

fn run_with_input(arguments: &[&str], input: &[u8]) -> Output {
    let mut command = narrows();
    let mut child = command.arg("run").args(arguments).stdin(Stdio::piped()).spawn().unwrap();
    // It may end without reading all of it.
    let _ = child.stdin.take().unwrap().write_all(input);
    child.wait_with_output().unwrap()
}

fn text(bytes: &[u8]) -> &str {
    std::str::from_utf8(bytes).unwrap()
}

/// Exit code, stdout and stderr.
#[track_caller]
fn is(output: &Output, code: i32, stdout: &str, stderr: &str) {
    let actual = (output.status.code(), text(&output.stdout), text(&output.stderr));
    assert_eq!(actual, (Some(code), stdout, stderr));
}

/// The command must have been used wrongly, in one line that contains this.
#[track_caller]
fn is_wrong_use(output: &Output, reason: &str) {
    assert_eq!(output.status.code(), Some(2), "{output:?}");
    assert_eq!(text(&output.stdout), "");
    let stderr = text(&output.stderr);
    let first = stderr.lines().next().unwrap_or_default();
    assert!(first.starts_with("error: ") && first.contains(reason), "{stderr}");
}

#[track_caller]
fn document(output: &Output) -> Value {
    serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{error}: {output:?}"))
}

fn names_in(directory: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(directory).unwrap();
    let mut names: Vec<_> =
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

// Who runs it.

#[test]
fn an_agent_that_is_not_there_is_wrong_use() {
    is_wrong_use(&run(&["--agent", "nobody", "-c", "1"]), "there is no agent \"nobody\"");
}

// Where the program comes from.

#[test]
fn a_program_comes_from_an_argument() {
    is(&run(&["-c", "print('hi')\n1 + 1"]), 0, "hi\n2\n", "");
    is(&run(&["--code", "print('hi')"]), 0, "hi\n", "");
    is(&run(&["-c", "-1"]), 0, "-1\n", "");
    is(&run(&["-c", ""]), 0, "", "");
}

#[test]
fn a_program_comes_from_a_file() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("größe x.py");
    std::fs::write(&file, "print(__file__, __name__)\n1 / 0\n").unwrap();
    let output = run(&[file.to_str().unwrap()]);
    let expected = "Traceback (most recent call last):\n  File \"größe x.py\", line 2, in <module>\n    \
                    1 / 0\n    ~~^~~\nZeroDivisionError: division by zero\n";
    is(&output, 1, "größe x.py __main__\n", expected);
}

#[test]
fn a_program_comes_from_standard_input() {
    for arguments in [&[][..], &["-"]] {
        is(&run_with_input(arguments, b"print('hi')\n6 * 7"), 0, "hi\n42\n", "");
    }
    let output = run_with_input(&[], b"x = 1\nx / 0");
    assert_eq!(output.status.code(), Some(1));
    assert!(
        text(&output.stderr)
            .contains("File \"<stdin>\", line 2, in <module>\n    x / 0\n    ~~^~~\n")
    );
}

#[test]
fn a_traceback_of_an_argument_shows_its_lines() {
    let output = run(&["-c", "def f():\n    return {}['k']\nf()"]);
    let expected = "Traceback (most recent call last):\n  File \"<code>\", line 3, in <module>\n    \
                    f()\n    ~^^\n  File \"<code>\", line 2, in f\n    return {}['k']\n           \
                    ~~^^^^^\nKeyError: 'k'\n";
    is(&output, 1, "", expected);
}

#[test]
fn code_that_an_argument_executes_is_not_mistaken_for_it() {
    // What `exec` runs is called `<string>`, the argument is not.
    let output = run(&["-c", "x = 1\nexec('1 / 0')", "--json"]);
    let error = &document(&output)["error"];
    let traceback = error["traceback"].as_str().unwrap();
    assert!(!traceback.contains("    x = 1\n"), "{traceback}");
    assert_eq!(error["line"], 2);
}

#[test]
fn a_file_that_is_not_there_is_wrong_use() {
    is_wrong_use(&run(&["/nope/program.py"]), "cannot read /nope/program.py: No such file");
    is_wrong_use(&run(&["/"]), "cannot read /: Is a directory");
}

#[test]
fn a_file_that_is_no_text_is_wrong_use() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("program.py");
    std::fs::write(&file, b"\x7fELF\xff\xfe\x00").unwrap();
    is_wrong_use(&run(&[file.to_str().unwrap()]), "UTF-8");
    is_wrong_use(&run_with_input(&[], b"\xff\xfe"), "UTF-8");
}

#[test]
fn a_file_with_a_byte_order_mark_is_fine() {
    is(&run_with_input(&[], b"\xef\xbb\xbfprint('hi')"), 0, "hi\n", "");
}

#[test]
fn a_huge_program_is_wrong_use() {
    let input = "x = 1\n".repeat(2_000_000);
    is_wrong_use(&run_with_input(&[], input.as_bytes()), "a program may have 8 MB at most");
}

#[test]
fn two_programs_are_wrong_use() {
    is_wrong_use(&run(&["file.py", "-c", "1"]), "cannot be used with");
}

// Context.

#[test]
fn context_becomes_variables() {
    let context = r#"{"user_id": 7, "names": ["ü", null], "größe": 1.5}"#;
    let output = run(&["-c", "print(user_id, names, größe)", "--context", context]);
    is(&output, 0, "7 ['ü', None] 1.5\n", "");
    is(&run(&["-c", "1", "--context", "{}"]), 0, "1\n", "");
}

#[test]
fn context_that_is_not_an_object_of_variables_is_wrong_use() {
    for (context, reason) in [
        ("{bad", "it is not JSON"),
        ("", "it is not JSON"),
        ("[1]", "it must be a JSON object such as {\"user_id\": 7}, not [1]"),
        ("7", "it must be a JSON object"),
        (r#"{"1a": 2}"#, "\"1a\" cannot be the name of a Python variable"),
        (r#"{"a-b": 2}"#, "\"a-b\" cannot be the name of a Python variable"),
        (r#"{"": 2}"#, "\"\" cannot be the name of a Python variable"),
    ] {
        is_wrong_use(&run(&["-c", "1", "--context", context]), reason);
    }
}

#[test]
fn a_keyword_is_no_name_of_a_variable() {
    let output = run(&["-c", "1", "--context", r#"{"class": 2}"#]);
    is_wrong_use(&output, "\"class\" cannot be the name of a Python variable");
}

// Limits.

#[test]
fn a_timeout_that_is_not_possible_is_wrong_use() {
    for (timeout, reason) in [
        ("0.5", "a timeout of 0.5 s is not possible; ask for 1 to 120 s"),
        ("0", "a timeout of 0 s is not possible"),
        ("121", "a timeout of 121 s is not possible"),
        ("x", "it must be a number of seconds"),
        ("nan", "it must be a number of seconds"),
        ("1e300", "it must be a number of seconds"),
    ] {
        is_wrong_use(&run(&["-c", "1", "--timeout", timeout]), reason);
    }
    is_wrong_use(&run(&["-c", "1", "--timeout=-1"]), "it must be a number of seconds");
}

#[test]
fn an_endless_loop_meets_the_timeout() {
    let started = Instant::now();
    let output = run(&["-c", "print('before')\nwhile True: pass", "--timeout", "3"]);
    assert_eq!(output.status.code(), Some(3));
    assert_eq!(text(&output.stdout), "before\n");
    let stderr = text(&output.stderr);
    assert!(stderr.starts_with("note: review: line 2: nothing ends this while loop"), "{stderr}");
    assert!(stderr.contains("\nerror: the program was stopped at the "), "{stderr}");
    assert!(stderr.contains("time limit of 3 s; "), "{stderr}");
    assert!(started.elapsed() >= Duration::from_secs(3), "{:?}", started.elapsed());
}

#[test]
fn a_memory_limit_that_is_not_possible_is_wrong_use() {
    for (memory, reason) in [
        ("10", "a memory limit of 10 MB is not possible; ask for 64 to 4096 MB"),
        ("0", "a memory limit of 0 MB is not possible"),
        ("99999", "a memory limit of 99999 MB is not possible"),
        ("x", "invalid value 'x'"),
    ] {
        is_wrong_use(&run(&["-c", "1", "--memory", memory]), reason);
    }
    let output = run(&["-c", "1", "--memory", "18446744073709551615"]);
    is_wrong_use(&output, "is not possible; ask for 64 to 4096 MB");
}

#[test]
fn a_program_that_needs_too_much_memory_is_ended() {
    let output = run(&["-c", "print('before')\nx = bytearray(10 ** 9)", "--memory", "100"]);
    assert_eq!(output.status.code(), Some(3));
    assert_eq!(text(&output.stdout), "before\n");
    let expected = "Traceback (most recent call last):\n  File \"<code>\", line 2, in <module>\n    \
                    x = bytearray(10 ** 9)\nMemoryError\nerror: the program reached the memory \
                    limit of 100 MB; work on the data in parts, or ask for more memory\n";
    let told = text(&output.stderr);
    assert!(told.starts_with("note: review: line 2: this takes about"), "{told}");
    assert!(told.ends_with(expected), "{told}");
    is(&run(&["-c", "len(bytearray(10 ** 9))", "--memory", "2000"]), 0, "1000000000\n", "");
    is(&run(&["-c", "1", "--memory", "64"]), 0, "1\n", "");
}

// Workspace.

#[test]
fn a_workspace_is_made_and_kept() {
    let directory = tempfile::tempdir().unwrap();
    let workspace = directory.path().join("new");
    let arguments = |code| ["-c", code, "--workspace", workspace.to_str().unwrap()];
    is(&run(&arguments("open('a.txt', 'w').write('text')")), 0, "4\n", "");
    assert_eq!(std::fs::read_to_string(workspace.join("a.txt")).unwrap(), "text");
    is(&run(&arguments("open('/workspace/a.txt').read()")), 0, "text\n", "");
    assert_eq!(names_in(&workspace), ["a.txt"]);
}

#[test]
fn a_workspace_that_is_not_possible_is_wrong_use() {
    let directory = tempfile::tempdir().unwrap();
    let parent = directory.path().join("missing/new");
    let output = run(&["-c", "1", "--workspace", parent.to_str().unwrap()]);
    is_wrong_use(&output, "as a workspace: No such file or directory");
    assert!(!directory.path().join("missing").exists());
    let file = directory.path().join("file");
    std::fs::write(&file, "x").unwrap();
    let output = run(&["-c", "1", "--workspace", file.to_str().unwrap()]);
    is_wrong_use(&output, "as a workspace: Not a directory");
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "x");
}

#[test]
fn the_working_directory_stays_clean() {
    let directory = tempfile::tempdir().unwrap();
    let code = "
open('/tmp/x', 'w').write('x')
import tempfile, sqlite3
sqlite3.connect('/tmp/x.db').execute('create table t(a)')
open('x', 'w').write('x')
print(open('/workspace/x').read())
";
    let output = narrows().args(["run", "-c", code]).current_dir(&directory).output().unwrap();
    is(&output, 0, "x\n", "");
    assert_eq!(names_in(directory.path()), Vec::<String>::new());
}

// What is shown.

#[test]
fn a_result_is_shown_after_the_output() {
    is(
        &run(&["-c", "print('out')\n{'a': [1, 2]}"]),
        0,
        "out\n{\n  \"a\": [\n    1,\n    2\n  ]\n}\n",
        "",
    );
    is(&run(&["-c", "'text'"]), 0, "text\n", "");
    is(&run(&["-c", "None"]), 0, "", "");
    is(&run(&["-c", "import sys\nprint('err', file=sys.stderr)\n1"]), 0, "1\n", "err\n");
}

#[test]
fn a_result_is_on_a_line_of_its_own() {
    is(&run(&["-c", "print('no newline', end='')\n5"]), 0, "no newline\n5\n", "");
}

#[test]
fn notes_are_shown_on_stderr() {
    let output = run(&["-c", "import datetime\ndatetime.date(2024, 1, 2)"]);
    is(&output, 0, "2024-01-02\n", "note: result: a date became text\n");
}

#[test]
fn a_program_that_leaves_is_not_shown_as_a_failure_of_its_code() {
    is(&run(&["-c", "import sys; sys.exit(0)"]), 0, "", "");
    let output = run(&["-c", "import sys; print('out'); sys.exit('went wrong')"]);
    assert_eq!(output.status.code(), Some(1));
    assert_eq!(text(&output.stdout), "out\n");
    let stderr = text(&output.stderr);
    assert!(stderr.starts_with("went wrong\n"), "{stderr}");
    assert!(!stderr.contains("Traceback"), "{stderr}");
}

#[test]
fn a_long_text_is_shown_to_its_end() {
    let output = run(&["-c", "print('x' * 200_000)"]);
    assert_eq!(output.status.code(), Some(0));
    assert_eq!(output.stdout.len(), 200_001);
}

const FIELDS: [&str; 10] = [
    "success",
    "result",
    "stdout",
    "stderr",
    "error",
    "execution_time_ms",
    "cpu_time_ms",
    "peak_memory_bytes",
    "tool_calls",
    "notes",
];

#[test]
fn every_ending_is_one_document() {
    let endless = ["while True: pass", "import time; time.sleep(600)"];
    for (code, exit, kind) in [
        ("1", 0, None),
        ("raise ValueError('x')", 1, Some("ValueError")),
        ("class E(BaseException): pass\nraise E", 1, Some("E")),
        ("import sys; sys.exit(4)", 1, Some("SystemExit")),
        ("import os; os._exit(4)", 1, Some("SystemExit")),
        ("import os; os.abort()", 1, Some("Aborted")),
        (endless[0], 3, Some("LimitExceeded")),
        (endless[1], 3, Some("LimitExceeded")),
        ("x = bytearray(10 ** 9)", 3, Some("MemoryError")),
        ("'x' * 30_000_000", 3, Some("LimitExceeded")),
        ("while True: print('x' * 10_000)", 3, Some("LimitExceeded")),
        ("import sys\nsys.setrecursionlimit(10 ** 9)\ndef f(): f()\nf()", 3, Some("LimitExceeded")),
        ("import asyncio\nawait asyncio.Queue().get()", 1, Some("Deadlock")),
    ] {
        // The others end by themselves, however busy the machine is.
        let timeout = if endless.contains(&code) { "3" } else { "120" };
        let code = format!("import sys\nprint('ü')\nprint('err', file=sys.stderr)\n{code}");
        let output = run(&["--json", "--timeout", timeout, "-c", &code]);
        assert_eq!(output.status.code(), Some(exit), "{code}");
        let document = document(&output);
        let names: Vec<_> = document.as_object().unwrap().keys().collect();
        assert_eq!(names, FIELDS, "{code}");
        assert_eq!(document["success"], exit == 0, "{code}");
        assert_eq!(document["error"]["type"], kind.map_or(Value::Null, Value::from), "{code}");
        assert!(document["stdout"].as_str().unwrap().starts_with("ü\n"), "{code}");
        assert!(document["stderr"].as_str().unwrap().starts_with("err\n"), "{code}");
        assert!(document["execution_time_ms"].as_f64().unwrap() > 0.0, "{code}");
        assert!(document["cpu_time_ms"].as_f64().unwrap() > 0.0, "{code}");
        assert!(document["peak_memory_bytes"].as_u64().unwrap() > 0, "{code}");
        assert_eq!(document["tool_calls"], 0, "{code}");
        assert!(document["notes"].is_array(), "{code}");
        assert_eq!(document["error"]["limit"].is_object(), exit == 3, "{code}");
        assert_eq!(text(&output.stderr), "", "{code}");
    }
}

#[test]
fn a_program_that_cannot_be_compiled_is_a_document_too() {
    let output = run(&["--json", "-c", "print('not reached')\nx = = 1"]);
    assert_eq!(output.status.code(), Some(1));
    let document = document(&output);
    let names: Vec<_> = document.as_object().unwrap().keys().collect();
    assert_eq!(names, FIELDS);
    assert_eq!(document["stdout"], "");
    assert_eq!(document["error"]["type"], "SyntaxError");
    assert_eq!(document["error"]["line"], 2);
}

#[test]
fn an_error_in_a_document_has_its_place() {
    let output = run(&["--json", "-c", "x = 1\n\nraise ValueError('ü')"]);
    let error = &document(&output)["error"];
    assert_eq!(error["type"], "ValueError");
    assert_eq!(error["message"], "ü");
    assert_eq!(error["line"], 3);
    let expected = "Traceback (most recent call last):\n  File \"<code>\", line 3, in <module>\n    \
                    raise ValueError('ü')\nValueError: ü\n";
    assert_eq!(error["traceback"], expected);
}

#[test]
fn wrong_use_is_no_document() {
    let output = run(&["--json", "-c", "1", "--timeout", "0.5"]);
    is_wrong_use(&output, "a timeout of 0.5 s is not possible");
}

// Large output and results.

const LONG_OUTPUT: &str = "for n in range(30_000): print('x' * 99)";

#[test]
fn long_output_is_cut_with_a_note() {
    let output = run_without_workspace(&["--json", "-c", LONG_OUTPUT]);
    assert_eq!(output.status.code(), Some(0));
    let document = document(&output);
    assert_eq!(document["stdout"].as_str().unwrap().len(), 1 << 20);
    let expected =
        "stdout is shown in part; its 3000000 bytes are not kept here; give less, or in parts";
    assert_eq!(document["notes"], json!([expected]));
}

#[test]
fn long_output_goes_on_in_the_workspace() {
    let directory = tempfile::tempdir().unwrap();
    let workspace = directory.path().to_str().unwrap();
    for number in 1..=2 {
        let output = run(&["--json", "--workspace", workspace, "-c", LONG_OUTPUT]);
        assert_eq!(output.status.code(), Some(0));
        let document = document(&output);
        let name = format!("stdout-{number}.txt");
        let whole = std::fs::read_to_string(directory.path().join(&name)).unwrap();
        assert_eq!(whole, format!("{}\n", "x".repeat(99)).repeat(30_000));
        assert!(whole.starts_with(document["stdout"].as_str().unwrap()));
        let notes: Vec<_> = document["notes"].as_array().unwrap().iter().collect();
        let expected =
            format!("stdout is shown in part; all 3000000 bytes of it are in /workspace/{name}");
        assert_eq!(notes.last().unwrap().as_str().unwrap(), expected);
        assert_eq!(notes.len(), 1, "{notes:?}");
    }
    assert_eq!(names_in(directory.path()), ["stdout-1.txt", "stdout-2.txt"]);
}

#[test]
fn long_output_is_shown_to_its_end_without_a_document() {
    let output = run(&["-c", LONG_OUTPUT]);
    assert_eq!(output.status.code(), Some(0));
    assert_eq!(output.stdout.len(), 3_000_000);
    assert_eq!(text(&output.stderr), "");
}

#[test]
fn a_large_result_is_over_the_limit() {
    let output = run_without_workspace(&["--json", "-c", "'y' * 3_000_000"]);
    assert_eq!(output.status.code(), Some(3));
    let document = document(&output);
    assert_eq!(document["result"], Value::Null);
    let message = document["error"]["message"].as_str().unwrap();
    let expected = "the result has 3000002 bytes as JSON, over the result limit of 1 MB; ";
    assert!(message.starts_with(expected), "{message}");
    assert_eq!(document["error"]["limit"], json!({"name": "result", "value": 1_048_576.0}));
}

#[test]
fn a_large_result_goes_into_the_workspace() {
    let directory = tempfile::tempdir().unwrap();
    let workspace = directory.path().to_str().unwrap();
    let code = "[{'n': n, 'text': 'ü' * 100} for n in range(10_000)]";
    let output = run(&["--json", "--workspace", workspace, "-c", code]);
    assert_eq!(output.status.code(), Some(0));
    let document = document(&output);
    assert_eq!(document["success"], true);
    assert_eq!(names_in(directory.path()), ["result-1.json"]);
    let kept = std::fs::read(directory.path().join("result-1.json")).unwrap();
    let rows: Vec<Value> = serde_json::from_slice(&kept).unwrap();
    assert_eq!(rows.len(), 10_000);
    assert_eq!(rows[9_999]["text"], "ü".repeat(100));
    let preview = document["result"].as_str().unwrap();
    let (head, tail) = preview.split_once("\n[... ").unwrap();
    let (_, tail) = tail.split_once("...]\n").unwrap();
    assert!(head.len() <= 1_000 && text(&kept).starts_with(head));
    assert!(tail.len() <= 1_000 && text(&kept).ends_with(tail));
    let expected = format!(
        "result is shown in part; all {} bytes of it are in /workspace/result-1.json",
        kept.len(),
    );
    assert_eq!(document["notes"], json!([expected]));
}

#[test]
fn a_result_that_is_too_large_even_for_the_workspace_says_so() {
    let directory = tempfile::tempdir().unwrap();
    let workspace = directory.path().to_str().unwrap();
    let output = run(&["--json", "--workspace", workspace, "-c", "'y' * 30_000_000"]);
    assert_eq!(output.status.code(), Some(3));
    let document = document(&output);
    let message = document["error"]["message"].as_str().unwrap();
    assert!(message.starts_with("the result has 30000002 bytes as JSON"), "{message}");
    assert!(message.contains("16 MB"), "{message}");
}

// While it runs.

#[test]
fn output_is_shown_while_the_program_runs() {
    let code = "print('first', flush=True)\nwhile True: pass";
    let child = narrows().args(["run", "-c", code, "--timeout", "120"]).spawn().unwrap();
    let mut child = Running(child);
    let mut stdout = BufReader::new(child.0.stdout.take().unwrap());
    let mut line = String::new();
    stdout.read_line(&mut line).unwrap();
    assert_eq!(line, "first\n");
    assert!(child.0.try_wait().unwrap().is_none(), "it still runs");
}

#[test]
fn an_interrupt_ends_it_and_keeps_the_output() {
    for waiting in [
        "while True: pass",
        "import time; time.sleep(600)",
        "import asyncio; await asyncio.sleep(600)",
    ] {
        let code = format!("print('first')\n{waiting}");
        let child = narrows().args(["run", "--timeout", "120", "-c", &code]).spawn().unwrap();
        let mut child = Running(child);
        let mut stdout = BufReader::new(child.0.stdout.take().unwrap());
        let mut line = String::new();
        stdout.read_line(&mut line).unwrap();
        assert_eq!(line, "first\n");
        child.interrupt();
        let (code, stderr) = child.finish();
        // At the end of its time it would end with another code.
        assert_eq!(code, Some(130), "{waiting}");
        assert!(stderr.ends_with("error: the run was cancelled\n"), "{waiting}: {stderr}");
    }
}

#[test]
fn an_interrupt_gives_a_document_too() {
    let directory = tempfile::tempdir().unwrap();
    let workspace = directory.path().to_str().unwrap();
    // Nothing is shown before the end, so a file tells that the program has started.
    let code = "print('first')\nopen('started', 'w').close()\nwhile True: pass";
    let mut command = narrows();
    command.args(["run", "--json", "--timeout", "120", "--workspace", workspace, "-c", code]);
    let mut child = Running(command.spawn().unwrap());
    let deadline = Instant::now() + PATIENCE;
    while !directory.path().join("started").exists() {
        assert!(Instant::now() < deadline, "it does not start");
        std::thread::yield_now();
    }
    child.interrupt();
    let mut stdout = String::new();
    child.0.stdout.take().unwrap().read_to_string(&mut stdout).unwrap();
    let (code, stderr) = child.finish();
    assert_eq!((code, &*stderr), (Some(130), ""));
    let document: Value = serde_json::from_str(&stdout).unwrap();
    assert_eq!(document["stdout"], "first\n");
    assert_eq!(document["error"]["type"], "Cancelled");
    assert_eq!(document["error"]["message"], "the run was cancelled");
}

#[test]
fn a_reader_that_goes_away_is_no_reason_to_panic() {
    let code = "for n in range(20_000): print('x' * 99)";
    for arguments in [&["run", "-c", code][..], &["run", "--json", "-c", code]] {
        let mut child = Running(narrows().args(arguments).spawn().unwrap());
        let mut stdout = child.0.stdout.take().unwrap();
        let mut some = [0; 10];
        stdout.read_exact(&mut some).unwrap();
        drop(stdout);
        assert_eq!(child.finish(), (Some(141), String::new()));
    }
    // Nobody reads either of them.
    let mut child = narrows();
    let child = child.args(["run", "-c", "import sys\nprint(1)\nprint(2, file=sys.stderr)\n1 / 0"]);
    let mut child = Running(child.spawn().unwrap());
    drop((child.0.stdout.take(), child.0.stderr.take()));
    assert_eq!(child.0.wait().unwrap().code(), Some(141));
}

#[test]
fn programs_do_not_read_the_standard_input_of_the_command() {
    let output = run_with_input(&["-c", "import sys\nprint(repr(sys.stdin.read()))"], b"secret");
    is(&output, 0, "''\n", "");
}

#[test]
fn the_environment_of_the_command_is_not_the_programs() {
    let mut command = narrows();
    command.env("NARROWS_SECRET", "secret");
    let output = command.args(["run", "-c", "import os\nprint('NARROWS_SECRET' in os.environ)"]);
    is(&output.output().unwrap(), 0, "False\n", "");
}

// Help.

#[test]
fn the_command_alone_explains_itself() {
    let output = narrows().output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert_eq!(text(&output.stdout), "");
    let stderr = text(&output.stderr);
    assert!(stderr.contains("Usage: narrows [OPTIONS] <COMMAND>"), "{stderr}");
    assert!(stderr.contains("run "), "{stderr}");
}

#[test]
fn help_explains_the_options_and_the_exit_codes() {
    let output = narrows().arg("--help").output().unwrap();
    assert_eq!((output.status.code(), text(&output.stderr)), (Some(0), ""));
    assert!(text(&output.stdout).contains("Usage: narrows [OPTIONS] <COMMAND>"));
    let output = run(&["--help"]);
    assert_eq!((output.status.code(), text(&output.stderr)), (Some(0), ""));
    let help = text(&output.stdout);
    for part in [
        "--code",
        "--context",
        "--timeout",
        "--memory",
        "--workspace",
        "--json",
        "[FILE]",
        "Exit codes: 0 success, 1 the program failed, 2 wrong use, 3 a limit ended it, 130 interrupted, 141\n",
        "Examples:",
    ] {
        assert!(help.contains(part), "{part} in {help}");
    }
}

#[test]
fn the_version_is_told() {
    let output = narrows().arg("--version").output().unwrap();
    is(&output, 0, concat!("narrows ", env!("CARGO_PKG_VERSION"), "\n"), "");
}

#[test]
fn unknown_commands_and_options_are_wrong_use() {
    let output = narrows().arg("frobnicate").output().unwrap();
    is_wrong_use(&output, "unrecognized subcommand 'frobnicate'");
    is_wrong_use(&run(&["-c", "1", "--nope"]), "unexpected argument '--nope'");
    is_wrong_use(&run(&["-c"]), "a value is required for '--code <CODE>'");
}

#[test]
fn in_strict_mode_a_program_sees_tokens_in_its_context_too() {
    let directory = tempfile::tempdir().unwrap();
    let config = directory.path().join("narrows.toml");
    let seen = |mode: &str| {
        std::fs::write(&config, format!("[pii]\nmode = \"{mode}\"\n")).unwrap();
        let context = r#"{"customer": "ada@example.com"}"#;
        let arguments = ["run", "-c", "result = customer", "--context", context, "--json"];
        let output = narrows().arg("--config").arg(&config).args(arguments).output().unwrap();
        let outcome: Value = serde_json::from_slice(&output.stdout).unwrap();
        outcome["result"].as_str().unwrap_or_default().to_owned()
    };
    assert!(seen("strict").starts_with("[EMAIL_"));
    assert_eq!(seen("boundary"), "ada@example.com");
}

/// What is shown as it is, is not protected, but has tokens all the same if the program made some.
#[test]
fn tokens_that_a_program_makes_itself_can_be_turned_back() {
    let made = run(&["-c", "print(sanitize_pii('ada.lovelace@example.com'))"]);
    let token = String::from_utf8(made.stdout).unwrap();
    assert!(token.starts_with("[EMAIL_"), "{token}");
    let restored = narrows().args(["pii", "restore", token.trim()]).output().unwrap();
    let restored = String::from_utf8(restored.stdout).unwrap();
    assert_eq!(restored.trim(), "ada.lovelace@example.com");
}
