//! Files as a caller names and reads them.

use std::sync::Arc;

use narrows_model::Principal;
use serde_json::Value;
use tempfile::TempDir;

use super::*;
use crate::state::tests::state;

fn agent() -> (TempDir, Agent) {
    let home = tempfile::tempdir().unwrap();
    let agent = state(home.path()).agent(Arc::new(Principal::local()));
    (home, agent)
}

fn request(request: Value) -> ReadRequest {
    serde_json::from_value(request).unwrap()
}

fn read(agent: &Agent, wanted: Value) -> FileContent {
    agent.read_file(&request(wanted), None).unwrap()
}

fn refusal(agent: &Agent, wanted: Value) -> String {
    agent.read_file(&request(wanted), None).unwrap_err().to_string()
}

#[test]
fn text_is_read_piece_by_piece_and_no_letter_is_cut() {
    let (_home, agent) = agent();
    agent.workspace().unwrap().write("a.txt", "aößb".as_bytes()).unwrap();
    let (mut pieces, mut offset) = (Vec::new(), Some(0));
    while let Some(at) = offset {
        let piece = read(&agent, json!({"path": "a.txt", "offset": at, "limit": 2}));
        assert_eq!((piece.encoding, piece.bytes, piece.offset), (Encoding::Text, 6, at));
        pieces.push(piece.content);
        offset = piece.next_offset;
    }
    assert_eq!(pieces, ["a", "ö", "ß", "b"]);
    // Past the end there is nothing, and nothing to go on with.
    let past = read(&agent, json!({"path": "a.txt", "offset": 100}));
    assert_eq!((past.content.as_str(), past.next_offset, past.bytes), ("", None, 6));
}

#[test]
fn a_file_is_text_if_it_can_be_and_a_picture_if_it_is_one() {
    let (_home, agent) = agent();
    let workspace = agent.workspace().unwrap();
    workspace.write("plain", b"text").unwrap();
    workspace.write("bytes", b"\xff\xfe\0").unwrap();
    workspace.write("photo.png", b"\x89PNG\xff").unwrap();
    workspace.write("chart.svg", b"<svg/>").unwrap();
    for (wanted, encoding, media_type, content) in [
        (json!({"path": "plain"}), Encoding::Text, "text/plain", "text"),
        (
            json!({"path": "plain", "encoding": "base64"}),
            Encoding::Base64,
            "text/plain",
            "dGV4dA==",
        ),
        (json!({"path": "bytes"}), Encoding::Base64, "application/octet-stream", "//4A"),
        (json!({"path": "photo.png"}), Encoding::Base64, "image/png", "iVBOR/8="),
        (json!({"path": "chart.svg"}), Encoding::Text, "image/svg+xml", "<svg/>"),
    ] {
        let found = read(&agent, wanted.clone());
        let found = (found.encoding, found.media_type.as_str(), found.content.as_str());
        assert_eq!(found, (encoding, media_type, content), "{wanted}");
    }
    let told = refusal(&agent, json!({"path": "bytes", "encoding": "text"}));
    assert_eq!(told, "bytes: it is not UTF-8 text; ask for encoding base64");
}

#[test]
fn a_path_that_leads_nowhere_is_told_with_the_nearest() {
    let (_home, agent) = agent();
    let workspace = agent.workspace().unwrap();
    workspace.write("reports/june.csv", b"a").unwrap();
    let told = refusal(&agent, json!({"path": "reports/jne.csv"}));
    let expected = "reports/jne.csv: there is no such file; did you mean reports/june.csv?";
    assert_eq!(told, expected);
    assert_eq!(refusal(&agent, json!({"path": "reports"})), "reports: it is a folder");
    for path in ["../narrows.db", "/etc/passwd", "reports/../../narrows.db", ""] {
        let told = refusal(&agent, json!({"path": path}));
        assert!(told.contains("it is not a path of a file below /workspace"), "{told}");
    }
    // As programs name it.
    assert_eq!(
        read(&agent, json!({"path": "/workspace/reports/june.csv"})).path,
        "reports/june.csv"
    );
}

#[test]
fn a_piece_that_begins_within_a_value_does_not_show_the_rest_of_it() {
    let (_home, agent) = agent();
    agent.workspace().unwrap().write("a.txt", b"mail ada@example.com now").unwrap();
    let wanted = request(json!({"path": "a.txt", "offset": 9}));
    let own = agent.read_file(&wanted, None).unwrap();
    assert_eq!(own.content, "example.com now");
    let shown = agent.read_file(&wanted, Some(&agent.pii_filter())).unwrap();
    assert!(shown.content.starts_with("[EMAIL_"), "{shown:?}");
    assert!(shown.content.ends_with("] now") && !shown.content.contains("example"), "{shown:?}");
    assert_eq!((shown.bytes, shown.next_offset), (own.bytes, None));
}

