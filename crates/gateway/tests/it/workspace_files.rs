//! Files that agents keep: over MCP, in code and on the command line, within their bounds.
#![cfg(unix)]

use std::{
    fs,
    io::Write,
    path::PathBuf,
    process::{Output, Stdio},
    sync::atomic::{AtomicBool, AtomicUsize, Ordering},
    thread,
};

use serde_json::{Value, json};

use crate::support::{
    real::{Site, says, text, wait_for},
    state::{Client, each, program, text_of},
};

const PIXEL: &str =
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAIAAACQd1PeAAAADElEQVR4nGP4z8AAAAMBAQDJ/pLvAAAAAElFTkSuQmCC";

/// Where the files of those are who have no name.
fn workspace(site: &Site) -> PathBuf {
    let directory = site.path("data/workspaces/default");
    fs::create_dir_all(&directory).unwrap();
    directory
}

/// What is said of a file to programs, and its content, which is all that a model is given.
fn read(client: &Client, arguments: Value) -> (Value, String) {
    let answer = client.call("read_workspace_file", arguments);
    assert_eq!(answer.get("structuredContent"), None, "it would be read in the place of the file");
    let content = answer["content"].as_array().unwrap();
    let about = answer["_meta"]["narrows/file"].clone();
    if let Some(next) = about.get("next_offset") {
        says(&content[0]["text"], &[&format!("the rest is from offset {next} on")]);
    }
    (about, content.last().unwrap()["text"].as_str().unwrap().to_owned())
}

fn paths(client: &Client, arguments: Value) -> Vec<String> {
    let answer = client.call("list_workspace_files", arguments);
    let paths = each(&answer["structuredContent"]["files"], "path");
    paths.into_iter().map(str::to_owned).collect()
}

// Over MCP.

#[test]
fn the_root_has_many_names_and_nothing_is_listed_outside_of_it() {
    let Some(site) = Site::new() else { return };
    let client = Client::alone(&site);
    client.run("write_file('a/b.md', 'b')\nwrite_file('c.md', 'c')");
    for root in [".", "./", "/", "", "/workspace", "/workspace/"] {
        assert_eq!(paths(&client, json!({"path": root})), ["a/b.md", "c.md"], "{root:?}");
    }
    for folder in ["a", "./a", "a/", "/workspace/a", "a/**"] {
        assert_eq!(paths(&client, json!({"path": folder})), ["a/b.md"], "{folder:?}");
    }
    for outside in ["..", "../", "/etc", "a/../../x"] {
        let told = client.refusal("list_workspace_files", json!({"path": outside}));
        assert!(told.to_string().contains("outside of /workspace"), "{outside:?}: {told}");
    }
    // The guest has a function of its own for programs.
    let code = "result = [[file['path'] for file in list_workspace_files(path=path)]\n\
                          for path in ['.', './', '', './a']]";
    let all = ["a/b.md", "c.md"];
    assert_eq!(client.run(code), json!([all, all, all, ["a/b.md"]]));
}

#[test]
fn text_and_bytes_come_back_as_they_were_written() {
    let Some(site) = Site::new() else { return };
    let client = Client::alone(&site);
    let written = client
        .call("write_workspace_file", json!({"path": "notes/today.md", "content": "grüße\r\n"}));
    assert_eq!(written["structuredContent"]["bytes"], 9);
    client.call(
        "write_workspace_file",
        json!({"path": "raw.bin", "content": "AAEC/w==", "encoding": "base64"}),
    );

    let (about, content) = read(&client, json!({"path": "notes/today.md"}));
    assert_eq!(content, "grüße\r\n");
    let expected = json!({"path": "notes/today.md", "bytes": 9, "type": "text/markdown",
        "encoding": "text", "offset": 0});
    assert_eq!(about, expected);
    let (about, content) = read(&client, json!({"path": "/workspace/raw.bin"}));
    assert_eq!((content.as_str(), &about["encoding"]), ("AAEC/w==", &json!("base64")));
    assert_eq!(about["bytes"], 4);
    let (_, content) = read(&client, json!({"path": "notes/today.md", "encoding": "base64"}));
    assert_eq!(content, "Z3LDvMOfZQ0K");
    let refusal =
        client.refusal("read_workspace_file", json!({"path": "raw.bin", "encoding": "text"}));
    says(&refusal, &["raw.bin", "not UTF-8", "base64"]);

    assert_eq!(paths(&client, json!({})), ["notes/today.md", "raw.bin"]);
    assert_eq!(paths(&client, json!({"pattern": "*.md"})), ["notes/today.md"]);
    assert_eq!(paths(&client, json!({"pattern": "notes/**"})), ["notes/today.md"]);
    assert_eq!(paths(&client, json!({"pattern": "*.csv"})), [""; 0]);
}

