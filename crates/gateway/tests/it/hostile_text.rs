//! What servers, programs and files contain is shown on a terminal and never obeyed, by whichever
//! command.
#![cfg(unix)]

use std::{fs, thread};

use crate::{
    support::{
        dead::Place,
        real::{document, text},
    },
    terminal::on_terminal,
};

/// Clears the screen, sets the title, rings, goes back to the start of the line, begins a sequence as
/// ESC [ does, and turns the direction of what follows.
const HOSTILE: &str = "\x1b[2J\x1b]0;t\x07safe\rrm\u{9b}31m\u{202e}txt";

/// What is left of it to be seen, in whichever notation.
const VISIBLE: &str = "31m";

/// A server whose every text is hostile.
const SERVER: &str = r#"
import json, sys
H = "\x1b[2J\x1b]0;t\x07safe\rrm\x9b31m\u202etxt"
sys.stderr.write("printed " + H + "\n")
sys.stderr.flush()

def tool(name, **more):
    schema = {"type": "object", "properties": {"note": {"type": "string", "description": H}}}
    return {"name": name, "title": H, "description": "does " + H, "inputSchema": schema, **more}

TOOLS = [tool("speak"), tool("fail"), tool("wipe", annotations={"destructiveHint": True}), tool("odd" + H)]

def answer(method, params):
    if method == "initialize":
        return {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}}, "instructions": H,
                "serverInfo": {"name": "evil " + H, "version": "1 " + H}}
    if method == "tools/list":
        return {"tools": TOOLS}
    if method == "tools/call":
        content = [{"type": "text", "text": "said " + H}]
        return {"content": content, "isError": params["name"] == "fail"}

for line in sys.stdin:
    message = json.loads(line)
    if "id" in message and "method" in message:
        result = answer(message["method"], message.get("params"))
        reply = {"jsonrpc": "2.0", "id": message["id"]}
        reply |= {"result": result} if result else {"error": {"code": -32601, "message": "no " + H}}
        print(json.dumps(reply), flush=True)
"#;

/// A server that ends at once, with hostile last words.
const DYING: &str = r#"
import sys
sys.exit("dying \x1b[2J\x1b]0;t\x07safe\rrm\x9b31m\u202etxt")
"#;

/// A program that leaves something hostile wherever programs can leave something.
const PROGRAM: &str = r#"
H = "\x1b[2J\x1b]0;t\x07safe\rrm\x9b31m\u202etxt"
open("/workspace/" + H, "w").write(H)
open("/workspace/table.csv", "w").write("name\n" + H.replace("\r", " ") + "\n")
save_skill("sk", "def sk():\n    '''" + "does it'''\n    return 1\n", description="does " + H, tags=["t" + H])
board("plan").post({"a": H})
globals()["v" + H] = (n for n in [])
from servers.evil import wipe
try:
    await wipe(note=H)
except Exception as error:
    pass
"#;

fn hostile_place() -> Place {
    let place = Place::new().program("evil", SERVER, &[], "").program("dying", DYING, &[], "");
    let left = place.run(&["run", "--session", "s", "-c", PROGRAM]);
    assert!(left.status.success(), "{}", text(&left.stderr));
    let cursor = place.file(".cursor");
    fs::create_dir_all(&cursor).unwrap();
    let servers =
        serde_json::json!({"mcpServers": {(HOSTILE): {"command": HOSTILE, "args": [HOSTILE]}}});
    fs::write(cursor.join("mcp.json"), servers.to_string()).unwrap();
    place
}

/// Fails if a terminal would obey something of a command's output, or nothing hostile was in it.
#[track_caller]
fn assert_only_shown(args: &[&str], shown: &str) {
    // The one line that takes itself back is ours.
    let shown = shown.replace("\r\x1b[2K", "");
    let obeyed = ['\x1b', '\x07', '\r', '\u{9b}', '\u{202e}'];
    assert!(!shown.contains(obeyed), "{args:?} obeys: {shown:?}");
    assert!(shown.contains(VISIBLE), "{args:?} shows nothing hostile: {shown:?}");
}

#[test]
fn no_command_lets_a_terminal_obey_what_comes_from_outside() {
    let place = hostile_place();
    let approvals = document(&place.run(&["approvals", "list", "--json"]));
    let approval = approvals["approvals"][0]["id"].as_str().expect("an approval that waits");
    let entries = document(&place.run(&["audit", "search", "--action", "file.write", "--json"]));
    assert!(entries["entries"].is_array(), "{entries}");
    let call = "from servers.evil import speak, fail\n";
    let speak = format!("{call}print(await speak())");
    let fail = format!("{call}await fail()");
    let python = format!("{HOSTILE:?}").replace("\\u{1b}", "\\x1b").replace("\\u{7}", "\\x07");
    let python = python.replace("\\u{9b}", "\\x9b").replace("\\u{202e}", "\\u202e");
    let print = format!("import sys\nprint({python})\nprint({python}, file=sys.stderr)\n{python}");
    let raise = format!("raise type({python}, (Exception,), {{}})({python})");
    let missing = format!("no{HOSTILE}");
    let from_outside: &[&[&str]] = &[
        &["servers", "status"],
        &["servers", "status", "--json"],
        &["servers", "logs", "dying"],
        &["tools", "list"],
        &["tools", "list", "--json"],
        &["tools", "search", "speak"],
        &["tools", "search", "speak", "--detail", "full"],
        &["tools", "show", "evil.speak"],
        &["tools", "show", "evil.speak", "--json"],
        &["tools", "call", "evil.speak"],
        &["tools", "call", "evil.fail"],
        &["run", "-c", &speak],
        &["run", "-c", &fail],
        &["run", "-c", &print],
        &["run", "--json", "-c", &print],
        &["run", "-c", &raise],
        &["doctor"],
        &["workspace", "list"],
        &["workspace", "list", "--json"],
        &["workspace", "show", HOSTILE],
        &["skills", "list"],
        &["boards", "show", "plan"],
        &["sessions", "list"],
        &["sessions", "show", "s"],
        &["approvals", "list"],
        &["approvals", "show", approval],
        &["audit", "search", "--json"],
        &["import", "--dry-run"],
        // What somebody else chose the name of, as an argument.
        &["workspace", "show", &missing],
        &["skills", "show", HOSTILE],
        &["sessions", "show", HOSTILE],
        &["approvals", "show", HOSTILE],
        &["servers", "status", HOSTILE],
        &["servers", "remove", HOSTILE],
        &["tools", "show", HOSTILE],
        &["tools", "list", HOSTILE],
        &["run", HOSTILE],
        &["analyze", "describe", HOSTILE],
        &["skills", "save", HOSTILE],
        &[HOSTILE],
        &["run", "--memory", HOSTILE],
    ];
    let colorless = [("NO_COLOR", "1")];
    // A few at a time: most of it is waiting for processes to start.
    thread::scope(|scope| {
        for part in from_outside.chunks(from_outside.len().div_ceil(4)) {
            let place = &place;
            scope.spawn(move || {
                for args in part {
                    assert_only_shown(args, &on_terminal(place, 200, &colorless, args));
                }
            });
        }
    });
    // With colours, which are ours, nothing else is obeyed either.
    let colored = on_terminal(&place, 200, &[], &["workspace", "list"]);
    assert!(colored.contains("\x1b[1m") && !colored.contains("\x1b[2J"), "{colored:?}");
    // Elsewhere every byte arrives.
    assert_eq!(text(&place.run(&["workspace", "show", HOSTILE]).stdout), HOSTILE);
}
