//! Answers of real servers, and the values that are read from them.
//!
//! The texts of git, filesystem and everything are what these servers said when they were run, with
//! other paths, names and hashes. The others are written as such servers are known to answer.

#![allow(clippy::unwrap_used, clippy::expect_used)]

use narrows_model::ToolId;
use narrows_testkit::Chance;
use serde_json::{Value, json};

use super::recovery::{TextForm, recover};
use crate::shape_inference::ObservedShapes;

fn value_of(text: &str) -> Option<(TextForm, Value)> {
    recover(text).map(|recovered| (recovered.kind, recovered.value))
}

#[test]
fn what_servers_say_in_forms_is_a_value() {
    let cases: [(&str, &str, TextForm, Value); 18] = [
        (
            "filesystem get_file_info",
            "size: 6\ncreated: Mon Nov 16 2026 04:25:12 GMT+0000 (Coordinated Universal Time)\n\
             isDirectory: false\nisFile: true\npermissions: 644",
            TextForm::Records,
            json!([{
                "size": 6,
                "created": "Mon Nov 16 2026 04:25:12 GMT+0000 (Coordinated Universal Time)",
                "isDirectory": false,
                "isFile": true,
                "permissions": 644,
            }]),
        ),
        (
            "filesystem read_text_file of a table",
            "name,age\nAda,36\nBob,41\n",
            TextForm::Delimited,
            json!([{"name": "Ada", "age": 36}, {"name": "Bob", "age": 41}]),
        ),
        (
            "git git_log",
            "Commit history:\nCommit: 462124d39bc24e4cbeeabf593e53014ae614203f\n\
             Author: Ada Example\nDate: 2026-11-16 04:25:12+00:00\nMessage: Add b\n\n\n\
             Commit: 73cfa630d63e9d4273b1440d7702d8effaf868e7\nAuthor: Ada Example\n\
             Date: 2026-11-16 04:25:12+00:00\nMessage: First\n\n",
            TextForm::Records,
            json!([
                {
                    "Commit": "462124d39bc24e4cbeeabf593e53014ae614203f",
                    "Author": "Ada Example",
                    "Date": "2026-11-16 04:25:12+00:00",
                    "Message": "Add b",
                },
                {
                    "Commit": "73cfa630d63e9d4273b1440d7702d8effaf868e7",
                    "Author": "Ada Example",
                    "Date": "2026-11-16 04:25:12+00:00",
                    "Message": "First",
                },
            ]),
        ),
        (
            "brave search",
            "Title: Rust\nDescription: A language empowering everyone to build reliable and \
             efficient software.\nURL: https://www.rust-lang.org/\n\nTitle: Crates\n\
             Description: \nURL: https://crates.io/",
            TextForm::Records,
            json!([
                {
                    "Title": "Rust",
                    "Description": "A language empowering everyone to build reliable and \
                                    efficient software.",
                    "URL": "https://www.rust-lang.org/",
                },
                {"Title": "Crates", "Description": null, "URL": "https://crates.io/"},
            ]),
        ),
        (
            "fetch of JSON",
            "Content type application/json; charset=utf-8 cannot be simplified to markdown, but \
             here is the raw content:\nContents of https://api.example/items:\n{\"items\": [1]}",
            TextForm::Json,
            json!({"items": [1]}),
        ),
        (
            "jira search",
            "Found 2 issues:\n[{\"key\": \"A-1\", \"status\": \"open\"}, {\"key\": \"A-2\"}]",
            TextForm::Json,
            json!([{"key": "A-1", "status": "open"}, {"key": "A-2"}]),
        ),
        (
            "api call",
            "Result: {\"ok\": true, \"n\": 3}",
            TextForm::Json,
            json!({"ok": true, "n": 3}),
        ),
        (
            "chart data",
            "Here is the data:\n\n```json\n{\"points\": [{\"x\": 1}]}\n```\n",
            TextForm::Json,
            json!({"points": [{"x": 1}]}),
        ),
        (
            "git git_log with one commit",
            "Commit history:\nCommit: 73cfa630d63e9d4273b1440d7702d8effaf868e7\n\
             Author: Ada Example\nDate: 2026-11-16 04:25:12+00:00\nMessage: First\n\n",
            TextForm::Records,
            json!([{
                "Commit": "73cfa630d63e9d4273b1440d7702d8effaf868e7",
                "Author": "Ada Example",
                "Date": "2026-11-16 04:25:12+00:00",
                "Message": "First",
            }]),
        ),
        (
            "sqlite read_query",
            "[{'id': 1, 'name': 'Ada', 'left': None}, {'id': 2, 'name': \"O'Neil\", 'left': True}]",
            TextForm::Json,
            json!([
                {"id": 1, "name": "Ada", "left": null},
                {"id": 2, "name": "O'Neil", "left": true},
            ]),
        ),
        (
            "docker events",
            "{\"Type\":\"container\",\"Action\":\"start\"}\n{\"Type\":\"network\",\"Action\":\"connect\"}",
            TextForm::JsonSequence,
            json!([
                {"Type": "container", "Action": "start"},
                {"Type": "network", "Action": "connect"},
            ]),
        ),
        (
            "warehouse query",
            "| region | total | share |\n|:-------|------:|------:|\n| north | 10 | 0.25 |\n\
             | south | 30 | 0.75 |\n\n2 rows",
            TextForm::Table,
            json!([
                {"region": "north", "total": 10, "share": 0.25},
                {"region": "south", "total": 30, "share": 0.75},
            ]),
        ),
        (
            "stock history",
            "Date,Open,Close\n2026-11-13,10.5,11\n2026-11-16,11.0,12.25\n",
            TextForm::Delimited,
            json!([
                {"Date": "2026-11-13", "Open": 10.5, "Close": 11},
                {"Date": "2026-11-16", "Open": 11.0, "Close": 12.25},
            ]),
        ),
        (
            "big query, tabs",
            "user_id\tevent\n0012\topen\n0013\tclose\n",
            TextForm::Delimited,
            json!([{"user_id": "0012", "event": "open"}, {"user_id": "0013", "event": "close"}]),
        ),
        (
            "weather",
            "Weather for Berlin:\nTemperature: 12.5\nHumidity: 80\nWind: 10 km/h NW",
            TextForm::Records,
            json!([{"Temperature": 12.5, "Humidity": 80, "Wind": "10 km/h NW"}]),
        ),
        (
            "page, in bold",
            "## Page\n- **ID:** 0042\n- **Title:** Plans: 2027\n- **Is public:** False",
            TextForm::Records,
            json!([{"ID": "0042", "Title": "Plans: 2027", "Is public": false}]),
        ),
        (
            "headers of a response",
            "content-type: text/html\ncontent-length: 120\ncache-control: no-store",
            TextForm::Records,
            json!([{
                "content-type": "text/html",
                "content-length": 120,
                "cache-control": "no-store",
            }]),
        ),
        (
            "sequential thinking",
            "{\n  \"thoughtNumber\": 1,\n  \"nextThoughtNeeded\": true,\n  \"branches\": []\n}",
            TextForm::Json,
            json!({"thoughtNumber": 1, "nextThoughtNeeded": true, "branches": []}),
        ),
    ];
    for (name, text, kind, value) in cases {
        assert_eq!(value_of(text), Some((kind, value)), "{name}");
    }
}

