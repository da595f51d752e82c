//! Connections with clients inside of this process.

use std::time::Duration;

use rmcp::{
    ServerHandler, ServiceExt,
    model::{GetPromptRequestParams, ReadResourceRequestParams},
    service::ServiceError,
};
use serde_json::json;

use super::*;
use crate::mcp::gateway::tests::gateway;

#[test]
fn a_client_that_says_megabytes_of_itself_is_remembered_by_a_short_name() {
    let name = |text: &str| client_key(&json!({"name": text}));
    assert!(name(&"x".repeat(1 << 20)).len() < 32);
    assert_ne!(name("one"), name("other"));
    assert_eq!(name("one"), name("one"));
}

/// Neither is asked again, be it us or a server.
#[tokio::test]
async fn what_answers_no_question_of_ours_begins_nothing() {
    let (_home, gateway) = gateway();
    let (near, far) = tokio::io::duplex(1 << 16);
    let session = ClientConnection::new(gateway);
    let (client, served) = tokio::join!(().serve(near), session.serve(far));
    let (client, _served) = (client.unwrap(), served.unwrap());
    let refused = |error: ServiceError, why: &str| {
        assert!(error.to_string().contains(why), "{error} without {why}");
    };
    let (state, unknown) = (Some("anything".to_owned()), "nothing waits for this requestState");
    for name in ["execute_code", "pay"] {
        let mut call = CallToolRequestParams::new(name);
        call.request_state.clone_from(&state);
        refused(client.call_tool_once(call).await.unwrap_err(), unknown);
    }
    let mut call = CallToolRequestParams::new("execute_code");
    call.input_responses = Some([("question-1".to_owned(), json!({}))].into());
    let missing = "without the requestState of the question";
    refused(client.call_tool_once(call).await.unwrap_err(), missing);
    let mut get = GetPromptRequestParams::new("a");
    get.request_state.clone_from(&state);
    refused(client.get_prompt_once(get).await.unwrap_err(), unknown);
    let mut read = ReadResourceRequestParams::new("a://b");
    read.request_state = state;
    refused(client.read_resource_once(read).await.unwrap_err(), unknown);
}

/// Some clients ask for them with every call.
#[tokio::test]
async fn the_tools_that_are_passed_through_are_made_once() {
    let (_home, gateway) = gateway();
    let agent = gateway.agent_with(None, None);
    let passed = gateway.passthrough.tools(&agent).await;
    assert!(Arc::ptr_eq(&passed, &gateway.passthrough.tools(&agent).await));
    assert!(Arc::ptr_eq(&passed, &gateway.passthrough.tools_now()));
    let session = ClientConnection::new(gateway);
    assert_eq!(session.get_tool("execute_code").unwrap().name, "execute_code");
    assert!(session.get_tool("nothing").is_none());
    assert_eq!(session.tools(&passed, &|_| true).len(), 3);
}

/// Nothing has to change for it to end.
#[tokio::test]
async fn no_task_outlives_a_client_that_left() {
    let (_home, gateway) = gateway();
    let tasks = || tokio::runtime::Handle::current().metrics().num_alive_tasks();
    let before = tasks();
    let (near, far) = tokio::io::duplex(1 << 16);
    let (client, served) = tokio::join!(().serve(near), ClientConnection::new(gateway).serve(far));
    let (client, served) = (client.unwrap(), served.unwrap());
    served.service().follow_changes(served.peer().clone());
    assert!(tasks() > before);
    client.cancel().await.unwrap();
    served.waiting().await.unwrap();
    let ended = async {
        while tasks() > before {
            tokio::task::yield_now().await;
        }
    };
    let ended = tokio::time::timeout(Duration::from_secs(300), ended).await;
    ended.expect("a task is left");
}
