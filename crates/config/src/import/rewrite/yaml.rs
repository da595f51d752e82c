//! Edits YAML line by line: an entry of a block mapping is the line of its key and all deeper ones.
//!
//! goose itself writes only blocks. With any other style, the check after the change finds that the
//! text does not have the intended meaning, and the file stays as it is.

use std::{collections::BTreeSet, ops::Range};

use serde_json::Value;

use super::{Change, Insertion};
use crate::{import::yaml, syntax::Node};

pub(super) fn change(change: &Change, text: &str) -> Option<String> {
    let root = yaml::parse(text).ok()?;
    let lines: Vec<&str> = text.split_inclusive('\n').collect();
    let mut removed = BTreeSet::new();
    for removal in &change.removals {
        removed.extend(entry_lines(&root, &lines, removal)?);
    }
    let ending = if text.contains("\r\n") { "\r\n" } else { "\n" };
    let mut inserted = None;
    if let Some(insertion) = &change.insertion {
        let first = root.at_path(&insertion.container).and_then(|inside| inside.fields()?.first());
        let Some(first) = first else { return in_new_table(insertion, &root, &lines, ending) };
        // At the place of the first entry that is removed, or before all others.
        let place = removed.first().copied().unwrap_or(first.at.line - 1);
        inserted = Some((place, block(insertion, first.at.column - 1, ending)?));
    }
    let mut changed = String::with_capacity(text.len());
    for (number, line) in lines.iter().enumerate() {
        if let Some((place, block)) = &inserted
            && *place == number
        {
            changed.push_str(block);
        }
        if !removed.contains(&number) {
            changed.push_str(line);
        }
    }
    if change.insertion.is_none() {
        with_empty_tables(change, &changed, ending)
    } else {
        Some(changed)
    }
}

/// Writes a table that lost its last entry as an empty one, because a key without a value is null.
fn with_empty_tables(change: &Change, text: &str, ending: &str) -> Option<String> {
    let root = yaml::parse(text).ok()?;
    let mut lines: Vec<String> = text.split_inclusive('\n').map(str::to_owned).collect();
    for (_, above) in change.removals.iter().filter_map(|removal| removal.split_last()) {
        let ([key], Some(fields)) = (above, root.fields()) else { continue };
        let emptied = fields.iter().find(|field| {
            field.name == *key && field.node.fields().is_none_or(|fields| fields.is_empty())
        });
        if let Some(line) = emptied.and_then(|field| lines.get_mut(field.at.line - 1)) {
            *line = format!("{key}: {{}}{ending}");
        }
    }
    Some(lines.concat())
}

/// Inserts an entry into a table that is empty or missing.
fn in_new_table(
    insertion: &Insertion,
    root: &Node,
    lines: &[&str],
    ending: &str,
) -> Option<String> {
    let [key] = &insertion.container[..] else { return None };
    let table = format!("{key}:{ending}{}", block(insertion, 2, ending)?);
    let there = root.fields()?.iter().find(|field| field.name == *key);
    Some(match there {
        // The line of the empty table is replaced.
        Some(field) => {
            let place = field.at.line - 1;
            let before = lines.get(..place)?.concat();
            before + &table + &lines.get(place + 1..)?.concat()
        }
        None => {
            let mut before = lines.concat();
            if !before.is_empty() && !before.ends_with('\n') {
                before.push_str(ending);
            }
            before + &table
        }
    })
}

/// Returns the lines of an entry, counted from zero.
fn entry_lines(root: &Node, lines: &[&str], path: &[String]) -> Option<Range<usize>> {
    let (name, above) = path.split_last()?;
    let field = root.at_path(above)?.fields()?.iter().find(|field| field.name == *name)?;
    let (start, indent) = (field.at.line - 1, field.at.column - 1);
    // The key must be the first thing in its line, as in blocks.
    if depth(lines.get(start)?) != Some(indent) {
        return None;
    }
    let rest = lines.get(start + 1..)?;
    let is_next = |line: &&str| depth(line).is_some_and(|depth| depth <= indent);
    let mut end = start + 1 + rest.iter().position(is_next).unwrap_or(rest.len());
    // Blank lines and comments before the next entry belong to that one.
    while end > start + 1 && is_aside(lines[end - 1], indent) {
        end -= 1;
    }
    Some(start..end)
}

/// Returns the indentation of a line; none for blank lines and comments.
fn depth(line: &str) -> Option<usize> {
    let text = line.trim_start_matches(' ');
    let content = text.trim_end();
    (!content.is_empty() && !content.starts_with('#')).then(|| line.len() - text.len())
}

fn is_aside(line: &str, indent: usize) -> bool {
    let text = line.trim_start_matches(' ');
    text.trim().is_empty() || (text.starts_with('#') && line.len() - text.len() <= indent)
}

/// Writes an entry as a block. Its values are JSON, which is valid YAML.
fn block(insertion: &Insertion, indent: usize, ending: &str) -> Option<String> {
    let fields = insertion.entry.as_object()?.iter();
    let fields = fields.map(|(name, value): (&String, &Value)| {
        format!("{:1$}{name}: {value}{ending}", "", indent + 2)
    });
    let name = &insertion.name;
    Some(format!("{:indent$}{name}:{ending}{}", "", fields.collect::<String>()))
}
