//! Writes a rule of `[policy]` at the place where it takes effect.

use toml_edit::{Array, ArrayOfTables, DocumentMut, InlineTable, Item, Table, TableLike, Value};

use super::EditError;
use narrows_policy::{AlwaysRule, Rule};

/// Returns the text of a rule as it would appear in a document.
pub(super) fn preview(document: &DocumentMut, rule: &Rule) -> String {
    if is_inline(document) {
        return format!("{}\n", inline(rule));
    }
    let mut rules = ArrayOfTables::new();
    rules.push(table(rule));
    let mut policy = Table::new();
    policy.set_implicit(true);
    policy.insert("rules", Item::ArrayOfTables(rules));
    let mut document = DocumentMut::new();
    document.insert("policy", Item::Table(policy));
    document.to_string()
}

/// Tells whether the rules of a document are an inline array, or would have to be one.
fn is_inline(document: &DocumentMut) -> bool {
    let Some(policy) = document.get("policy") else { return false };
    let rules = policy.as_table_like().and_then(|policy| policy.get("rules"));
    rules.map_or(policy.is_inline_table(), Item::is_value)
}

/// Inserts a rule into a document, before the rule that asks.
pub(super) fn insert(document: &mut DocumentMut, always: &AlwaysRule) -> Result<(), EditError> {
    let (is_first, in_line) = (document.as_table().is_empty(), is_inline(document));
    let policy = document.entry("policy").or_insert_with(|| {
        let mut policy = Table::new();
        // An empty `[policy]` before its rules is not written.
        policy.set_implicit(true);
        Item::Table(policy)
    });
    let Some(policy) = policy.as_table_like_mut() else { return Ok(()) };
    let empty = || match in_line {
        true => Item::Value(Array::new().into()),
        false => Item::ArrayOfTables(ArrayOfTables::new()),
    };
    match policy.entry("rules").or_insert_with(empty) {
        Item::ArrayOfTables(rules) => {
            let tables = rules.iter().map(|table| table as &dyn TableLike);
            let index = place(tables, always)?;
            let mut table = table(&always.rule);
            table.decor_mut().set_prefix(if is_first { "" } else { "\n" });
            match rules.get_mut(index) {
                Some(next) => {
                    // If two tables have the same position, they stay in the order of the array.
                    table.set_position(next.position());
                    let prefix = next.decor().prefix().and_then(|prefix| prefix.as_str());
                    if prefix.is_none_or(|prefix| !prefix.starts_with('\n')) {
                        let prefix = format!("\n{}", prefix.unwrap_or_default());
                        next.decor_mut().set_prefix(prefix);
                        table.decor_mut().set_prefix("");
                    }
                    rules.insert(index, table);
                }
                None => rules.push(table),
            }
        }
        Item::Value(Value::Array(rules)) => {
            let tables = rules.iter().filter_map(Value::as_inline_table);
            let index = place(tables.map(|table| table as &dyn TableLike), always)?;
            rules.insert(index, inline(&always.rule));
        }
        _ => {}
    }
    Ok(())
}

/// Returns the index among the rules at which a rule has to be inserted.
fn place<'a>(
    rules: impl Iterator<Item = &'a dyn TableLike>,
    always: &AlwaysRule,
) -> Result<usize, EditError> {
    let names: Vec<Option<&str>> =
        rules.map(|rule| rule.get("name").and_then(Item::as_str)).collect();
    match &always.before {
        None => Ok(names.len()),
        Some(before) => {
            let index = names.iter().position(|name| *name == Some(before.as_str()));
            index.ok_or_else(|| EditError::NoRule { name: before.clone() })
        }
    }
}

/// Returns the entries of an "always allow" rule, in the order of the reference.
fn entries(rule: &Rule) -> [(&'static str, Value); 4] {
    let array = |texts: &[String]| Value::Array(texts.iter().collect());
    [
        ("name", rule.name.as_str().into()),
        ("principals", array(&rule.principals)),
        ("tools", array(&rule.tools)),
        ("action", "allow".into()),
    ]
}

fn table(rule: &Rule) -> Table {
    entries(rule).into_iter().map(|(key, value)| (key, Item::Value(value))).collect()
}

fn inline(rule: &Rule) -> InlineTable {
    entries(rule).into_iter().collect()
}
