//! Reads one table of a configuration and collects the problems in it.

use std::{collections::BTreeMap, ops::RangeInclusive, time::Duration};

use narrows_model::Template;
use narrows_model::nearest;

use super::{Field, Node, Position, Problem, Value, key_path};

/// The treatment of unknown keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum UnknownKeys {
    /// For the format of Narrows: unknown keys are mistakes.
    Strict,
    /// For the formats of other programs: unknown keys are ignored, `null` and `""` mean no value, and
    /// numbers are accepted as values of environment variables.
    Lenient,
}

/// A table that is being read. Every key that is read counts as known, and the others as unknown.
pub(crate) struct Section<'a> {
    fields: &'a [Field],
    path: String,
    at: Position,
    manner: UnknownKeys,
    problems: &'a mut Vec<Problem>,
    known: Vec<&'static str>,
}

impl<'a> Section<'a> {
    /// Opens a table; `at` is the position of its name. None if the node is not a table, which is
    /// reported as a problem.
    pub(crate) fn open(
        node: &'a Node,
        path: String,
        at: Position,
        manner: UnknownKeys,
        problems: &'a mut Vec<Problem>,
    ) -> Option<Self> {
        match node.fields() {
            Some(fields) => Some(Self { fields, path, at, manner, problems, known: Vec::new() }),
            None => {
                let message = must_be("a table", node);
                problems.push(Problem { at, key: path, message });
                None
            }
        }
    }

