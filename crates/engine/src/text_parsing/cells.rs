//! Types of cells: a number or a flag if nothing is lost by the conversion, and the same type in a
//! whole column.

use std::collections::HashMap;

use serde_json::{Map, Number, Value};

/// The most digits of a number. Longer ones are identifiers, and a float may not hold them exactly.
const MAX_DIGITS: usize = 15;

/// The type of all cells of a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Sort {
    /// Integers, and decimals without trailing zeros.
    Number,
    /// Numbers with a fixed number of decimals: `1.50` beside `0.25`.
    Fixed(usize),
    Flag,
    Text,
}

impl Sort {
    /// Returns the type of a cell; `None` for an empty one, which fits every type.
    fn of(cell: &str) -> Option<Self> {
        match cell {
            "" => None,
            "true" | "false" | "True" | "False" => Some(Self::Flag),
            _ if number(cell).is_none() => Some(Self::Text),
            _ if loses_zeros(cell) => Some(Self::Fixed(decimals(cell))),
            _ => Some(Self::Number),
        }
    }
}

/// The type of a column, as far as its cells tell.
#[derive(Clone, Copy, Debug, Default)]
struct Column {
    sort: Option<Sort>,
    /// The decimals of its numbers, while they are the same.
    decimals: Option<usize>,
    cells: usize,
}

impl Column {
    fn add(&mut self, cell: &str) {
        // Once a column is text, nothing changes that.
        let Some(new) = Sort::of(cell).filter(|_| self.sort != Some(Sort::Text)) else { return };
        let decimals = decimals(cell);
        self.decimals =
            Some(decimals).filter(|_| self.cells == 0 || self.decimals == Some(decimals));
        self.cells += 1;
        self.sort = Some(match (self.sort, new) {
            (None, new) => new,
            (Some(Sort::Number | Sort::Fixed(_)), Sort::Fixed(n))
            | (Some(Sort::Fixed(n)), Sort::Number)
                if self.decimals == Some(n) =>
            {
                Sort::Fixed(n)
            }
            (Some(old), new) if old == new && !matches!(old, Sort::Fixed(_)) => old,
            _ => Sort::Text,
        });
    }

    /// Returns the type of a column. `1.10` is a number, unless the column's name says that it is a
    /// version. The number of rows does not matter, so that a column has the same type with one row and
    /// with many.
    fn sort(self, name: &str) -> Option<Sort> {
        match self.sort {
            Some(Sort::Number | Sort::Fixed(_)) if is_version(name) && self.decimals != Some(0) => {
                Some(Sort::Text)
            }
            sort => sort,
        }
    }
}

/// Tells whether a name is that of a version, where `1.10` follows `1.9`.
fn is_version(name: &str) -> bool {
    let name = name.to_lowercase();
    ["version", "release", "tag", "build", "revision", "chapter", "section"]
        .iter()
        .any(|word| name.contains(word))
}

/// Returns the type of each column; `None` for one whose cells are all empty.
pub(super) fn sorts_of(names: &[&str], rows: &[Vec<&str>]) -> Vec<Option<Sort>> {
    let mut columns = vec![Column::default(); names.len()];
    for row in rows {
        for (column, cell) in columns.iter_mut().zip(row) {
            column.add(cell);
        }
    }
    columns.into_iter().zip(names).map(|(column, name)| column.sort(name)).collect()
}

/// Converts rows to objects.
pub(super) fn objects(names: &[&str], rows: &[Vec<&str>]) -> Value {
    let sorts = sorts_of(names, rows);
    let object = |row: &Vec<&str>| {
        let cells = names.iter().zip(row).zip(&sorts);
        cells.map(|((name, cell), sort)| ((*name).to_owned(), typed(cell, *sort))).collect()
    };
    rows.iter().map(object).collect::<Vec<Map<String, Value>>>().into()
}

/// Converts records, which need not have all fields, to objects.
pub(super) fn records(records: &[&[(&str, &str)]]) -> Vec<Map<String, Value>> {
    let mut columns: HashMap<&str, Column> = HashMap::new();
    for (name, cell) in records.iter().flat_map(|record| record.iter()) {
        columns.entry(name).or_default().add(cell);
    }
    let typed = |(name, cell): &(&str, &str)| {
        let sort = columns.get(name).and_then(|column| column.sort(name));
        ((*name).to_owned(), typed(cell, sort))
    };
    records.iter().map(|record| record.iter().map(typed).collect()).collect()
}

