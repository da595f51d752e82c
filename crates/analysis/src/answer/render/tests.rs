use proptest::prelude::*;
use serde_json::json;

use super::*;

fn grid(rows: Value) -> Grid {
    let Value::Array(rows) = rows else { panic!("rows are a list") };
    let names = rows[0].as_object().expect("rows are objects").keys().cloned().collect();
    Grid { names, rows }
}

/// What a reader of RFC 4180 makes of a text; no quotes and nothing between commas is null.
fn read_csv(text: &str) -> Vec<Vec<Option<String>>> {
    let (mut lines, mut line, mut cell) = (Vec::new(), Vec::new(), None::<String>);
    let mut letters = text.chars().peekable();
    let mut inside = false;
    while let Some(letter) = letters.next() {
        match letter {
            '"' if !inside && cell.is_none() => {
                inside = true;
                cell = Some(String::new());
            }
            '"' if inside && letters.next_if_eq(&'"').is_some() => {
                cell.get_or_insert_default().push('"')
            }
            '"' if inside => inside = false,
            ',' if !inside => line.push(cell.take()),
            '\n' if !inside => {
                line.push(cell.take());
                lines.push(std::mem::take(&mut line));
            }
            other => cell.get_or_insert_default().push(other),
        }
    }
    assert!(!inside && line.is_empty() && cell.is_none(), "the text ends within a line");
    lines
}

/// The cells of a table in Markdown, with what was escaped.
fn read_markdown(text: &str) -> Vec<Vec<String>> {
    let line = |line: &str| {
        let line = line.strip_prefix('|').and_then(|line| line.strip_suffix('|')).expect("pipes");
        let cells = line.replace("\\|", "\u{1}");
        cells.split('|').map(|cell| cell.replace('\u{1}', "|").replace("<br>", "\n")).collect()
    };
    text.lines().map(line).collect()
}

#[test]
fn the_three_forms() {
    let grid = grid(json!([
        {"region": "North, \"old\"", "sum": 1234.56789, "rows": 12, "open": true, "tags": ["a", 0.25]},
        {"region": "a|b\nc", "sum": 2e-9, "rows": null, "open": false, "tags": {"k": 5.0}},
        {"region": "", "sum": 7.0, "rows": 9_007_199_254_740_993_u64, "open": null, "tags": null},
    ]));
    assert_eq!(
        grid.write(Format::Json),
        r#"[{"region":"North, \"old\"","sum":1234.57,"rows":12,"open":true,"tags":["a",0.25]},"#
            .to_owned()
            + r#"{"region":"a|b\nc","sum":2e-9,"rows":null,"open":false,"tags":{"k":5}},"#
            + r#"{"region":"","sum":7,"rows":9007199254740993,"open":null,"tags":null}]"#
    );
    assert_eq!(
        grid.write(Format::Csv),
        "region,sum,rows,open,tags\n\
         \"North, \"\"old\"\"\",1234.57,12,true,\"[\"\"a\"\",0.25]\"\n\
         \"a|b\nc\",2e-9,,false,\"{\"\"k\"\":5}\"\n\
         \"\",7,9007199254740993,,\n"
    );
    assert_eq!(
        grid.write(Format::Markdown),
        "|region|sum|rows|open|tags|\n|-|-|-|-|-|\n\
         |North, \"old\"|1234.57|12|true|[\"a\",0.25]|\n\
         |a\\|b<br>c|2e-9||false|{\"k\":5}|\n\
         ||7|9007199254740993|||\n"
    );
}

#[test]
fn a_table_without_rows_has_its_columns() {
    let grid = Grid { names: vec!["a,b".into(), "c|d".into()], rows: Vec::new() };
    assert_eq!(grid.write(Format::Json), "[]");
    assert_eq!(grid.write(Format::Csv), "\"a,b\",c|d\n");
    assert_eq!(grid.write(Format::Markdown), "|a,b|c\\|d|\n|-|-|\n");
}

#[test]
fn backslashes_do_not_join_cells_of_markdown() {
    let grid = grid(json!([{"a": "C:\\", "b": "x\\|y", "c": "|"}]));
    assert_eq!(grid.write(Format::Markdown), "|a|b|c|\n|-|-|-|\n|C:\\ |x\\&#124;y|\\||\n");
}

#[test]
fn many_plain_rows_are_csv() {
    let rows: Vec<Value> = (0..500)
        .map(|n| json!({"region": format!("region {}", n % 7), "amount": n * 31, "price": f64::from(n) / 3.0}))
        .collect();
    let grid = grid(rows.into());
    let (format, text) = grid.write_shortest();
    assert_eq!(format, Format::Csv);
    assert_eq!(text, grid.write(Format::Csv));
    assert_eq!(text.lines().count(), 501);
}

