//! A PostgreSQL server that is away, comes back, or does not let us in.

use std::{
    io::{Read, Write},
    net::TcpListener,
    os::unix::net::UnixListener,
    time::Instant,
};

use narrows_store::{Expected, SetResult, Store, StoreError};
use narrows_testkit::Postgres;
use serde_json::json;

use crate::{
    home::{PATIENCE, in_time, open, place},
    skills::skill,
};

fn shown(error: &StoreError) -> String {
    let mut shown = format!("{error} {error:?} {error:#?}");
    let mut source = std::error::Error::source(error);
    while let Some(error) = source {
        shown += &format!(" {error} {error:?}");
        source = error.source();
    }
    shown
}

#[tokio::test]
async fn a_server_that_is_not_there_is_told_without_the_password() {
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let url = format!("postgres://ada:hunter2@127.0.0.1:{port}/state");
    let refused = in_time(Store::open(&place(&url))).await.unwrap_err();
    assert!(matches!(refused, StoreError::Unreachable { .. }), "{refused}");
    let shown = shown(&refused);
    assert!(shown.contains(&port.to_string()) && !shown.contains("hunter2"), "{shown}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_wrong_password_or_database_is_told_and_not_shown() {
    let Some(server) = Postgres::shared() else { return };
    server.run("postgres", "CREATE ROLE locked LOGIN PASSWORD 'correct-horse'").unwrap();
    server.run("postgres", "CREATE DATABASE locked OWNER locked").unwrap();
    let store = open(&server.url("locked:correct-horse", "locked")).await;
    store.check().await.unwrap();
    assert!(!format!("{store:?} {store:#?} {}", store.place()).contains("correct-horse"));
    for url in [server.url("locked:hunter2", "locked"), server.url("locked:correct-horse", "none")]
    {
        let refused = Store::open(&place(&url)).await.unwrap_err();
        assert!(matches!(refused, StoreError::Login { .. }), "{refused}");
        let shown = shown(&refused);
        assert!(shown.contains("locked@"), "{shown}");
        assert!(!shown.contains("hunter2") && !shown.contains("correct-horse"), "{shown}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_that_crashes_loses_nothing_and_is_used_again_when_it_is_back() {
    let Some(mut server) = Postgres::start() else { return };
    let store = open(&server.database()).await;
    let writer = tokio::spawn({
        let store = store.clone();
        async move {
            for turn in 1.. {
                let value = json!(turn);
                let set = store.shared().set("team", "k", &value, Expected::Anything, "ada").await;
                match set {
                    Ok(set) => assert!(matches!(set, SetResult::Done { .. })),
                    Err(error) => return (turn, error),
                }
            }
            unreachable!()
        }
    });
    let deadline = Instant::now() + PATIENCE;
    while store.audit().count().await.unwrap() < 50 {
        assert!(Instant::now() < deadline);
    }
    let mut server = tokio::task::spawn_blocking(move || {
        server.stop();
        server
    })
    .await
    .unwrap();
    let (failed, error) = writer.await.unwrap();
    assert!(matches!(error, StoreError::Unreachable { .. }), "{error}");
    let refused = store.skills().revision().await.unwrap_err();
    assert!(matches!(refused, StoreError::Unreachable { .. }), "{refused}");

    let server = tokio::task::spawn_blocking(move || {
        server.start_again();
        server
    })
    .await
    .unwrap();
    store.skills().save(&skill("team", "f", "code")).await.unwrap();
    let kept = store.shared().get("team", "k").await.unwrap().unwrap().value.as_i64().unwrap();
    assert!(kept == failed - 1 || kept == failed, "{kept} of {failed}");
    assert!(kept >= 50);
    store.close().await;
    tokio::task::spawn_blocking(move || drop(server)).await.unwrap();
}

#[tokio::test]
async fn a_server_that_accepts_and_says_nothing_does_not_hold_us_for_ever() {
    let directory = tempfile::tempdir().unwrap();
    let listener = UnixListener::bind(directory.path().join(".s.PGSQL.5432")).unwrap();
    let silent = std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let _ = stream.read_to_end(&mut Vec::new());
        let _ = stream.write_all(b"");
    });
    let url = format!("postgres://ada@localhost/state?host={}", directory.path().display());
    let refused = in_time(Store::open(&place(&url))).await.unwrap_err();
    assert!(matches!(refused, StoreError::Unreachable { .. }), "{refused}");
    silent.join().unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_order_of_names_is_that_of_their_bytes_whatever_the_locale_of_the_server() {
    let Some(server) = Postgres::shared() else { return };
    let icu = "CREATE DATABASE worldly TEMPLATE template0 LOCALE_PROVIDER icu ICU_LOCALE 'en-US'";
    server.run("postgres", icu).unwrap();
    let url = server.url("postgres", "worldly");
    let words = server
        .run("worldly", "SELECT string_agg(w, '' ORDER BY w) FROM (VALUES ('B'), ('a')) AS t(w)");
    assert_eq!(words.unwrap(), "aB", "the server would order otherwise");
    let store = open(&url).await;
    for name in ["a", "B", "ä", "b"] {
        store.skills().save(&skill("team", name, "code")).await.unwrap();
        store.shared().set("team", name, &json!(1), Expected::Absent, "ada").await.unwrap();
    }
    let skills = store.skills().list("team", None, 10).await.unwrap();
    let names: Vec<_> = skills.iter().map(|head| head.name.as_str()).collect();
    assert_eq!(names, ["B", "a", "b", "ä"]);
    let keys = store.shared().list("team", "a", None, 10).await.unwrap();
    assert_eq!(keys.len(), 1);
}
