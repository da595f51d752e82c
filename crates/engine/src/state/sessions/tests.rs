//! The sessions that stay in memory, and their owners.

use super::*;
use crate::{broker::tests::agent, safety::SafetySettings};

/// Adds a saved session with this id, last use and size.
fn add(sessions: &Sessions, id: &str, used: Instant, memory_bytes: u64) {
    add_as(sessions, id, used, memory_bytes, true);
}

fn add_as(sessions: &Sessions, id: &str, used: Instant, memory_bytes: u64, is_saved: bool) {
    let slot = sessions.slot(&key(id));
    let session = Session::from_state(Some(vec![7; memory_bytes as usize]));
    slot.try_lock().unwrap().live = Some(LiveSession { session, generation: 0, is_saved, used });
}

fn key(id: &str) -> SessionKey {
    ("default".to_owned(), id.to_owned())
}

/// Returns the sessions that are still in memory.
fn live(sessions: &Sessions) -> Vec<String> {
    let slots = sessions.slots.lock().unwrap();
    let is_live =
        |slot: &AsyncMutex<SessionSlot>| slot.try_lock().is_ok_and(|slot| slot.live.is_some());
    let mut ids: Vec<String> =
        slots.iter().filter(|(_, slot)| is_live(slot)).map(|((_, id), _)| id.clone()).collect();
    ids.sort();
    ids
}

/// Returns moments in order, all of them recent.
fn moments() -> impl Iterator<Item = Instant> {
    let start = Instant::now();
    (1..).map(move |seconds| start + Duration::from_secs(seconds))
}

#[test]
fn a_session_that_nobody_used_for_long_is_put_to_rest() {
    let idle = Duration::from_millis(1);
    let sessions =
        Sessions::new(SessionSettings { idle, ..SessionSettings::default() }, PathBuf::new());
    let now = Instant::now();
    add(&sessions, "idle", now - Duration::from_millis(2), 1);
    add(&sessions, "used", now + Duration::from_secs(60), 1);
    sessions.sweep();
    assert_eq!(live(&sessions), ["used"]);
    assert_eq!(sessions.slots.lock().unwrap().len(), 1, "nothing is left of the other");
}

#[test]
fn of_too_many_sessions_those_used_last_stay() {
    let sessions = Sessions::new(
        SessionSettings { max_live: 2, ..SessionSettings::default() },
        PathBuf::new(),
    );
    // Not in the order of their names.
    for (id, used) in ["d", "a", "c", "b"].iter().zip(moments()) {
        add(&sessions, id, used, 1);
    }
    sessions.sweep();
    assert_eq!(live(&sessions), ["b", "c"]);
}

#[test]
fn of_sessions_that_are_too_large_together_those_used_last_stay() {
    let settings = SessionSettings { memory_bytes: 100, ..SessionSettings::default() };
    let sessions = Sessions::new(settings, PathBuf::new());
    for ((id, bytes), used) in [("a", 60), ("b", 60), ("c", 40)].iter().zip(moments()) {
        add(&sessions, id, used, *bytes);
    }
    sessions.sweep();
    assert_eq!(live(&sessions), ["b", "c"]);
    add(&sessions, "huge", Instant::now() + Duration::from_secs(60), 101);
    sessions.sweep();
    assert_eq!(live(&sessions), [""; 0], "one that is too large by itself does not stay either");
}

#[test]
fn variables_that_could_not_be_written_down_stay_while_there_is_room() {
    let settings = SessionSettings { max_live: 0, memory_bytes: 100, ..SessionSettings::default() };
    let sessions = Sessions::new(settings, PathBuf::new());
    for ((id, is_saved), used) in
        [("a", false), ("b", true), ("c", false), ("d", false)].iter().zip(moments())
    {
        add_as(&sessions, id, used, 40, *is_saved);
    }
    sessions.sweep();
    // The control is b, which is in the store: it goes though it is not the oldest.
    assert_eq!(live(&sessions), ["c", "d"]);
    let slot = sessions.slot(&key("c"));
    let kept = slot.try_lock().unwrap();
    let state = kept.live.as_ref().unwrap().session.state().unwrap();
    assert_eq!(**state, [7; 40]);
}

