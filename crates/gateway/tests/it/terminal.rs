//! What a person sees: on a terminal, in a pipe, and when the reader of a pipe goes away.
#![cfg(unix)]

use std::{
    io::Read,
    process::{Command, Output, Stdio},
};

use serde_json::{Value, json};

use crate::support::{
    dead::Place,
    real::{Running, document, text},
};

/// Runs a command with a terminal of so many columns as its standard output and error, and prints
/// what came out of it.
const ON_TERMINAL: &str = r#"
import fcntl, os, pty, struct, subprocess, sys, termios
ours, theirs = pty.openpty()
fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 50, int(sys.argv[1]), 0, 0))
child = subprocess.Popen(sys.argv[2:], stdin=subprocess.DEVNULL, stdout=theirs, stderr=theirs)
os.close(theirs)
while True:
    try:
        data = os.read(ours, 1 << 16)
    except OSError:
        break
    if not data:
        break
    sys.stdout.buffer.write(data)
    sys.stdout.flush()
sys.exit(child.wait())
"#;

/// What a command shows on a terminal of so many columns.
#[track_caller]
pub(crate) fn on_terminal(
    place: &Place,
    columns: usize,
    variables: &[(&str, &str)],
    args: &[&str],
) -> String {
    let output = terminal_command(place, columns, variables, args).output().unwrap();
    // The terminal itself ends lines so.
    text(&output.stdout).replace("\r\n", "\n")
}

/// A command that runs another one on a terminal.
fn terminal_command(
    place: &Place,
    columns: usize,
    variables: &[(&str, &str)],
    args: &[&str],
) -> Command {
    let narrows = place.narrows(args);
    let mut command = Command::new("python3");
    command.args(["-c", ON_TERMINAL, &columns.to_string()]).arg(narrows.get_program());
    command.args(narrows.get_args()).stdin(Stdio::null());
    for (name, value) in narrows.get_envs() {
        match value {
            Some(value) => command.env(name, value),
            None => command.env_remove(name),
        };
    }
    for name in ["NO_COLOR", "CLICOLOR", "CLICOLOR_FORCE", "COLUMNS"] {
        command.env_remove(name);
    }
    command.env("TERM", "xterm-256color").envs(variables.iter().copied());
    command
}

/// A command whose output nobody reads.
fn unread(place: &Place, args: &[&str]) -> Output {
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    place.narrows(args).stdout(writer).output().unwrap()
}

#[track_caller]
fn done(place: &Place, args: &[&str]) -> String {
    let output = place.run(args);
    assert!(output.status.success(), "{args:?}: {}", text(&output.stderr));
    text(&output.stdout)
}

const LONG: &str = "the quick brown fox jumps over the lazy dog, and then once more";

fn place_with_messages() -> Place {
    let place = Place::new().toml("");
    done(&place, &["boards", "post", "plan", LONG]);
    done(&place, &["boards", "post", "plan", "größe 日本"]);
    place
}

#[test]
fn a_list_lines_up_on_a_terminal_and_is_made_of_fields_in_a_pipe() {
    let place = place_with_messages();
    let list = ["boards", "show", "plan"];
    let plain = on_terminal(&place, 60, &[("NO_COLOR", "1")], &list);
    let lines: Vec<&str> = plain.lines().collect();
    assert!(lines[0].starts_with("SEQ  TIME"), "{plain}");
    assert!(lines[1].contains("the quick") && !lines[1].contains("once more"), "{plain}");
    assert!(lines.len() > 3 && lines.iter().all(|line| line.chars().count() <= 60), "{plain}");
    let column =
        |line: &str| line.find("MESSAGE").or(line.find("the quick")).or(line.find("größe"));
    assert_eq!(column(lines[0]), column(lines[1]), "{plain}");
    assert_eq!(column(lines[0]), column(lines[lines.len() - 1]), "{plain}");

    let piped = done(&place, &list);
    let fields: Vec<Vec<&str>> = piped.lines().map(|line| line.split('\t').collect()).collect();
    assert_eq!((fields.len(), fields[0][0], fields[0][3]), (2, "1", LONG), "{piped}");
    assert!(fields[0][1].ends_with('Z') && !piped.contains('\x1b'), "{piped}");
}

