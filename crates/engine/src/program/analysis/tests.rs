//! Tables that do not exist, and rows that do not fit into an answer.

use super::*;
use crate::{
    broker::in_process::{FakeReply, FakeServer},
    catalog::tests::named,
    program::host::tests::{RunningProgram, mail_not_to_web},
    safety::SafetySettings,
};

/// An analysis of one table, as a program asks for it.
fn analysis(source: Value) -> Value {
    json!({"analysis_type": "sql", "parameters": {"query": "SELECT 1"},
        "tables": [{"name": "data", "source": source}]})
}

#[tokio::test]
async fn a_table_that_cannot_be_had_is_told_by_name_and_reason() {
    let server = FakeServer::new("s", named(&["go"]), |_| FakeReply::Error("no rows today"));
    let program = RunningProgram::new(&[&server], SafetySettings::default()).await;
    program.workspace.write("sales.csv", b"a\n1\n").unwrap();
    program.workspace.write("sales.json", b"{\"rows\": [").unwrap();
    program.workspace.write("notes.md", b"text").unwrap();
    for (source, told) in [
        (json!("sale.csv"), "data: sale.csv: there is no such file; did you mean sales.csv"),
        (json!("notes.md"), "data: notes.md: its name does not end with json, jsonl, csv"),
        (json!("../sales.csv"), "data: ../sales.csv: it is not a path of a file below /workspace"),
        (
            json!({"file": "sales.csv", "path": "rows"}),
            "only a JSON file has a part called \"rows\"",
        ),
        (json!({"file": "sales.json", "path": "rows"}), "data: sales.json: EOF while parsing"),
        (json!({"result": "r1"}), "data: there is no result \"r1\"; the gateway keeps none yet"),
        (
            json!({"session": "s", "variable": "rows"}),
            "data: variables of sessions cannot be reached from here",
        ),
        (json!({"tool": "s.go"}), "data: the server \"s\" refused: no rows today"),
        (json!({"tool": "s.og"}), "data: the server \"s\" has no tool \"og\""),
    ] {
        let failure = program.call(ANALYZE, analysis(source)).await.unwrap_err();
        assert!(failure.message.contains(told), "{told}: {failure:?}");
    }
}

#[tokio::test]
async fn tests_of_skills_reach_neither_files_nor_tools() {
    let server = FakeServer::new("s", named(&["go"]), |_| FakeReply::text("[]"));
    let program = RunningProgram::new(&[&server], SafetySettings::default()).await;
    for source in [json!("sales.csv"), json!({"tool": "s.go"}), json!(null)] {
        let arguments = raw(&analysis(source)).unwrap();
        let call = ToolCall { number: 1, tool: ANALYZE.to_owned(), arguments, data: Vec::new() };
        let failure = program.host.analyze_given(call).await.unwrap_err();
        assert!(failure.message.starts_with("files and tools are not available"), "{failure:?}");
    }
    assert!(server.calls().is_empty());
}

#[tokio::test]
async fn an_earlier_result_was_read_from_where_its_rows_came_from() {
    let mail = FakeServer::new("mail", named(&["read"]), |_| FakeReply::text("[{\"a\": 1}]"));
    let web = FakeServer::new("web", named(&["post"]), |_| FakeReply::text("done"));
    let mut program = RunningProgram::new(&[&mail, &web], mail_not_to_web()).await;
    let analysis = |source: Value| {
        json!({"analysis_type": "sql", "parameters": {"query": "SELECT * FROM data"},
            "rendered": true, "tables": [{"name": "data", "source": source}]})
    };
    let first = program.call(ANALYZE, analysis(json!({"tool": "mail.read"}))).await.unwrap();
    let earlier = json!({"result": first["structured"]["result_id"]});
    program.next_run();
    // The positive control: this program has read nothing yet.
    program.call("web.post", json!({})).await.unwrap();
    program.call(ANALYZE, analysis(earlier)).await.unwrap();
    let refused = program.call("web.post", json!({})).await.unwrap_err();
    assert!(refused.message.contains("mail.read was read before"), "{refused:?}");
}

/// Returns the outcomes in the audit of what a program's host did, in their order.
async fn outcomes(program: &RunningProgram) -> Vec<(String, String)> {
    let agent = program.host.agent();
    agent.unwritten().await;
    let audit = agent.store().await.unwrap().audit();
    let entries = audit.export(&narrows_store::Filter::default(), 0, 10).await.unwrap();
    entries.into_iter().map(|entry| (entry.action, entry.outcome)).collect()
}

#[tokio::test]
async fn an_analysis_that_is_given_up_is_written_down_once_as_cancelled() {
    let server = FakeServer::new("s", named(&["go"]), |_| FakeReply::Nothing);
    let program = RunningProgram::new(&[&server], SafetySettings::default()).await;
    let request = || {
        let tables = json!({"data": {"tool": "s.go"}});
        let request =
            json!({"analysis_type": "sql", "parameters": {"query": "SELECT 1"}, "tables": tables});
        AnalysisRequest::read(request.as_object().unwrap().clone()).unwrap()
    };
    let told = |outcomes: &[(&str, &str)]| -> Vec<(String, String)> {
        outcomes.iter().map(|(action, outcome)| ((*action).into(), (*outcome).into())).collect()
    };
    // Nobody waits for it any more.
    let cancel = CancellationToken::new();
    tokio::select! {
        answered = program.host.analyze_for_client(request(), &cancel) => panic!("{answered:?}"),
        () = server.receives("tools/call") => {}
    }
    let given_up = [("analysis", "cancelled"), ("call", "cancelled")];
    assert_eq!(outcomes(&program).await, told(&given_up));
    // Its caller says so.
    cancel.cancel();
    program.host.analyze_for_client(request(), &cancel).await.unwrap_err();
    let all = outcomes(&program).await;
    // Its call may have begun by then, and is cancelled with it.
    let second = &all[given_up.len()..];
    assert!(second.iter().all(|(_, outcome)| outcome == "cancelled"), "{all:?}");
    let of_analysis = second.iter().filter(|(action, _)| action == "analysis");
    assert_eq!(of_analysis.count(), 1, "{all:?}");
}