#[test]
fn a_wide_row_with_nested_values_is_json() {
    let mut row = Map::new();
    for number in 0..12 {
        let value =
            json!({"name": format!("item {number}"), "said": "\"yes\"", "tags": ["a", "b"]});
        row.insert(format!("field {number}"), value);
    }
    assert_eq!(grid(json!([row])).write_shortest().0, Format::Json);
}

#[test]
fn nested_values_in_many_rows_are_not_csv() {
    let row = |number: usize| {
        let item = json!({"name": format!("item {number}"), "said": "\"yes\"", "tags": ["a", "b"]});
        json!({"id": number, "items": [item, item], "owner": {"name": "Ann"}})
    };
    // CSV would double each quote of the JSON in its cells.
    let rows: Vec<Value> = (0..20).map(row).collect();
    assert_ne!(grid(rows.into()).write_shortest().0, Format::Csv);
}

#[test]
fn facts_are_short_lines() {
    for (value, line) in [
        (json!(12), "x: 12"),
        (json!(66.666_666_67), "x: 66.6667"),
        (json!("plain: text"), "x: plain: text"),
        (json!("two\nlines"), "x: \"two\\nlines\""),
        (json!(true), "x: true"),
        (json!(null), "x: null"),
        (
            json!({"low": 0.123_456_789, "high": [1.0, 2.5]}),
            "x: {\"low\":0.123457,\"high\":[1,2.5]}",
        ),
    ] {
        assert_eq!(fact("x", &value), line);
    }
}

fn any_text() -> impl Strategy<Value = String> {
    prop_oneof!["[a-z]{0,8}", "[\",|\n\r\\\\; ab]{0,6}", any::<String>(), "\\PC{0,40}"]
}

fn any_cell() -> impl Strategy<Value = Value> {
    let plain = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any_text().prop_map(Value::from),
    ];
    plain.prop_recursive(2, 6, 3, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..3).prop_map(Value::from),
            prop::collection::btree_map("[a-z\"]{1,4}", inner, 0..3)
                .prop_map(|map| Value::Object(map.into_iter().collect())),
        ]
    })
}

fn any_grid() -> impl Strategy<Value = Grid> {
    prop::collection::btree_set(any_text(), 1..5).prop_flat_map(|names| {
        let names: Vec<String> = names.into_iter().collect();
        let rows = prop::collection::vec(prop::collection::vec(any_cell(), names.len()), 0..8);
        rows.prop_map(move |rows| {
            let row = |cells: Vec<Value>| Value::Object(names.iter().cloned().zip(cells).collect());
            Grid { names: names.clone(), rows: rows.into_iter().map(row).collect() }
        })
    })
}

/// What a cell is once its type is lost.
fn plain(value: &Value) -> Option<String> {
    match value {
        Value::Null => None,
        Value::String(text) => Some(text.clone()),
        other => Some(other.to_string()),
    }
}

fn plain_rows(grid: &Grid) -> impl Iterator<Item = Vec<Option<String>>> {
    grid.rows.iter().map(|row| row.as_object().expect("an object").values().map(plain).collect())
}

proptest! {
    #[test]
    fn csv_reads_back(grid in any_grid()) {
        let read = read_csv(&grid.write(Format::Csv));
        let names: Vec<Option<String>> = grid.names.iter().cloned().map(Some).collect();
        let expected: Vec<_> = std::iter::once(names).chain(plain_rows(&grid)).collect();
        prop_assert_eq!(read, expected);
    }

    #[test]
    fn json_is_the_rows(grid in any_grid()) {
        let read: Vec<Value> = serde_json::from_str(&grid.write(Format::Json)).expect("JSON");
        prop_assert_eq!(read, grid.rows);
    }

    #[test]
    fn markdown_has_a_line_for_each_row(grid in any_grid()) {
        let read = read_markdown(&grid.write(Format::Markdown));
        prop_assert_eq!(read.len(), grid.rows.len() + 2);
        prop_assert!(read.iter().all(|line| line.len() == grid.names.len()));
    }

    #[test]
    fn the_chosen_form_has_the_fewest_tokens(grid in any_grid()) {
        let (chosen, text) = grid.write_shortest();
        prop_assert_eq!(&text, &grid.write(chosen));
        for other in [Format::Json, Format::Csv, Format::Markdown] {
            let other_text = grid.write(other);
            prop_assert!(tokens(&text) <= tokens(&other_text), "{chosen:?} has more than {other:?}");
        }
    }
}