#[test]
fn lists_of_servers_and_tools_line_up_on_a_terminal_and_are_made_of_fields_in_a_pipe() {
    let place = Place::with_good();
    place.run(&["servers", "add", "other-one", "https://h.example/mcp"]);
    done(&place, &["servers", "disable", "other-one"]);
    let shown = on_terminal(&place, 200, &[("NO_COLOR", "1")], &["servers", "list"]);
    let lines: Vec<&str> = shown.lines().collect();
    assert!(lines[0].starts_with("NAME       KIND   ADDRESS"), "{shown}");
    assert!(
        lines[1].starts_with("good       stdio  ") && lines[1].ends_with("  enabled"),
        "{shown}"
    );
    assert!(lines[2].starts_with("other-one  http   https://h.example/mcp"), "{shown}");
    let piped = done(&place, &["servers", "list"]);
    let fields: Vec<&str> = piped.lines().nth(1).unwrap().split('\t').collect();
    assert_eq!(fields, ["other-one", "http", "https://h.example/mcp", "disabled"]);

    let shown = on_terminal(&place, 80, &[("NO_COLOR", "1")], &["tools", "list"]);
    assert!(shown.contains("\ngood.echo        The tool echo\n"), "{shown}");
    let piped = done(&place, &["tools", "list"]);
    assert!(piped.contains("good.echo\tThe tool echo\n"), "{piped}");

    let search = ["tools", "search", "echo"];
    let shown = on_terminal(&place, 80, &[("NO_COLOR", "1")], &search);
    let lines: Vec<&str> = shown.lines().collect();
    assert!(lines[0].starts_with("TOOL") && lines[1].starts_with("good.echo  "), "{shown}");
    assert_eq!(lines[0].find("WHAT"), lines[1].find("The tool"), "{shown}");
    let piped = done(&place, &search);
    assert!(piped.starts_with("good.echo\tThe tool echo\n"), "{piped}");
    let names = done(&place, &["tools", "search", "echo", "--detail", "name"]);
    assert!(names.starts_with("good.echo\n"), "{names}");

    let shown = on_terminal(&place, 80, &[], &["servers", "status"]);
    for part in [
        "\x1b[36mgood:      \x1b[0m\x1b[32mready\x1b[0m, ",
        "\x1b[36mother-one: \x1b[0m\x1b[2mdisabled\x1b[0m (narrows servers enable other-one)",
    ] {
        assert!(shown.contains(part), "{shown:?}");
    }
    let piped = done(&place, &["servers", "status"]);
    assert!(
        piped.starts_with("good: ready, ") && piped.contains("\nother-one: disabled ("),
        "{piped}"
    );
}

#[test]
fn help_after_an_address_is_shown_and_nothing_is_added() {
    let place = Place::new().toml("");
    let shown = done(&place, &["servers", "add", "linear", "https://h.example/mcp", "--help"]);
    assert_eq!(shown, done(&place, &["servers", "add", "--help"]));
    assert_eq!(std::fs::read_to_string(place.file("narrows.toml")).unwrap(), "");
}

#[test]
fn colour_follows_the_flag_and_the_usual_variables() {
    let place = place_with_messages();
    let list = ["boards", "list"];
    let has_color = |shown: &str| shown.contains("\x1b[1mBOARD\x1b[0m");
    let shown =
        |variables: &[(&str, &str)], args: &[&str]| on_terminal(&place, 80, variables, args);
    assert!(has_color(&shown(&[], &list)));
    for variables in [("NO_COLOR", "1"), ("TERM", "dumb"), ("CLICOLOR", "0")] {
        let shown = shown(&[variables], &list);
        assert!(!shown.contains('\x1b') && shown.contains("BOARD"), "{variables:?}: {shown}");
    }
    assert!(!shown(&[], &["boards", "list", "--color", "never"]).contains('\x1b'));
    assert!(has_color(&done(&place, &["--color=always", "boards", "list"])));
    let forced = place.narrows(&list).env("CLICOLOR_FORCE", "1").output().unwrap();
    assert!(has_color(&text(&forced.stdout)));
    assert!(!done(&place, &list).contains('\x1b'));
    // Help and errors of the command line too.
    assert!(!shown(&[], &["boards", "--color", "never", "--help"]).contains('\x1b'));
    assert!(done(&place, &["boards", "--color", "always", "--help"]).contains('\x1b'));
    let add = ["servers", "add", "linear", "https://h.example/mcp", "--help"];
    assert!(
        shown(&[], &add).contains("\x1b[1m") && !shown(&[("NO_COLOR", "1")], &add).contains('\x1b')
    );
}

