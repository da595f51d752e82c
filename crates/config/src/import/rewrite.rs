//! Rewrites the files of clients: removes servers, and inserts Narrows.

mod json;
mod toml;
mod yaml;

use serde_json::Value;

use super::client_file::Format;

/// A change of one file.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Change {
    /// The paths of the entries to remove: the keys that lead to each, its own included.
    pub removals: Vec<Vec<String>>,
    /// The entry to insert; none if the file has Narrows already, or if Narrows is removed.
    pub insertion: Option<Insertion>,
}

/// A new entry.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Insertion {
    /// The keys that lead to the table.
    pub container: Vec<String>,
    pub name: String,
    /// In the client's own form.
    pub entry: Value,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("its form does not allow a safe change; put Narrows into it by hand")]
pub struct Unsafe;

impl Change {
    /// Returns the new text of a file. The text is parsed again, and must differ from the old one by
    /// exactly this change, whatever the editing did to comments and commas.
    pub(crate) fn apply(&self, format: Format, text: &str) -> Result<String, Unsafe> {
        let (mark, body) = match text.strip_prefix('\u{feff}') {
            Some(body) => ("\u{feff}", body),
            None => ("", text),
        };
        let changed = match format {
            Format::Json => json::change(self, body),
            Format::Toml => toml::change(self, body),
            Format::Yaml => yaml::change(self, body),
        };
        let changed = changed.ok_or(Unsafe)?;
        let before = format.parse(body).map_err(|_| Unsafe)?.plain();
        let mut after = format.parse(&changed).map_err(|_| Unsafe)?.plain();
        let mut expected = self.expected(before).ok_or(Unsafe)?;
        for (_, above) in self.removals.iter().filter_map(|removal| removal.split_last()) {
            prune(&mut after, above);
            prune(&mut expected, above);
        }
        if expected == after { Ok(format!("{mark}{changed}")) } else { Err(Unsafe) }
    }

    fn expected(&self, mut value: Value) -> Option<Value> {
        for removal in &self.removals {
            let (name, above) = removal.split_last()?;
            let table = above.iter().try_fold(&mut value, |value, key| value.get_mut(key))?;
            table.as_object_mut()?.shift_remove(name)?;
        }
        if let Some(insertion) = &self.insertion {
            let table = insertion.container.iter().try_fold(&mut value, |value, key| {
                // In YAML, a table without entries is null.
                if value.is_null() {
                    *value = Value::Object(Default::default());
                }
                let table = value.as_object_mut()?;
                Some(table.entry(key.clone()).or_insert_with(|| Value::Object(Default::default())))
            })?;
            if table.is_null() {
                *table = Value::Object(Default::default());
            }
            table.as_object_mut()?.insert(insertion.name.clone(), insertion.entry.clone());
        }
        Some(value)
    }
}

/// Removes empty tables along a path, from the innermost, because not every format can write them.
fn prune(value: &mut Value, path: &[String]) {
    let Some((key, rest)) = path.split_first() else { return };
    let Some(table) = value.as_object_mut() else { return };
    if let Some(inner) = table.get_mut(key) {
        prune(inner, rest);
        if inner.is_null() || inner.as_object().is_some_and(serde_json::Map::is_empty) {
            table.shift_remove(key);
        }
    }
}