#[test]
fn a_long_file_is_read_piece_by_piece_without_splitting_letters() {
    let Some(site) = Site::new() else { return };
    let client = Client::alone(&site);
    // Three bytes each: no piece of a round size ends between two of them.
    let whole = "€".repeat(100_000);
    client.call("write_workspace_file", json!({"path": "long.txt", "content": whole}));
    let mut joined = String::new();
    let mut next = json!(0);
    let mut pieces = 0;
    while next.is_u64() {
        let (about, content) = read(&client, json!({"path": "long.txt", "offset": next}));
        assert_eq!((&about["encoding"], &about["bytes"]), (&json!("text"), &json!(300_000)));
        joined += &content;
        next = about["next_offset"].clone();
        pieces += 1;
    }
    assert!(joined == whole && pieces > 3, "{pieces} pieces of {} bytes", joined.len());

    let (about, content) =
        read(&client, json!({"path": "long.txt", "offset": 299_997, "limit": 100}));
    assert_eq!((content.as_str(), about.get("next_offset")), ("€", None));
    let (about, content) = read(&client, json!({"path": "long.txt", "limit": 7}));
    assert_eq!((content.as_str(), &about["next_offset"]), ("€€", &json!(6)));
}

/// Two bytes are enough to see a letter and the beginning of the next.
#[test]
fn a_very_small_piece_of_a_text_is_text() {
    let Some(site) = Site::new() else { return };
    let client = Client::alone(&site);
    client.call("write_workspace_file", json!({"path": "t.txt", "content": "hä"}));
    let (about, content) = read(&client, json!({"path": "t.txt", "limit": 2}));
    assert_eq!((content.as_str(), &about["next_offset"]), ("h", &json!(1)));
}

#[test]
fn an_image_comes_back_as_an_image() {
    let Some(site) = Site::new() else { return };
    let client = Client::alone(&site);
    client.call(
        "write_workspace_file",
        json!({"path": "dot.png", "content": PIXEL, "encoding": "base64"}),
    );
    let answer = client.call("read_workspace_file", json!({"path": "dot.png"}));
    let image = &answer["content"][0];
    assert_eq!((&image["type"], &image["mimeType"]), (&json!("image"), &json!("image/png")));
    assert_eq!(image["data"], PIXEL);
    assert_eq!(answer.get("structuredContent"), None, "clients would take it for the image");
    // Half of an image is none.
    let (about, half) = read(&client, json!({"path": "dot.png", "limit": 6}));
    assert_eq!((half.as_str(), &about["encoding"]), ("iVBORw0K", &json!("base64")));
}

#[test]
fn a_missing_file_is_told_with_the_nearest_that_is_there() {
    let Some(site) = Site::new() else { return };
    let client = Client::alone(&site);
    client.call("write_workspace_file", json!({"path": "reports/june.csv", "content": "a,b"}));
    for wrong in ["reports/jun.csv", "june.csv"] {
        let refusal = client.refusal("read_workspace_file", json!({"path": wrong}));
        says(&refusal, &[wrong, "no such file", "did you mean reports/june.csv?"]);
        says(&client.error(&format!("read_file({wrong:?})")), &[wrong, "'reports/june.csv'"]);
        let said = site.says(&["workspace", "cat", wrong]);
        assert_eq!(said.status.code(), Some(1));
        says(&text(&said.stderr).into(), &[wrong, "did you mean reports/june.csv?"]);
    }
}

