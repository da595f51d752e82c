//! What must hold for the scanner whatever bytes it is given, as a function for a fuzzer.
//!
//! The tests below feed it random bytes and damaged seeds; `fuzz/` at the top of the repository
//! feeds it what libFuzzer finds. No part of the product: compiled for tests and fuzzers only.

#![allow(clippy::expect_used, reason = "a fuzz target fails by panicking")]

use std::{collections::HashMap, sync::LazyLock};

use serde_json::Value;

use crate::{
    Custom, CustomPattern, Form, Found, Revealed, Scanner, Settings, Stream, Token, TokenMaker,
    Tokens, kinds, reveal, reveal_json, tokens_in,
};

/// A line up to this length is held back until it is whole, so that a stream finds in it what is
/// found in the whole text. Longer lines go out in parts, with less context.
const MAX_WHOLE_LINE: usize = 8 * 1024;
/// A stream holds back no more than this, and what was pushed last.
const MAX_HELD: usize = 64 * 1024;

/// Checks all properties of scanning, restoring and streaming.
///
/// The first two bytes choose how many characters stay readable in tokens, and into pieces of what
/// size the text is cut; the rest is the text, in which bytes that are not UTF-8 are replaced.
pub fn pii(data: &[u8]) {
    let Some((&[keep_last, size], bytes)) = data.split_first_chunk::<2>() else { return };
    let text = String::from_utf8_lossy(bytes);
    let (keep_last, size) = (usize::from(keep_last % 8), usize::from(size).max(1));
    for scanner in [&*BUILT_IN, &*WITH_CUSTOM_KINDS] {
        let protected = check_text(scanner, &text, keep_last);
        check_stream(scanner, &text, size, keep_last, &protected);
        check_json(scanner, &text, keep_last);
    }
    check_private_key(&BUILT_IN, bytes, size);
}

/// A scanner for all built-in kinds.
static BUILT_IN: LazyLock<Scanner> =
    LazyLock::new(|| Scanner::new(&Settings::default()).expect("the default settings"));

/// The names of kinds of the user's own.
const CUSTOM_KINDS: [&str; 2] = ["TICKET", "PROJECT"];

/// Kinds of the user's own overlap with what is built in, and with tokens.
static WITH_CUSTOM_KINDS: LazyLock<Scanner> = LazyLock::new(|| {
    let regex = CustomPattern::Regex(r"[A-Z]{2}-(\d{3})|@\w|#\S+".to_owned());
    let words = CustomPattern::Words(vec!["apollo".to_owned(), "ada".to_owned()]);
    let custom = CUSTOM_KINDS.into_iter().zip([regex, words]);
    let custom = custom.map(|(kind, pattern)| Custom { kind: kind.to_owned(), pattern });
    let settings = Settings { custom: custom.collect(), ..Settings::default() };
    Scanner::new(&settings).expect("settings with kinds of the user's own")
});

/// Findings are in order, apart, whole characters and no tokens, and what one kind finds alone is
/// within them. Each has one token, and with the values of the tokens the text is the same again.
fn check_text(scanner: &Scanner, text: &str, keep_last: usize) -> String {
    let findings = scanner.find(text, None);
    let mut end = 0;
    for found in &findings {
        assert!(found.range.start >= end, "findings overlap or are out of order: {findings:?}");
        assert!(!found.range.is_empty(), "an empty finding: {found:?}");
        let value = text.get(found.range.clone()).expect("a finding cuts a character");
        assert_eq!(tokens_in(value).count(), 0, "a token was taken for a value: {value:?}");
        end = found.range.end;
    }
    for kind in kinds().iter().chain(&CUSTOM_KINDS) {
        for alone in scanner.with(&|other| other != *kind).find(text, None) {
            let is_covered = |found: &Found| {
                found.range.start <= alone.range.start && alone.range.end <= found.range.end
            };
            assert!(findings.iter().any(is_covered), "a part stays readable: {alone:?}");
        }
    }
    let mut vault = Vault::new(keep_last);
    let protected = scanner.protect(text, None, &mut vault).into_owned();
    assert_eq!(vault.tokens_made, findings.len(), "a token for each finding");
    assert_eq!(vault.reveal(&protected), text, "the text does not come back");
    protected
}

/// Checks that a stream says what is said of the whole text, in pieces of any size and line by line.
fn check_stream(scanner: &Scanner, text: &str, size: usize, keep_last: usize, protected: &str) {
    let is_whole = text.lines().all(|line| line.len() < MAX_WHOLE_LINE)
        // What begins like a private key and does not go on like one is let go by a stream, which
        // cannot wait for its end; see `check_private_key` for real ones.
        && !text.contains("-----BEGIN ");
    for pieces in [in_pieces(text, size), text.split_inclusive('\n').collect()] {
        let out = streamed(scanner, &pieces, keep_last);
        if is_whole {
            assert_eq!(out, protected, "a stream of {pieces:?} differs from the whole");
        }
    }
}

