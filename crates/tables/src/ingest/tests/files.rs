//! Files of JSON, memory and giving up.

use std::time::Duration;

use serde_json::json;

use super::*;

async fn lines(content: impl AsRef<[u8]>) -> Plain {
    plain(file(content, FileFormat::JsonLines)).await.expect("a table")
}

#[tokio::test]
async fn lines_of_objects() {
    let table = lines("\u{feff}{\"a\":1}\r\n\n  \n{\"a\":2,\"b\":[1]}\n").await;
    assert_eq!(table.rows, [json!({"a": 1, "b": null}), json!({"a": 2, "b": "[1]"})]);
    assert_eq!(lines("1\nnull\n2.5").await.columns, "value: Float64");
    assert_eq!(lines("null\n{\"a\":1}").await.columns, "a: Int64");
    let table = lines("[\"x\",\"y\"]\n[1,2]\n[3,4]\n").await;
    assert_eq!(table.rows, [json!({"x": 1, "y": 2}), json!({"x": 3, "y": 4})]);
}

#[tokio::test]
async fn broken_lines_have_numbers() {
    let broken = [
        ("{\"a\":1}\n\n{\"a\":}\n", "line 3, column 6: expected a value, found '}'"),
        ("{\"a\":1} {\"a\":2}\n", "line 1, column 9: there is something after the value"),
        ("{\"a\":\n1}\n", "line 1, column 6: expected a value, but the line ends"),
        ("", "nothing in it"),
        ("\n \n", "nothing in it"),
    ];
    for (content, expected) in broken {
        let reason = complaint(file(content, FileFormat::JsonLines)).await;
        assert!(reason.contains(expected), "{content:?}: {reason}");
    }
    // The first of several mistakes, in whichever block it is.
    let mut content = "{\"a\": 1}\n".repeat(1_500_000);
    content.replace_range(9 * 700_000 + 6..9 * 700_000 + 7, "x");
    content.replace_range(9 * 1_200_000 + 6..9 * 1_200_000 + 7, "x");
    let reason = complaint(file(content, FileFormat::JsonLines)).await;
    assert_eq!(reason, "line 700001, column 7: expected a value, found 'x'");
}

#[tokio::test]
async fn documents_in_files() {
    let document = |content: &str| plain(file(content, FileFormat::Json));
    let rows = [json!({"a": 1}), json!({"a": 2})];
    for content in [
        "[{\"a\":1},{\"a\":2}]",
        "\u{feff}[\n {\"a\": 1},\n {\"a\": 2}\n]\n",
        "{\"a\":1}\n{\"a\":2}\n",
        "{\"a\": [1,2]}",
    ] {
        assert_eq!(document(content).await.expect("a table").rows, rows, "{content:?}");
    }
    let one = document("{\n\"a\": 1}").await.expect("a table");
    assert_eq!(one.rows, rows[..1]);
    let bytes = plain(file(b"[{\"a\":\"\xff\"}]", FileFormat::Json)).await.expect("a table");
    assert_eq!(bytes.rows, [json!({"a": "\u{fffd}"})]);
    assert_eq!(bytes.notes, ["bytes that are not UTF-8 were replaced"]);
    let reason = complaint(file("{\n\"a\": 1}\n{\n\"a\": 2}", FileFormat::Json)).await;
    assert!(reason.starts_with("line 3, column 1: there is something after"), "{reason}");
}

/// Rows whose types show late.
fn late(rows: usize) -> String {
    let mut content = String::new();
    for row in 0..rows {
        let number = if row + 1 == rows { "0.5".to_owned() } else { row.to_string() };
        let object = if row + 2 == rows { "7" } else { "{\"c\":\"text that takes some room\"}" };
        content += &format!("{{\"id\":{row},\"number\":{number},\"o\":{object}}}\n");
    }
    content
}

fn assert_late(table: &Plain, rows: usize) {
    assert_eq!(table.columns, "id: Int64, number: Float64, o: Utf8");
    assert_eq!(table.rows.len(), rows);
    assert!(table.rows.iter().enumerate().all(|(row, value)| value["id"] == row));
    assert_eq!(table.rows[1]["o"], "{\"c\":\"text that takes some room\"}");
    assert_eq!(table.rows[rows - 2]["o"], "7");
    assert_eq!(table.rows[rows - 1]["number"], 0.5);
    let objects =
        format!("o: {} lists or objects and 1 plain value: all kept as JSON text", "149,999");
    assert_eq!(table.notes, [objects]);
}

