//! Edits TOML, and keeps comments and formatting.

use serde_json::Value;
use toml_edit::{Array, DocumentMut, InlineTable, Item, Table};

use super::Change;

pub(super) fn change(change: &Change, text: &str) -> Option<String> {
    let mut document: DocumentMut = text.parse().ok()?;
    for removal in &change.removals {
        let (name, above) = removal.split_last()?;
        let table = above.iter().try_fold(document.as_item_mut(), |item, key| item.get_mut(key))?;
        table.as_table_like_mut()?.remove(name)?;
    }
    if let Some(insertion) = &change.insertion {
        let mut table = document.as_item_mut();
        for key in &insertion.container {
            table = table.as_table_like_mut()?.entry(key).or_insert_with(|| {
                let mut table = Table::new();
                table.set_implicit(true);
                Item::Table(table)
            });
        }
        let mut entry: Table = insertion
            .entry
            .as_object()?
            .iter()
            .map(|(name, value)| Some((name.as_str(), Item::Value(input(value)?))))
            .collect::<Option<_>>()?;
        entry.decor_mut().set_prefix(if text.trim().is_empty() { "" } else { "\n" });
        table.as_table_like_mut()?.insert(&insertion.name, Item::Table(entry));
    }
    Some(document.to_string())
}

fn input(value: &Value) -> Option<toml_edit::Value> {
    Some(match value {
        Value::Null => return None,
        Value::Bool(value) => (*value).into(),
        Value::Number(number) => number.as_i64()?.into(),
        Value::String(text) => text.into(),
        Value::Array(items) => {
            toml_edit::Value::Array(items.iter().map(input).collect::<Option<Array>>()?)
        }
        Value::Object(fields) => {
            let fields = fields.iter().map(|(name, value)| Some((name, input(value)?)));
            toml_edit::Value::InlineTable(fields.collect::<Option<InlineTable>>()?)
        }
    })
}
