//! The audit entries of a run that nobody waits for any more.

use narrows_model::Principal;
use narrows_sandbox::SandboxConfig;
use narrows_upstream::NoCaller;

use super::*;
use crate::{
    Background, Discovery, DiscoverySettings,
    broker::in_process::broker,
    state::tests::state,
    token_stats::{RequestKind, TokenStats},
};

#[tokio::test]
async fn a_run_that_is_given_up_is_written_down_once_as_cancelled() {
    let home = tempfile::tempdir().unwrap();
    let state = state(home.path());
    let broker = broker(&[], &[]).await;
    let background = Background::default();
    let discovery = Discovery::new(broker, DiscoverySettings::default(), background.clone());
    let engine = Engine::new(Arc::new(discovery), state, SandboxConfig::default());
    let agent = engine.agent(Arc::new(Principal::local()));
    let token_stats = TokenStats::new(Some(home.path().join("stats")), background);
    let request_stats = token_stats.open(RequestKind::Run, "run this");
    // The run waits for its session, which another one has.
    let guard = agent.guard(agent.level(None).unwrap());
    let session = agent.open_session("s", &guard).await.unwrap();
    let request = RunRequest {
        program: Program::new("1"),
        session: Some("s".to_owned()),
        stats: Some(Arc::clone(&request_stats)),
        ..RunRequest::default()
    };
    let mut running = Box::pin(engine.execute(&agent, request, Arc::new(NoCaller)));
    assert!(futures::poll!(&mut running).is_pending());
    drop(running);
    session.save(&guard, false).await;
    agent.unwritten().await;
    let audit = agent.store().await.unwrap().audit();
    let entry = audit.get(1).await.unwrap().unwrap();
    assert_eq!((entry.action.as_str(), entry.outcome.as_str()), ("run", "cancelled"));
    assert!(entry.details["run"].is_string() && entry.details["milliseconds"].is_u64());
    assert_eq!(audit.get(2).await.unwrap(), None);
    // The statistics say the same of it.
    request_stats.close("", false);
    assert_eq!(token_stats.last_runs(1)[0].outcome(), EventOutcome::Cancelled);
}
