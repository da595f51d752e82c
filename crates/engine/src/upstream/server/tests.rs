//! Servers that do not start, and one that runs inside of this process.

use tokio::io::DuplexStream;
use tokio_util::sync::CancellationToken;

use super::*;
use crate::{
    catalog::tests::spec,
    upstream::{Fleet, Guard, LoginStore, connection, fleet::tests::upstream, raw::RawTools},
};

/// Lets a server run over a stream, as if it had just been started.
pub(in crate::upstream) async fn start(
    server: &Arc<Upstream>,
    stream: DuplexStream,
    raw: RawTools,
    closed: CancellationToken,
) {
    let changes = server.means.changes.clone();
    let opened = connection::tests::connection(&server.spec, stream, raw, closed, changes).await;
    let tools = opened.list_tools().await.unwrap();
    server.publish(&opened, tools);
    server.settle(Ok(Arc::new(opened))).unwrap();
}

fn fleet() -> Fleet {
    let catalog = Arc::new(Catalog::new(&[spec("s")], None));
    let logins = LoginStore::new("/nonexistent/logins".into());
    Fleet::new(vec![spec("s")], catalog, logins, Guard::none())
}

#[test]
fn pauses_between_failed_starts_double_up_to_five_minutes() {
    let mut state = State::default();
    let pauses = (0..12).map(|_| {
        let before = Instant::now();
        state.fail();
        state.not_before.unwrap().saturating_duration_since(before).as_secs()
    });
    let pauses: Vec<u64> = pauses.collect();
    assert_eq!(pauses, [1, 2, 4, 8, 16, 32, 64, 128, 256, 300, 300, 300]);
}

#[test]
fn so_many_failures_that_the_pause_would_overflow_are_one_more_failure() {
    let mut state = State { failures: 1_000_000, ..State::default() };
    state.fail();
    assert!(state.not_before.unwrap() <= Instant::now() + LONGEST_PAUSE);
}

#[tokio::test]
async fn a_server_that_just_failed_is_not_started_again_at_once() {
    let fleet = fleet();
    let first = fleet.start("s").await.unwrap_err().to_string();
    assert!(first.starts_with(r#"the server "s" is not available: "#), "{first}");
    // Long enough for a slow machine.
    upstream(&fleet, "s").state().not_before = Some(Instant::now() + LONGEST_PAUSE);
    let again = fleet.start("s").await.unwrap_err().to_string();
    assert_eq!(again, format!("{first} (the next attempt is in 300 s)"));
    let [status] = fleet.statuses().try_into().unwrap();
    assert_eq!((status.health, status.retry_in, status.starts), (Health::Failed, Some(300), 0));
    assert!(first.ends_with(&status.last_error.unwrap()), "{first}");
}

#[tokio::test]
async fn all_who_need_a_server_share_one_start() {
    let fleet = fleet();
    let (first, second) = futures::future::join(fleet.start("s"), fleet.start("s")).await;
    // Whoever comes second would be told of a pause if there had been a start before.
    assert_eq!(first.unwrap_err().to_string(), second.unwrap_err().to_string());
}

#[tokio::test]
async fn no_server_is_started_by_a_gateway_that_shuts_down() {
    let fleet = fleet();
    fleet.shut_down().await;
    let told = fleet.start("s").await.unwrap_err().to_string();
    assert_eq!(told, r#"the server "s" is not available: the gateway is shutting down"#);
}
