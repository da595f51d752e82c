//! YAML line by line: an entry of a block mapping is the line of its key and all deeper ones.
//!
//! goose itself writes nothing but blocks. Where something else stands, the check after the change
//! finds that the text does not say what was meant, and the file stays as it is.

use std::{collections::BTreeSet, ops::Range};

use serde_json::Value;

use super::{Change, Insertion};
use crate::{config::Node, import::yaml};

pub(super) fn change(change: &Change, text: &str) -> Option<String> {
    let root = yaml::parse(text).ok()?;
    let lines: Vec<&str> = text.split_inclusive('\n').collect();
    let mut removed = BTreeSet::new();
    for removal in &change.removals {
        removed.extend(entry_lines(&root, &lines, removal)?);
    }
    let mut inserted = None;
    if let Some(insertion) = &change.insertion {
        let container = root.at_path(&insertion.container)?;
        let first = container.fields()?.first()?;
        // In the place of the first that goes, or before all others.
        let place = removed.first().copied().unwrap_or(first.at.line - 1);
        let ending = if text.contains("\r\n") { "\r\n" } else { "\n" };
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
    Some(changed)
}

/// The lines of an entry, counted from zero.
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
    // Blank lines and comments before the next entry are not of this one.
    while end > start + 1 && is_aside(lines[end - 1], indent) {
        end -= 1;
    }
    Some(start..end)
}

/// How far a line is indented; nothing for blank lines and comments.
fn depth(line: &str) -> Option<usize> {
    let text = line.trim_start_matches(' ');
    let content = text.trim_end();
    (!content.is_empty() && !content.starts_with('#')).then(|| line.len() - text.len())
}

fn is_aside(line: &str, indent: usize) -> bool {
    let text = line.trim_start_matches(' ');
    text.trim().is_empty() || (text.starts_with('#') && line.len() - text.len() <= indent)
}

/// An entry as a block. Its values are written as JSON, which is YAML.
fn block(insertion: &Insertion, indent: usize, ending: &str) -> Option<String> {
    let fields = insertion.entry.as_object()?.iter();
    let fields = fields.map(|(name, value): (&String, &Value)| {
        format!("{:1$}{name}: {value}{ending}", "", indent + 2)
    });
    let name = &insertion.name;
    Some(format!("{:indent$}{name}:{ending}{}", "", fields.collect::<String>()))
}
