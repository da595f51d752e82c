//! Labelled texts and tool definitions from beside the repository. They are not a part of the
//! project: where they are absent, nothing is measured.

use std::{fs, path::PathBuf};

use narrows_pii::{
    Scanner, Settings, Urls,
    score::{Sample, Score, score},
};
use serde_json::Value;

use crate::vault::{Vault, scanner};

fn shared(name: &str) -> Option<PathBuf> {
    let shared = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../shared");
    let path = shared.join(name);
    if path.exists() {
        return Some(path);
    }
    assert!(!shared.exists() || std::env::var_os("CI").is_none(), "not in the shared data: {name}");
    eprintln!("skipped, for want of {}", path.display());
    None
}

fn labelled() -> Option<Score> {
    let samples: Vec<Sample> =
        serde_json::from_str(&fs::read_to_string(shared("pii/generated_large.json")?).unwrap())
            .unwrap();
    let all = Scanner::new(&Settings { urls: Urls::All, ..Settings::default() }).unwrap();
    Some(score(&all, &samples))
}

#[test]
fn labelled_texts_are_read_well() {
    let Some(score) = labelled() else { return };
    assert!(score.micro.f1 >= 0.96, "{score:#?}");
    assert!(score.leak_rate() <= 0.03, "{score:#?}");
    assert_eq!(score.kinds["CREDIT_CARD"].f1, 1.0, "{score:#?}");
    assert_eq!(score.micro.right + score.micro.missed, 528, "the labels of the data");
}

#[test]
fn tool_definitions_hold_hardly_anything() {
    let Some(catalog) = shared("catalog") else { return };
    let scanner = scanner();
    let (mut bytes, mut in_text, mut in_json) = (0, 0, 0);
    for entry in fs::read_dir(catalog).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_none_or(|extension| extension != "json") {
            continue;
        }
        let text = fs::read_to_string(path).unwrap();
        bytes += text.len();
        in_text += scanner.find(&text, None).len();
        let mut vault = Vault::new();
        let mut value: Value = serde_json::from_str(&text).unwrap();
        scanner.protect_json(&mut value, &mut vault);
        in_json += vault.len();
    }
    assert!(bytes > 1_000_000, "only {bytes} bytes of tool definitions");
    for found in [in_text, in_json] {
        assert!(found * 100_000 < bytes, "{found} in {bytes} bytes");
    }
}
