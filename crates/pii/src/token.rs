//! Tokens, which stand in place of values.
//!
//! `[EMAIL_k3v7q2m5xw4a]` is a kind and twelve characters of a keyed hash, so that the same value
//! has the same token, and nobody without the key can try values. With the last characters kept
//! it reads `[CREDIT_CARD_k3v7q2m5xw4a:1111]`.

use std::ops::Range;

use memchr::memchr_iter;
use ring::hmac;

/// Twelve characters of five bits: among a million values the chance that two share a token is
/// less than one in a million.
const ID_LENGTH: usize = 12;
const ALPHABET: &[u8; 32] = b"abcdefghijklmnopqrstuvwxyz234567";
const MAX_KIND_LEN: usize = 32;
/// More than this is never readable in a token.
const MAX_SHOWN_LEN: usize = 16;

/// The form of a value in the JSON that it came from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Form {
    /// Text, or a part of it.
    Text,
    /// A number. It comes back as a number, not as text.
    Number,
}

/// A maker of tokens with one key.
#[derive(Clone, Debug)]
pub struct TokenMaker {
    key: hmac::Key,
}

impl TokenMaker {
    /// Creates a maker. The same key gives the same tokens.
    pub fn new(key: &[u8; 32]) -> Self {
        Self { key: hmac::Key::new(hmac::HMAC_SHA256, key) }
    }

    /// Returns the token of a value. `keep_last` of its characters stay readable, but never more than
    /// half of them; what is neither a letter nor a digit of ASCII shows as `*`.
    pub fn token(&self, kind: &str, value: &str, form: Form, keep_last: usize) -> String {
        let fingerprint = self.fingerprint(kind, value, form);
        let mut token = String::with_capacity(kind.len() + ID_LENGTH + MAX_SHOWN_LEN + 4);
        token.push('[');
        token.push_str(kind);
        token.push('_');
        token.extend((0..ID_LENGTH).map(|place| char::from(base32_digit(&fingerprint, place))));
        let length = value.chars().count();
        let shown = keep_last.min(length / 2).min(MAX_SHOWN_LEN);
        if shown > 0 {
            token.push(':');
            let last = value.chars().skip(length - shown);
            token.extend(last.map(|c| if c.is_ascii_alphanumeric() { c } else { '*' }));
        }
        token.push(']');
        token
    }

    /// Tells whether a token is one that this key makes for a value, however much of it stays readable.
    pub fn made(&self, token: &Token<'_>, value: &str, form: Form) -> bool {
        let fingerprint = self.fingerprint(token.kind, value, form);
        (0..ID_LENGTH).map(|place| base32_digit(&fingerprint, place)).eq(token.id.bytes())
    }

    /// Returns what identifies a value under this key, without saying anything about it. The characters
    /// of the token are its beginning.
    pub fn fingerprint(&self, kind: &str, value: &str, form: Form) -> [u8; 16] {
        let mut context = hmac::Context::with_key(&self.key);
        context.update(&[match form {
            Form::Text => b't',
            Form::Number => b'n',
        }]);
        context.update(kind.as_bytes());
        context.update(&[0]);
        context.update(value.as_bytes());
        let tag = context.sign();
        let mut fingerprint = [0; 16];
        fingerprint.copy_from_slice(&tag.as_ref()[..16]);
        fingerprint
    }
}

fn base32_digit(bytes: &[u8], place: usize) -> u8 {
    let bit = place * 5;
    let pair = u16::from_be_bytes([bytes[bit / 8], bytes[bit / 8 + 1]]);
    ALPHABET[usize::from(pair >> (11 - bit % 8) & 31)]
}

/// A token as it stands in a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Token<'t> {
    /// The whole token, with its brackets.
    pub text: &'t str,
    /// The name of its kind.
    pub kind: &'t str,
    /// The characters of the keyed hash.
    pub id: &'t str,
    /// Where it stands.
    pub range: Range<usize>,
}

/// Finds the tokens of a text, whoever made them, from left to right.
pub fn tokens_in(text: &str) -> impl Iterator<Item = Token<'_>> {
    memchr_iter(b'[', text.as_bytes()).filter_map(move |start| token_at(text, start))
}

