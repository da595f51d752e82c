//! The level that a caller gets, and what it means for a run.

use narrows_policy::{PolicySettings, Quota};
use narrows_python::SourceTree;

use super::*;
use crate::{
    broker::in_process::broker,
    broker::{
        Broker,
        tests::{agent, deny, rules},
    },
    catalog::tests::{listing, spec},
    safety::SafetySettings,
};

fn guard(settings: SafetySettings, level: Option<&str>) -> (tempfile::TempDir, Arc<RunGuard>) {
    let home = tempfile::tempdir().unwrap();
    let agent = agent(home.path(), settings);
    let guard = agent.guard(agent.level(level).unwrap());
    (home, guard)
}

/// A broker of one server, with a tool that reads and one that does not say what it does.
async fn files() -> Broker {
    let broker = broker(&[], &[spec("files")]).await;
    let tools = vec![
        serde_json::json!({"name": "read", "annotations": {"readOnlyHint": true}}),
        serde_json::json!({"name": "write"}),
    ];
    broker.catalog().replace(&spec("files"), listing(tools));
    broker
}

#[tokio::test]
async fn a_caller_may_ask_for_a_stricter_level_and_for_no_looser_one() {
    let home = tempfile::tempdir().unwrap();
    let agent = agent(home.path(), SafetySettings::default());
    assert_eq!(agent.level(None).unwrap().name, "production");
    assert_eq!(agent.level(Some("production")).unwrap().name, "production");
    assert_eq!(agent.level(Some("hardened")).unwrap().name, "hardened");
    let looser = agent.level(Some("development")).unwrap_err();
    assert!(looser.is_wrong_use());
    let told = looser.to_string();
    let expected = r#"the isolation level "development" is looser than yours, "production", in: "#;
    assert!(told.starts_with(expected) && told.contains("memory"), "{told}");
    let unknown = agent.level(Some("hardend")).unwrap_err().to_string();
    assert!(unknown.contains("did you mean hardened?"), "{unknown}");
}

#[test]
fn more_time_than_the_level_gives_is_cut_and_told() {
    let (_home, guard) = guard(SafetySettings::default(), None);
    let (limits, note) = guard.limits(None);
    assert_eq!((limits, note), (guard.level().limits.clone(), None));
    let (limits, note) = guard.limits(Some(Duration::from_secs(90)));
    assert_eq!((limits.wall_time.as_secs(), limits.cpu_time.as_secs(), note), (90, 90, None));
    let (limits, note) = guard.limits(Some(Duration::from_secs(300)));
    assert_eq!(limits.wall_time.as_secs(), 120);
    let expected = r#"timeout: the isolation level "production" gives 120 s at most"#;
    assert_eq!(note.as_deref(), Some(expected));
}

#[test]
fn the_workspace_is_as_writable_as_the_level_says() {
    let (_home, guard) = guard(SafetySettings::default(), None);
    let workspace = guard.agent().workspace().unwrap();
    let seen = guard.workspace(Some(Arc::clone(&workspace)));
    assert!(seen.is_some_and(|mount| mount.to_write().is_some()));
    let hardened = guard.agent().guard(guard.agent().level(Some("hardened")).unwrap());
    let seen = hardened.workspace(Some(workspace));
    assert!(seen.is_some_and(|mount| mount.to_write().is_none()));
}

#[test]
fn runs_beyond_the_quota_are_refused_whoever_watches() {
    let quotas =
        vec![Quota { name: "few".to_owned(), runs_per_minute: Some(1), ..Quota::default() }];
    let policy = PolicySettings { quotas, ..PolicySettings::default() };
    let settings = SafetySettings { policy, ..SafetySettings::default() };
    let (_home, guard) = guard(settings, None);
    guard.begin().unwrap();
    let again = guard.agent().guard(guard.agent().level(None).unwrap());
    let exceeded = again.begin().unwrap_err();
    assert!(matches!(exceeded, StateError::Exceeded(_)));
    let told = exceeded.to_string();
    assert!(told.starts_with(r#"the quota "few" is used up (1 runs per minute)"#), "{told}");
}

fn review(guard: &RunGuard, program: &str, broker: &Broker) -> Reviewed {
    let tree = SourceTree::new(program);
    let nothing = ImpliedImports::default();
    guard.review(&ParsedProgram::new(&tree), &nothing, &guard.level().limits, broker.catalog())
}

#[tokio::test]
async fn a_level_that_blocks_does_not_run_what_one_that_warns_does() {
    let broker = files().await;
    let program = "x = 1\nwhile True:\n    pass\n";
    let (_home, guard) = guard(SafetySettings::default(), None);
    let reviewed = review(&guard, program, &broker);
    assert!(reviewed.refusal.is_none() && !reviewed.notes.is_empty(), "{reviewed:?}");

    let hardened = guard.agent().guard(guard.agent().level(Some("hardened")).unwrap());
    let reviewed = review(&hardened, program, &broker);
    let refusal = reviewed.refusal.unwrap();
    let failure = refusal.failure().unwrap();
    assert_eq!((failure.kind.as_str(), failure.line), ("ReviewError", Some(2)));
    assert!(failure.message.contains(r#"isolation level "hardened""#), "{failure:?}");
    let reviewed = review(&hardened, "print(1)\n", &broker);
    assert!(reviewed.refusal.is_none() && reviewed.notes.is_empty(), "{reviewed:?}");
}

#[tokio::test]
async fn a_tool_that_would_be_refused_is_known_before_the_program_runs() {
    let broker = files().await;
    let tool = |name| broker.catalog().resolve(name, None).unwrap();
    let (_home, guard) = guard(rules(vec![deny("files.write")]), None);
    assert_eq!(guard.would_refuse(&tool("files.read")), None);
    let why = guard.would_refuse(&tool("files.write")).unwrap();
    assert!(why.contains(r#"the rule "no" denies it"#), "{why}");
    assert!(
        guard.agent().hides(&*tool("files.write")) && !guard.agent().hides(&*tool("files.read"))
    );

    // The level refuses what no rule hides.
    let (_home, hardened) = self::guard(SafetySettings::default(), Some("hardened"));
    assert_eq!(hardened.would_refuse(&tool("files.read")), None);
    let why = hardened.would_refuse(&tool("files.write")).unwrap();
    assert!(
        why.contains("isolation level hardened") && !hardened.agent().hides(&*tool("files.write"))
    );
}
