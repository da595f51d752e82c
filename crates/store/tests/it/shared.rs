//! Shared values and their compare-and-set.

use narrows_store::{Expected, Filter, SetResult, Store, StoreError};
use serde_json::{Value, json};

use crate::home::on_both;

async fn set(store: &Store, key: &str, value: Value, expected: Expected) -> SetResult {
    store.shared().set("team", key, &value, expected, "ada").await.unwrap()
}

fn version(result: &SetResult) -> i64 {
    match result {
        SetResult::Done { version } => *version,
        SetResult::Changed { current } => panic!("not set: {current:?}"),
    }
}

/// Adds one to a counter, as agents do.
pub(crate) async fn increment(store: &Store, namespace: &str, key: &str) -> i64 {
    let mut current = store.shared().get(namespace, key).await.unwrap();
    loop {
        let (expected, value) = match &current {
            None => (Expected::Absent, 1),
            Some(found) => (Expected::Version(found.version), found.value.as_i64().unwrap() + 1),
        };
        let shared = store.shared();
        match shared.set(namespace, key, &json!(value), expected, "ada").await.unwrap() {
            SetResult::Done { .. } => return value,
            SetResult::Changed { current: changed } => current = changed,
        }
    }
}

on_both! {
    async fn a_value_is_set_only_over_what_was_expected(home) {
        let store = &home.store;
        let first = version(&set(store, "k", json!({ "a": 1 }), Expected::Absent).await);
        let found = home.another().await.shared().get("team", "k").await.unwrap().unwrap();
        assert_eq!((found.version, found.author.as_str()), (first, "ada"));
        assert_eq!(found.value, json!({ "a": 1 }));

        let refused = set(store, "k", json!(2), Expected::Absent).await;
        assert_eq!(refused, SetResult::Changed { current: Some(found.clone()) });
        let refused = set(store, "k", json!(2), Expected::Version(first + 1)).await;
        assert_eq!(refused, SetResult::Changed { current: Some(found.clone()) });
        let refused = set(store, "none", json!(2), Expected::Version(first)).await;
        assert_eq!(refused, SetResult::Changed { current: None });

        let second = version(&set(store, "k", json!(2), Expected::Version(first)).await);
        let third = version(&set(store, "k", json!(3), Expected::Anything).await);
        assert!(first < second && second < third);
        assert_eq!(store.shared().get("team", "k").await.unwrap().unwrap().value, json!(3));
        assert_eq!(store.shared().get("other", "k").await.unwrap(), None);
    }

    async fn eight_tasks_that_increment_lose_nothing(home) {
        let stores = [home.store.clone(), home.another().await];
        let mut tasks = tokio::task::JoinSet::new();
        for task in 0..8 {
            let store = stores[task % 2].clone();
            tasks.spawn(async move {
                for _ in 0..100 {
                    increment(&store, "team", "count").await;
                }
            });
        }
        tasks.join_all().await;
        let found = home.store.shared().get("team", "count").await.unwrap().unwrap();
        assert_eq!(found.value, json!(800));
        assert_eq!(home.store.audit().count().await.unwrap(), 800);
    }

    async fn a_version_is_not_used_again_when_a_key_is_removed_and_made_again(home) {
        let store = &home.store;
        let old = version(&set(store, "k", json!("old"), Expected::Absent).await);
        let remove = async |expected| {
            store.shared().remove("team", "k", expected, "bob").await.unwrap()
        };
        for expected in [Expected::Version(old + 1), Expected::Absent] {
            let refused = remove(expected).await;
            assert!(matches!(refused, SetResult::Changed { current: Some(_) }), "{refused:?}");
        }
        assert!(matches!(remove(Expected::Version(old)).await, SetResult::Done { .. }));
        assert_eq!(remove(Expected::Anything).await, SetResult::Changed { current: None });
        set(store, "k", json!("new"), Expected::Absent).await;
        let late = set(store, "k", json!("late"), Expected::Version(old)).await;
        assert!(matches!(late, SetResult::Changed { .. }));
        assert!(matches!(remove(Expected::Version(old)).await, SetResult::Changed { .. }));
        assert_eq!(store.shared().get("team", "k").await.unwrap().unwrap().value, json!("new"));
        assert!(matches!(remove(Expected::Anything).await, SetResult::Done { .. }));
    }

    async fn a_list_has_what_begins_with_the_prefix(home) {
        for key in ["job", "job/1", "job/2", "job/ä", "job0", "Job/1", "job_1", "jobs", "%"] {
            set(&home.store, key, json!(1), Expected::Anything).await;
        }
        let keys = async |prefix: &str, after: Option<&str>, limit| {
            let list = home.store.shared().list("team", prefix, after, limit).await.unwrap();
            list.into_iter().map(|(key, _)| key).collect::<Vec<_>>()
        };
        assert_eq!(keys("job/", None, 10).await, ["job/1", "job/2", "job/ä"]);
        assert_eq!(keys("job/", Some("job/1"), 1).await, ["job/2"]);
        assert_eq!(keys("job_", None, 10).await, ["job_1"]);
        assert_eq!(keys("%", None, 10).await, ["%"]);
        assert_eq!(keys("", None, 100).await.len(), 9);
        assert_eq!(keys("z", None, 100).await.len(), 0);
    }

    async fn what_cannot_be_kept_is_refused(home) {
        let shared = home.store.shared();
        let large = json!("x".repeat(1 << 20));
        let refused = shared.set("team", "k", &large, Expected::Anything, "ada").await.unwrap_err();
        assert!(matches!(refused, StoreError::TooLarge { what: "shared value", .. }), "{refused}");
        let named = shared.set("team", "\u{1b}k", &json!(1), Expected::Anything, "ada").await;
        let refused = named.unwrap_err();
        assert!(matches!(refused, StoreError::Name { what: "key", .. }), "{refused}");
        assert_eq!(home.store.audit().count().await.unwrap(), 0);
    }

    async fn every_change_is_in_the_audit_and_what_was_refused_is_not(home) {
        set(&home.store, "k", json!("hidden"), Expected::Absent).await;
        set(&home.store, "k", json!("hidden"), Expected::Absent).await;
        home.store.shared().remove("team", "k", Expected::Anything, "bob").await.unwrap();
        let entries = home.store.audit().search(&Filter::default(), None, 10).await.unwrap();
        let told: Vec<_> =
            entries.iter().map(|e| (e.principal.as_str(), e.action.as_str())).collect();
        assert_eq!(told, [("bob", "shared.remove"), ("ada", "shared.set")]);
    }
}
