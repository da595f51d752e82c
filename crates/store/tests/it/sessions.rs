//! Sessions and their leases.

use std::time::{Duration, UNIX_EPOCH};

use narrows_store::{LeaseResult, SessionSnapshot, SessionState, Store, StoreError};
use serde_json::{Value, json};

use crate::home::on_both;

const LONG: Duration = Duration::from_secs(3600);

/// A lease that has run out as soon as it begins.
const OVER: Duration = Duration::ZERO;

async fn take(store: &Store, holder: &str, lease: Duration) -> LeaseResult {
    store.sessions().take("team", "s", holder, lease, "ada").await.unwrap()
}

async fn take_it(store: &Store, holder: &str, lease: Duration) -> SessionState {
    match take(store, holder, lease).await {
        LeaseResult::Yours(state) => state,
        LeaseResult::Held { holder, .. } => panic!("held by {holder}"),
    }
}

async fn save(store: &Store, holder: &str, generation: i64) -> Result<i64, StoreError> {
    let state = format!("state of {holder}");
    let (lost, flow) = (json!(["lock"]), json!({ "kinds": ["EMAIL"] }));
    let left = SessionSnapshot { state: Some(state.as_bytes()), lost: &lost, flow: &flow };
    store.sessions().save("team", "s", holder, generation, &left).await
}

/// Returns what a program left, of which only the state matters.
fn left(state: &[u8]) -> SessionSnapshot<'_> {
    SessionSnapshot { state: Some(state), lost: &Value::Null, flow: &Value::Null }
}