#[test]
fn a_terminal_does_not_obey_what_comes_from_outside() {
    let place = Place::new().toml("");
    let hostile = "\x1b[2Jsafe\rrm\u{9b}31m\u{202e}txt";
    let visible = r"\x1b[2Jsafe\rrm\u{9b}31m\u{202e}txt";
    done(&place, &["boards", "post", "plan", hostile]);
    let terminal = |args: &[&str]| on_terminal(&place, 200, &[("NO_COLOR", "1")], args);
    let shown = terminal(&["boards", "show", "plan"]);
    // A row is one line, so the carriage return is a space here.
    assert!(shown.contains(&visible.replace(r"\r", " ")), "{shown:?}");
    let code =
        format!("import sys\nprint({hostile:?})\nprint({hostile:?}, file=sys.stderr)\n{hostile:?}")
            .replace("\\u{9b}", "\\x9b")
            .replace("\\u{202e}", "\\u202e")
            .replace("\\u{1b}", "\\x1b");
    let shown = terminal(&["run", "-c", &code]);
    assert_eq!(shown.matches(visible).count(), 3, "{shown:?}");
    assert!(!shown.contains(['\x1b', '\u{9b}', '\u{202e}', '\r']), "{shown:?}");
    let error = terminal(&["servers", "status", hostile]);
    assert!(!error.contains(['\x1b', '\u{9b}', '\u{202e}', '\r']), "{error:?}");

    // JSON stays JSON, and a pipe gets every byte.
    let shown = terminal(&["boards", "show", "plan", "--json"]);
    let value: Value = serde_json::from_str(&shown).unwrap();
    assert_eq!(value["messages"][0]["body"], hostile);
    assert!(!shown.contains(['\x1b', '\u{9b}', '\u{202e}', '\r']), "{shown:?}");
    assert_eq!(done(&place, &["run", "-c", &format!("{code}\nNone")]), format!("{hostile}\n"));
    std::fs::write(place.file("note.txt"), hostile).unwrap();
    done(&place, &["workspace", "put", "note.txt"]);
    assert_eq!(terminal(&["workspace", "show", "note.txt"]), visible);
    assert_eq!(done(&place, &["workspace", "show", "note.txt"]), hostile);
}

/// What a command shows on a terminal while a server starts, which it may as soon as the command names
/// it.
#[track_caller]
fn shown_while_a_server_starts(place: &Place, args: &[&str]) -> String {
    let go = place.file("go");
    let _ = std::fs::remove_file(&go);
    let mut command = terminal_command(place, 100, &[("NO_COLOR", "1")], args);
    let mut process = Running(command.stdout(Stdio::piped()).spawn().unwrap());
    let mut stdout = process.0.stdout.take().unwrap();
    let (mut shown, mut piece) = (Vec::new(), [0; 4096]);
    loop {
        let length = stdout.read(&mut piece).unwrap();
        shown.extend_from_slice(&piece[..length]);
        if text(&shown).contains("waiting for late (") {
            std::fs::write(&go, "").unwrap();
        }
        if length == 0 {
            return text(&shown).replace("\r\n", "\n");
        }
    }
}

/// What is left on the screen when lines were taken back.
fn left(shown: &str) -> String {
    let lines = shown.lines().map(|line| line.rsplit("\r\x1b[2K").next().unwrap());
    lines.collect::<Vec<_>>().join("\n")
}

#[test]
fn servers_that_start_are_named_on_a_terminal_until_they_have() {
    let place = Place::new();
    let go = place.file("go");
    let wait = format!("while [ ! -e '{}' ]; do sleep 0.05; done", go.display());
    let place = place.server_after("late", &wait);
    let program = "print('begun')\nfrom servers import late\nprint(await late.echo(text='done'))";
    for (args, expected) in [
        // At first for its tools, then for the call.
        (&["tools", "call", "late.echo", "text=done"][..], "done"),
        (&["tools", "call", "late.echo", "text=done"], "done"),
        (&["run", "-c", program], "begun\ndone"),
        (&["doctor"], "server late: "),
        (&["servers", "status"], "late: ready"),
    ] {
        let shown = shown_while_a_server_starts(&place, args);
        let left = left(&shown);
        assert!(shown.contains("waiting for late ("), "{args:?}: {shown:?}");
        assert!(left.contains(expected) && !left.contains("waiting"), "{args:?}: {shown:?}");
    }
    // Where standard error is no terminal, nothing is said.
    let place = Place::new().server_after("late", "sleep 1");
    for args in [&["tools", "call", "late.echo", "text=done"][..], &["run", "-c", program]] {
        let output = place.run(args);
        assert!(text(&output.stdout).ends_with("done\n"), "{args:?}");
        assert_eq!(text(&output.stderr), "", "{args:?}");
    }
}