    /// Opens a table inside this one.
    pub(crate) fn section(&mut self, name: &'static str) -> Option<Section<'_>> {
        let field = self.take(name)?;
        let path = key_path(&self.path, name);
        Section::open(&field.node, path, field.at, self.manner, self.problems)
    }

    pub(crate) fn has(&self, name: &str) -> bool {
        self.fields.iter().any(|field| field.name == name)
    }

    pub(crate) fn has_table(&self, name: &str) -> bool {
        let mut fields = self.fields.iter();
        fields.any(|field| field.name == name && field.node.fields().is_some())
    }

    fn take(&mut self, name: &'static str) -> Option<&'a Field> {
        self.known.push(name);
        let field = self.fields.iter().find(|field| field.name == name)?;
        let nothing =
            self.manner == UnknownKeys::Lenient && matches!(field.node.value, Value::Null);
        (!nothing).then_some(field)
    }

    /// Reads a text that is not empty.
    pub(crate) fn string(&mut self, name: &'static str) -> Option<String> {
        let field = self.take(name)?;
        match &field.node.value {
            Value::String(text) if text.is_empty() && self.manner == UnknownKeys::Lenient => None,
            Value::String(text) if text.is_empty() => {
                self.complain(name, "is empty; give it a value or remove it");
                None
            }
            Value::String(text) => Some(text.clone()),
            _ => {
                self.complain(name, must_be("a string", &field.node));
                None
            }
        }
    }

    pub(crate) fn template(&mut self, name: &'static str) -> Option<Template> {
        self.string(name).map(Template::new)
    }

    /// Reads a required text, and reports it if it is missing.
    pub(crate) fn needed(&mut self, name: &'static str) -> Option<Template> {
        let before = self.problems.len();
        let template = self.template(name);
        if template.is_none() && self.problems.len() == before {
            self.complain(name, "is missing or empty; give it a value");
        }
        template
    }

    pub(crate) fn strings(&mut self, name: &'static str) -> Vec<String> {
        let Some(field) = self.take(name) else { return Vec::new() };
        let Value::Array(items) = &field.node.value else {
            self.complain(name, must_be("an array of strings", &field.node));
            return Vec::new();
        };
        let mut strings = Vec::with_capacity(items.len());
        for item in items {
            match item.as_str() {
                Some(text) => strings.push(text.to_owned()),
                None => {
                    let message = must_be("an array of strings", item).replace(", not", ", not of");
                    self.complain_at(item.at, name, message);
                }
            }
        }
        strings
    }

    pub(crate) fn templates(&mut self, name: &'static str) -> Vec<Template> {
        self.strings(name).into_iter().map(Template::new).collect()
    }

    /// Reads a table of strings, such as environment variables.
    pub(crate) fn map(&mut self, name: &'static str) -> BTreeMap<String, Template> {
        let Some(field) = self.take(name) else { return BTreeMap::new() };
        let Some(entries) = field.node.fields() else {
            self.complain(name, must_be("a table of strings", &field.node));
            return BTreeMap::new();
        };
        let mut map = BTreeMap::new();
        for entry in entries {
            let text = match (&entry.node.value, self.manner) {
                (Value::String(text), _) => text.clone(),
                (Value::Integer(number), UnknownKeys::Lenient) => number.to_string(),
                (Value::Float(number), UnknownKeys::Lenient) => number.to_string(),
                (Value::Bool(value), UnknownKeys::Lenient) => value.to_string(),
                (Value::Null, UnknownKeys::Lenient) => continue,
                _ => {
                    let key = key_path(&key_path(&self.path, name), &entry.name);
                    let message = must_be("a string", &entry.node) + "; put it in quotes";
                    self.problems.push(Problem { at: entry.at, key, message });
                    continue;
                }
            };
            map.insert(entry.name.clone(), Template::new(text));
        }
        map
    }

    /// Reads each table of an array of tables: `[[policy.rules]]`.
    pub(crate) fn each(&mut self, name: &'static str, mut read: impl FnMut(&mut Section<'_>)) {
        let Some(field) = self.take(name) else { return };
        let Value::Array(items) = &field.node.value else {
            return self.complain(name, must_be("an array of tables", &field.node));
        };
        for (number, item) in items.iter().enumerate() {
            let path = format!("{}[{number}]", key_path(&self.path, name));
            let section = Section::open(item, path, item.at, self.manner, self.problems);
            if let Some(mut section) = section {
                read(&mut section);
                section.finish();
            }
        }
    }

    /// Reads each table of a table of tables, with its name: `[isolation.levels.NAME]`.
    pub(crate) fn entries(
        &mut self,
        name: &'static str,
        mut read: impl FnMut(&str, &mut Section<'_>),
    ) {
        let Some(field) = self.take(name) else { return };
        let Some(fields) = field.node.fields() else {
            return self.complain(name, must_be("a table of tables", &field.node));
        };
        for entry in fields {
            let path = key_path(&key_path(&self.path, name), &entry.name);
            let section = Section::open(&entry.node, path, entry.at, self.manner, self.problems);
            if let Some(mut section) = section {
                read(&entry.name, &mut section);
                section.finish();
            }
        }
    }

    /// Reads the required name of a table in an array.
    pub(crate) fn named(&mut self) -> Option<String> {
        if !self.has("name") {
            self.complain("name", "is missing; it is told to whoever the rule stops");
        }
        self.string("name")
    }

    /// Reads a table of whole numbers.
    pub(crate) fn counts(
        &mut self,
        name: &'static str,
        range: RangeInclusive<u32>,
    ) -> BTreeMap<String, u32> {
        let mut counts = BTreeMap::new();
        for (key, value) in self.values(name) {
            let number = value.as_u64().and_then(|number| u32::try_from(number).ok());
            match number.filter(|number| range.contains(number)) {
                Some(number) => _ = counts.insert(key, number),
                None => {
                    let (min, max) = (range.start(), range.end());
                    let message =
                        format!("says of {key} what is no whole number from {min} to {max}");
                    self.complain(name, message);
                }
            }
        }
        counts
    }

    /// Reads a table of values of any kind.
    pub(crate) fn values(&mut self, name: &'static str) -> BTreeMap<String, serde_json::Value> {
        let Some(field) = self.take(name) else { return BTreeMap::new() };
        let Some(entries) = field.node.fields() else {
            self.complain(name, must_be("a table", &field.node));
            return BTreeMap::new();
        };
        entries.iter().map(|entry| (entry.name.clone(), entry.node.to_json())).collect()
    }

    pub(crate) fn boolean(&mut self, name: &'static str) -> Option<bool> {
        let field = self.take(name)?;
        let value = field.node.as_bool();
        if value.is_none() {
            self.complain(name, must_be("true or false", &field.node));
        }
        value
    }

    /// Reads a number of seconds above zero and up to `max`.
    pub(crate) fn seconds(&mut self, name: &'static str, max: u32) -> Option<Duration> {
        let expected = format!("a number of seconds above 0 and up to {max}");
        let number = self.number(name, &expected)?;
        match Duration::try_from_secs_f64(number) {
            Ok(time) if !time.is_zero() && number <= f64::from(max) => Some(time),
            _ => {
                self.complain(name, format!("must be {expected}, not {number}"));
                None
            }
        }
    }

    /// Reads a whole number in a range.
    pub(crate) fn count(&mut self, name: &'static str, range: RangeInclusive<u32>) -> Option<u32> {
        let expected = format!("a whole number from {} to {}", range.start(), range.end());
        let number = self.number(name, &expected)?;
        let inside = number >= f64::from(*range.start()) && number <= f64::from(*range.end());
        if inside && number.fract() == 0.0 {
            Some(number as u32)
        } else {
            self.complain(name, format!("must be {expected}, not {number}"));
            None
        }
    }

    fn number(&mut self, name: &'static str, expected: &str) -> Option<f64> {
        let field = self.take(name)?;
        match field.node.value {
            Value::Integer(number) => Some(number as f64),
            Value::Float(number) => Some(number),
            _ => {
                self.complain(name, must_be(expected, &field.node));
                None
            }
        }
    }

    /// Reads one of a few words. A wrong word is shown in the message, because it is never a secret.
    pub(crate) fn choice<T: Copy>(
        &mut self,
        name: &'static str,
        choices: &[(&'static str, T)],
    ) -> Option<T> {
        let field = self.take(name)?;
        let words = || choices.iter().map(|(word, _)| *word);
        let expected = format!("one of {}", words().collect::<Vec<_>>().join(", "));
        let Some(word) = field.node.as_str() else {
            self.complain(name, must_be(&expected, &field.node));
            return None;
        };
        let choice = choices.iter().find(|(known, _)| *known == word);
        if choice.is_none() {
            let near = nearest(word, words());
            self.complain(name, format!("must be {expected}, not {word:?}{near}"));
        }
        choice.map(|(_, value)| *value)
    }

    /// Reports a problem of this table as a whole.
    pub(crate) fn complain_here(&mut self, message: impl Into<String>) {
        let key = if self.path.is_empty() { "the file".to_owned() } else { self.path.clone() };
        self.problems.push(Problem { at: self.at, key, message: message.into() });
    }

    /// Reports a problem of one key.
    pub(crate) fn complain(&mut self, name: &str, message: impl Into<String>) {
        let field = self.fields.iter().find(|field| field.name == name);
        let at = field.map_or(self.at, |field| field.at);
        self.complain_at(at, name, message);
    }

    fn complain_at(&mut self, at: Position, name: &str, message: impl Into<String>) {
        let key = key_path(&self.path, name);
        self.problems.push(Problem { at, key, message: message.into() });
    }

    /// Finishes reading, and reports all keys that were never read as unknown.
    pub(crate) fn finish(self) {
        if self.manner == UnknownKeys::Lenient {
            return;
        }
        for field in self.fields {
            if self.known.contains(&field.name.as_str()) {
                continue;
            }
            let near = nearest(&field.name, self.known.iter().copied());
            let message = if near.0.is_empty() {
                format!("is not a known key; remove it, or use one of {}", self.known.join(", "))
            } else {
                format!("is not a known key{near}")
            };
            let key = key_path(&self.path, &field.name);
            self.problems.push(Problem { at: field.at, key, message });
        }
    }
}

fn must_be(expected: &str, found: &Node) -> String {
    format!("must be {expected}, not {}", found.kind())
}