#[test]
fn what_is_written_for_people_stays_text() {
    for (name, text) in [
        ("nothing", ""),
        ("everything echo", "Echo: hello"),
        ("everything get-sum", "The sum of 1 and 2 is 3."),
        ("everything get-annotated-message", "Error: Operation failed"),
        (
            "everything trigger-long-running-operation",
            "Long running operation completed. Duration: 0.1 seconds, Steps: 1.",
        ),
        (
            "everything toggle-simulated-logging",
            "Started simulated, random-leveled logging for session undefined at a 5 second pace.",
        ),
        ("filesystem list_directory", "[FILE] a.txt\n[FILE] people.csv\n[DIR] sub"),
        (
            "filesystem list_directory_with_sizes",
            "[FILE] a.txt                                 6 B\n\
             [DIR] sub                            \n\nTotal: 1 files, 1 directories\n\
             Combined size: 29 B",
        ),
        ("filesystem list_allowed_directories", "Allowed directories:\n/srv/files"),
        (
            "filesystem read_multiple_files",
            "/srv/files/a.txt:\nhello\n\n\n---\n/srv/files/people.csv:\nname,age\nAda,36\nBob,41\n",
        ),
        ("filesystem create_directory", "Successfully created directory /srv/files/n"),
        (
            "filesystem edit_file",
            "```diff\nIndex: /srv/a.txt\n=====\n--- /srv/a.txt\toriginal\n+++ /srv/a.txt\tmodified\n\
             @@ -1,1 +1,1 @@\n-hello\n+bye\n```\n\n",
        ),
        (
            "git git_status",
            "Repository status:\nOn branch main\nChanges not staged for commit:\n  \
             (use \"git add <file>...\" to update what will be committed)\n\tmodified:   a.txt\n\n\
             Untracked files:\n\tc.txt\n",
        ),
        (
            "git git_diff",
            "Diff with HEAD~1:\ndiff --git a/a.json b/a.json\nindex ce01362..20a9064 100644\n\
             --- a/a.json\n+++ b/a.json\n@@ -1 +1,3 @@\n {\n+ \"more\": 1\n }\n",
        ),
        ("git git_branch", "* main\n  topic"),
        (
            "git git_log with a message of many lines",
            "Commit history:\nCommit: 462124d\nAuthor: Ada Example\n\
             Date: 2026-11-16 04:25:12+00:00\nMessage: Add b\n\nFixes: #12\nWhy: because\n\n\n\
             Commit: 73cfa63\nAuthor: Ada Example\nDate: 2026-11-16 04:25:12+00:00\n\
             Message: First\n\n",
        ),
        (
            "git git_show",
            "commit 462124d\nAuthor: Ada Example <a@example.com>\n\
             Date:   2026-11-16 04:25:12 +0000\n\n    Add b\n\n--- a/a.txt\n+++ b/a.txt\n\
             @@ -1 +1,2 @@\n hello\n+more: lines\n",
        ),
        (
            "fetch of a page",
            "Contents of https://example.com/:\n# Example Domain\n\nThis domain is for use in \
             illustrative examples. You may use it, without asking.\n\n\
             [More information...](https://example.com/more)",
        ),
        (
            "a page with a list of definitions",
            "# Settings\n\nport: the port to listen on\n\n## More\n\nhost: where\nkey: a key\n",
        ),
        (
            "playwright",
            "### Page state\n- Page URL: https://example.com/\n- Page Title: Example\n\
             - Page Snapshot:\n```yaml\n- generic [ref=e2]:\n  - heading \"Example\" [level=1]\n\
               - link \"More\": /more\n```",
        ),
        (
            "jira search, of which more is elsewhere",
            "[{\"key\": \"A-1\", \"status\": \"open\"}]\nnextPageToken: abc",
        ),
        (
            "chart data with a remark",
            "```json\n{\"points\": [{\"x\": 1}]}\n```\n\nIt has one point.",
        ),
        (
            "kubectl get pods",
            "NAME      READY   STATUS    RESTARTS   AGE\nweb-1     1/1     Running   0          3d\n\
             web-2     1/1     Running   1          3d\n",
        ),
        (
            "kubectl describe",
            "Name:         web-1\nNamespace:    default\nLabels:       app=web\n              \
             tier=front\nStatus:       Running\n",
        ),
        (
            "terraform plan",
            "Terraform will perform the following actions:\n\n  # null_resource.a will be created\n\
               + resource \"null_resource\" \"a\" {\n      + id = (known after apply)\n    }\n\n\
             Plan: 1 to add, 0 to change, 0 to destroy.\n",
        ),
        (
            "github error",
            "failed to get issue: GET https://api.example/repos/a/b/issues/9: 404 Not Found []",
        ),
        (
            "a log",
            "2026-11-16 10:00:00,123 INFO start, then go\n\
             2026-11-16 10:00:00,200 WARN slow, very slow\n\
             2026-11-16 10:00:01,000 INFO done, at last\n",
        ),
        ("a log by levels", "INFO: connected\nWARNING: retrying\nINFO: {\"a\": 1}\nERROR: gave up"),
        (
            "a stack trace",
            "Traceback (most recent call last):\n  File \"a.py\", line 1, in <module>\n    f()\n\
             ValueError: bad value: 3\n",
        ),
        (
            "another",
            "java.lang.IllegalStateException: no\n\tat a.B.c(B.java:1)\n\
             Caused by: java.io.IOException: gone\n\t... 1 more",
        ),
        (
            "python",
            "import os, sys\n\ndef f(a, b):\n    return {a: b}\n\nx: int = 1\ny: str = \"\"\n",
        ),
        ("rust", "struct A {\n    a: u32,\n    b: String,\n}\n"),
        ("javascript", "const a = {\n  b: 1,\n  c: [1, 2],\n};\nexport default a;\n"),
        ("css", "a {\n  color: red;\n}\n"),
        ("html", "<html>\n<head><title>a: b</title></head>\n<body>x, y</body>\n</html>"),
        (
            "yaml",
            "name: build\non:\n  push:\n    branches: [main]\njobs:\n  test:\n    runs-on: x\n",
        ),
        ("yaml list", "- name: a\n  port: 1\n- name: b\n  port: 2\n"),
        ("toml", "[package]\nname = \"a\"\nversion = \"1\"\n"),
        ("ini", "[a]\nb=1\nc=2\n"),
        ("env", "A=1\nB=2\nC=3\n"),
        ("grep", "src/a.rs:12: let x = 1;\nsrc/b.rs:3: let y = 2;\nsrc/c.rs:4: z"),
        (
            "a poem",
            "Two roads diverged in a yellow wood,\nAnd sorry I could not travel both\n\
             And be one traveler, long I stood\nAnd looked down one as far as I could",
        ),
        (
            "a poem with commas",
            "Roses are red, violets blue\nSugar is sweet, honey too\nWords are cheap, deeds few",
        ),
        ("a conversation", "Alice: Hello!\nBob: Hi.\nAlice: Coming?\nBob: Yes."),
        (
            "minutes",
            "Decision: We move the launch to the week after the review.\n\
             Reason: The team needs more time for the tests it has planned.",
        ),
        (
            "a changelog",
            "## 1.2.0\n\n- feat: tables\n- fix: a crash\n- docs: a page\n\n## 1.1.0\n\n- feat: more",
        ),
        ("instructions", "Note: restart first.\nWarning: this deletes data.\nUsage: run it once."),
        ("times", "09:00: open\n12:30: lunch\n18:00: close"),
        ("addresses", "https://a.example/x\nhttps://b.example/y\nhttps://c.example/z"),
        (
            "documentation of an API",
            "# Create\n\nSend:\n\n```json\n{\"a\": 1}\n```\n\n# Answer\n\n```json\n{\"b\": 2}\n```\n\n\
             # Errors\n\nSee above.",
        ),
    ] {
        assert_eq!(value_of(text), None, "{name}");
    }
}

