//! The strings at one place: their format, and words that recur.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize, de::IgnoredAny};

/// The most words of a field that works like an enum; more are data.
const MAX_WORDS: usize = 8;
const MAX_WORD_LEN: usize = 24;
/// The least number of strings from which the words of an enum are inferred.
const MIN_STRINGS: u64 = 5;
/// Longer texts are not parsed to see whether they are JSON.
const MAX_JSON_LEN: usize = 1024 * 1024;

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Text {
    #[serde(rename = "n")]
    seen: u64,
    #[serde(rename = "f", default, skip_serializing_if = "Option::is_none")]
    format: Option<Format>,
    /// All words that were seen. `None` once there were other strings, or too many words.
    #[serde(rename = "w", default, skip_serializing_if = "Option::is_none")]
    words: Option<BTreeSet<String>>,
}

/// The format of all strings at one place.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Format {
    DateTime,
    Date,
    Uuid,
    Uri,
    Json,
}

impl Default for Text {
    fn default() -> Self {
        Self { seen: 0, format: None, words: Some(BTreeSet::new()) }
    }
}

impl Text {
    pub(super) fn observe(&mut self, text: &str, tells: bool) {
        if self.seen == 0 {
            self.format = Format::of(text);
        } else if self.format.is_some() && self.format != Format::of(text) {
            self.format = None;
        }
        self.seen += 1;
        if let Some(words) = &mut self.words
            && !words.contains(text)
        {
            if tells && is_code(text) && words.len() < MAX_WORDS {
                words.insert(text.to_owned());
            } else {
                self.words = None;
            }
        }
    }

    pub(super) fn merge(&mut self, other: Self) {
        self.seen = self.seen.saturating_add(other.seen);
        self.format = self.format.filter(|format| Some(*format) == other.format);
        self.words = match (self.words.take(), other.words) {
            (Some(mut words), Some(others)) => {
                words.extend(others);
                Some(words).filter(|words| words.len() <= MAX_WORDS)
            }
            _ => None,
        };
    }

    pub(super) fn forget_words(&mut self) {
        self.words = None;
    }

    /// Returns the words, if they are few and recur so often that there are hardly others.
    pub(super) fn words(&self) -> Option<impl Iterator<Item = &str>> {
        let words = self.words.as_ref()?;
        let come_again = words.len() as u64 * 2 <= self.seen;
        (self.seen >= MIN_STRINGS && words.len() >= 2 && come_again)
            .then(|| words.iter().map(String::as_str))
    }

    pub(super) fn format(&self) -> Option<Format> {
        self.format
    }
}

/// Tells whether a text looks like an enum value: `open`, `IN_PROGRESS`, `not-found`. Names are not,
/// because of their capitals, nor numbers, because they identify something.
fn is_code(text: &str) -> bool {
    let digits = text.bytes().filter(u8::is_ascii_digit).count();
    let allowed = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-');
    (1..=MAX_WORD_LEN).contains(&text.len())
        && text.starts_with(|c: char| c.is_ascii_alphabetic())
        && text.bytes().all(allowed)
        && digits <= 1
        && !(text.bytes().any(|b| b.is_ascii_uppercase())
            && text.bytes().any(|b| b.is_ascii_lowercase()))
}

impl Format {
    fn of(text: &str) -> Option<Self> {
        let bytes = text.as_bytes();
        match bytes.first()? {
            b'0'..=b'9' if is_date(bytes) => Some(Self::Date),
            b'0'..=b'9' if bytes.get(..10).is_some_and(is_date) => {
                is_time(bytes.get(10..)?).then_some(Self::DateTime)
            }
            b'0'..=b'9' | b'a'..=b'f' | b'A'..=b'F' if is_uuid(bytes) => Some(Self::Uuid),
            b'a'..=b'z' | b'A'..=b'Z' => is_uri(text).then_some(Self::Uri),
            b'{' | b'[' if text.len() <= MAX_JSON_LEN => {
                serde_json::from_str::<IgnoredAny>(text).is_ok().then_some(Self::Json)
            }
            _ => None,
        }
    }

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::DateTime => "date-time",
            Self::Date => "date",
            Self::Uuid => "uuid",
            Self::Uri => "uri",
            Self::Json => "json",
        }
    }
}

/// Tells whether bytes fit a pattern, in which `9` stands for a digit.
fn fits(bytes: &[u8], pattern: &[u8]) -> bool {
    bytes.len() == pattern.len()
        && bytes.iter().zip(pattern).all(|(byte, pattern)| match pattern {
            b'9' => byte.is_ascii_digit(),
            other => byte == other,
        })
}

fn is_date(bytes: &[u8]) -> bool {
    fits(bytes, b"9999-99-99")
}

