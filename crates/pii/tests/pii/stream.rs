//! Output in pieces.

use narrows_pii::{Stream, reveal};

use crate::{
    documents::text,
    vault::{Chance, Vault, scanner},
};

fn streamed<'t>(pieces: impl Iterator<Item = &'t str>) -> (String, usize) {
    let scanner = scanner();
    let mut vault = Vault::new();
    let mut stream = Stream::new();
    let (mut out, mut pushed, mut max_held) = (String::new(), 0, 0_usize);
    for piece in pieces {
        pushed += piece.len();
        out.push_str(&stream.push(&scanner, piece, &mut vault));
        max_held = max_held
            .max(pushed.saturating_sub(reveal(&out, &mut |token| vault.lookup(token)).len()));
    }
    out.push_str(&stream.finish(&scanner, &mut vault));
    (out, max_held)
}

fn whole(text: &str) -> String {
    scanner().protect(text, None, &mut Vault::new()).into_owned()
}

const TEXT: &str = "Contact ada@example.com\nphone: 212 555 0147, card 4111 1111 1111 1111\n{\"name\": \"Ada Lovelace\", \"dob\": \"1980-03-05\"}\nünï 用户@例子.广告 +44 20 7946 0958 end";

#[test]
fn a_value_split_anywhere_is_found() {
    let expected = whole(TEXT);
    assert!(expected.matches('[').count() >= 6, "{expected}");
    for split in (0..=TEXT.len()).filter(|at| TEXT.is_char_boundary(*at)) {
        let (out, _) = streamed([&TEXT[..split], &TEXT[split..]].into_iter());
        assert_eq!(out, expected, "split at {split}");
    }
}

#[test]
fn one_character_at_a_time_gives_the_same() {
    let (out, _) = streamed(TEXT.char_indices().map(|(at, c)| &TEXT[at..at + c.len_utf8()]));
    assert_eq!(out, whole(TEXT));
}

#[test]
fn random_texts_in_random_pieces_give_the_same() {
    for seed in 0..3_000 {
        let mut chance = Chance::new(seed);
        let text: String =
            (0..4).map(|_| text(&mut chance, &[" ", "\n", ", ", ": ", "\r\n"])).collect();
        let mut borders: Vec<_> = (0..6).map(|_| chance.below(text.len() + 1)).collect();
        borders.extend([0, text.len()]);
        borders.sort_unstable();
        borders.retain(|at| text.is_char_boundary(*at));
        let pieces = borders.windows(2).map(|pair| &text[pair[0]..pair[1]]);
        assert_eq!(streamed(pieces).0, whole(&text), "seed {seed}: {text:?}");
    }
}

#[test]
fn whole_lines_go_out_at_once() {
    let scanner = scanner();
    let mut vault = Vault::new();
    let mut stream = Stream::new();
    assert_eq!(stream.push(&scanner, "one\ntwo\nthr", &mut vault), "one\ntwo\n");
    assert_eq!(stream.push(&scanner, "ee\n", &mut vault), "three\n");
    assert_eq!(stream.finish(&scanner, &mut vault), "");
}

fn private_key() -> String {
    let mut chance = Chance::new(9);
    let kind = "PRIVATE KEY";
    let body: String = (0..30)
        .map(|_| chance.text("abcdefghijklmnopABCDEFGHIJKLMNOP0123456789+/", 64) + "\n")
        .collect();
    format!("-----BEGIN RSA {kind}-----\n{body}-----END RSA {kind}-----\n")
}

#[test]
fn a_private_key_is_one_token_however_it_is_split() {
    let encrypted =
        private_key().replacen('\n', "\nProc-Type: 4,ENCRYPTED\nDEK-Info: AES-128-CBC,00FF\n\n", 1);
    for key in [private_key(), encrypted] {
        let text = format!("before\n{key}after ada@example.com\n");
        let expected = whole(&text);
        assert_eq!(expected.matches("[PRIVATE_KEY_").count(), 1);
        assert!(expected.len() < 100, "{expected}");
        for size in [1, 7, 65, 500] {
            let pieces: Vec<_> = text
                .as_bytes()
                .chunks(size)
                .map(|piece| std::str::from_utf8(piece).unwrap())
                .collect();
            assert_eq!(streamed(pieces.into_iter()).0, expected, "in pieces of {size}");
        }
    }
}

#[test]
fn a_long_line_goes_out_in_parts_and_values_in_it_are_found() {
    let line: String =
        (0..4000).map(|n| format!("word{n} ada{n}@example.com phone: 212 555 0147 ")).collect();
    let pieces: Vec<_> =
        line.as_bytes().chunks(100).map(|piece| std::str::from_utf8(piece).unwrap()).collect();
    let (out, held) = streamed(pieces.into_iter());
    assert_eq!(out, whole(&line));
    assert!(held < 16 * 1024, "{held} bytes were held back");
}

#[test]
fn a_line_without_a_space_is_not_held_for_ever() {
    let line = "ab+".repeat(100_000);
    let pieces: Vec<_> =
        line.as_bytes().chunks(1000).map(|piece| std::str::from_utf8(piece).unwrap()).collect();
    let (out, held) = streamed(pieces.into_iter());
    assert_eq!(out, line);
    assert!(held < 16 * 1024, "{held} bytes were held back");
}

#[test]
fn a_key_that_never_ends_is_not_held_for_ever() {
    let text = format!(
        "-----BEGIN {} KEY-----\n{}",
        "PRIVATE",
        format!("{}\n", "aB3/".repeat(16)).repeat(3000)
    );
    let pieces: Vec<_> =
        text.as_bytes().chunks(100).map(|piece| std::str::from_utf8(piece).unwrap()).collect();
    let (out, held) = streamed(pieces.into_iter());
    assert!(held < 70 * 1024, "{held} bytes were held back");
    assert!(out.starts_with("[PRIVATE_KEY_"), "{}", &out[..80]);
}