#[test]
fn paths_that_lead_out_of_the_workspace_are_refused() {
    let Some(site) = Site::new() else { return };
    let outside = site.path("data/workspaces/other");
    fs::create_dir_all(&outside).unwrap();
    fs::write(outside.join("secret.txt"), "secret").unwrap();
    let inside = workspace(&site);
    std::os::unix::fs::symlink(&outside, inside.join("way")).unwrap();
    std::os::unix::fs::symlink(outside.join("secret.txt"), inside.join("link.txt")).unwrap();
    let absolute = outside.join("secret.txt").to_str().unwrap().to_owned();
    let client = Client::alone(&site);
    let ways = [
        "../other/secret.txt",
        "a/../../other/secret.txt",
        "/workspace/../other/secret.txt",
        "..",
        absolute.as_str(),
        "way/secret.txt",
        "link.txt",
    ];
    for path in ways {
        client.refusal("read_workspace_file", json!({"path": path}));
        client.error(&format!("read_file({path:?})"));
        client.error(&format!("open({path:?}).read()"));
        client.error(&format!("open('/workspace/' + {path:?}).read()"));
        assert!(!site.says(&["workspace", "cat", path]).status.success(), "{path}");
    }
    for path in ways {
        // A link may be replaced or removed itself; what it leads to may not be.
        client.answer("write_workspace_file", json!({"path": path, "content": "changed"}));
        execute(&client, &format!("write_file({path:?}, 'changed')"));
        execute(&client, &format!("open('/workspace/' + {path:?}, 'w').write('changed')"));
        execute(&client, &format!("delete_file({path:?})"));
        site.says(&["workspace", "rm", path]);
        assert_eq!(fs::read_to_string(outside.join("secret.txt")).unwrap(), "secret", "{path}");
    }
    let names: Vec<_> = fs::read_dir(&outside).unwrap().map(|entry| entry.unwrap()).collect();
    assert_eq!(names.len(), 1, "{names:?}");

    // The same ways work for what is inside.
    client.call("write_workspace_file", json!({"path": "a/b.txt", "content": "mine"}));
    for path in ["a/b.txt", "/workspace/a/b.txt"] {
        assert_eq!(read(&client, json!({"path": path})).1, "mine");
        assert_eq!(client.run(&format!("read_file({path:?})")), "mine");
    }
    assert_eq!(text(&site.says(&["workspace", "cat", "a/b.txt"]).stdout), "mine");
    assert!(site.says(&["workspace", "rm", "a/b.txt"]).status.success());
    assert!(!inside.join("a/b.txt").exists());
}

#[test]
fn a_full_workspace_takes_no_more_and_keeps_what_it_has() {
    let Some(site) = Site::new() else { return };
    site.configure("[limits]\nworkspace_mb = 1\nworkspace_files = 3\n");
    let client = Client::alone(&site);
    let large = "x".repeat(600_000);
    let write = |path: &str, content: &str| {
        client.answer("write_workspace_file", json!({"path": path, "content": content}))
    };
    assert_ne!(write("a", &large)["isError"], true);
    says(&client.refusal("write_workspace_file", json!({"path": "b", "content": large})), &["b: "]);
    says(
        &client.refusal(
            "write_workspace_file",
            json!({"path": "a", "content": large + &"y".repeat(600_000)}),
        ),
        &["a: "],
    );
    client.error("write_file('b', 'x' * 600_000)");
    let mut put = site.narrows();
    put.args(["workspace", "put", "-", "b"]);
    let refused = fed(put, &[0; 600_000]);
    assert_eq!(refused.status.code(), Some(1), "{refused:?}");
    assert_eq!(paths(&client, json!({})), ["a"], "nothing of them stays");
    assert_eq!(read(&client, json!({"path": "a", "limit": 5})).1, "xxxxx");

    assert_eq!(client.run("result = write_file('a', 'small')['bytes']"), 5);
    assert_eq!(client.run("result = write_file('b', 'x' * 600_000)['bytes']"), 600_000);
    assert_ne!(write("c", "third")["isError"], true);
    client.refusal("write_workspace_file", json!({"path": "d", "content": "fourth"}));
    client.error("open('/workspace/d', 'w')");
    assert_eq!(paths(&client, json!({})), ["a", "b", "c"]);
}

