//! What keeps values in these tests.

use std::collections::HashMap;

use narrows_pii::{Form, Revealed, Scanner, Settings, Token, TokenMaker, Tokens};

pub(crate) struct Vault {
    maker: TokenMaker,
    values: HashMap<String, Revealed>,
}

impl Vault {
    pub(crate) fn new() -> Self {
        Self { maker: TokenMaker::new(&[42; 32]), values: HashMap::new() }
    }

    pub(crate) fn lookup(&self, token: Token<'_>) -> Option<Revealed> {
        self.values.get(token.text).cloned()
    }

    pub(crate) fn len(&self) -> usize {
        self.values.len()
    }
}

impl Tokens for Vault {
    fn token(&mut self, kind: &str, value: &str, form: Form) -> String {
        let token = self.maker.token(kind, value, form, 0);
        self.values.insert(token.clone(), Revealed { value: value.to_owned(), form });
        token
    }
}

pub(crate) fn scanner() -> Scanner {
    Scanner::new(&Settings::default()).unwrap()
}

/// Returns what is found in a text, as `KIND value`.
pub(crate) fn found(text: &str) -> Vec<String> {
    found_under(text, None)
}

pub(crate) fn found_under(text: &str, key: Option<&str>) -> Vec<String> {
    let found = scanner().find(text, key);
    found.iter().map(|found| format!("{} {}", found.kind, &text[found.range.clone()])).collect()
}

/// Numbers that look random and are the same each time.
pub(crate) struct Chance(u64);

impl Chance {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    pub(crate) fn below(&mut self, limit: usize) -> usize {
        (self.next() >> 11) as usize % limit
    }

    pub(crate) fn pick<'t, T>(&mut self, of: &'t [T]) -> &'t T {
        &of[self.below(of.len())]
    }

    /// Returns so many characters of an alphabet.
    pub(crate) fn text(&mut self, alphabet: &str, length: usize) -> String {
        let alphabet: Vec<char> = alphabet.chars().collect();
        (0..length).map(|_| *self.pick(&alphabet)).collect()
    }
}
