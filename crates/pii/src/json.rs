//! Puts tokens in place of values, in JSON of any nesting, with its keys as context.

use std::collections::HashMap;

use serde_json::{Map, Value};

use crate::{
    context::{Around, Place, around_key},
    lexicon::Cues,
    protect::{Tokens, replace},
    reveal::{IfChanged, rename_keys},
    scanner::{Scanner, View},
    token::Form,
};

/// How many different keys are remembered. More would be values, not names.
const MAX_KEYS: usize = 4096;

impl Scanner {
    /// Puts tokens in place of what is found in texts, keys and whole numbers. A number becomes the
    /// text of its token, and comes back as a number. Tells whether something changed.
    pub fn protect_json(&self, value: &mut Value, tokens: &mut dyn Tokens) -> bool {
        View::from(self).protect_json(value, tokens)
    }
}

impl View<'_> {
    /// See [`Scanner::protect_json`].
    pub fn protect_json(&self, value: &mut Value, tokens: &mut dyn Tokens) -> bool {
        let mut walk = Walk { view: self, tokens, keys: HashMap::new() };
        walk.value(value, Outer { key: "", place: Place::default() })
    }
}

struct Walk<'a> {
    view: &'a View<'a>,
    tokens: &'a mut dyn Tokens,
    /// The keys seen so far: the same few come again and again.
    keys: HashMap<String, Key>,
}

/// A key, with what it says about its value.
#[derive(Clone, Copy)]
struct Key {
    around: Around,
    /// Whether it says nothing without what it belongs to.
    vague: bool,
    /// Whether there is something personal in the key itself.
    tainted: bool,
}

/// The key that a value stands under, and what that means.
#[derive(Clone, Copy)]
struct Outer<'k> {
    key: &'k str,
    place: Place,
}

impl Walk<'_> {
    fn value(&mut self, value: &mut Value, outer: Outer<'_>) -> bool {
        match value {
            Value::String(text) => match self.text(text, outer.place) {
                Some(protected) => {
                    *text = protected;
                    true
                }
                None => false,
            },
            Value::Number(_) => match self.number(value, outer.place) {
                Some(token) => {
                    *value = Value::String(token);
                    true
                }
                None => false,
            },
            Value::Array(items) => {
                items.iter_mut().fold(false, |changed, item| self.value(item, outer) | changed)
            }
            Value::Object(fields) => self.fields(fields, outer),
            Value::Null | Value::Bool(_) => false,
        }
    }

    fn text(&mut self, text: &str, place: Place) -> Option<String> {
        let found = self.view.find_at(text, place);
        replace(text, &found, self.tokens).into_owned_if_changed()
    }

    /// Returns the token of a number, if it is personal. Only whole numbers are looked at, also those
    /// that are written with a point: they come back exactly, and no other is personal. Nor is a short
    /// one under a key that says nothing.
    fn number(&mut self, value: &Value, place: Place) -> Option<String> {
        const TWELVE_DIGITS: u64 = 100_000_000_000;
        let number = value.as_u64().or_else(|| whole(value.as_f64()?))?;
        let telling = place.key.is_some_and(|key| key.says(Cues::OF_NUMBERS));
        if number < TWELVE_DIGITS && !telling && !self.view.has_own_kinds() {
            return None;
        }
        let digits = number.to_string();
        let found = self.view.find_at(&digits, place);
        match found.as_slice() {
            [found] if found.range == (0..digits.len()) => {
                // As it was written, to come back as it was.
                Some(self.tokens.token(found.kind.as_str(), &value.to_string(), Form::Number))
            }
            _ => None,
        }
    }

    fn fields(&mut self, fields: &mut Map<String, Value>, outer: Outer<'_>) -> bool {
        let (mut all, mut vague, mut tainted) = (Cues::NONE, false, false);
        for name in fields.keys() {
            let key = self.key(name);
            all |= key.around.all;
            vague |= key.vague;
            tainted |= key.tainted;
        }
        let among_personal = all.any(Cues::NAME) && all.any(Cues::PERSONAL);
        let described = if vague { description(fields) } else { None };
        let mut changed = false;
        for (name, value) in fields.iter_mut() {
            let key = self.key(name);
            let around = match described.as_deref().unwrap_or(outer.key) {
                whose if key.vague && !whose.is_empty() => around_key(&format!("{whose} {name}")),
                _ => key.around,
            };
            let place = Place { key: Some(around), among_personal };
            changed |= self.value(value, Outer { key: name, place });
        }
        if tainted {
            changed |= rename_keys(fields, &mut |key| self.text(key, Place::default()));
        }
        changed
    }

    fn key(&mut self, name: &str) -> Key {
        if let Some(key) = self.keys.get(name) {
            return *key;
        }
        let key = Key {
            around: around_key(name),
            vague: VAGUE.iter().any(|vague| name.eq_ignore_ascii_case(vague)),
            tainted: !self.view.find_at(name, Place::default()).is_empty(),
        };
        if self.keys.len() < MAX_KEYS {
            self.keys.insert(name.to_owned(), key);
        }
        key
    }
}

/// Returns the whole number that a float is, if it is one and has all its digits.
fn whole(number: f64) -> Option<u64> {
    const MAX_EXACT: f64 = 9_007_199_254_740_992.0;
    let is_whole = number.fract() == 0.0 && (0.0..=MAX_EXACT).contains(&number);
    is_whole.then_some(number as u64)
}

/// Keys that say nothing without what they belong to: `{"name": {"first": …}}` is `name first`.
const VAGUE: [&str; 22] = [
    "value",
    "number",
    "text",
    "data",
    "raw",
    "formatted",
    "primary",
    "secondary",
    "first",
    "last",
    "middle",
    "full",
    "given",
    "family",
    "home",
    "work",
    "national",
    "international",
    "content",
    "default",
    "const",
    "example",
];
/// The types of values in schemas, which say nothing about whose they are.
const TYPES: [&str; 6] = ["string", "integer", "number", "object", "array", "boolean"];

/// Returns what `{"type": "email", "value": …}` says of its value.
fn description(fields: &Map<String, Value>) -> Option<String> {
    ["type", "kind", "label", "field", "key", "name"]
        .iter()
        .find_map(|key| fields.get(*key)?.as_str())
        .filter(|text| text.len() <= 40 && !TYPES.contains(text))
        .map(str::to_owned)
}