#[test]
fn a_reader_that_goes_away_ends_a_command_quietly() {
    let place = Place::with_good();
    done(&place, &["run", "-c", "1"]);
    std::fs::write(place.file("note.txt"), "noted").unwrap();
    done(&place, &["workspace", "put", "note.txt"]);
    for args in [
        &["audit", "search"][..],
        &["audit", "search", "--json"],
        &["audit", "export"],
        &["tools", "list"],
        &["workspace", "show", "note.txt"],
        &["man"],
        &["completions", "bash"],
        &["doctor"],
        &["run", "-c", "while True: print('x')"],
        &["run", "--json", "-c", "print('x')"],
    ] {
        let output = unread(&place, args);
        assert_eq!(text(&output.stderr), "", "{args:?}");
        assert_eq!(output.status.code(), Some(141), "{args:?}");
    }
}

#[test]
fn every_list_has_the_same_words() {
    let place = Place::new().toml("");
    for (of, words) in [
        ("workspace", &["list", "ls", "show", "cat", "remove", "rm", "usage", "du"][..]),
        ("servers", &["list", "ls", "remove", "rm"]),
        ("tools", &["list", "ls", "show"]),
        ("skills", &["list", "ls", "show", "remove", "rm"]),
        ("sessions", &["list", "ls", "show", "remove", "rm"]),
        ("boards", &["list", "ls", "show", "read"]),
        ("approvals", &["list", "ls", "show"]),
        ("audit", &["search", "list", "ls", "show"]),
    ] {
        for word in words {
            let help = done(&place, &[of, word, "--help"]);
            assert!(help.contains("Usage: narrows"), "{of} {word}: {help}");
        }
    }
    done(&place, &["run", "--session", "s", "-c", "x = 1; y = (n for n in [])"]);
    let shown = done(&place, &["sessions", "show", "s"]);
    assert!(shown.contains("last used 20") && shown.contains("y is not kept: "), "{shown}");
    assert_eq!(place.run(&["sessions", "show", "t"]).status.code(), Some(1));
    done(&place, &["sessions", "remove", "s"]);
}

#[test]
fn the_audit_says_when_and_is_searched_by_time() {
    let place = Place::new().toml("");
    done(&place, &["run", "-c", "1"]);
    let listed = done(&place, &["audit", "search"]);
    let time = listed.lines().next().unwrap().split('\t').nth(1).unwrap().to_owned();
    assert!(time.starts_with("20") && time.ends_with('Z') && time.len() == 20, "{listed}");
    let count = |args: &[&str]| {
        let found = place.run(&[&["audit", "search", "--json"], args].concat());
        document(&found)["entries"].as_array().unwrap().len()
    };
    let all = count(&[]);
    assert!(all > 0);
    for (args, expected) in [
        (&["--since", "2h"][..], all),
        (&["--since", &time], all),
        (&["--since", "yesterday", "--until", "now"], all),
        (&["--since", "2999-01-01"], 0),
        (&["--until", "2h"], 0),
        (&["--until", "2020-01-01T00:00Z"], 0),
    ] {
        assert_eq!(count(args), expected, "{args:?}");
    }
    let exported = done(&place, &["audit", "export", "--until", "1h"]);
    assert_eq!(exported, "");
    let wrong = place.run(&["audit", "search", "--since", "soon"]);
    assert_eq!(wrong.status.code(), Some(2));
    assert!(text(&wrong.stderr).contains("\"soon\" is no time; write a time ago such as 30m"));
    let nothing = place.run(&["audit", "search", "--since", "2999-01-01"]);
    assert_eq!(
        (text(&nothing.stdout), text(&nothing.stderr)),
        (String::new(), "note: no entries fit\n".to_owned())
    );
}

#[test]
fn a_program_of_the_command_line_has_a_workspace_and_sees_values() {
    let place = Place::new().toml("");
    let write = "write_file('t.csv', 'a\\n1\\n2\\n'); list_files('*.csv')";
    let listed: Value = serde_json::from_str(&done(&place, &["run", "-c", write])).unwrap();
    assert_eq!(listed[0]["path"], "t.csv", "{listed}");
    let query = "await sql('select sum(a) as s from t', t='t.csv')";
    let rows: Value = serde_json::from_str(&done(&place, &["run", "-c", query])).unwrap();
    assert_eq!(rows, json!([{"s": 3}]));
    assert_eq!(done(&place, &["workspace", "show", "t.csv"]), "a\n1\n2\n");

    let mail = "print('ada@example.com'); 'ada@example.com'";
    assert_eq!(done(&place, &["run", "-c", mail]), "ada@example.com\nada@example.com\n");
    let hidden = done(&place, &["run", "--protect", "-c", mail]);
    assert!(hidden.contains("[EMAIL_") && !hidden.contains('@'), "{hidden}");
    // Who looks for the switch finds it.
    for args in [&["pii", "--help"][..], &["doctor"], &["pii", "status"]] {
        let shown = text(&place.run(args).stdout);
        assert!(shown.contains("[pii]") && shown.contains("mode"), "{args:?}: {shown}");
    }
}
