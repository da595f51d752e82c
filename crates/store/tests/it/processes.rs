//! Several processes on one database, and processes that are killed.

use std::{
    io::{BufReader, Read, Write},
    thread,
    time::Duration,
};

use narrows_store::{Store, Verification};
use narrows_testkit::Chance;
use serde_json::Value;

use crate::{
    child::{self, first_told, told},
    home::{Home, on_both, open},
};

/// Finds everything that was acknowledged, in a database that is as it should be.
pub(crate) async fn assert_all_is_there(store: &Store, acknowledged: &[Value]) {
    let sessions = store.sessions().list("team").await.unwrap();
    for it in acknowledged {
        let text = |index: usize| it[index].as_str().unwrap();
        let number = |index: usize| it[index].as_i64().unwrap();
        match text(0) {
            "skill" => {
                let found = store.skills().get("team", text(1), Some(number(2))).await.unwrap();
                assert_eq!(found.unwrap_or_else(|| panic!("lost: {it}")).code, text(3));
            }
            "message" => {
                let found = store.boards().read("team", text(1), number(2) - 1, 1).await.unwrap();
                assert_eq!(found.first().map(|message| &message.body), Some(&it[3]), "lost: {it}");
            }
            "shared" => {
                let found = store.shared().get("team", text(1)).await.unwrap();
                let value = found.and_then(|found| found.value.as_i64());
                assert!(value >= Some(number(2)), "lost: {it}, is {value:?}");
            }
            "audit" => {
                let found = store.audit().get(number(1)).await.unwrap();
                assert_eq!(found.map(|entry| entry.target).as_deref(), Some(text(2)), "lost: {it}");
            }
            "session" => {
                let found = sessions.iter().find(|session| session.id == text(1));
                assert!(found.map(|found| found.generation) >= Some(number(2)), "lost: {it}");
            }
            other => panic!("{other} is nothing that is acknowledged"),
        }
    }
    assert!(matches!(store.audit().verify().await.unwrap(), Verification::Intact { .. }));
}

pub(crate) async fn assert_sound(home: &Home) {
    if home.url.starts_with("sqlite:") {
        assert_eq!(home.ask("PRAGMA integrity_check").await, ["ok"]);
    }
}

/// Starts a process that writes, and kills it after a while.
fn kill_one(url: &str, run: usize, chance: &mut Chance) -> Vec<Value> {
    let mut child = child::start("write for ever", url, run, &[]);
    let mut output = BufReader::new(child.stdout.take().unwrap());
    // Most are killed while they write, some while they start.
    let mut said = if chance.below(10) == 0 { String::new() } else { first_told(&mut output) };
    thread::sleep(Duration::from_micros(u64::try_from(chance.below(40_000)).unwrap()));
    child.kill().unwrap();
    output.read_to_string(&mut said).unwrap();
    assert!(!child.wait().unwrap().success());
    told(&said)
}

async fn kill_many(home: Home, times: usize) {
    // Ours is closed: the process that is killed is the only one that has the database.
    home.store.close().await;
    let url = home.url.clone();
    let killing = tokio::task::spawn_blocking(move || {
        let mut chance = Chance::new(200);
        let kills = (0..times).map(|run| kill_one(&url, run, &mut chance));
        kills.flatten().collect::<Vec<_>>()
    });
    let acknowledged = killing.await.unwrap();
    assert!(acknowledged.len() > times / 2, "only {} writes", acknowledged.len());
    assert_sound(&home).await;
    let store = home.another().await;
    assert_all_is_there(&store, &acknowledged).await;
    store.check().await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_acknowledged_is_lost_when_the_process_is_killed_200_times() {
    kill_many(Home::sqlite().await, 200).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_acknowledged_is_lost_when_a_client_of_the_server_is_killed() {
    if let Some(home) = Home::postgres().await {
        kill_many(home, 30).await;
    }
}

on_both! {
    async fn several_processes_write_to_one_database(home) {
        const PROCESSES: usize = 4;
        let url = home.url.clone();
        let working = tokio::task::spawn_blocking(move || {
            let children: Vec<_> =
                (0..PROCESSES).map(|run| child::start("write", &url, run, &[])).collect();
            children.into_iter().flat_map(child::finish).collect::<Vec<_>>()
        });
        let acknowledged = working.await.unwrap();
        assert_eq!(acknowledged.len(), PROCESSES * 5 * 40);
        assert_all_is_there(&home.store, &acknowledged).await;
        let everybody = home.store.shared().get("team", "everybody").await.unwrap().unwrap();
        assert_eq!(everybody.value, PROCESSES * 40);
        assert_sound(&home).await;
    }

    async fn processes_that_make_a_new_database_at_the_same_moment_all_succeed(home) {
        let url = home.url.clone();
        home.store.close().await;
        for _ in 0..15 {
            home.empty().await;
            let url = url.clone();
            let opening = tokio::task::spawn_blocking(move || {
                let mut children: Vec<_> =
                    (0..6).map(|run| child::start("open", &url, run, &[])).collect();
                for child in &mut children {
                    first_told(&mut BufReader::new(child.stdout.as_mut().unwrap()));
                }
                for child in &mut children {
                    writeln!(child.stdin.as_ref().unwrap(), "go").unwrap();
                }
                for child in children {
                    child::finish(child);
                }
            });
            opening.await.unwrap();
        }
        open(&url).await.check().await.unwrap();
    }
}
