//! Of what is forgotten no byte is left in the files of the database.

use narrows_store::{EncryptedValue, StoreError, TokenSelection};
use narrows_testkit::Chance;
use sqlx::{AssertSqlSafe, Connection, PgConnection, SqliteConnection};

use crate::{
    home::{Home, in_time, on_both},
    vault::{claimed, value},
};

const LATER: i64 = 4_000_000_000_000;

/// Values like real ones, most of them small, with bytes that are nowhere else.
fn secrets(kind: &str, seed: u64, count: usize) -> Vec<EncryptedValue> {
    let mut chance = Chance::new(seed);
    let secret = |number| {
        let length = if chance.below(20) == 0 { chance.below(9_000) } else { chance.below(60) };
        let sealed = (0..64 + length).map(|_| chance.below(256) as u8).collect();
        let token = format!("[{kind}_{:08}{number:04}]", chance.below(99_999_999));
        EncryptedValue { sealed, token, ..value(kind, number) }
    };
    (0..count).map(secret).collect()
}

/// Returns all bytes that are on the disk for the table.
async fn on_disk(home: &Home) -> Vec<u8> {
    if home.url.starts_with("sqlite:") {
        let directory = home.file().parent().unwrap().to_owned();
        let files = std::fs::read_dir(directory).unwrap();
        return files.flat_map(|file| std::fs::read(file.unwrap().path()).unwrap()).collect();
    }
    let mut connection = PgConnection::connect(&home.url).await.unwrap();
    sqlx::query("CHECKPOINT").execute(&mut connection).await.unwrap();
    let mut all = Vec::new();
    for table in
        ["'vault'::regclass", "(SELECT reltoastrelid FROM pg_class WHERE relname = 'vault')"]
    {
        let sql = format!("SELECT pg_read_binary_file(pg_relation_filepath({table}))");
        let bytes: Vec<u8> =
            sqlx::query_scalar(AssertSqlSafe(sql)).fetch_one(&mut connection).await.unwrap();
        all.extend(bytes);
    }
    all
}

/// Returns how many of the values have bytes there.
fn seen(bytes: &[u8], values: &[EncryptedValue]) -> usize {
    let wanted: std::collections::HashSet<&[u8]> =
        values.iter().flat_map(|value| [&value.sealed[..16], &value.sealed[40..56]]).collect();
    let found: std::collections::HashSet<_> =
        bytes.windows(16).filter(|window| wanted.contains(window)).collect();
    let is_there = |value: &&EncryptedValue| {
        found.contains(&value.sealed[..16]) || found.contains(&value.sealed[40..56])
    };
    values.iter().filter(is_there).count()
}

on_both! {
    async fn no_byte_of_a_forgotten_value_is_left_on_the_disk(home) {
        let store = claimed(&home).await;
        let (emails, phones) = (secrets("EMAIL", 1, 1_500), secrets("PHONE", 2, 1_500));
        for (some, others) in emails.chunks(7).zip(phones.chunks(7)) {
            store.vault().keep("team", some, LATER).await.unwrap();
            store.vault().keep("team", others, LATER - 1).await.unwrap();
            store.vault().keep("team", &others[..2], LATER).await.unwrap();
        }
        // Rows move while others go: copies of those that stay are left in between.
        let short = secrets("SHORT", 3, 1_500);
        store.vault().keep("team", &short, 5).await.unwrap();
        assert_eq!(store.vault().sweep(5).await.unwrap(), 1_500);
        let before = on_disk(&home).await;
        assert_eq!((seen(&before, &emails), seen(&before, &phones)), (1_500, 1_500));

        let what = TokenSelection { kind: Some("PHONE".to_owned()), ..TokenSelection::default() };
        assert_eq!(store.vault().forget(Some("team"), &what, "ada").await.unwrap(), 1_500);
        let after = on_disk(&home).await;
        assert_eq!((seen(&after, &emails), seen(&after, &phones)), (1_500, 0));
        assert_eq!(seen(&after, &short), 0);
        let tokens: Vec<_> = emails.iter().map(|value| value.token.clone()).collect();
        assert_eq!(store.vault().get("team", &tokens, 0).await.unwrap().len(), 1_500);

        store.vault().forget(None, &TokenSelection::default(), "ada").await.unwrap();
        assert_eq!(seen(&on_disk(&home).await, &emails), 0);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_reader_in_the_way_is_told_and_forgetting_again_finishes_the_work() {
    let home = Home::sqlite().await;
    let store = claimed(&home).await;
    let values = secrets("EMAIL", 1, 50);
    store.vault().keep("team", &values, LATER).await.unwrap();
    let mut reader = SqliteConnection::connect(&home.url).await.unwrap();
    let mut reading = reader.begin().await.unwrap();
    let count = "SELECT count(*) FROM vault";
    let there: i64 = sqlx::query_scalar(count).fetch_one(&mut *reading).await.unwrap();
    assert_eq!(there, 50);

    let (vault, everything) = (store.vault(), TokenSelection::default());
    let refused = in_time(vault.forget(None, &everything, "ada")).await.unwrap_err();
    assert!(matches!(refused, StoreError::NotWiped { .. }), "{refused}");
    assert_eq!(store.vault().counts(None).await.unwrap(), []);
    assert_eq!(seen(&on_disk(&home).await, &values), 50, "the log still has them");

    reading.commit().await.unwrap();
    assert_eq!(store.vault().forget(None, &TokenSelection::default(), "ada").await.unwrap(), 0);
    assert_eq!(seen(&on_disk(&home).await, &values), 0);
}
