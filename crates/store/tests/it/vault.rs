//! The vault: what is kept comes back, under one key, until it expires or is forgotten.

use narrows_store::{EncryptedValue, Filter, Store, StoreError, TokenSelection, VaultCount};

use crate::home::{Home, on_both};

const HOUR: i64 = 3_600_000;
/// Long after all that these tests write.
const LATER: i64 = 4_000_000_000_000;

pub(crate) fn value(kind: &str, number: usize) -> EncryptedValue {
    EncryptedValue {
        token: format!("[{kind}_{number:012}]"),
        kind: kind.to_owned(),
        fingerprint: vec![number as u8, 0, 0xff],
        sealed: format!("\0sealed {kind} {number}").into_bytes(),
    }
}

fn values(kind: &str, count: usize) -> Vec<EncryptedValue> {
    (0..count).map(|number| value(kind, number)).collect()
}

fn tokens(values: &[EncryptedValue]) -> Vec<String> {
    values.iter().map(|value| value.token.clone()).collect()
}

/// Returns those of the values that are found, in the order of their tokens.
async fn found(
    store: &Store,
    namespace: &str,
    values: &[EncryptedValue],
    now: i64,
) -> Vec<EncryptedValue> {
    let mut found = store.vault().get(namespace, &tokens(values), now).await.unwrap();
    found.sort_by(|a, b| a.token.cmp(&b.token));
    found
}

pub(crate) async fn claimed(home: &Home) -> Store {
    home.store.vault().claim_key("key 1").await.unwrap();
    home.store.clone()
}

async fn forget(store: &Store, namespace: Option<&str>, what: TokenSelection) -> u64 {
    store.vault().forget(namespace, &what, "ada").await.unwrap()
}

async fn left(store: &Store) -> Vec<(String, String, i64)> {
    let counts = store.vault().counts(None).await.unwrap();
    counts.into_iter().map(|it| (it.namespace, it.kind, it.values)).collect()
}