/// Returns what a stream of these pieces gives. It comes back exactly, and little of it is held back.
fn streamed(scanner: &Scanner, pieces: &[&str], keep_last: usize) -> String {
    let mut vault = Vault::new(keep_last);
    let mut stream = Stream::new();
    let mut out = String::new();
    let (mut pushed, mut gone) = (0, 0);
    for piece in pieces {
        let sent = stream.push(scanner, piece, &mut vault);
        pushed += piece.len();
        gone += vault.reveal(&sent).len();
        let held = pushed.checked_sub(gone).expect("a stream sends what it was not given");
        assert!(held <= MAX_HELD + piece.len(), "{held} bytes are held back");
        out.push_str(&sent);
    }
    out.push_str(&stream.finish(scanner, &mut vault));
    assert_eq!(vault.reveal(&out), pieces.concat(), "the text of a stream does not come back");
    out
}

fn in_pieces(mut text: &str, size: usize) -> Vec<&str> {
    let mut pieces = Vec::new();
    while !text.is_empty() {
        let (piece, rest) = text.split_at(text.ceil_char_boundary(size));
        pieces.push(piece);
        text = rest;
    }
    pieces
}

/// Checks that a private key is one token, whatever its last line looks like and wherever it is cut.
fn check_private_key(scanner: &Scanner, bytes: &[u8], size: usize) {
    const BASE64: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    const LINE: usize = 64;
    // The first line is whole, as in any key.
    let digits = (0..LINE as u8).chain(bytes.iter().copied().take(10 * LINE));
    let digits: Vec<u8> = digits.map(|byte| BASE64[usize::from(byte % 64)]).collect();
    let lines: Vec<_> = digits.chunks(LINE).map(String::from_utf8_lossy).collect();
    let kind = "PRIVATE KEY";
    let text = format!(
        "before\n-----BEGIN {kind}-----\n{}\n-----END {kind}-----\nafter\n",
        lines.join("\n")
    );
    let protected = check_text(scanner, &text, 0);
    let token = protected.strip_prefix("before\n").and_then(|rest| rest.strip_suffix("\nafter\n"));
    let token = token.expect("nothing but the key is replaced");
    assert!(tokens_in(token).next().is_some_and(|only| only.text == token), "{protected}");
    for pieces in [in_pieces(&text, size), text.split_inclusive('\n').collect()] {
        assert_eq!(streamed(scanner, &pieces, 0), protected, "a stream of {pieces:?}");
    }
}

/// Checks the text as JSON (if it is), and as keys, texts and a number of JSON: all of it comes back.
fn check_json(scanner: &Scanner, text: &str, keep_last: usize) {
    let (key, value) = text.split_at(text.floor_char_boundary(text.len() / 2));
    let digits: String = text.chars().filter(char::is_ascii_digit).take(16).collect();
    let number: u64 = digits.parse().unwrap_or_default();
    let made = serde_json::json!({
        key: [value, { "name": value, "phone": key }],
        "ssn": value,
        "card number": number,
    });
    for original in serde_json::from_str::<Value>(text).into_iter().chain([made]) {
        let mut vault = Vault::new(keep_last);
        let mut value = original.clone();
        let is_changed = scanner.protect_json(&mut value, &mut vault);
        assert_eq!(is_changed, value != original, "what changed is not what is said to");
        let is_revealed = reveal_json(&mut value, &mut |token| vault.lookup(&token));
        assert_eq!(value, original, "JSON does not come back");
        assert_eq!(is_revealed, is_changed, "{original}");
    }
}

/// Keeps the values of tokens.
struct Vault {
    maker: TokenMaker,
    values: HashMap<String, Revealed>,
    keep_last: usize,
    tokens_made: usize,
}

impl Vault {
    fn new(keep_last: usize) -> Self {
        Self { maker: TokenMaker::new(&[7; 32]), values: HashMap::new(), keep_last, tokens_made: 0 }
    }

    fn lookup(&self, token: &Token<'_>) -> Option<Revealed> {
        self.values.get(token.text).cloned()
    }

    fn reveal(&self, text: &str) -> String {
        reveal(text, &mut |token| self.lookup(&token)).into_owned()
    }
}

impl Tokens for Vault {
    fn token(&mut self, kind: &str, value: &str, form: Form) -> String {
        self.tokens_made += 1;
        let token = self.maker.token(kind, value, form, self.keep_last);
        self.values.insert(token.clone(), Revealed { value: value.to_owned(), form });
        token
    }
}