#[tokio::test]
async fn types_of_many_blocks_are_those_of_the_whole() {
    let rows = 150_000;
    assert_late(&lines(late(rows)).await, rows);
}

#[tokio::test]
async fn large_files_are_read_for_each_query() {
    let rows = 150_000;
    let context = context(16 << 20);
    let input = file(late(rows), FileFormat::JsonLines);
    assert_late(&plain_in(&context, input).await.expect("a table"), rows);
}

#[tokio::test]
async fn a_header_of_a_large_file_is_no_row() {
    let mut content = String::from("[\"id\",\"name\"]\n");
    for row in 0..400_000 {
        content += &format!("[{row},\"name {row} with text\"]\n");
    }
    let context = context(24 << 20);
    let input = file(content, FileFormat::JsonLines);
    let table = plain_in(&context, input).await.expect("a table");
    assert_eq!(table.columns, "id: Int64, name: Utf8");
    assert_eq!(table.rows.len(), 400_000);
    assert_eq!(table.rows[0], json!({"id": 0, "name": "name 0 with text"}));
}

#[tokio::test]
async fn memory_is_reserved_while_the_table_is_there() {
    let context = context(PLENTY);
    let pool = Arc::clone(&context.runtime_env().memory_pool);
    let rows: Value = (0..100_000).map(|n| json!({"a": n, "b": "some text"})).collect();
    let loaded = load(&context, "data", Input::Json(rows)).await.expect("a table");
    let reserved = pool.reserved();
    assert!((1_700_000..8_000_000).contains(&reserved), "{reserved}");
    drop(loaded);
    assert_eq!(pool.reserved(), 0);
}

#[tokio::test]
async fn too_much_for_the_memory_is_said_so() {
    let rows: Value = (0..100_000).map(|n| json!({"a": n, "b": "some text"})).collect();
    let text = rows.to_string();
    // All of these need more than they may have.
    let sparse = "{\"a\":1}\n".repeat(400_000)
        + &format!(
            "{{{}}}\n",
            (0..900).map(|n| format!("\"k{n}\":1")).collect::<Vec<_>>().join(",")
        );
    for input in [Input::Json(rows), Input::Text(text), Input::Text(sparse)] {
        let context = context(1 << 20);
        let error = plain_in(&context, input).await.expect_err("too much");
        assert!(matches!(error, LoadError::Memory(limit) if limit == 1 << 20), "{error:?}");
        assert_eq!(context.runtime_env().memory_pool.reserved(), 0);
    }
    let context = context(1 << 20);
    let line = format!("{{\"a\":\"{}\"}}\n", "x".repeat(9 << 20));
    let error = plain_in(&context, file(line.repeat(2), FileFormat::JsonLines)).await;
    assert!(matches!(error, Err(LoadError::Memory(_))), "{error:?}");
}

#[tokio::test]
async fn work_that_nobody_waits_for_ends() {
    let context = context(PLENTY);
    let pool = Arc::clone(&context.runtime_env().memory_pool);
    let text = format!("[{}1]", "{\"a\":[1,2,3],\"b\":\"text\"},".repeat(4_000_000));
    let load = tokio::spawn(async move {
        let loaded = load(&context, "data", Input::Text(text)).await;
        loaded.map(|loaded| loaded.notes)
    });
    let pool = &pool;
    let wait = |done: fn(usize) -> bool| async move {
        while !done(pool.reserved()) {
            tokio::task::yield_now().await;
        }
    };
    wait(|reserved| reserved > 0).await;
    load.abort();
    assert!(load.await.is_err_and(|error| error.is_cancelled()));
    // The threads get no more memory, and let go of what they have when they notice.
    let held = pool.reserved();
    let mut most = held;
    let ended = async {
        while pool.reserved() > 0 {
            most = most.max(pool.reserved());
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(Duration::from_secs(300), ended).await.expect("it ends");
    // What each of them was just being given may still come; the whole table is far larger.
    assert!(most <= held + (32 << 20), "{most} bytes after {held}");
}

#[tokio::test]
async fn tables_of_earlier_answers() {
    let context = context(PLENTY);
    let first =
        load(&context, "data", Input::Json(json!([{"a": 1}, {"a": 2}]))).await.expect("a table");
    let schema = first.provider.schema();
    let (_, batches) = scanned(&context, first).await;
    let plain = plain_in(&context, Input::Batches { schema, batches }).await.expect("a table");
    assert_eq!(plain.rows, [json!({"a": 1}), json!({"a": 2})]);
}
