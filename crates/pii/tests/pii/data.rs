//! The labelled texts and tool definitions of `tests/data`.

use std::fs;

use narrows_pii::{
    Scanner, Settings, Urls,
    score::{Sample, Score, score},
};
use serde_json::Value;

use crate::vault::{Vault, scanner};

fn labelled() -> Score {
    let samples: Vec<Sample> = serde_json::from_value(narrows_testkit::labelled_texts()).unwrap();
    let all = Scanner::new(&Settings { urls: Urls::All, ..Settings::default() }).unwrap();
    score(&all, &samples)
}

#[test]
fn labelled_texts_are_read_well() {
    let score = labelled();
    assert!(score.micro.f1 >= 0.96, "{score:#?}");
    assert!(score.leak_rate() <= 0.03, "{score:#?}");
    assert_eq!(score.kinds["CREDIT_CARD"].f1, 1.0, "{score:#?}");
    assert_eq!(score.micro.right + score.micro.missed, 165, "the labels of the data");
}

#[test]
fn tool_definitions_hold_hardly_anything() {
    let scanner = scanner();
    let (mut bytes, mut in_text, mut in_json) = (0, 0, 0);
    for entry in fs::read_dir(narrows_testkit::catalog_directory()).unwrap() {
        let text = fs::read_to_string(entry.unwrap().path()).unwrap();
        bytes += text.len();
        in_text += scanner.find(&text, None).len();
        let mut vault = Vault::new();
        let mut value: Value = serde_json::from_str(&text).unwrap();
        scanner.protect_json(&mut value, &mut vault);
        in_json += vault.len();
    }
    assert!(bytes > 250_000, "only {bytes} bytes of tool definitions");
    for found in [in_text, in_json] {
        assert!(found * 100_000 < bytes, "{found} in {bytes} bytes");
    }
}