/// The learnt type is what programs are told of a tool before they call it.
#[test]
fn the_learnt_type_is_the_same_with_one_row_and_with_many() {
    for (above, row) in [
        ("Commit history:\n", "Commit: 1\nAuthor: Ada\nWeight: 2.50\n\n"),
        ("id,name,price\n", "1,Ada,2.50\n"),
        ("| id | price |\n|---|---|\n", "| 1 | 2.50 |\n"),
    ] {
        let learnt = |rows: usize| {
            let (_, value) = value_of(&format!("{above}{}", row.repeat(rows))).unwrap();
            let tool = ToolId { server: "s".into(), tool: "t".into() };
            let observed = ObservedShapes::open(None);
            observed.learn(&tool, 1, &value);
            observed.get(&tool, 1).unwrap().schema.clone()
        };
        assert_eq!(learnt(1)["type"], "array", "{above}");
        assert_eq!(learnt(1), learnt(2), "{above}");
        assert_eq!(learnt(1), learnt(30), "{above}");
    }
}

#[test]
fn no_text_is_too_strange() {
    const PIECES: [&str; 40] = [
        "a",
        "Key: ",
        ": ",
        "\n",
        "\n",
        "\n\n",
        "\r\n",
        "|",
        "---",
        "|---|---|\n",
        "```",
        "```json\n",
        "{",
        "}",
        "[",
        "]",
        "\"",
        ",",
        ";",
        "\t",
        "1",
        "-",
        "- ",
        "* ",
        "**",
        "#",
        "# ",
        "é",
        "•",
        "\u{feff}",
        "\u{2028}",
        "\\",
        "\\|",
        "{\"a\":1}",
        "a,b\n",
        "true",
        "0.1",
        "~~~",
        "===",
        " ",
    ];
    let mut chance = Chance::new(0x9e37_79b9_7f4a_7c15);
    for _ in 0..100_000 {
        let pieces = 1 + chance.below(24);
        let text: String = (0..pieces).map(|_| chance.one_of(&PIECES)).collect();
        if let Some(recovered) = recover(&text) {
            assert!(recovered.value.is_object() || recovered.value.is_array(), "{text:?}");
        }
    }
}

#[test]
fn long_texts_take_a_time_that_grows_with_them_only() {
    let start = std::time::Instant::now();
    for line in
        ["[", "[\n", "{\"a\":", "a,b\n", "a: ", "| a ", "|-", "```\n", "\"", "Key: v\n", "\n", "a;"]
    {
        let text = line.repeat(1024 * 1024 / line.len());
        recover(&text);
        recover(&format!("a,b\n{text}"));
        recover(&format!("| a | b |\n|---|---|\n{text}"));
    }
    // Something that is not linear takes hours, on an idle machine.
    assert!(start.elapsed().as_secs() < 300, "{:?}", start.elapsed());
}