#[tokio::test]
async fn patterns_find_names_in_folders_and_paths_where_they_are() {
    let (_home, agent) = agent();
    for path in ["a.csv", "in/b.csv", "in/deep/c.csv", "in/d.txt"] {
        agent.write_file(path, b"x", None).await.unwrap();
    }
    for (pattern, expected) in [
        (None, "a.csv in/b.csv in/d.txt in/deep/c.csv"),
        (Some("*.csv"), "a.csv in/b.csv in/deep/c.csv"),
        (Some("in/*.csv"), "in/b.csv"),
        (Some("in/**"), "in/b.csv in/d.txt in/deep/c.csv"),
        (Some("/workspace/a.*"), "a.csv"),
        (Some("*.png"), ""),
        (Some("."), "a.csv in/b.csv in/d.txt in/deep/c.csv"),
        (Some("./"), "a.csv in/b.csv in/d.txt in/deep/c.csv"),
        (Some("/"), "a.csv in/b.csv in/d.txt in/deep/c.csv"),
        (Some(""), "a.csv in/b.csv in/d.txt in/deep/c.csv"),
        (Some("/workspace"), "a.csv in/b.csv in/d.txt in/deep/c.csv"),
        (Some("./a.csv"), "a.csv"),
        (Some("in/../a.csv"), "a.csv"),
        (Some("./in/"), "in/b.csv in/d.txt in/deep/c.csv"),
        (Some("in/deep"), "in/deep/c.csv"),
        (Some("i"), ""),
    ] {
        let (files, total) = agent.list_files(pattern, None, None).await.unwrap();
        let paths: Vec<&str> = files.iter().map(|file| file.path.as_str()).collect();
        assert_eq!((paths.join(" ").as_str(), total), (expected, paths.len()), "{pattern:?}");
    }
    let (files, total) = agent.list_files(None, None, Some(1)).await.unwrap();
    assert_eq!((files.len(), total), (1, 4));
    let wrong = agent.list_files(Some("["), None, None).await.unwrap_err();
    assert!(matches!(&wrong, StateError::Pattern(..)) && wrong.is_wrong_use(), "{wrong}");
    for outside in ["..", "../a.csv", "/etc/*", "in/../../a.csv", "/workspace/../a.csv"] {
        let told = agent.list_files(Some(outside), None, None).await.unwrap_err().to_string();
        assert!(told.contains("it is outside of /workspace"), "{outside}: {told}");
    }
}

#[tokio::test]
async fn files_on_other_disks_are_listed_with_their_place() {
    let (_home, agent) = agent();
    agent.write_file("here.txt", b"x", None).await.unwrap();
    let row = narrows_store::FileRow {
        path: "there.txt".to_owned(),
        bytes: 7,
        media_type: "text/plain".to_owned(),
        origin: narrows_store::FileOrigin::Agent,
        author: "other".to_owned(),
        modified_at: 1,
    };
    let files = agent.store().await.unwrap().files();
    files.put("default", "elsewhere", &[row]).await.unwrap();
    let (files, _) = agent.list_files(None, None, None).await.unwrap();
    let places: Vec<_> =
        files.iter().map(|file| (file.path.as_str(), file.elsewhere.as_deref())).collect();
    assert_eq!(places, [("here.txt", None), ("there.txt", Some("elsewhere"))]);
}

#[tokio::test]
async fn what_is_written_and_removed_is_in_the_audit() {
    let (_home, agent) = agent();
    let entry = agent.write_file("x/../a.txt", b"12345", None).await.unwrap();
    assert_eq!((entry.path.as_str(), entry.bytes), ("a.txt", 5));
    let told = agent.delete_file("b.txt", None).await.unwrap_err().to_string();
    assert_eq!(told, "b.txt: there is no such file; did you mean a.txt?");
    agent.delete_file("a.txt", None).await.unwrap();
    assert_eq!(agent.workspace_use(None).unwrap().files, 0);
    let audit = agent.store().await.unwrap().audit();
    for (seq, action) in [(1, "file.write"), (2, "file.remove")] {
        let entry = audit.get(seq).await.unwrap().unwrap();
        assert_eq!((entry.action.as_str(), entry.target.as_str()), (action, "a.txt"));
    }
    assert_eq!(audit.get(3).await.unwrap(), None);
}

#[tokio::test]
async fn files_of_a_namespace_are_for_those_who_may_see_it() {
    let home = tempfile::tempdir().unwrap();
    let state = state(home.path());
    let owner = state.agent(Arc::new(Principal::new("owner", "library")));
    owner.write_file("a.txt", b"text", None).await.unwrap();
    let mut reader = Principal::new("reader", "own");
    reader.others.insert("library".to_owned(), Access::Read);
    let reader = state.agent(Arc::new(reader));
    let stranger = state.agent(Arc::new(Principal::new("stranger", "own")));

    let wanted = request(json!({"path": "a.txt", "namespace": "library"}));
    assert_eq!(reader.read_file(&wanted, None).unwrap().content, "text");
    let told = stranger.read_file(&wanted, None).unwrap_err().to_string();
    let expected = r#""stranger" may not read the namespace "library"; it may do so in own"#;
    assert_eq!(told, expected);
    for agent in [&reader, &stranger] {
        let denied = agent.write_file("b.txt", b"", Some("library")).await.unwrap_err();
        assert!(matches!(denied, StateError::Denied { verb: "change", .. }), "{denied}");
        let denied = agent.delete_file("a.txt", Some("library")).await.unwrap_err();
        assert!(matches!(denied, StateError::Denied { verb: "change", .. }), "{denied}");
    }
    assert_eq!(owner.workspace_use(None).unwrap().files, 1);
}