/// Returns the token that starts with the bracket at `start`, if it is one.
fn token_at(text: &str, start: usize) -> Option<Token<'_>> {
    let bytes = text.as_bytes();
    let inside = start + 1;
    if !bytes.get(inside)?.is_ascii_uppercase() {
        return None;
    }
    let name = bytes[inside..]
        .iter()
        .take(MAX_KIND_LEN + 2)
        .take_while(|b| b.is_ascii_uppercase() || b.is_ascii_digit() || **b == b'_')
        .count();
    // The digits 2 to 7 belong to both alphabets, so the name is read up to its last underscore.
    let underscore = inside + bytes[inside..inside + name].iter().rposition(|b| *b == b'_')?;
    let kind = &text[inside..underscore];
    let id_end = underscore + 1 + ID_LENGTH;
    let id = bytes.get(underscore + 1..id_end)?;
    if !is_name(kind) || !id.iter().all(|b| ALPHABET.contains(b)) {
        return None;
    }
    let mut end = id_end;
    if *bytes.get(end)? == b':' {
        let shown = bytes[end + 1..]
            .iter()
            .take(MAX_SHOWN_LEN)
            .take_while(|b| b.is_ascii_alphanumeric() || **b == b'*')
            .count();
        if shown == 0 {
            return None;
        }
        end += 1 + shown;
    }
    if *bytes.get(end)? != b']' {
        return None;
    }
    end += 1;
    Some(Token {
        text: &text[start..end],
        kind,
        id: &text[underscore + 1..id_end],
        range: start..end,
    })
}

/// Tells whether a kind of this name can be read back out of a token.
pub(crate) fn is_name(name: &str) -> bool {
    (2..=MAX_KIND_LEN).contains(&name.len())
        && name.starts_with(|c: char| c.is_ascii_uppercase())
        && !name.ends_with('_')
        && name.bytes().all(|b| b.is_ascii_uppercase() || b.is_ascii_digit() || b == b'_')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn maker() -> TokenMaker {
        TokenMaker::new(&[7; 32])
    }

    fn only(text: &str) -> Token<'_> {
        let mut tokens = tokens_in(text);
        let token = tokens.next().unwrap();
        assert_eq!(tokens.next(), None);
        token
    }

    #[test]
    fn a_token_is_read_back_from_a_text() {
        let token = maker().token("US_SSN", "078-05-1120", Form::Text, 0);
        let text = format!("[a] [US_SSN] {token}.");
        let found = only(&text);
        assert_eq!((found.text, found.kind, found.id.len()), (token.as_str(), "US_SSN", 12));
        assert_eq!(&text[found.range.clone()], token);
    }

    #[test]
    fn the_last_characters_stay_readable_if_asked_for() {
        let token = maker().token("CREDIT_CARD", "4111 1111 1111 1111", Form::Text, 4);
        assert!(token.ends_with(":1111]"), "{token}");
        assert_eq!(only(&token).text, token);
        let token = maker().token("EMAIL", "ü]\n:", Form::Text, 9);
        assert!(token.ends_with(":**]"), "{token}");
        assert_eq!(only(&token).text, token);
    }

    #[test]
    fn kind_form_value_and_key_each_change_the_token() {
        let base = maker().token("PHONE", "5550100", Form::Text, 0);
        assert_eq!(base, maker().token("PHONE", "5550100", Form::Text, 0));
        for other in [
            maker().token("PHONE", "5550100", Form::Number, 0),
            maker().token("PHONE", "5550101", Form::Text, 0),
            TokenMaker::new(&[8; 32]).token("PHONE", "5550100", Form::Text, 0),
        ] {
            assert_ne!(base, other);
        }
        let id = |token: &str| only(token).id.to_owned();
        assert_ne!(id(&base), id(&maker().token("IP", "5550100", Form::Text, 0)));
    }

    #[test]
    fn a_key_knows_the_tokens_that_it_made() {
        for keep_last in [0, 4] {
            let token = maker().token("PHONE", "5550100", Form::Text, keep_last);
            let token = only(&token);
            assert!(maker().made(&token, "5550100", Form::Text));
            assert!(!maker().made(&token, "5550101", Form::Text));
            assert!(!maker().made(&token, "5550100", Form::Number));
            assert!(!TokenMaker::new(&[8; 32]).made(&token, "5550100", Form::Text));
        }
    }

    #[test]
    fn what_is_nearly_a_token_is_none() {
        for text in [
            "[EMAIL_abcdefghijk]",
            "[EMAIL_abcdefghijklm]",
            "[EMAIL_abcdefghijk1]",
            "[email_abcdefghijkl]",
            "[_abcdefghijkl]",
            "[EMAIL_abcdefghijkl",
            "[EMAIL_abcdefghijkl:]",
            "[EMAIL_abcdefghijkl:a b]",
            "[",
            "[A",
        ] {
            assert_eq!(tokens_in(text).count(), 0, "{text}");
        }
        assert_eq!(tokens_in("[[EMAIL_abcdefghijkl]]").count(), 1);
    }
}
