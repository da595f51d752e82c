//! The rights of a principal, and its errors when the store is unreachable.

use super::*;
use crate::{
    broker::tests::agent,
    compute::ALWAYS_APART,
    safety::{Mode, SafetySettings},
    state::tests::state,
};

#[test]
fn a_namespace_is_told_with_those_that_could_be_used_so() {
    let home = tempfile::tempdir().unwrap();
    let mut principal = Principal::new("ada", "own");
    principal.others.insert("library".to_owned(), Access::Read);
    principal.others.insert("team".to_owned(), Access::Write);
    let agent = state(home.path()).agent(Arc::new(principal));
    assert_eq!(agent.namespace(None, Access::Write).unwrap(), "own");
    assert_eq!(agent.namespace(Some("library"), Access::Read).unwrap(), "library");
    let told = |access| agent.namespace(Some("other"), access).unwrap_err().to_string();
    let read = r#""ada" may not read the namespace "other"; it may do so in own, library, team"#;
    assert_eq!(told(Access::Read), read);
    let change = r#""ada" may not change the namespace "other"; it may do so in own, team"#;
    assert_eq!(told(Access::Write), change);
    assert!(agent.namespace(Some("library"), Access::Write).is_err());
}

#[test]
fn whoever_owns_all_namespaces_goes_to_one_under_its_own_name() {
    let home = tempfile::tempdir().unwrap();
    let agent = agent(home.path(), SafetySettings::default()).of_namespace("team");
    assert_eq!((agent.name(), agent.principal().home.as_str()), ("local", "team"));
    assert!(agent.workspace().unwrap().path().ends_with("workspaces/team"));
    assert!(agent.namespace(Some("default"), Access::Read).is_err());
}

#[tokio::test]
async fn clients_of_one_principal_can_have_shares_of_their_own() {
    let home = tempfile::tempdir().unwrap();
    let agent = agent(home.path(), SafetySettings::default());
    let (first, second) = (agent.clone().sharing_as("key 1"), agent.sharing_as("key 2"));
    let places = first.take_places();
    second.compute(ALWAYS_APART, || ()).await;
    // The control: the first has its share, in whatever namespace.
    let elsewhere = first.of_namespace("team");
    let mut waiting = std::pin::pin!(elsewhere.compute(ALWAYS_APART, || ()));
    assert!(futures::poll!(&mut waiting).is_pending());
    drop(places);
    waiting.await;
    // What lasts is the same for both.
    assert_eq!(first.principal(), second.principal());
}

#[tokio::test]
async fn a_store_that_cannot_be_opened_is_not_tried_by_everybody() {
    let home = tempfile::tempdir().unwrap();
    std::fs::create_dir(home.path().join("narrows.db")).unwrap();
    let agent = agent(home.path(), SafetySettings::default());
    let first = agent.store().await.unwrap_err();
    assert!(matches!(first, StateError::Store(_)), "{first:?}");
    let second = agent.store().await.unwrap_err();
    assert!(matches!(&second, StateError::StoreDown(why) if *why == first.to_string()));
}

#[tokio::test]
async fn tokens_are_turned_back_for_those_who_may_know_and_that_is_in_the_audit() {
    let home = tempfile::tempdir().unwrap();
    let settings = SafetySettings { mode: Mode::Strict, ..SafetySettings::default() };
    let agent = agent(home.path(), settings);
    let token = agent.pii_filter().sanitized("ada@example.com").into_owned();
    let value = json!({"mail": token, "other": "[EMAIL_aaaaaaaaaaaa]"});
    let restored = agent.restore(value).await.unwrap();
    // A token that nobody made stands for nothing.
    assert_eq!(restored, json!({"mail": "ada@example.com", "other": "[EMAIL_aaaaaaaaaaaa]"}));
    let entry = agent.store().await.unwrap().audit().get(1).await.unwrap().unwrap();
    assert_eq!(
        (entry.action.as_str(), entry.details),
        ("pii.restore", json!({"kinds": ["EMAIL"]}))
    );
}

#[tokio::test]
async fn a_token_of_one_namespace_says_nothing_in_another() {
    let home = tempfile::tempdir().unwrap();
    let agent = agent(home.path(), SafetySettings::default());
    let token = agent.pii_filter().sanitized("ada@example.com").into_owned();
    let other = agent.of_namespace("team");
    assert_ne!(other.pii_filter().sanitized("ada@example.com"), token);
    assert_eq!(other.restore(json!(token)).await.unwrap(), json!(token));
    assert_eq!(agent.restore(json!(token)).await.unwrap(), json!("ada@example.com"));
}

#[tokio::test]
async fn an_audit_whose_file_was_removed_is_not_taken_for_written() {
    let home = tempfile::tempdir().unwrap();
    let agent = agent(home.path(), SafetySettings::default());
    let audit_trail = AuditTrail::default();
    let event = agent.event(EventAction::FileWrite, "a", EventOutcome::Ok, json!({}));
    agent.record(&audit_trail, event);
    agent.written(&audit_trail).await.unwrap();
    std::fs::remove_file(home.path().join("narrows.db")).unwrap();
    let lost = agent.written(&audit_trail).await;
    assert_eq!(lost, Err("the file of the store is gone".to_owned()));
}
