//! What is protected comes back exactly.

use narrows_pii::{reveal, reveal_json};
use proptest::{prelude::*, test_runner::Config};

use crate::{
    documents::{document, text},
    vault::{Chance, Vault, scanner},
};

fn config(cases: u32) -> Config {
    Config { cases, failure_persistence: None, ..Config::default() }
}

#[test]
fn a_hundred_thousand_random_documents_come_back_byte_for_byte() {
    let scanner = scanner();
    let mut tokens = 0;
    for seed in 0..100_000 {
        let original = document(&mut Chance::new(seed), 4);
        let mut vault = Vault::new();
        let mut value = original.clone();
        let changed = scanner.protect_json(&mut value, &mut vault);
        assert_eq!(changed, vault.len() > 0, "seed {seed}");
        tokens += vault.len();
        reveal_json(&mut value, &mut |token| vault.lookup(token));
        assert_eq!(value.to_string(), original.to_string(), "seed {seed}");
    }
    assert!(tokens > 95_000, "only {tokens} values were found in all documents");
}

#[test]
fn what_was_found_is_gone_until_it_is_revealed() {
    let scanner = scanner();
    for seed in 0..5_000 {
        let text = text(&mut Chance::new(seed), &[" ", ", ", "\n"]);
        let mut vault = Vault::new();
        let protected = scanner.protect(&text, None, &mut vault);
        for secret in
            ["ada@example.com", "4111 1111 1111 1111", "078-05-1120", "151.101.7.17", "hunter2"]
        {
            assert!(!protected.contains(secret), "seed {seed}: {protected}");
        }
        assert_eq!(reveal(&protected, &mut |token| vault.lookup(token)), text, "seed {seed}");
    }
}

proptest! {
    #![proptest_config(config(4000))]

    #[test]
    fn any_text_comes_back_and_findings_are_sound(text in any_text(), key in proptest::option::of("[a-z_]{0,12}")) {
        let scanner = scanner_once();
        let found = scanner.find(&text, key.as_deref());
        let mut done = 0;
        for found in &found {
            prop_assert!(found.range.start >= done && found.range.start < found.range.end);
            prop_assert!(text.get(found.range.clone()).is_some());
            done = found.range.end;
        }
        let mut vault = Vault::new();
        let protected = scanner.protect(&text, key.as_deref(), &mut vault);
        let restored = reveal(&protected, &mut |token| vault.lookup(token));
        prop_assert_eq!(restored, text.as_str());
    }
}

/// Arbitrary text, and text of the pieces that the detectors look for.
fn any_text() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        4 => "[0-9]{1,20}",
        2 => "[ .:/@+()=%-]{1,3}",
        2 => proptest::sample::select(vec![
            "phone", "ssn", "card", "born ", "March", "name", "Mr. ", "Street", "password", "token", "bearer ",
            "-----BEGIN RSA PRIVATE KEY-----", "-----END", "eyJ", "://", "www.", "%40", "ghp_", "GB29", "\"", "'", "\\", "[EMAIL_", "]",
            "x", "ext", "é", "用", "\u{a0}", "\u{2011}", "\n", "a1b2c3d4e5f6g7h8", "Ada Lovelace", "{", "}", ",",
        ]).prop_map(str::to_owned),
        1 => "\\PC{0,8}",
        1 => any::<String>(),
    ];
    proptest::collection::vec(piece, 0..24).prop_map(|pieces| pieces.concat())
}

fn scanner_once() -> &'static narrows_pii::Scanner {
    static SCANNER: std::sync::LazyLock<narrows_pii::Scanner> = std::sync::LazyLock::new(scanner);
    &SCANNER
}
