//! `narrows analyze`.
#![cfg(unix)]

use std::{
    fs,
    io::Write,
    process::{Output, Stdio},
};

use serde_json::{Value, json};

use crate::{
    analysis::stocks,
    support::{
        dead,
        office::{Office, SENDER},
        real::{Site, says, text, wait_for},
    },
};

fn narrows(site: &Site, arguments: &[&str], input: Option<&str>) -> Output {
    let mut command = site.narrows();
    command.current_dir(site.path("")).args(arguments);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    child.stdin.take().unwrap().write_all(input.unwrap_or_default().as_bytes()).unwrap();
    child.wait_with_output().unwrap()
}

#[test]
fn the_command_analyses_files_and_tools() {
    let Some(office) = Office::new("") else { return };
    let site = &office.site;
    fs::write(site.path("stocks.json"), stocks().to_string()).unwrap();
    fs::write(site.path("heads.csv"), "sector,head\nTech,Ann\n").unwrap();
    let ask = |arguments: &[&str], input: Option<&str>| narrows(site, arguments, input);
    let output = ask(&["analyze", "describe", "stocks.json"], None);
    assert!(output.status.success(), "{}", text(&output.stderr));
    says(&text(&output.stdout).into(), &["symbol", "sector", "roi"]);
    let query = "select head, avg(roi) as roi from stocks join h using (sector) group by 1";
    let output =
        ask(&["analyze", "sql", "stocks.json", "h=heads.csv", "-q", query, "--json"], None);
    let answer: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(answer["data"], json!([{"head": "Ann", "roi": 10.6}]));
    let output = ask(
        &["analyze", "percentiles", "-", "-p", r#"{"field": "roi"}"#, "--format", "csv"],
        Some(&stocks().to_string()),
    );
    assert!(output.status.success(), "{}", text(&output.stderr));
    let mail = [
        "analyze",
        "sql",
        "--tool",
        "mail.list_messages",
        "--path",
        "messages",
        "-q",
        "select \"from\" as f from data",
    ];
    assert!(text(&ask(&mail, None).stdout).contains(SENDER));
    let protected = [&mail[..], &["--protect"]].concat();
    let shown = text(&ask(&protected, None).stdout);
    assert!(shown.contains("[EMAIL_") && !shown.contains(SENDER), "{shown}");
    // All rows to a file, in both formats, and one is read again.
    for file in ["out.parquet", "out.csv"] {
        let output =
            ask(&["analyze", "sql", "stocks.json", "-q", "select * from stocks", "-o", file], None);
        assert!(output.status.success(), "{}", text(&output.stderr));
        let output =
            ask(&["analyze", "sql", file, "-q", "select count(*) as n from out", "--json"], None);
        let answer: Value = serde_json::from_slice(&output.stdout).unwrap();
        assert_eq!(answer["data"], json!([{"n": 4}]), "{file}");
    }
    // Through a link, to the file that it leads to.
    std::os::unix::fs::symlink("out.csv", site.path("link.csv")).unwrap();
    let few = "select symbol from stocks limit 1";
    let output = ask(&["analyze", "sql", "stocks.json", "-q", few, "-o", "link.csv"], None);
    assert!(output.status.success(), "{}", text(&output.stderr));
    assert_eq!(fs::read_to_string(site.path("out.csv")).unwrap().lines().count(), 2);
}

#[test]
fn the_command_says_what_is_wrong_and_how_it_ended() {
    let Some(site) = Site::new() else { return };
    fs::write(site.path("stocks.json"), stocks().to_string()).unwrap();
    fs::write(site.path("strange.txt"), "a").unwrap();
    let fails = |arguments: &[&str], code: i32, words: &[&str]| {
        let output = narrows(&site, arguments, None);
        let said = text(&output.stderr);
        assert_eq!(output.status.code(), Some(code), "{arguments:?}: {said}");
        says(&said.into(), words);
    };
    fails(&["analyze", "descrbe", "stocks.json"], 2, &["describe"]);
    fails(&["analyze", "top_n", "stocks.json"], 2, &["by: is missing; as in", "\"by\""]);
    fails(&["analyze", "describe"], 2, &["nothing to analyse"]);
    fails(&["analyze", "describe", "none.json"], 2, &["none.json"]);
    fails(&["analyze", "describe", "strange.txt"], 2, &["parquet"]);
    fails(&["analyze", "describe", "stocks.json", "-p", "[1]"], 2, &["JSON object"]);
    fails(&["analyze", "sql", "stocks.json", "-q", "select setor from stocks"], 2, &["sector"]);
    fails(
        &["analyze", "sql", "stocks.json", "-q", "select 1", "-o", "a.txt"],
        2,
        &[".parquet or .csv"],
    );
    // A file that was asked for is there, or the command fails.
    let there = ["analyze", "sql", "stocks.json", "-q", "select 1", "-o", "none/a.csv"];
    fails(&there, 2, &["output.file", "cannot be written"]);
    let figures = ["-p", r#"{"test": "t", "field": "roi", "value": 1}"#, "-o", "a.csv"];
    fails(&[&["analyze", "test", "stocks.json"], &figures[..]].concat(), 2, &["output.file"]);
    let endless = "select count(*) from generate_series(1, 1000000) a, generate_series(1, 1000000) b, \
                   generate_series(1, 1000000) c where a.value + b.value + c.value < 0";
    site.configure("[analysis]\ntimeout = 1\n");
    let output = narrows(&site, &["analyze", "sql", "stocks.json", "-q", endless], None);
    assert!(matches!(output.status.code(), Some(2 | 3)), "{}", text(&output.stderr));
}

#[test]
fn what_is_interrupted_leaves_no_files() {
    let Some(site) = Site::new() else { return };
    let temporary = site.path("temporary");
    fs::create_dir(&temporary).unwrap();
    let left = || fs::read_dir(&temporary).unwrap().count();
    let endless = "select count(*) from generate_series(1, 1000000) a, \
                   generate_series(1, 1000000) b where a.value + b.value < 0";
    let program = format!("await sql({endless:?})");
    site.configure("[analysis]\ntimeout = 300\n");
    let run = ["run", "--timeout", "120", "-c", &program];
    for arguments in [["analyze", "sql", "-q", endless].as_slice(), &run] {
        for signal in ["INT", "TERM"] {
            let mut command = site.narrows();
            command.current_dir(site.path("")).args(arguments).env("TMPDIR", &temporary);
            let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
            wait_for("its files", || (left() > 0).then_some(()));
            dead::signal(signal, child.id());
            let output = child.wait_with_output().unwrap();
            assert_eq!(output.status.code(), Some(130), "{}", text(&output.stderr));
            assert_eq!(left(), 0, "{arguments:?} {signal}");
        }
    }
}
