//! Servers that do not start, and one that runs inside of this process.

use super::*;
use crate::{
    fakes::{self, FakeReply, FakeServer, PlainNaming, named, spec},
    fleet::{Fleet, tests::upstream},
    login::LoginStore,
    logs::server_log::ServerLogs,
    stdio::child_reaper::ChildReaper,
};

fn fleet() -> Fleet {
    let catalog = Arc::new(Catalog::new(&[spec("s")], None, &PlainNaming));
    let logins = LoginStore::new("/nonexistent/logins".into());
    Fleet::new(vec![spec("s")], catalog, logins, ChildReaper::none(), ServerLogs::none())
}

#[test]
fn pauses_between_failed_starts_double_up_to_five_minutes() {
    let mut state = ServerState::default();
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
    let mut state = ServerState { failures: 1_000_000, ..ServerState::default() };
    state.fail();
    assert!(state.not_before.unwrap() <= Instant::now() + MAX_PAUSE);
}

#[tokio::test]
async fn what_was_cut_off_of_a_list_is_in_the_status_of_its_server() {
    let server = FakeServer::new("s", named(&["go"]), |_| FakeReply::Nothing);
    let (_, fleet) = fakes::fleet(&[&server], &[], &PlainNaming).await;
    assert_eq!(fleet.status("s").unwrap().last_error, None);
    let problem = "resources/list has more than 100 pages, and was cut off";
    fleet.report_problem("s", problem.to_owned());
    assert_eq!(fleet.status("s").unwrap().last_error.as_deref(), Some(problem));
}

#[tokio::test]
async fn a_server_that_just_failed_is_not_started_again_at_once() {
    let fleet = fleet();
    let first = fleet.start("s").await.unwrap_err().to_string();
    assert!(first.starts_with(r#"the server "s" is not available: "#), "{first}");
    // Long enough for a slow machine.
    upstream(&fleet, "s").state().not_before = Some(Instant::now() + MAX_PAUSE);
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

/// A fleet of one server, `s`, which is a line for the shell, with its logs below a directory.
#[cfg(unix)]
fn shell(line: &str, env: &[(&str, &str)], home: &std::path::Path) -> (Fleet, ServerLogs) {
    let stdio = narrows_model::StdioSpec {
        command: "sh".into(),
        args: vec!["-c".into(), line.into()],
        env: env.iter().map(|(name, value)| ((*name).to_owned(), (*value).into())).collect(),
        ..narrows_model::StdioSpec::default()
    };
    fleet_of(stdio, home)
}

#[cfg(unix)]
fn fleet_of(stdio: narrows_model::StdioSpec, home: &std::path::Path) -> (Fleet, ServerLogs) {
    let spec = ServerSpec::new("s", narrows_model::Connection::Stdio(stdio));
    let catalog = Arc::new(Catalog::new(std::slice::from_ref(&spec), None, &PlainNaming));
    let scanner = narrows_pii::Scanner::new(&Default::default()).unwrap();
    let logs = ServerLogs::new(home.join("logs"), scanner);
    let logins = LoginStore::new(home.join("logins"));
    (Fleet::new(vec![spec], catalog, logins, ChildReaper::none(), logs.clone()), logs)
}

#[cfg(unix)]
#[tokio::test]
async fn the_end_of_a_server_is_explained_by_its_command_and_all_that_it_printed() {
    let home = tempfile::tempdir().unwrap();
    let (fleet, _) = shell("echo usage: s [FILE]; echo no database >&2; exit 7", &[], home.path());
    // Its end may be met at any step of the handshake.
    for _ in 0..10 {
        let told = fleet.restart("s").await.unwrap_err().to_string();
        assert!(told.contains("not available: sh (and 2 arguments): it ended with"), "{told}");
        assert!(told.contains("exit status: 7"), "{told}");
        assert!(told.contains("usage: s [FILE]") && told.contains("no database"), "{told}");
    }
}

#[cfg(unix)]
#[tokio::test]
async fn what_servers_print_is_logged_without_their_secrets() {
    use crate::logs::server_log::LogSource;

    let home = tempfile::tempdir().unwrap();
    let line = "echo out $TOKEN; echo err $TOKEN >&2; exit 7";
    let (fleet, logs) = shell(line, &[("TOKEN", "s3cret-token")], home.path());
    fleet.start("s").await.unwrap_err();
    let lines = logs.last_lines("s", 100).unwrap();
    let of = |source| lines.iter().rfind(|line| line.source == source).unwrap().text.as_str();
    assert_eq!((of(LogSource::Stdout), of(LogSource::Stderr)), ("out ***", "err ***"));
    // Of several lines, the first says what happened.
    let told = lines.iter().find(|line| line.source == LogSource::Narrows).unwrap();
    assert!(told.text.starts_with("did not start: sh (and 2 arguments): it ended"), "{told}");
    assert!(!std::fs::read_to_string(logs.path("s").unwrap()).unwrap().contains("s3cret"));
}

#[cfg(unix)]
#[tokio::test]
async fn secrets_that_are_typed_into_a_command_are_not_told() {
    let home = tempfile::tempdir().unwrap();
    let line = "echo wrong key: s3cret-key-one, and postgres://u:s3cret-word@h >&2; exit 7";
    let stdio = narrows_model::StdioSpec {
        command: "sh".into(),
        args: ["-c", line, "--api-key", "s3cret-key-one", "postgres://u:s3cret-word@h/db"]
            .map(Into::into)
            .to_vec(),
        ..narrows_model::StdioSpec::default()
    };
    let fleet = fleet_of(stdio, home.path()).0;
    let told = fleet.start("s").await.unwrap_err().to_string();
    assert!(told.contains("wrong key: ***, and postgres://***@h"), "{told}");
    let status = serde_json::to_string(&fleet.statuses()).unwrap();
    assert!(status.contains("wrong key") && !status.contains("s3cret"), "{status}");

    let command = "/nonexistent/server --token s3cret-token".into();
    let stdio = narrows_model::StdioSpec { command, ..narrows_model::StdioSpec::default() };
    let told = fleet_of(stdio, home.path()).0.start("s").await.unwrap_err().to_string();
    assert!(told.contains("not installed") && !told.contains("s3cret"), "{told}");
}

#[cfg(unix)]
#[tokio::test]
async fn a_restart_waits_neither_for_a_pause_nor_for_a_start_that_hangs() {
    let home = tempfile::tempdir().unwrap();
    let (hanging, _) = shell("sleep 600", &[], home.path());
    let fleet = Arc::new(hanging);
    let starting = tokio::spawn({
        let fleet = Arc::clone(&fleet);
        async move { fleet.start("s").await.unwrap_err().to_string() }
    });
    while fleet.statuses()[0].health != Health::Starting {
        tokio::task::yield_now().await;
    }
    let restarted = tokio::spawn({
        let fleet = Arc::clone(&fleet);
        async move { fleet.restart("s").await }
    });
    let told = starting.await.unwrap();
    assert!(told.contains("it was restarted meanwhile"), "{told}");
    restarted.abort();

    let (failing, _) = shell("exit 7", &[], home.path());
    failing.start("s").await.unwrap_err();
    upstream(&failing, "s").state().not_before = Some(Instant::now() + MAX_PAUSE);
    let told = failing.restart("s").await.unwrap_err().to_string();
    assert!(told.contains("exit status: 7") && !told.contains("next attempt"), "{told}");
}