#[cfg(test)]
mod tests {
    use narrows_testkit::same_cases;
    use proptest::{prelude::*, sample::Index};

    use super::*;

    /// Texts with something to find in them, in the forms that the detectors tell apart.
    const SEEDS: [&str; 13] = [
        "Contact ada@example.com or (212) 555-0147, card 4111 1111 1111 1111.\n",
        "{\"name\": \"Ada Lovelace\", \"dob\": \"1980-03-05\", \"phone\": 2125550147, \"n\": [1.5]}",
        "iban: GB29 NWBK 6016 1331 9268 19\r\nfrom 151.101.7.17 and fe80::1%eth0\r\n",
        "password=hunter2&token=ghp_0123456789abcdefghijABCDEFGHIJ456789\n",
        "see https://user:secret@host.example/path?mail=ada%40example.com",
        "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.dozjgNryP4J3jVmNHl0w5N_XgL0n3I9P",
        "[EMAIL_abcdefghijkl] wrote to [PHONE_k3v7q2m5xw4a:0147] and ada@example.com",
        "see #7[EMAIL_abcdefghijkl]8 and #[API_KEY_k3v7q2m5xw4a] of AB-123\n",
        "Dr. María-José Núñez, 12 Rue de la Paix, 75002 Paris; né le 5 mars 1980",
        "用户@例子.广告 +44 20 7946 0958 00:1b:44:11:3a:b7 AHV 756.9217.0769.85",
        "-----BEGIN RSA PRIVATE KEY-----\n\
         MIIEowIBAAKCAQEAxwmwJ0X5b8vYQz0Yx1s7kQ2V3jFfVb2JmVn5kqS0cG7bXy1Z\n\
         kT9pQ4dR8sL2wN6hC3vB5mX7zA1qE0uI+oPyTgFjDkSlWrHnUxKbZcVtMqOaJi==\n\
         -----END RSA PRIVATE KEY-----\nend\n",
        "AB-123 of Apollo for ada: AB-1234, @x and 4111111111111111@example.com",
        "my name is Ada Lovelace\\nphone: 212 555 0147\\n",
    ];

    /// Seeds in which pieces are replaced, removed and repeated, and arbitrary bytes.
    fn input() -> impl Strategy<Value = Vec<u8>> {
        let edit = (any::<Index>(), any::<Index>(), any::<u8>(), 0_u8..5);
        let seeds = prop::collection::vec(prop::sample::select(SEEDS.as_slice()), 1..4);
        let damaged = (any::<[u8; 2]>(), seeds, prop::collection::vec(edit, 0..6)).prop_map(
            |(choices, seeds, edits)| {
                let mut bytes = [&choices[..], seeds.concat().as_bytes()].concat();
                for (at, other, byte, edit) in edits {
                    let (at, other) = (at.index(bytes.len()), other.index(bytes.len()));
                    let range = at.min(other)..at.max(other);
                    match edit {
                        0 => bytes[at] = byte,
                        1 => bytes.insert(at, byte),
                        2 => drop(bytes.drain(range.start..range.end.min(range.start + 40))),
                        3 => bytes.extend_from_within(range),
                        _ => bytes.insert(at, b'\n'),
                    }
                    if bytes.is_empty() {
                        bytes.push(byte);
                    }
                }
                bytes
            },
        );
        prop_oneof![4 => damaged, 1 => prop::collection::vec(any::<u8>(), 0..200)]
    }

    proptest! {
        #![proptest_config(same_cases(800))]

        #[test]
        fn any_bytes_keep_the_promises_of_the_scanner(data in input()) {
            pii(&data);
        }
    }

    #[test]
    fn the_seeds_have_something_to_find() {
        for seed in SEEDS {
            assert!(!WITH_CUSTOM_KINDS.find(seed, None).is_empty(), "{seed}");
            for size in [1, 7, 255] {
                pii(&[&[0, size], seed.as_bytes()].concat());
            }
        }
    }

    /// Long lines and a key without an end, which streams do not wait for.
    #[test]
    fn long_texts_keep_the_promises_of_the_scanner() {
        let kind = "PRIVATE KEY";
        let key = format!("-----BEGIN {kind}-----\n{}", ("aB3/".repeat(16) + "\n").repeat(2_000));
        for long in [SEEDS[0].replace('\n', " ").repeat(300), key, "ab+".repeat(30_000)] {
            for piece in [1, 100, 255] {
                // Pieces of one byte of a long text take long.
                let end = if piece == 1 { 9_000 } else { long.len() };
                pii(&[&[4, piece], &long.as_bytes()[..end.min(long.len())]].concat());
            }
        }
    }
}