fn typed(cell: &str, sort: Option<Sort>) -> Value {
    let value = match sort {
        _ if cell.is_empty() => Some(Value::Null),
        Some(Sort::Number | Sort::Fixed(_)) => number(cell).map(Value::Number),
        Some(Sort::Flag) => Some(Value::Bool(cell.eq_ignore_ascii_case("true"))),
        Some(Sort::Text) | None => None,
    };
    value.unwrap_or_else(|| cell.into())
}

/// Parses a number if nothing but trailing zeros is lost: `007`, `+5` and `1e3` stay texts.
fn number(cell: &str) -> Option<Number> {
    let digits = cell.strip_prefix('-').unwrap_or(cell);
    let (whole, fraction) = match digits.split_once('.') {
        Some((whole, fraction)) => (whole, Some(fraction)),
        None => (digits, None),
    };
    let are_digits =
        |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let is_number = are_digits(whole)
        && fraction.is_none_or(are_digits)
        && (whole == "0" || !whole.starts_with('0'))
        && whole.len() + fraction.map_or(0, str::len) <= MAX_DIGITS;
    match fraction {
        _ if !is_number || cell == "-0" => None,
        None => Some(Number::from(cell.parse::<i64>().ok()?)),
        Some(_) => Number::from_f64(cell.parse().ok()?),
    }
}

/// Tells whether trailing zeros would be lost.
fn loses_zeros(number: &str) -> bool {
    let fraction = number.split_once('.').map(|(_, fraction)| fraction);
    fraction.is_some_and(|fraction| fraction != "0" && fraction.ends_with('0'))
}

fn decimals(cell: &str) -> usize {
    cell.split_once('.').map_or(0, |(_, fraction)| fraction.len())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used)]
    use serde_json::json;

    use super::*;

    #[test]
    fn a_cell_is_typed_if_nothing_is_lost() {
        for (cell, value) in [
            ("1", json!(1)),
            ("-12", json!(-12)),
            ("0", json!(0)),
            ("0.5", json!(0.5)),
            ("-3.0", json!(-3.0)),
            ("true", json!(true)),
            ("False", json!(false)),
            ("", json!(null)),
            ("007", json!("007")),
            ("-0", json!("-0")),
            ("1.10", json!(1.1)),
            ("1e5", json!("1e5")),
            ("+1", json!("+1")),
            (".5", json!(".5")),
            ("1.", json!("1.")),
            ("1,000", json!("1,000")),
            ("0x10", json!("0x10")),
            ("NaN", json!("NaN")),
            ("inf", json!("inf")),
            ("TRUE", json!("TRUE")),
            ("None", json!("None")),
            ("999999999999999", json!(999_999_999_999_999_i64)),
            ("1234567890123456", json!("1234567890123456")),
            ("0.30000000000000004", json!("0.30000000000000004")),
            ("2026-11-16", json!("2026-11-16")),
        ] {
            assert_eq!(records(&[&[("a", cell)]])[0]["a"], value, "{cell:?}");
        }
    }

    #[test]
    fn a_column_has_one_type() {
        for (cells, values) in [
            (["1", "2.5", ""], json!([1, 2.5, null])),
            (["true", "1", ""], json!(["true", "1", null])),
            (["1", "x", "2"], json!(["1", "x", "2"])),
            (["12.50", "0.25", "3.00"], json!([12.5, 0.25, 3.0])),
            (["0.25", "12.50", "-3.00"], json!([0.25, 12.5, -3.0])),
            (["1.9", "1.10", "1.11"], json!(["1.9", "1.10", "1.11"])),
            (["1.10", "1.9", "1.11"], json!(["1.10", "1.9", "1.11"])),
            (["1.10", "2", "3"], json!(["1.10", "2", "3"])),
            (["1.10", "", ""], json!([1.1, null, null])),
            (["007", "8", "9"], json!(["007", "8", "9"])),
        ] {
            let rows: Vec<Vec<&str>> = cells.iter().map(|cell| vec![*cell]).collect();
            let found: Vec<Value> = objects(&["n"], &rows)
                .as_array()
                .unwrap()
                .iter()
                .map(|row| row["n"].clone())
                .collect();
            assert_eq!(json!(found), values, "{cells:?}");
        }
        for name in ["Version", "tag_name", "Latest release"] {
            for rows in [&[vec!["1.10"]][..], &[vec!["1.10"], vec!["1.20"]], &[vec!["1.9"]]] {
                let versions = objects(&[name], rows);
                assert_eq!(versions[0][name], rows[0][0], "{rows:?}");
            }
            assert_eq!(objects(&[name], &[vec!["7"]])[0][name], 7);
        }
    }
}
