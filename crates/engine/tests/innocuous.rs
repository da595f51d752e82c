//! Texts that a gateway with default settings leaves alone.
#![allow(clippy::unwrap_used, reason = "a test may fail loudly")]

use narrows_engine::safety::SafetySettings;
use narrows_pii::Scanner;

#[test]
fn hardly_any_innocuous_output_is_changed() {
    let scanner = Scanner::new(&SafetySettings::default().pii).unwrap();
    let outputs = narrows_testkit::innocuous_outputs();
    let mut changed = Vec::new();
    for (name, output) in &outputs {
        let found = scanner.find(output, None);
        if let Some(first) = found.first() {
            changed.push(format!("{name}: {} {}", first.kind, &output[first.range.clone()]));
        }
    }
    assert!(
        changed.len() * 100 < outputs.len(),
        "{} of {}: {changed:#?}",
        changed.len(),
        outputs.len()
    );
}

/// A positive control: the other test would also pass with a scanner that finds nothing.
#[test]
fn what_has_to_be_protected_still_is() {
    let scanner = Scanner::new(&SafetySettings::default().pii).unwrap();
    for (text, kind) in [
        ("write to ada@example.com", "EMAIL"),
        ("call 212-555-0147", "PHONE"),
        ("078-05-1120", "US_SSN"),
        ("card 4111111111111111", "CREDIT_CARD"),
        ("4111 1111 1111 1111", "CREDIT_CARD"),
        ("GB29NWBK60161331926819", "IBAN"),
        ("password: hunter2x", "API_KEY"),
    ] {
        let found: Vec<String> =
            scanner.find(text, None).iter().map(|found| found.kind.to_string()).collect();
        assert_eq!(found, [kind], "{text}");
    }
    for text in ["Mr. John Smith", "221 Baker Street", "born 3 March 1961", "151.101.7.17"] {
        assert!(scanner.find(text, None).is_empty(), "{text}");
    }
}