#[test]
fn a_session_that_runs_a_program_is_left_alone() {
    let idle = Duration::ZERO;
    let settings = SessionSettings { idle, max_live: 0, ..SessionSettings::default() };
    let sessions = Sessions::new(settings, PathBuf::new());
    add(&sessions, "busy", Instant::now() - Duration::from_millis(1), 1);
    let slot = sessions.slot(&key("busy"));
    let running = slot.try_lock().unwrap();
    sessions.sweep();
    assert!(running.live.is_some());
    drop(running);
    sessions.sweep();
    assert_eq!(live(&sessions), [""; 0]);
}

#[test]
fn two_programs_of_one_session_share_a_slot() {
    let sessions = Sessions::new(SessionSettings::default(), PathBuf::new());
    assert!(Arc::ptr_eq(&sessions.slot(&key("a")), &sessions.slot(&key("a"))));
    assert!(!Arc::ptr_eq(&sessions.slot(&key("a")), &sessions.slot(&key("b"))));
    let elsewhere = ("other".to_owned(), "a".to_owned());
    assert!(!Arc::ptr_eq(&sessions.slot(&key("a")), &sessions.slot(&elsewhere)));
}

#[tokio::test]
async fn sessions_of_programs_that_saw_values_are_not_those_of_strict_ones() {
    let home = tempfile::tempdir().unwrap();
    let plain = agent(home.path(), SafetySettings::default());
    let settings = SafetySettings { mode: Mode::Strict, ..SafetySettings::default() };
    let strict = agent(home.path(), settings);
    for (agent, id) in [(&plain, "a"), (&strict, "a"), (&strict, "b")] {
        let (lease, _) = agent.lease(&("default".to_owned(), agent.kept_id(id))).await.unwrap();
        lease.give_back().await;
    }
    let ids = async |agent: &Agent| -> Vec<String> {
        let mut rows = agent.sessions().await.unwrap();
        rows.sort_by(|a, b| a.id.cmp(&b.id));
        rows.into_iter().map(|row| row.id).collect()
    };
    assert_eq!(ids(&plain).await, ["a"]);
    assert_eq!(ids(&strict).await, ["a", "b"]);
    assert!(!plain.remove_session("b").await.unwrap());
    assert!(strict.remove_session("a").await.unwrap());
    assert_eq!(ids(&plain).await, ["a"]);
    assert_eq!(ids(&strict).await, ["b"]);
}

#[tokio::test]
async fn a_lease_that_is_dropped_is_given_back() {
    let home = tempfile::tempdir().unwrap();
    let agent = agent(home.path(), SafetySettings::default());
    let (lease, _) = agent.lease(&key("a")).await.unwrap();
    let holder = async || agent.sessions().await.unwrap()[0].holder.clone();
    assert_eq!(holder().await.as_deref(), Some(agent.state.sessions.holder.name()));
    drop(lease);
    // A task gives it back.
    let given_back = async {
        while holder().await.is_some() {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(LEASE / 2, given_back).await.unwrap();
}

#[tokio::test]
async fn a_session_of_a_gateway_that_was_killed_is_free_at_once() {
    let home = tempfile::tempdir().unwrap();
    let agent = agent(home.path(), SafetySettings::default());
    let sessions = agent.store().await.unwrap().sessions();
    let hold = async |id: &str, holder: &str| {
        sessions.take("default", id, holder, LEASE, "local").await.unwrap();
    };
    hold("killed", "7-killed").await;
    narrows_system::private_file::open(&home.path().join("holders/7-killed")).unwrap();
    let (lease, _) = agent.lease(&key("killed")).await.unwrap();
    lease.give_back().await;
    // The positive control: whoever lives, or may, keeps it until its lease is over.
    hold("held", "7-elsewhere").await;
    let held = key("held");
    let waiting = tokio::time::timeout(5 * LOOK_INTERVAL, agent.lease(&held));
    assert!(waiting.await.is_err());
}