/// Tells whether bytes are a time such as `T10:00:00`, with or without a fraction, and with a zone as
/// in RFC 3339.
fn is_time(bytes: &[u8]) -> bool {
    let Some((time, rest)) = bytes.split_at_checked(9) else { return false };
    if !matches!(time[0], b'T' | b't' | b' ') || !fits(&time[1..], b"99:99:99") {
        return false;
    }
    let digits = rest
        .strip_prefix(b".")
        .map_or(0, |fraction| 1 + fraction.iter().take_while(|byte| byte.is_ascii_digit()).count());
    let zone = &rest[digits..];
    digits != 1 && (matches!(zone, b"Z" | b"z") || fits(zone, b"+99:99") || fits(zone, b"-99:99"))
}

fn is_uuid(bytes: &[u8]) -> bool {
    bytes.len() == 36
        && bytes.iter().enumerate().all(|(at, byte)| match at {
            8 | 13 | 18 | 23 => *byte == b'-',
            _ => byte.is_ascii_hexdigit(),
        })
}

/// Tells whether a text is a URI with `://`. Others, such as `urn:x`, cannot be told from prose.
fn is_uri(text: &str) -> bool {
    let Some((scheme, rest)) = text.split_once("://") else { return false };
    let in_scheme = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'-' | b'.');
    scheme.len() <= 20
        && scheme.bytes().all(in_scheme)
        && !rest.is_empty()
        && !rest.contains(|c: char| c.is_whitespace())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used)]
    use super::*;

    fn seen(texts: &[&str]) -> Text {
        let mut text = Text::default();
        texts.iter().for_each(|one| text.observe(one, true));
        text
    }

    #[test]
    fn formats() {
        for (text, format) in [
            ("2026-11-16", Some(Format::Date)),
            ("2026-11-16T10:00:00Z", Some(Format::DateTime)),
            ("2026-11-16T10:00:00.123+01:00", Some(Format::DateTime)),
            ("2026-11-16 10:00:00", None),
            ("2026-11-16T10:00:00.Z", None),
            ("2026-11-16T10:00", None),
            ("2026-11-16x", None),
            ("1b4e28ba-2fa1-11d2-883f-0016d3cca427", Some(Format::Uuid)),
            ("fb4e28ba-2fa1-11d2-883f-0016d3cca427", Some(Format::Uuid)),
            ("fb4e28ba-2fa1-11d2-883f-0016d3cca42", None),
            ("https://example.com/a?b", Some(Format::Uri)),
            ("file:///a", Some(Format::Uri)),
            ("see https://example.com", None),
            ("a: b", None),
            ("https://", None),
            ("{\"a\": [1]}", Some(Format::Json)),
            ("[]", Some(Format::Json)),
            ("[x]", None),
            ("", None),
            ("20é6-11-16", None),
            ("2026-11-16T10:00:0é", None),
        ] {
            assert_eq!(Format::of(text), format, "{text:?}");
        }
        assert_eq!(seen(&["2026-11-16", "2026-11-17"]).format(), Some(Format::Date));
        assert_eq!(seen(&["2026-11-16", ""]).format(), None);
        assert_eq!(seen(&["", "2026-11-16"]).format(), None);
    }

    #[test]
    fn only_codes_are_kept() {
        for word in ["open", "IN_PROGRESS", "not-found", "v2", "a"] {
            assert!(is_code(word), "{word}");
        }
        for text in [
            "",
            "Ada",
            "inProgress",
            "two words",
            "a1b2",
            "2fa",
            "x.y",
            "a@b",
            "-x",
            "é",
            "a-word-that-is-much-too-long",
        ] {
            assert!(!is_code(text), "{text}");
        }
    }

    #[test]
    fn words_are_told_when_few_come_often() {
        let words = |text: &Text| text.words().map(|words| words.collect::<Vec<_>>().join(" "));
        for (texts, told) in [
            (vec!["open", "closed", "open", "open", "closed"], Some("closed open")),
            (vec!["open", "closed", "open", "open"], None),
            (vec!["open"; 9], None),
            (vec!["a", "b", "c", "a", "b"], None),
            (vec!["a", "b", "c", "a", "b", "c"], Some("a b c")),
            (vec!["open", "closed", "open", "open", "closed", "Ada"], None),
        ] {
            assert_eq!(words(&seen(&texts)).as_deref(), told, "{texts:?}");
        }
        let nine = ["a", "b", "c", "d", "e", "f", "g", "h", "i"].repeat(3);
        assert_eq!(seen(&nine).words, None);
        let mut text = seen(&nine[..5]);
        text.merge(seen(&nine[5..9]));
        assert_eq!(text.words, None);
        let mut secret = Text::default();
        secret.observe("hunter", false);
        assert!(!serde_json::to_string(&secret).unwrap().contains("hunter"));
    }
}
