//! Input that is made to be slow.

use std::time::{Duration, Instant};

use crate::vault::scanner;

/// Ten times as much may take fifty times as long, which allows for noise but not for a square.
#[test]
fn time_grows_with_the_text_and_not_faster() {
    let scanner = scanner();
    for piece in [
        "1",
        "@",
        "a.",
        "[",
        "-----BEGIN ",
        "-----BEGIN PRIVATE KEY-----\n",
        "1-",
        "9 ",
        "+1 ",
        "(1",
        "a@",
        "x@a.",
        "eyJ",
        "eyJaaaaaaaaaaaa.",
        "1:",
        "ab:",
        "1.",
        "://",
        "http://a:b@",
        "sk-",
        "SG.",
        "xoxe.",
        "password=",
        "\"password\": \"",
        "name: ",
        "name=x",
        "Mr ",
        "Dear ",
        "Street ",
        "1 A Street ",
        "%40",
        "born 1 ",
        "phone 1 ",
        "address: 1 ",
        "[EMAIL_",
        "2001:db8:",
        "GB29 ",
        "token=\\\"",
        "bearer a1",
        "é1",
    ] {
        let time = |bytes: usize| {
            let text = piece.repeat(bytes / piece.len());
            // The quickest of some: others may need the processor too.
            (0..3)
                .map(|_| {
                    let start = Instant::now();
                    scanner.find(&text, None);
                    start.elapsed()
                })
                .min()
                .unwrap()
        };
        let (small, large) = (time(40_000), time(400_000));
        let allowed = small.max(Duration::from_millis(1)) * 50;
        assert!(large < allowed, "{piece:?}: {small:?} for 40 KB, {large:?} for 400 KB");
    }
}