on_both! {
    async fn values_come_back_as_they_were_kept_and_only_in_their_namespace(home) {
        let store = claimed(&home).await;
        // More than go with one statement, and more than are looked up at once.
        let (all, unknown) = (values("EMAIL", 75), values("PHONE", 5));
        store.vault().keep("team", &all, LATER).await.unwrap();
        assert_eq!(found(&store, "team", &all, 0).await, all);
        assert_eq!(found(&home.another().await, "team", &all[..1], 0).await, all[..1]);
        assert_eq!(found(&store, "team", &unknown, 0).await, []);
        assert_eq!(found(&store, "other", &all, 0).await, []);
        assert_eq!(found(&store, "team", &[], 0).await, []);
        store.vault().keep("team", &[], LATER).await.unwrap();
    }

    async fn an_expired_value_is_not_given_and_a_known_one_gets_the_later_expiry(home) {
        let store = claimed(&home).await;
        let all = values("EMAIL", 12);
        store.vault().keep("team", &all, LATER).await.unwrap();
        store.vault().keep("team", &all[..11], LATER + 5).await.unwrap();
        store.vault().keep("team", &all[..10], LATER - 5).await.unwrap();
        assert_eq!(found(&store, "team", &all, LATER - 1).await, all);
        assert_eq!(found(&store, "team", &all, LATER).await, all[..11]);
        assert_eq!(found(&store, "team", &all, LATER + 5).await, []);
        assert_eq!(store.vault().sweep(LATER).await.unwrap(), 1);
        assert_eq!(store.vault().sweep(LATER).await.unwrap(), 0);
        assert_eq!(found(&store, "team", &all, LATER).await, all[..11]);
        assert_eq!(store.vault().sweep(LATER + 5).await.unwrap(), 11);
        assert_eq!(left(&store).await, []);
        // The key stays: only who forgets can change it.
        assert_eq!(store.vault().claim_key("key 2").await.unwrap(), "key 1");
    }

    async fn a_token_never_stands_for_two_values(home) {
        let store = claimed(&home).await;
        store.vault().keep("team", &[value("EMAIL", 7)], LATER).await.unwrap();
        let mut all = values("EMAIL", 12);
        all[7].fingerprint = b"another".to_vec();
        // As one of many, alone, and twice at once.
        let twice = [value("EMAIL", 20), EncryptedValue { token: value("EMAIL", 20).token, ..value("EMAIL", 21) }];
        for (some, taken) in [(&all[..], 7), (&all[7..8], 7), (&twice[..], 20)] {
            let refused = store.vault().keep("team", some, LATER).await.unwrap_err();
            assert!(
                matches!(&refused, StoreError::TokenTaken { token } if *token == value("EMAIL", taken).token),
                "{refused}"
            );
        }
        assert_eq!(left(&store).await, [("team".to_owned(), "EMAIL".to_owned(), 1)]);
        assert_eq!(found(&store, "team", &all, 0).await, [value("EMAIL", 7)]);
        // Another namespace has tokens of its own, and the same value twice is no clash.
        all.push(all[0].clone());
        store.vault().keep("other", &all, LATER).await.unwrap();
    }

    async fn of_several_who_claim_a_key_at_once_all_get_the_same(home) {
        let mut claims = tokio::task::JoinSet::new();
        for number in 0..8 {
            let store = home.another().await;
            claims.spawn(async move {
                store.vault().claim_key(&format!("key {number}")).await.unwrap()
            });
        }
        let kept = claims.join_all().await;
        assert!(kept.iter().all(|it| *it == kept[0]), "{kept:?}");
        assert_eq!(home.store.vault().claim_key("another").await.unwrap(), kept[0]);
    }

    async fn nothing_is_kept_without_the_key_of_the_vault(home) {
        let all = values("EMAIL", 2);
        let refused = home.store.vault().keep("team", &all, LATER).await.unwrap_err();
        assert!(matches!(refused, StoreError::VaultUnclaimed), "{refused}");
        let store = claimed(&home).await;
        let other = home.another().await;
        other.vault().claim_key("key 2").await.unwrap();
        let refused = other.vault().keep("team", &all, LATER).await.unwrap_err();
        assert!(matches!(refused, StoreError::VaultKey), "{refused}");
        assert_eq!(left(&store).await, []);
        store.vault().keep("team", &all, LATER).await.unwrap();
    }

    async fn when_all_is_forgotten_the_key_may_change_and_not_before(home) {
        let store = claimed(&home).await;
        store.vault().keep("team", &values("EMAIL", 2), LATER).await.unwrap();
        let admin = home.another().await;
        let one = TokenSelection { token: Some(value("EMAIL", 0).token), ..TokenSelection::default() };
        assert_eq!(forget(&admin, None, one).await, 1);
        assert_eq!(admin.vault().claim_key("key 2").await.unwrap(), "key 1");
        assert_eq!(forget(&admin, None, TokenSelection::default()).await, 1);
        // Who still uses the vault makes its key the vault's again.
        store.vault().keep("team", &values("EMAIL", 1), LATER).await.unwrap();
        assert_eq!(admin.vault().claim_key("key 2").await.unwrap(), "key 1");
        assert_eq!(forget(&admin, None, TokenSelection::default()).await, 1);
        assert_eq!(admin.vault().claim_key("key 2").await.unwrap(), "key 2");
        // Unless another was faster: no value is ever there under a key that is not the vault's.
        let refused = store.vault().keep("team", &values("EMAIL", 1), LATER).await.unwrap_err();
        assert!(matches!(refused, StoreError::VaultKey), "{refused}");
    }

    async fn what_fits_is_forgotten_and_the_rest_stays(home) {
        let store = claimed(&home).await;
        for namespace in ["team", "other"] {
            for kind in ["EMAIL", "PHONE"] {
                store.vault().keep(namespace, &values(kind, 3), LATER).await.unwrap();
            }
        }
        let row = |namespace: &str, kind: &str, values| (namespace.to_owned(), kind.to_owned(), values);
        let kind = |kind: &str| TokenSelection { kind: Some(kind.to_owned()), ..TokenSelection::default() };
        assert_eq!(forget(&store, Some("team"), kind("PHONE")).await, 3);
        assert_eq!(forget(&store, Some("team"), kind("NONE")).await, 0);
        let token = TokenSelection { token: Some(value("EMAIL", 1).token), ..TokenSelection::default() };
        assert_eq!(forget(&store, Some("team"), token).await, 1);
        assert_eq!(
            left(&store).await,
            [row("other", "EMAIL", 3), row("other", "PHONE", 3), row("team", "EMAIL", 2)]
        );
        let counts = store.vault().counts(Some("team")).await.unwrap();
        let [VaultCount { oldest, expires: LATER, values: 2, .. }] = counts[..] else {
            panic!("{counts:?}")
        };
        assert!(oldest > 1_700_000_000_000);
        assert_eq!(forget(&store, None, kind("EMAIL")).await, 5);
        assert_eq!(left(&store).await, [row("other", "PHONE", 3)]);
        assert_eq!(found(&store, "other", &values("PHONE", 3), 0).await, values("PHONE", 3));
    }

    async fn what_was_looked_up_counts_as_used(home) {
        let store = claimed(&home).await;
        let all = values("EMAIL", 3);
        store.vault().keep("team", &all, LATER).await.unwrap();
        home.tamper("UPDATE vault SET used_at = 1000").await;
        // Used an hour after it is noted; a moment after it is not worth a write.
        found(&store, "team", &all[..1], 1000 + HOUR).await;
        found(&store, "team", &all[1..2], 1001).await;
        let unused = TokenSelection { before: Some(1000 + HOUR), ..TokenSelection::default() };
        assert_eq!(forget(&store, None, unused).await, 2);
        assert_eq!(found(&store, "team", &all, 0).await, all[..1]);
    }

    async fn forgetting_is_in_the_audit_without_what_was_forgotten(home) {
        let store = claimed(&home).await;
        store.vault().keep("team", &values("EMAIL", 3), LATER).await.unwrap();
        let token = value("EMAIL", 1).token;
        let what = TokenSelection { token: Some(token.clone()), ..TokenSelection::default() };
        assert_eq!(forget(&store, Some("team"), what).await, 1);
        let rest = TokenSelection { kind: Some("EMAIL".to_owned()), ..TokenSelection::default() };
        assert_eq!(forget(&store, None, rest).await, 2);
        let entries = store.audit().search(&Filter::default(), None, 10).await.unwrap();
        let noted: Vec<_> = entries
            .iter()
            .map(|it| (&*it.action, &*it.principal, &*it.namespace, it.details["values"].as_i64()))
            .collect();
        assert_eq!(
            noted,
            [("vault.forget", "ada", "", Some(2)), ("vault.forget", "ada", "team", Some(1))]
        );
        assert!(!format!("{entries:?}").contains(&token));
    }

    async fn keeping_looking_up_and_forgetting_at_once_do_not_disturb_each_other(home) {
        let mut tasks = tokio::task::JoinSet::new();
        for task in 0..4 {
            let store = home.another().await;
            store.vault().claim_key("key 1").await.unwrap();
            tasks.spawn(async move {
                for turn in 0..15 {
                    let mut all = values("EMAIL", 25);
                    // Each in another order: whoever would lock one by one would lock themselves.
                    all.rotate_left((task * 5 + turn) % 25);
                    store.vault().keep("team", &all, LATER).await.unwrap();
                    found(&store, "team", &all, LATER - HOUR * turn as i64).await;
                    store.vault().sweep(1).await.unwrap();
                    if task == 0 {
                        forget(&store, None, TokenSelection::default()).await;
                    }
                }
            });
        }
        tasks.join_all().await;
        let other = home.another().await.vault().claim_key("key 2").await.unwrap();
        assert_eq!(other == "key 2", left(&home.store).await.is_empty());
    }
}

#[test]
fn a_sealed_value_is_short_when_it_is_printed() {
    let value = EncryptedValue { sealed: vec![1; 5_000], ..value("EMAIL", 1) };
    assert_eq!(format!("{value:?}"), "EncryptedValue([EMAIL_000000000001], 5000 bytes)");
}
