//! Messages that are waited for, and who may read and post them.

use std::sync::Arc;

use narrows_model::Principal;
use serde_json::json;
use tempfile::TempDir;

use super::*;
use crate::state::tests::state;

fn agent() -> (TempDir, Agent) {
    let home = tempfile::tempdir().unwrap();
    let agent = state(home.path()).agent(Arc::new(Principal::local()));
    (home, agent)
}

fn bodies(messages: &[Message]) -> Vec<&Value> {
    messages.iter().map(|message| &message.body).collect()
}

#[tokio::test]
async fn whoever_waits_gets_what_is_posted_meanwhile_and_nothing_older() {
    let (_home, agent) = agent();
    agent.post("b", &json!("old"), None).await.unwrap();
    let now = agent.wait_board("b", None, Duration::ZERO, None).await.unwrap();
    assert_eq!(now, []);
    let waiting = agent.wait_board("b", Some(1), Duration::from_secs(60), None);
    let posting = async {
        agent.post("other", &json!("elsewhere"), None).await.unwrap();
        agent.post("b", &json!("new"), None).await.unwrap();
    };
    let (waited, ()) = futures::future::join(waiting, posting).await;
    assert_eq!(bodies(&waited.unwrap()), [&json!("new")]);
}

#[tokio::test]
async fn a_wait_with_a_number_has_what_came_since_at_once() {
    let (_home, agent) = agent();
    for number in 1..=3 {
        agent.post("b", &json!(number), None).await.unwrap();
    }
    let waited = agent.wait_board("b", Some(1), Duration::from_secs(60), None).await.unwrap();
    assert_eq!(bodies(&waited), [&json!(2), &json!(3)]);
}

#[tokio::test]
async fn no_reader_asks_for_less_than_one_message() {
    let (_home, agent) = agent();
    for number in 1..=3 {
        agent.post("b", &json!(number), None).await.unwrap();
    }
    let read = agent.read_board("b", 0, 0, None).await.unwrap();
    assert_eq!(bodies(&read), [&json!(1)]);
    let read = agent.read_board("b", 0, usize::MAX, None).await.unwrap();
    assert_eq!(read.len(), 3);
}

#[tokio::test]
async fn boards_of_one_namespace_are_not_those_of_another() {
    let home = tempfile::tempdir().unwrap();
    let state = state(home.path());
    let mut reader = Principal::new("reader", "own");
    reader.others.insert("team".to_owned(), Access::Read);
    let reader = state.agent(Arc::new(reader));
    let member = state.agent(Arc::new(Principal::new("member", "team")));
    member.post("b", &json!("of the team"), None).await.unwrap();

    assert_eq!(reader.read_board("b", 0, 10, None).await.unwrap(), []);
    let read = reader.read_board("b", 0, 10, Some("team")).await.unwrap();
    assert_eq!((read[0].author.as_str(), bodies(&read)), ("member", vec![&json!("of the team")]));
    let denied = reader.post("b", &json!("mine"), Some("team")).await.unwrap_err();
    assert!(matches!(denied, StateError::Denied { verb: "change", .. }), "{denied}");
    let denied = member.wait_board("b", None, Duration::ZERO, Some("own")).await.unwrap_err();
    assert!(matches!(denied, StateError::Denied { verb: "read", .. }), "{denied}");
    let names: Vec<String> =
        member.boards(None).await.unwrap().into_iter().map(|board| board.name).collect();
    assert_eq!(names, ["b"]);
}
