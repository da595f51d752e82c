//! The ways from a token to its value, who may use them, and their audit entries.

use narrows_model::{Principal, Program};

use super::*;
use crate::{program::restore_literals, safety::SafetySettings, state::tests::state_under};

const VALUE: &str = "ada@example.com";

/// The values that a run gets for tokens, in each way that programs and analyses have.
async fn by_each_way(guard: &RunGuard, token: &str) -> Vec<(&'static str, String)> {
    let mut program = Program::new(format!("x = '{token}'"));
    let is_told = |way: &str, shown: &str| {
        let note = guard.take_left_note();
        assert_eq!(note.is_some(), shown.contains(token), "{way}: {note:?}");
    };
    restore_literals(guard, &mut program).await;
    is_told("text", &program.source);
    let mut context = Program::new("x");
    context.context.insert("who".into(), token.into());
    restore_literals(guard, &mut context).await;
    let context = json!(context.context).to_string();
    is_told("context", &context);
    let restored = guard.restore(json!(token)).await.unwrap().to_string();
    let analysis = guard.known(json!([token])).await.unwrap().to_string();
    is_told("analysis", &analysis);
    vec![
        ("restore_pii", restored),
        ("analysis", analysis),
        ("program", program.source),
        ("program", context),
    ]
}

/// Returns the audit entries of a run about values: what they were revealed for, and the outcome.
async fn entries(guard: &RunGuard) -> Vec<(String, String, Value)> {
    guard.agent().written(guard.audit_trail()).await.unwrap();
    let audit = guard.agent().store().await.unwrap().audit();
    let mut found = Vec::new();
    for seq in 1.. {
        let Some(entry) = audit.get(seq).await.unwrap() else { break };
        if entry.action == "pii.restore" && entry.details["run"] == guard.run() {
            assert!(!json!(entry.details).to_string().contains(VALUE));
            found.push((entry.target, entry.outcome, entry.details));
        }
    }
    found
}

#[tokio::test]
async fn a_token_is_turned_back_for_its_own_agent_and_for_those_with_the_right() {
    for has_right in [false, true] {
        let home = tempfile::tempdir().unwrap();
        let restorers = has_right.then(|| "bob".to_owned()).into_iter().collect();
        let settings = SafetySettings { restorers, ..SafetySettings::default() };
        let state = state_under(home.path(), settings);
        let [ada, bob] =
            ["ada", "bob"].map(|name| state.agent(Arc::new(Principal::new(name, "team"))));
        let token = ada.pii_filter().sanitized(VALUE).into_owned();
        assert_ne!(bob.pii_filter().sanitized(VALUE), token);

        for (agent, may) in [(&ada, true), (&bob, has_right)] {
            let guard = agent.guard(agent.level(None).unwrap());
            let name = agent.name();
            for (way, got) in by_each_way(&guard, &token).await {
                assert_eq!(got.contains(VALUE), may, "{name} by {way}: {got}");
                assert_eq!(got.contains(&token), !may, "{name} by {way}: {got}");
            }
            let (outcome, kinds) =
                if may { ("ok", json!(["EMAIL"])) } else { ("refused", json!([])) };
            let entries = entries(&guard).await;
            let ways: Vec<&str> = entries.iter().map(|(way, ..)| way.as_str()).collect();
            assert_eq!(ways, ["program", "program", "restore_pii", "analysis"], "{name}");
            for (way, ended, details) in entries {
                assert_eq!((ended.as_str(), &details["kinds"]), (outcome, &kinds), "{way}");
                assert_eq!(details["withheld"], u8::from(!may), "{way}");
            }
            // What nobody was told, nobody has read.
            assert_eq!(guard.flow().is_empty(), !may);
        }
    }
}

#[tokio::test]
async fn a_value_without_tokens_leaves_no_entry() {
    let home = tempfile::tempdir().unwrap();
    let agent = state_under(home.path(), SafetySettings::default())
        .agent(Arc::new(Principal::new("ada", "team")));
    let guard = agent.guard(agent.level(None).unwrap());
    guard.restore(json!("nothing, [EMAIL_aaaaaaaaaaaa]")).await.unwrap();
    assert_eq!(entries(&guard).await, []);
}

#[tokio::test]
async fn a_level_that_needs_the_audit_turns_nothing_back_without_it() {
    let home = tempfile::tempdir().unwrap();
    let agent = state_under(home.path(), SafetySettings::default())
        .agent(Arc::new(Principal::new("ada", "team")));
    let token = agent.pii_filter().sanitized(VALUE).into_owned();
    let guard = agent.guard(agent.level(Some("hardened")).unwrap());
    assert_eq!(guard.restore(json!(token)).await.unwrap(), VALUE);
    std::fs::remove_file(home.path().join("narrows.db")).unwrap();
    let lost = guard.restore(json!(token)).await.unwrap_err();
    assert!(matches!(lost, StateError::AuditDown(_)), "{lost:?}");
}