on_both! {
    async fn state_goes_from_one_process_to_another(home) {
        let (one, two) = (&home.store, home.another().await);
        let fresh = take_it(one, "one", LONG).await;
        let first = fresh.generation;
        assert_eq!((fresh.state, fresh.lost, fresh.flow), (None, Value::Null, Value::Null));
        assert_eq!(save(one, "one", first).await.unwrap(), first + 1);
        assert_eq!(save(one, "one", first + 1).await.unwrap(), first + 2);
        one.sessions().give_back("team", "s", "one").await.unwrap();

        let found = take_it(&two, "two", LONG).await;
        assert_eq!((found.generation, found.lost), (first + 2, json!(["lock"])));
        assert_eq!(found.flow, json!({ "kinds": ["EMAIL"] }));
        assert_eq!(found.state.unwrap(), b"state of one");
    }

    async fn a_held_session_is_not_given_to_another(home) {
        take_it(&home.store, "one", LONG).await;
        let LeaseResult::Held { holder, for_ms } = take(&home.store, "two", LONG).await else {
            panic!("given twice");
        };
        assert_eq!(holder, "one");
        assert!((3_500_000..=3_600_000).contains(&for_ms), "{for_ms}");
        home.store.sessions().give_back("team", "s", "two").await.unwrap();
        assert!(matches!(take(&home.store, "two", LONG).await, LeaseResult::Held { .. }));
        take_it(&home.store, "one", LONG).await;
        home.store.sessions().give_back("team", "s", "one").await.unwrap();
        take_it(&home.store, "two", LONG).await;
    }

    async fn a_lease_of_a_clock_that_was_days_ahead_does_not_hold(home) {
        take_it(&home.store, "ahead", 48 * LONG).await;
        take_it(&home.store, "one", LONG).await;
        // The positive control: a usual one does, also if clocks differ a little.
        assert!(matches!(take(&home.store, "two", LONG.mul_f64(0.9)).await, LeaseResult::Held { .. }));
    }

    async fn a_session_that_a_clock_days_ahead_held_is_free_and_expires(home) {
        let sessions = home.store.sessions();
        for (id, lease) in [("ahead", 48 * LONG), ("held", LONG / 2)] {
            sessions.take("team", id, "one", lease, "ada").await.unwrap();
        }
        let list = sessions.list("team").await.unwrap();
        let holders: Vec<_> = list.iter().map(|s| (s.id.as_str(), s.holder.as_deref())).collect();
        assert_eq!(holders, [("ahead", None), ("held", Some("one"))]);
        home.tamper("UPDATE sessions SET updated_at = 1000").await;
        assert_eq!(sessions.expire(2_000).await.unwrap(), 1);
        assert_eq!(sessions.list("team").await.unwrap()[0].id, "held");
    }

    async fn a_lease_that_ran_out_may_be_taken_and_its_holder_cannot_save(home) {
        take_it(&home.store, "one", OVER).await;
        let sessions = home.store.sessions();
        let first = take_it(&home.store, "two", LONG).await.generation;
        let moved = save(&home.store, "one", first).await.unwrap_err();
        assert!(matches!(moved, StoreError::SessionMoved { .. }), "{moved}");
        assert!(!sessions.renew("team", "s", "one", LONG).await.unwrap());
        assert_eq!(save(&home.store, "two", first).await.unwrap(), first + 1);
    }

    async fn a_lease_is_renewed_while_it_is_held(home) {
        let sessions = home.store.sessions();
        take_it(&home.store, "one", OVER).await;
        assert!(sessions.renew("team", "s", "one", LONG).await.unwrap());
        assert!(matches!(take(&home.store, "two", LONG).await, LeaseResult::Held { .. }));
        assert!(!sessions.renew("team", "none", "one", LONG).await.unwrap());
    }

    async fn an_older_generation_does_not_overwrite_a_newer_one(home) {
        let first = take_it(&home.store, "one", LONG).await.generation;
        save(&home.store, "one", first).await.unwrap();
        let moved = save(&home.store, "one", first).await.unwrap_err();
        assert!(matches!(moved, StoreError::SessionMoved { .. }), "{moved}");
        assert_eq!(take_it(&home.store, "one", LONG).await.generation, first + 1);
    }

    async fn a_session_that_is_made_again_does_not_begin_where_the_one_before_did(home) {
        let now = || UNIX_EPOCH.elapsed().unwrap().as_millis() as i64;
        let before = now();
        let first = take_it(&home.store, "one", LONG).await.generation;
        assert!((before..=now()).contains(&first), "{first} is not the time");
        home.store.sessions().remove("team", "s").await.unwrap();
        let between = now();
        let again = take_it(&home.store, "one", LONG).await.generation;
        assert!(again >= between, "{again} is not the time, as {first} was");
    }

    async fn of_many_that_take_it_at_once_one_has_it(home) {
        let stores = [home.store.clone(), home.another().await];
        for round in 0..20 {
            let mut tasks = tokio::task::JoinSet::new();
            for task in 0..6 {
                let store = stores[task % 2].clone();
                tasks.spawn(async move {
                    let (id, holder) = (format!("s{round}"), format!("h{task}"));
                    let taken = store.sessions().take("team", &id, &holder, LONG, "ada").await;
                    matches!(taken.unwrap(), LeaseResult::Yours(_))
                });
            }
            let got = tasks.join_all().await.into_iter().filter(|got| *got).count();
            assert_eq!(got, 1, "round {round}");
        }
    }

    async fn large_states_are_kept_and_too_large_ones_refused(home) {
        let sessions = home.store.sessions();
        let first = take_it(&home.store, "one", LONG).await.generation;
        let state: Vec<u8> = (0..8 << 20).map(|i| u8::try_from(i % 251).unwrap()).collect();
        let saved = sessions.save("team", "s", "one", first, &left(&state)).await.unwrap();
        assert!(take_it(&home.store, "one", LONG).await.state.unwrap() == state);
        let large = vec![0; (64 << 20) + 1];
        let refused = sessions.save("team", "s", "one", saved, &left(&large)).await.unwrap_err();
        assert!(matches!(refused, StoreError::TooLarge { .. }), "{refused}");
    }

    async fn a_list_has_sizes_and_holders_but_no_states(home) {
        let first = take_it(&home.store, "one", LONG).await.generation;
        let saved = save(&home.store, "one", first).await.unwrap();
        home.store.sessions().take("team", "free", "one", OVER, "bob").await.unwrap();
        let list = home.store.sessions().list("team").await.unwrap();
        let told: Vec<_> = list
            .iter()
            .map(|s| (s.id.as_str(), s.bytes, s.holder.as_deref(), s.author.as_str()))
            .collect();
        assert_eq!(told, [("free", 0, None, "bob"), ("s", 12, Some("one"), "ada")]);
        assert_eq!(list[1].generation, saved);
        assert!(home.store.sessions().list("other").await.unwrap().is_empty());
    }

    async fn old_sessions_expire_unless_somebody_has_them(home) {
        let sessions = home.store.sessions();
        for (id, lease) in [("held", LONG), ("free", OVER), ("new", OVER)] {
            sessions.take("team", id, "one", lease, "ada").await.unwrap();
        }
        home.tamper("UPDATE sessions SET updated_at = 1000 WHERE id <> 'new'").await;
        assert_eq!(sessions.expire(2_000).await.unwrap(), 1);
        let left: Vec<_> = sessions.list("team").await.unwrap().into_iter().map(|s| s.id).collect();
        assert_eq!(left, ["held", "new"]);
        assert!(sessions.remove("team", "held").await.unwrap());
        assert!(!sessions.remove("team", "held").await.unwrap());
    }
}
