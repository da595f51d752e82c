//! Several servers beside each other.

use super::*;
use crate::{
    caller::NoCaller,
    fakes::{self, FakeReply, FakeServer, PlainNaming, named, spec},
    fleet::server::Health,
};

/// Returns one of the servers.
pub(crate) fn upstream(fleet: &Fleet, name: &str) -> Arc<Upstream> {
    Arc::clone(&fleet.servers[name])
}

fn ping() -> ClientRequest {
    serde_json::from_value(serde_json::json!({"method": "ping"})).unwrap()
}

#[tokio::test]
async fn a_server_that_is_not_there_is_told_with_the_nearest() {
    let server = FakeServer::new("github", Vec::new(), |_| FakeReply::Nothing);
    let (_, fleet) = fakes::fleet(&[&server], &[], &PlainNaming).await;
    let told = fleet.request("githib", ping(), Arc::new(NoCaller)).await.unwrap_err();
    assert_eq!(told.to_string(), r#"there is no server "githib"; did you mean github?"#);
}

#[tokio::test]
async fn a_tool_without_a_schema_is_listed_with_the_others() {
    let tools = vec![
        serde_json::json!({"name": "bare", "description": "takes anything"}),
        serde_json::json!({"name": "whole", "inputSchema": {"type": "object"}}),
    ];
    let server = FakeServer::new("s", tools, |_| FakeReply::text("done"));
    let (catalog, _fleet) = fakes::fleet(&[&server], &[], &PlainNaming).await;
    let listing = catalog.listing("s").unwrap();
    let names: Vec<&str> = listing.tools.iter().map(|tool| tool.id.tool.as_str()).collect();
    assert_eq!(names, ["bare", "whole"]);
    assert_eq!(listing.tools[0].input_schema(), &serde_json::json!({"type": "object"}));
    assert_eq!(listing.tools[0].description(), "takes anything");
}

#[tokio::test]
async fn a_server_that_fails_is_told_in_its_own_status_alone() {
    let server = FakeServer::new("good", named(&["go"]), |_| FakeReply::Result(Default::default()));
    let (_, fleet) = fakes::fleet(&[&server], &[spec("bad")], &PlainNaming).await;
    fleet.start("bad").await.unwrap_err();
    fleet.start("good").await.unwrap();
    let [bad, good] = fleet.statuses().try_into().unwrap();
    assert_eq!((bad.server.as_str(), bad.health, bad.tools), ("bad", Health::Failed, None));
    assert_eq!((good.server.as_str(), good.health, good.tools), ("good", Health::Ready, Some(1)));
    assert_eq!((good.implementation.as_deref(), good.last_error), (Some("fake 1.0"), None));
    assert_eq!(good.protocol.as_deref(), Some("2025-11-25"));
}
