//! Values that stand in definitions of tools. Definitions are public, so what a program prints of one
//! is shown without tokens.

use std::{
    collections::HashSet,
    sync::{Arc, Mutex, PoisonError},
};

use narrows_pii::{Form, Scanner, Tokens};
use serde_json::Value;

use crate::compute::json_bytes;

/// Texts in a definition that are longer are not examples of a value.
const MAX_EXAMPLE_BYTES: usize = 256;
/// The most values that are remembered for one run. Stops a run that asks for definitions again and
/// again from filling the memory.
const MAX_VALUES: usize = 100_000;
/// Definitions are scanned when a value is first looked up, or when so many bytes of them wait. Every
/// program that imports a tool is given definitions, and few look a value up.
const MAX_WAITING_BYTES: usize = 256 << 10;

/// The values in all definitions that a run was given.
#[derive(Clone, Debug, Default)]
pub(super) struct PublicValues(Arc<Mutex<PublicState>>);

#[derive(Debug, Default)]
struct PublicState {
    values: HashSet<String>,
    waiting: Vec<Value>,
    waiting_bytes: usize,
}

impl PublicValues {
    /// Remembers the values in definitions.
    pub(super) fn add(&self, definitions: &Value, scanner: &Scanner) {
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        state.waiting_bytes += json_bytes(definitions);
        state.waiting.push(definitions.clone());
        if state.waiting_bytes > MAX_WAITING_BYTES {
            state.read(scanner);
        }
    }

    pub(super) fn contains(&self, value: &str, scanner: &Scanner) -> bool {
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        state.read(scanner);
        state.values.contains(value)
    }
}

impl PublicState {
    /// Scans the definitions that wait.
    fn read(&mut self, scanner: &Scanner) {
        self.waiting_bytes = 0;
        for mut definitions in std::mem::take(&mut self.waiting) {
            let mut found = StringCollector::default();
            // Every leaf counts: the name of a parameter, printed beside its example, can make anything
            // look like a value.
            add_leaves(&definitions, &mut found.0);
            // In printed JSON, what stands before a value may be taken for a part of it, so that form
            // is scanned too.
            scanner.protect(&definitions.to_string(), None, &mut found);
            scanner.protect_json(&mut definitions, &mut found);
            let room = MAX_VALUES.saturating_sub(self.values.len());
            self.values.extend(found.0.into_iter().take(room));
        }
    }
}

/// Adds each text and number of a value, but no keys.
fn add_leaves(value: &Value, leaves: &mut HashSet<String>) {
    match value {
        Value::String(text) if text.len() <= MAX_EXAMPLE_BYTES => {
            leaves.insert(text.trim().to_owned());
        }
        Value::Number(number) => {
            leaves.insert(number.to_string());
        }
        Value::Array(items) => items.iter().for_each(|item| add_leaves(item, leaves)),
        Value::Object(fields) => fields.values().for_each(|field| add_leaves(field, leaves)),
        Value::String(_) | Value::Bool(_) | Value::Null => {}
    }
}

/// Collects the values that the scanner finds, and replaces none.
#[derive(Default)]
struct StringCollector(HashSet<String>);

impl Tokens for StringCollector {
    fn token(&mut self, _: &str, value: &str, _: Form) -> String {
        self.0.insert(value.to_owned());
        value.to_owned()
    }
}