#[test]
fn a_reader_beside_a_writer_never_sees_half_a_file() {
    const SIZE: usize = 200_000;
    let Some(site) = Site::new() else { return };
    let client = Client::alone(&site);
    client.call("write_workspace_file", json!({"path": "f", "content": "a".repeat(SIZE)}));
    let file = workspace(&site).join("f");
    let (is_done, letters) = (AtomicBool::new(false), AtomicUsize::new(0));
    thread::scope(|scope| {
        let reader = scope.spawn(|| {
            let mut seen = std::collections::BTreeSet::new();
            while !is_done.load(Ordering::Relaxed) {
                let bytes = fs::read(&file).unwrap();
                assert_eq!(bytes.len(), SIZE);
                assert!(bytes.iter().all(|byte| *byte == bytes[0]));
                seen.insert(bytes[0]);
                letters.store(seen.len(), Ordering::Relaxed);
            }
        });
        let by_code = client.begin(
            "execute_code",
            program(&format!("for i in range(400): write_file('f', 'bc'[i % 2] * {SIZE})")),
        );
        let write_and_read = |letter: &str| {
            client
                .call("write_workspace_file", json!({"path": "f", "content": letter.repeat(SIZE)}));
            let (about, content) = read(&client, json!({"path": "f", "limit": SIZE}));
            assert_eq!(about["bytes"], SIZE);
            assert!(content.bytes().all(|byte| byte == content.as_bytes()[0]));
        };
        ["d", "e"].repeat(10).into_iter().for_each(write_and_read);
        by_code.result();
        // On a busy machine it may be long until the reader has read beside the writers.
        let mut more = ["g", "h", "i", "j"].into_iter().cycle();
        wait_for("a reader beside the writers", || {
            write_and_read(more.next().unwrap());
            (reader.is_finished() || letters.load(Ordering::Relaxed) >= 3).then_some(())
        });
        is_done.store(true, Ordering::Relaxed);
        reader.join().unwrap();
    });
    assert_eq!(paths(&client, json!({})), ["f"], "nothing temporary stays");
}

// In code and on the command line.

#[test]
fn code_sees_the_files_of_the_tools_and_they_see_those_of_code() {
    let Some(site) = Site::new() else { return };
    let client = Client::alone(&site);
    client.call("write_workspace_file", json!({"path": "in.json", "content": "{\"n\": 20}"}));
    let result = client.run(
        r#"
import json
n = json.loads(read_file("in.json"))["n"]
with open("/workspace/plain.txt", "w") as file:
    file.write("plain")
write_file("out/rows.json", [{"n": n + 1}])
write_file("bytes.bin", bytes(range(256)))
write_file("gone.txt", "x")
delete_file("gone.txt")
result = [[file["path"] for file in list_files()], list_files("out/*")[0]["bytes"],
          read_file("bytes.bin", binary=True, offset=254).hex(),
          read_file("plain.txt", offset=1, limit=3)]
"#,
    );
    let all = ["bytes.bin", "in.json", "out/rows.json", "plain.txt"];
    assert_eq!(result, json!([all, 11, "feff", "lai"]));
    assert_eq!(paths(&client, json!({})), all);
    assert_eq!(read(&client, json!({"path": "plain.txt"})).1, "plain");
    let rows: Value =
        serde_json::from_str(&read(&client, json!({"path": "out/rows.json"})).1).unwrap();
    assert_eq!(rows, json!([{"n": 21}]));
}

