//! Files that the gateway wrote by itself are removed when they are old or too large; files that an
//! agent named stay.

use std::{
    path::Path,
    sync::Arc,
    time::{Duration, SystemTime},
};

use narrows_model::Principal;
use narrows_store::FileOrigin;
use tempfile::TempDir;

use super::*;
use crate::state::tests::state;

/// More than half of what outputs may take up.
fn large() -> Vec<u8> {
    vec![b'x'; 700 << 10]
}

fn agent() -> (TempDir, Agent) {
    let home = tempfile::tempdir().unwrap();
    let agent = state(home.path()).agent(Arc::new(Principal::local()));
    (home, agent)
}

/// Writes an output of a run, as the gateway does.
fn make(agent: &Agent, name: &str, bytes: &[u8]) {
    agent.workspace().unwrap().create(name).unwrap().append(bytes).unwrap();
}

fn names(agent: &Agent) -> Vec<String> {
    let mut names = agent.workspace().unwrap().names().unwrap();
    names.sort();
    names
}

fn age(file: &Path, by: Duration) {
    let file = std::fs::File::options().write(true).open(file).unwrap();
    file.set_modified(SystemTime::now() - by).unwrap();
}

async fn origin(agent: &Agent, path: &str) -> Option<FileOrigin> {
    let files = agent.store().await.unwrap().files();
    files.get("default", "here", path).await.unwrap().map(|row| row.origin)
}

#[tokio::test]
async fn the_oldest_outputs_make_room_and_the_latest_stays() {
    let (_home, agent) = agent();
    agent.workspace().unwrap().write("mine.bin", &large()).unwrap();
    make(&agent, "stdout-1.txt", &large());
    agent.note_files().await;
    assert_eq!(names(&agent), ["mine.bin", "stdout-1.txt"]);
    make(&agent, "stdout-2.txt", &large());
    agent.note_files().await;
    assert_eq!(names(&agent), ["mine.bin", "stdout-2.txt"]);
    assert_eq!(origin(&agent, "stdout-1.txt").await, None);
    assert_eq!(origin(&agent, "stdout-2.txt").await, Some(FileOrigin::Output));
    assert_eq!(origin(&agent, "mine.bin").await, Some(FileOrigin::Agent));
}

#[tokio::test]
async fn old_outputs_go_and_old_files_of_an_agent_stay() {
    let (_home, agent) = agent();
    let directory = agent.workspace().unwrap().path().to_owned();
    agent.workspace().unwrap().write("mine.txt", b"x").unwrap();
    make(&agent, "stdout-1.txt", b"x");
    // Outputs are kept for a minute here.
    for name in ["mine.txt", "stdout-1.txt"] {
        age(&directory.join(name), Duration::from_secs(61));
    }
    agent.note_files().await;
    assert_eq!(names(&agent), ["mine.txt", "stdout-1.txt"], "an answer names it");
    make(&agent, "stdout-2.txt", b"x");
    agent.note_files().await;
    assert_eq!(names(&agent), ["mine.txt", "stdout-2.txt"]);
}

#[tokio::test]
async fn an_output_that_an_agent_wrote_over_is_its_own() {
    let (_home, agent) = agent();
    make(&agent, "stdout-1.txt", b"x");
    agent.note_files().await;
    agent.write_file("stdout-1.txt", &large(), None).await.unwrap();
    assert_eq!(origin(&agent, "stdout-1.txt").await, Some(FileOrigin::Agent));
    for name in ["stdout-2.txt", "stdout-3.txt"] {
        make(&agent, name, &large());
        agent.note_files().await;
    }
    assert_eq!(names(&agent), ["stdout-1.txt", "stdout-3.txt"]);
}

/// A workspace has thousands of files.
#[tokio::test]
async fn files_are_looked_at_within_the_share_of_their_agent() {
    let (_home, agent) = agent();
    agent.workspace().unwrap().write("a.txt", b"x").unwrap();
    let places = agent.take_places();
    let mut noting = std::pin::pin!(agent.note_files());
    // Each asks the store as often as they are noted, so they would be noted before these end.
    for _ in 0..20 {
        tokio::select! {
            () = &mut noting => panic!("they were looked at without a place"),
            found = origin(&agent, "a.txt") => assert!(found.is_none()),
        }
    }
    drop(places);
    noting.await;
    assert!(origin(&agent, "a.txt").await.is_some());
}

#[tokio::test]
async fn what_is_gone_is_forgotten() {
    let (_home, agent) = agent();
    agent.workspace().unwrap().write("a.txt", b"x").unwrap();
    agent.note_files().await;
    assert!(origin(&agent, "a.txt").await.is_some());
    agent.workspace().unwrap().remove("a.txt").unwrap();
    agent.note_files().await;
    assert_eq!(origin(&agent, "a.txt").await, None);
}
