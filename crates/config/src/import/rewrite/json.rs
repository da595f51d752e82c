//! Edits JSON, and keeps comments and formatting.

use jsonc_parser::cst::{CstInputValue, CstRootNode};
use serde_json::Value;

use super::Change;
use crate::syntax::Syntax;

pub(super) fn change(change: &Change, text: &str) -> Option<String> {
    let root = CstRootNode::parse(text, &Syntax::json_options()).ok()?;
    let object = root.object_value()?;
    let mut place = None;
    for removal in &change.removals {
        let (name, above) = removal.split_last()?;
        let table = above.iter().try_fold(object.clone(), |table, key| table.object_value(key))?;
        let entry = table.get(name)?;
        if change.insertion.as_ref().is_some_and(|insertion| insertion.container == above) {
            place.get_or_insert(entry.property_index());
        }
        entry.remove();
    }
    if let Some(insertion) = &change.insertion {
        let mut container = insertion.container.iter();
        let table = container.try_fold(object, |table, key| table.object_value_or_create(key))?;
        let end = table.properties().len();
        table.insert(place.unwrap_or(end).min(end), &insertion.name, input(&insertion.entry));
    }
    Some(root.to_string())
}

fn input(value: &Value) -> CstInputValue {
    match value {
        Value::Null => CstInputValue::Null,
        Value::Bool(value) => CstInputValue::Bool(*value),
        Value::Number(number) => CstInputValue::Number(number.to_string()),
        Value::String(text) => CstInputValue::String(text.clone()),
        Value::Array(items) => CstInputValue::Array(items.iter().map(input).collect()),
        Value::Object(fields) => CstInputValue::Object(
            fields.iter().map(|(name, value)| (name.clone(), input(value))).collect(),
        ),
    }
}