/// What a command answers to these bytes on its standard input.
fn fed(mut command: std::process::Command, bytes: &[u8]) -> Output {
    let mut child = command.stdin(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(bytes).unwrap();
    child.wait_with_output().unwrap()
}

#[test]
fn the_command_line_puts_and_gets_any_bytes() {
    let Some(site) = Site::new() else { return };
    let bytes: Vec<u8> = (0..=255).cycle().take(300_000).collect();
    let mut put = site.narrows();
    put.args(["workspace", "put", "-", "data/all.bin"]);
    assert!(fed(put, &bytes).status.success());
    assert!(site.says(&["workspace", "cat", "data/all.bin"]).stdout == bytes);
    assert!(site.says(&["workspace", "get", "data/all.bin"]).stdout == bytes);
    assert!(site.says(&["workspace", "get", "data/all.bin", "copy.bin"]).status.success());
    assert!(fs::read(site.path("copy.bin")).unwrap() == bytes);
    std::os::unix::fs::symlink("copy.bin", site.path("link.bin")).unwrap();
    fs::write(site.path("copy.bin"), "old").unwrap();
    assert!(site.says(&["workspace", "get", "data/all.bin", "link.bin"]).status.success());
    assert!(fs::read(site.path("copy.bin")).unwrap() == bytes, "not the link is replaced");
    fs::write(site.path("note.txt"), "noted").unwrap();
    let put = site.json(&["workspace", "put", "note.txt", "--json"]);
    assert_eq!((&put["path"], &put["bytes"]), (&json!("note.txt"), &json!(5)));

    let listed = site.json(&["workspace", "ls", "--json"]);
    assert_eq!(each(&listed["files"], "path"), ["data/all.bin", "note.txt"]);
    assert_eq!((&listed["total"], &listed["files"][0]["bytes"]), (&json!(2), &json!(300_000)));
    let only = text(&site.says(&["workspace", "ls", "*.txt"]).stdout);
    assert!(only.contains("note.txt") && !only.contains("all.bin"), "{only}");
    let used = site.json(&["workspace", "du", "--json"]);
    assert_eq!((&used["files"], &used["bytes"]), (&json!(2), &json!(300_005)));

    let removed = site.says(&["workspace", "rm", "data/all.bin", "note.txt"]);
    assert!(removed.status.success());
    assert_eq!(site.json(&["workspace", "ls", "--json"])["total"], 0);
    let nameless = fed(
        {
            let mut put = site.narrows();
            put.args(["workspace", "put", "-"]);
            put
        },
        b"x",
    );
    assert_eq!(nameless.status.code(), Some(1));
    let seen = site.json(&["run", "--agent", "local", "--json", "-c", "result = list_files()"]);
    assert_eq!(seen["result"], json!([]), "{seen}");
}

// What the gateway writes there by itself.

/// The file that a note names.
#[track_caller]
fn named(answer: &Value) -> String {
    let notes = answer["structuredContent"]["notes"].to_string();
    let (_, rest) = notes.split_once("/workspace/").unwrap_or_else(|| panic!("{notes}"));
    rest.split([';', ' ', '"']).next().unwrap().to_owned()
}

fn execute(client: &Client, code: &str) -> Value {
    client.answer("execute_code", json!({"code": code}))
}

#[test]
fn what_is_too_long_for_an_answer_is_in_the_file_that_it_names() {
    let Some(site) = Site::new() else { return };
    let client = Client::alone(&site);
    let printed = execute(&client, "print('p' * 100_000)");
    let shown = printed["structuredContent"]["stdout"].as_str().unwrap().len();
    assert!(shown <= 32 << 10, "{shown}");
    let kept = client.run(&format!("read_file({:?}) == 'p' * 100_000 + '\\n'", named(&printed)));
    assert_eq!(kept, true);
    // One note and one file, however much it is.
    let code = "print('begin')\nfor n in range(500_000): print('0123456789')\nprint('end')";
    let much = execute(&client, code);
    let (text, structured) = (text_of(&much), &much["structuredContent"]);
    assert_eq!(structured["notes"].as_array().unwrap().len(), 1, "{}", structured["notes"]);
    assert!(text.starts_with("note: stdout is shown in part; all 5500010 bytes"), "{text:.200}");
    assert!(text.contains("\nbegin\n") && text.ends_with("\nend"), "{text:.200}");
    assert!(text.len() < 48_000 && structured.to_string().len() < 48_000);
    let kept = fs::read_to_string(workspace(&site).join(named(&much))).unwrap();
    assert_eq!(kept, format!("begin\n{}end\n", "0123456789\n".repeat(500_000)));
    assert_eq!(paths(&client, json!({"pattern": "stdout-*"})).len(), 2);
    // Result, output and error share one answer.
    let all = "import sys\nprint('o' * 90_000)\nprint('e' * 90_000, file=sys.stderr)\n\
               result = list(range(90_000))";
    let all = execute(&client, all);
    assert!(text_of(&all).len() < 48_000 && all["structuredContent"].to_string().len() < 48_000);
    let note = &all["structuredContent"]["notes"];
    assert_eq!(note.as_array().unwrap().len(), 1, "{note}");
    says(&note[0], &["/workspace/stdout-", "/workspace/stderr-", "/workspace/result-"]);
    let large = execute(&client, "result = list(range(400_000))");
    let rows = format!(
        "import json\nresult = json.loads(read_file({:?})) == list(range(400_000))",
        named(&large)
    );
    assert_eq!(client.run(&rows), true);
    // No two of them have one name.
    let again = execute(&client, "print('q' * 100_000)");
    assert_ne!(named(&again), named(&printed));
}

#[test]
fn old_outputs_make_room_and_files_of_the_agent_never_do() {
    let Some(site) = Site::new() else { return };
    site.configure("[workspace]\noutput_mb = 1\n");
    let client = Client::alone(&site);
    client
        .call("write_workspace_file", json!({"path": "mine.txt", "content": "m".repeat(900_000)}));
    let print = || named(&execute(&client, "print('o' * 400_000)"));
    // What the agent changed is its own from then on.
    let taken = print();
    client.run(&format!("with open('/workspace/{taken}', 'a') as file: file.write('mine')"));
    let outputs: Vec<String> = (0..5).map(|_| print()).collect();
    client.run("result = write_file('last.txt', 'x' * 900_000)");
    let left = paths(&client, json!({}));
    for mine in ["mine.txt", "last.txt", &taken] {
        assert!(left.iter().any(|path| path == mine), "{mine}: {left:?}");
    }
    assert_eq!(left.len(), 5, "two outputs of 400 KB are left: {left:?}");
    assert!(left.contains(&outputs[4]), "the newest stays: {outputs:?} {left:?}");
    let bytes = fs::metadata(workspace(&site).join(&taken)).unwrap().len();
    assert_eq!(bytes, 400_005, "as the agent left it");
}

/// Even if it is larger than all outputs together may be: nobody has read it yet.
#[test]
fn the_output_that_an_answer_names_is_there() {
    let Some(site) = Site::new() else { return };
    site.configure("[workspace]\noutput_mb = 1\n");
    let client = Client::alone(&site);
    for _ in 0..2 {
        let answer = execute(&client, "result = 'y' * 1_100_000");
        let length = format!("len(read_file({:?}))", named(&answer));
        assert_eq!(client.run(&length), 1_100_002);
    }
}

#[test]
fn outputs_are_known_as_such_after_a_restart() {
    let Some(site) = Site::new() else { return };
    site.configure("[workspace]\noutput_mb = 1\n");
    for _ in 0..3 {
        let client = Client::alone(&site);
        named(&execute(&client, "print('o' * 600_000)"));
    }
    let client = Client::alone(&site);
    named(&execute(&client, "print('o' * 600_000)"));
    client.run("1");
    let left = paths(&client, json!({}));
    assert_eq!(left.len(), 1, "{left:?}");
}
