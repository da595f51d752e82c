//! Properties that hold for values read from any text; see [`crate::fuzz`].

use serde_json::{Map, Value};

use super::{
    delimited,
    recovery::{ParsedText, TextForm, recover},
    table,
};

/// Checks that a value which is read from a text is read again when it is written alone in the same
/// form, and that it contains nothing that the text does not say.
pub fn text_tables(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    if let Some(ParsedText { value, kind }) = recover(&text) {
        match kind {
            TextForm::Json => check_json(&value, std::slice::from_ref(&value), kind),
            TextForm::JsonSequence => check_json(&value, list(&value), kind),
            TextForm::Table | TextForm::Delimited => drop(columns(&value)),
            TextForm::Records => check_fields(&text, list(&value)),
        }
    }
    // Every form is checked, though `recover` may prefer another one.
    if let Some(value) = table::find(&text) {
        check_markdown(&value);
    }
    if let Some(value) = delimited::find(&text).or_else(|| delimited::find_fenced(&text)) {
        check_delimited(&value);
    }
}

/// Checks JSON values, each written in a fence of its own.
fn check_json(value: &Value, values: &[Value], kind: TextForm) {
    let fenced: String = values.iter().map(|value| format!("```json\n{value}\n```\n")).collect();
    let again = recover(&fenced).unwrap_or_else(|| panic!("no value: {fenced}"));
    assert_eq!(again.kind, kind, "{fenced}");
    assert!(is_same(&again.value, value), "{fenced}");
}

/// Tells whether two values are equal, except for the last digit of floats, which a JSON parser may
/// round.
fn is_same(one: &Value, other: &Value) -> bool {
    match (one, other) {
        (Value::Array(one), Value::Array(other)) => {
            one.len() == other.len() && one.iter().zip(other).all(|(a, b)| is_same(a, b))
        }
        (Value::Object(one), Value::Object(other)) => {
            one.len() == other.len()
                && one.iter().zip(other).all(|((a, x), (b, y))| a == b && is_same(x, y))
        }
        (Value::Number(a), Value::Number(b)) if a.is_f64() && b.is_f64() => {
            let (a, b) = (a.as_f64().unwrap_or_default(), b.as_f64().unwrap_or_default());
            (a - b).abs() <= a.abs() * 1e-15
        }
        _ => one == other,
    }
}

/// Checks that fields have names, plain values, and stand in the text.
fn check_fields(text: &str, records: &[Value]) {
    assert!(!records.is_empty());
    for record in records {
        let record = object(record);
        assert!(!record.is_empty(), "a record without fields");
        for (name, value) in record {
            assert!(
                !name.is_empty() && text.contains(name.as_str()),
                "{name:?} is not in the text"
            );
            let cell = cell(value);
            // A number may have had more zeros at its end, a flag another case.
            let is_said = !value.is_string() || text.contains(&cell);
            assert!(is_said, "{cell:?} is not in the text");
        }
    }
}

/// Returns the names of the columns, after checking that all rows have them in the same order, with
/// plain values.
fn columns(rows: &Value) -> Vec<&str> {
    let rows = list(rows);
    let names: Vec<&str> = rows
        .first()
        .map(|row| object(row).keys().map(String::as_str).collect())
        .unwrap_or_default();
    for row in rows {
        assert!(object(row).keys().eq(&names), "rows have different columns");
        object(row).values().for_each(|value| drop(cell(value)));
    }
    names
}

fn check_markdown(rows: &Value) {
    let names = columns(rows);
    if names.is_empty() {
        // A table without rows has lost its names.
        return;
    }
    let line = |cells: Vec<String>| {
        let cells = cells.iter().map(|cell| format!(" {} |", cell.replace('|', "\\|")));
        format!("|{}\n", cells.collect::<String>())
    };
    // Names lose one pair of double asterisks.
    let mut text = line(names.iter().map(|name| format!("**{name}**")).collect());
    text += &line(vec!["---".to_owned(); names.len()]);
    for row in list(rows) {
        text += &line(object(row).values().map(cell).collect());
    }
    assert_eq!(table::find(&text).as_ref(), Some(rows), "{text}");
}

