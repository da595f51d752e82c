//! Puts tokens in place of values, in text.

use std::borrow::Cow;

use crate::{
    scanner::{Found, Scanner, View},
    token::Form,
};

/// The keeper of values, which gives a token for each.
pub trait Tokens {
    /// Returns the token of a value that was found. Called once for each place.
    fn token(&mut self, kind: &str, value: &str, form: Form) -> String;
}

impl Scanner {
    /// Returns the text with tokens in place of what was found. `key` is the JSON key that the text
    /// stands under.
    pub fn protect<'t>(
        &self,
        text: &'t str,
        key: Option<&str>,
        tokens: &mut dyn Tokens,
    ) -> Cow<'t, str> {
        View::from(self).protect(text, key, tokens)
    }
}

impl View<'_> {
    /// See [`Scanner::protect`].
    pub fn protect<'t>(
        &self,
        text: &'t str,
        key: Option<&str>,
        tokens: &mut dyn Tokens,
    ) -> Cow<'t, str> {
        replace(text, &self.find(text, key), tokens)
    }
}

/// Puts tokens in place of what was found, which is sorted and does not overlap.
pub(crate) fn replace<'t>(text: &'t str, found: &[Found], tokens: &mut dyn Tokens) -> Cow<'t, str> {
    if found.is_empty() {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len() + found.len() * 16);
    let mut done = 0;
    for Found { kind, range } in found {
        out.push_str(&text[done..range.start]);
        out.push_str(&tokens.token(kind.as_str(), &text[range.clone()], Form::Text));
        done = range.end;
    }
    out.push_str(&text[done..]);
    Cow::Owned(out)
}
