//! Markdown tables.
//!
//! A text with two tables is not a value: only a reader knows which one is meant, or whether they
//! belong together.

use std::collections::HashSet;

use serde_json::Value;

use super::{around, cells};

const MAX_NAME_LEN: usize = 80;

/// Reads the rows of the only table in a text.
pub(super) fn find(text: &str) -> Option<Value> {
    let lines: Vec<&str> = text.lines().collect();
    let mut rules = lines.iter().enumerate().filter(|(_, line)| is_rule(line));
    let (rule, _) = rules.next().filter(|(at, _)| *at > 0)?;
    let columns = cells_of(lines[rule]).len();
    let header = cells_of(lines[rule - 1]);
    let names: Vec<&str> = header.iter().map(|name| plain(name)).collect();
    if columns < 2 || !are_names(&names, columns) {
        return None;
    }
    let is_row = |line: &&&str| line.contains('|') && !line.trim().is_empty();
    let body: Vec<Vec<String>> =
        lines[rule + 1..].iter().take_while(is_row).map(|line| cells_of(line)).collect();
    let end = rule + 1 + body.len();
    let (before, after) = (lines[..rule - 1].join("\n"), lines[end..].join("\n"));
    let fits = body.iter().all(|row| row.len() <= columns)
        && around::says_no_more(&before, &after, Some(body.len()));
    let rows: Vec<Vec<&str>> = body.iter().map(|row| cells_in(columns, row)).collect();
    fits.then(|| cells::objects(&names, &rows))
}

/// Tells whether a line is the one below the header: `|---|:-:|`.
fn is_rule(line: &str) -> bool {
    let line = line.trim();
    line.contains('|')
        && line.contains('-')
        && line.bytes().all(|byte| matches!(byte, b'|' | b'-' | b':' | b' '))
        && cells_of(line).iter().all(|cell| {
            let dashes = cell.strip_prefix(':').unwrap_or(cell);
            let dashes = dashes.strip_suffix(':').unwrap_or(dashes);
            !dashes.is_empty() && dashes.bytes().all(|byte| byte == b'-')
        })
}

fn are_names(names: &[&str], columns: usize) -> bool {
    let distinct: HashSet<&&str> = names.iter().collect();
    names.len() == columns
        && distinct.len() == columns
        && names.iter().all(|name| !name.is_empty() && name.len() <= MAX_NAME_LEN)
}

/// Returns the cells of a row, with empty ones for those that are left out at its end.
fn cells_in(columns: usize, row: &[String]) -> Vec<&str> {
    row.iter().map(String::as_str).chain(std::iter::repeat("")).take(columns).collect()
}

fn plain(name: &str) -> &str {
    let bold = name.strip_prefix("**").and_then(|name| name.strip_suffix("**"));
    bold.unwrap_or(name).trim()
}

/// Returns the cells between the bars. `\|` is a bar within a cell.
fn cells_of(line: &str) -> Vec<String> {
    let line = line.trim();
    let line = line.strip_prefix('|').unwrap_or(line);
    let mut cells = Vec::new();
    let mut cell = String::new();
    let mut chars = line.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '|' => cells.push(std::mem::take(&mut cell)),
            '\\' => cell.push(chars.next_if_eq(&'|').unwrap_or(c)),
            _ => cell.push(c),
        }
    }
    cells.push(cell);
    // Drops the empty text after the last bar.
    if cells.len() > 1 && cells.last().is_some_and(|cell| cell.trim().is_empty()) {
        cells.pop();
    }
    cells.iter().map(|cell| cell.trim().to_owned()).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_rows_of_a_table() {
        let rows = json!([{"Name": "a", "Size": 1}, {"Name": "b|c", "Size": null}]);
        for text in [
            "| Name | Size |\n|------|-----:|\n| a | 1 |\n| b\\|c |  |",
            "Name | Size\n--- | ---\na | 1\nb\\|c | ",
            "## Files\n\nTwo were found:\n\n| **Name** | Size |\n|:-:|---|\n|a|1|\n|b\\|c||\n\n2 rows",
            "| Name | Size |\r\n|---|---|\r\n| a | 1 |\r\n| b\\|c | |\r\n",
        ] {
            assert_eq!(find(text), Some(rows.clone()), "{text}");
        }
        assert_eq!(find("| a | b |\n|---|---|"), Some(json!([])));
    }

    #[test]
    fn what_is_no_table() {
        for text in [
            "|---|---|\n| 1 | 2 |",
            "| a | b |\n| 1 | 2 |",
            "| a | a |\n|---|---|\n| 1 | 2 |",
            "|   | a |\n|---|---|\n| 1 | 2 |",
            "| a | b |\n|---|---|\n| 1 | 2 | 3 |",
            "| a | b |\n|---|---|\n| 1 | 2 |\n\n| c | d |\n|---|---|\n| 1 | 2 |",
            "a | b\n---\n1 | 2",
            "# Page\n\nWords.\n\n| a | b |\n|---|---|\n| 1 | 2 |",
            "| a | b |\n|---|---|\n| 1 | 2 |\n\nMore is at page 2.",
            "| a | b |\n|---|---|\n| 1 | 2 |\n\n30 rows",
        ] {
            assert_eq!(find(text), None, "{text}");
        }
    }
}