fn check_delimited(rows: &Value) {
    let names = columns(rows);
    if names.is_empty() {
        return;
    }
    for delimiter in [",", ";", "\t"] {
        let line = |cells: Vec<String>| {
            let cells = cells.iter().map(|cell| format!("\"{}\"", cell.replace('"', "\"\"")));
            cells.collect::<Vec<_>>().join(delimiter) + "\n"
        };
        let mut text = line(names.iter().map(|name| (*name).to_owned()).collect());
        for row in list(rows) {
            text += &line(object(row).values().map(cell).collect());
        }
        assert_eq!(delimited::find(&text).as_ref(), Some(rows), "{text}");
    }
}

/// Writes a value as a cell.
fn cell(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => {
            assert!(!text.is_empty(), "an empty cell is no text");
            text.clone()
        }
        // Written without an exponent, and with a decimal point if it is a float.
        Value::Number(number) => match number.as_f64().filter(|_| number.is_f64()) {
            Some(float) if float.fract() == 0.0 => format!("{float}.0"),
            Some(float) => float.to_string(),
            None => number.to_string(),
        },
        Value::Bool(flag) => flag.to_string(),
        Value::Array(_) | Value::Object(_) => panic!("a cell is nested: {value}"),
    }
}

fn list(value: &Value) -> &[Value] {
    value.as_array().unwrap_or_else(|| panic!("no list: {value}"))
}

fn object(value: &Value) -> &Map<String, Value> {
    value.as_object().unwrap_or_else(|| panic!("no object: {value}"))
}

#[cfg(test)]
mod tests {
    use narrows_testkit::{damaged, same_cases};
    use proptest::prelude::*;

    use super::*;

    const SEEDS: [&str; 13] = [
        "id,full name,price\n1,\"Ada, L.\",1.50\n2,\"say \"\"hi\"\"\",0.25\n3,,3.00\n",
        "Rows:\n\nname;note\na;\"two\n\nparagraphs\"\nb;x|y\n",
        "id\tversion\r\n1\t1.10\r\n2\t1.20\r\n007\tTrue\r\n",
        "Here:\n```csv\nid,ok\n1,true\n2,False\n```\n2 rows",
        "| **Name** | Size |\n|:-:|---|\n| a\\|b | 1 |\n| c |\n",
        "Two were found:\n\nName | Size | Ok\n--- | --- | ---\na | 0.00000000000001 | true\n\\ | -0.0 |",
        "Found 2 issues:\n[{\"a\": 1.5e300, \"b\": [null, {}]}, {\"a\": \"`\"}]",
        "{\"a\": 1}\n{\"a\": -0.0}\n",
        "Both:\n```json\n{\"a\": 1}\n```\n\n~~~\n[2]\n~~~",
        "Rows:\n[{'a': 1, 'b': None, 'c': \"it's\"}, {'a': -1e-05, 'b': (True,), 'c': '\\x1b'}]\n",
        "size: 6\ncreated: Mon Nov 16 2026\nisFile: true\npermissions: 644",
        "Commit history:\nCommit: 462124d\nAuthor: Ada\nTag: 1.9\n\nCommit: 73cfa63\nTag: 1.10\n",
        "- **Name:** a b\n- **Size:** 3\n- **Url:** https://x.example/y?z=1: 2",
    ];
    const BYTES: &[u8] = b"|--:,;\t\"\"\n\n\r {}[]`~*\\0123456789.-eantrue";

    proptest! {
        #![proptest_config(same_cases(600))]

        #[test]
        fn any_text_keeps_the_promises_of_what_is_found_in_it(data in damaged(&SEEDS, BYTES)) {
            text_tables(&data);
        }
    }

    /// A seed in which nothing is found would test little.
    #[test]
    fn the_seeds_have_values_of_every_kind() {
        let mut kinds = Vec::new();
        for seed in SEEDS {
            text_tables(seed.as_bytes());
            kinds.push(recover(seed).unwrap_or_else(|| panic!("nothing in {seed}")).kind);
        }
        for kind in [
            TextForm::Json,
            TextForm::JsonSequence,
            TextForm::Table,
            TextForm::Delimited,
            TextForm::Records,
        ] {
            assert!(kinds.contains(&kind), "{kind:?}");
        }
    }
}
