//! Databases of every version there was, brought to the newest.
//!
//! For each version there are two fixtures: the tables as they were, filled. They are never
//! changed. A new version needs new ones, and what it adds is looked at in `assert_rows`.

use std::path::PathBuf;

use narrows_store::{ApprovalState, LeaseResult, SCHEMA_VERSION, Scope, Store, Verification};
use serde_json::json;

use crate::home::{Home, on_both, place};

fn fixture(home: &Home, version: i64) -> String {
    let database = if home.url.starts_with("sqlite:") { "sqlite" } else { "postgres" };
    let directory = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures");
    let file = directory.join(format!("{version:04}_{database}.sql"));
    std::fs::read_to_string(&file)
        .unwrap_or_else(|error| panic!("version {version} needs {}: {error}", file.display()))
}

/// Returns all tables, columns and indexes, as the database tells them.
async fn schema(home: &Home) -> Vec<String> {
    if home.url.starts_with("sqlite:") {
        let sql = "SELECT coalesce(sql, name) FROM sqlite_master ORDER BY type, name";
        return home.ask(sql).await;
    }
    let sql = "SELECT format('%s.%s %s %s %s', table_name, column_name, data_type, is_nullable,
                             collation_name) AS line
               FROM information_schema.columns WHERE table_schema = 'public'
               UNION ALL SELECT indexdef FROM pg_indexes WHERE schemaname = 'public'
               UNION ALL SELECT conrelid::regclass || ' ' || pg_get_constraintdef(oid)
               FROM pg_constraint WHERE connamespace = 'public'::regnamespace
               ORDER BY line";
    home.ask(sql).await
}

/// Checks what the fixtures hold, since the version in which it came.
async fn assert_rows(store: &Store, version: i64) {
    let skill = store.skills().get("team", "total", None).await.unwrap().unwrap();
    assert_eq!(
        (skill.head.version, skill.head.revision, skill.code.as_str()),
        (2, 2, "def total(): return 2\n")
    );
    assert_eq!(
        store.skills().get("team", "total", Some(1)).await.unwrap().unwrap().code,
        "def total(): return 1\n"
    );
    assert_eq!(store.skills().get("team", "gone", None).await.unwrap(), None);
    assert_eq!(store.skills().versions("team", "gone").await.unwrap().len(), 1);
    assert_eq!(store.skills().revision().await.unwrap(), 4);
    let messages = store.boards().read("team", "plan", 0, 10).await.unwrap();
    assert_eq!(
        messages.iter().map(|m| &m.body).collect::<Vec<_>>(),
        [&json!("one"), &json!({ "two": 2 })]
    );
    assert_eq!(store.shared().get("team", "count").await.unwrap().unwrap().value, json!(7));
    let taken = store.sessions().take("team", "s", "me", std::time::Duration::ZERO, "ada").await;
    let LeaseResult::Yours(session) = taken.unwrap() else { panic!("the lease ran out long ago") };
    assert_eq!((session.generation, session.state.as_deref()), (1, Some(&b"\x00state\xff"[..])));
    assert_eq!(session.lost, json!(["a lock"]));
    assert_eq!(store.files().total("team").await.unwrap().bytes, 12);
    assert_eq!(store.files().outputs("team", "unknown").await.unwrap()[0].path, "out/1.txt");
    assert_eq!(
        store.audit().verify().await.unwrap(),
        Verification::Intact { entries: 7, first: 1 }
    );
    assert_eq!(store.audit().size().await.unwrap().bytes, 4_055);
    if version >= 3 {
        let tokens = ["[EMAIL_abcdefghijkl]".to_owned()];
        let values = store.vault().get("team", &tokens, 0).await.unwrap();
        assert_eq!((values[0].kind.as_str(), &*values[0].sealed), ("EMAIL", &b"\0sealed\0"[..]));
        assert_eq!(store.vault().claim_key("another").await.unwrap(), "proof");
        let approvals = store.approvals().list(None, 10, 0).await.unwrap();
        let states: Vec<_> = approvals.iter().map(|it| (it.id.as_str(), it.state)).collect();
        assert_eq!(states, [("a2", ApprovalState::Pending), ("a1", ApprovalState::Used)]);
        let expected = if version >= 5 {
            (Scope::Session, r#"["destructive"]"#, Some("s1"))
        } else {
            (Scope::Once, "[]", None)
        };
        let used = &approvals[1];
        assert_eq!((used.scope, used.reasons.as_str(), used.session.as_deref()), expected);
    }
}

on_both! {
    async fn a_store_of_every_version_becomes_one_of_the_newest(home) {
        let newest = schema(&home).await;
        assert!(newest.len() > 20);
        home.store.close().await;
        for version in 1..=SCHEMA_VERSION {
            home.empty().await;
            home.tamper(&fixture(&home, version)).await;
            let store = Store::open(&place(&home.url)).await.unwrap();
            assert_rows(&store, version).await;
            store.check().await.unwrap();
            assert_eq!(schema(&home).await, newest, "from version {version}");
            store.close().await;
        }
    }

    async fn a_migration_that_fails_changes_nothing(home) {
        home.store.close().await;
        home.empty().await;
        home.tamper("CREATE TABLE boards (mine TEXT); INSERT INTO boards VALUES ('kept')").await;
        let before = schema(&home).await;
        Store::open(&place(&home.url)).await.unwrap_err();
        assert_eq!(schema(&home).await, before);
        assert_eq!(home.tamper("DELETE FROM boards WHERE mine = 'kept'").await, 1);
    }
}
