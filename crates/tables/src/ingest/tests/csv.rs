//! Files of separated values.

use proptest::prelude::*;
use serde_json::json;

use super::*;

async fn csv(content: impl AsRef<[u8]>) -> Plain {
    plain(file(content, FileFormat::Csv)).await.expect("a table")
}

#[tokio::test]
async fn types_are_found() {
    let table =
        csv("id,price,ok,zip,name,empty,big\n1,2.5,true,007,\"a, b\",,18446744073709551616\n\
         2,3,FALSE,8000,\"c \"\"d\"\"\n e\",,1\n-3,,,,,,\n")
        .await;
    assert_eq!(
        table.columns,
        "id: Int64, price: Float64, ok: Boolean, zip: Utf8, name: Utf8, empty: Utf8, big: Utf8"
    );
    assert_eq!(
        table.rows,
        [
            json!({"id": 1, "price": 2.5, "ok": true, "zip": "007", "name": "a, b", "empty": null,
                   "big": "18446744073709551616"}),
            json!({"id": 2, "price": 3.0, "ok": false, "zip": "8000", "name": "c \"d\"\n e",
                   "empty": null, "big": "1"}),
            json!({"id": -3, "price": null, "ok": null, "zip": null, "name": null, "empty": null,
                   "big": null}),
        ]
    );
    assert_eq!(
        table.notes,
        [
            "zip: 1 number and 1 text: all kept as text",
            "big: numbers with too many digits: kept as text, to be exact",
        ]
    );
}

#[tokio::test]
async fn other_ways_to_write_it() {
    let rows = [json!({"a": 1, "b": "x"}), json!({"a": 2, "b": "y"})];
    for content in [
        "a,b\r\n1,x\r\n2,y\r\n",
        "\u{feff}a,b\n1,x\n\n2,y",
        "a;b\n1;x\n2;y\n",
        "a\tb\n1\tx\n2\ty\n",
        "a|b\n1|x\n2|y\n",
        "a,b\r1,x\r2,y\r",
        "\n\n a , b\n1,x\n2,y\n",
    ] {
        let table = csv(content).await;
        assert_eq!(table.rows, rows, "{content:?}");
        assert_eq!(table.notes, [""; 0], "{content:?}");
    }
    let table = plain(file("a\tb\n1,5\tx;y\n", FileFormat::Tsv)).await.expect("a table");
    assert_eq!(table.rows, [json!({"a": "1,5", "b": "x;y"})]);
}

#[tokio::test]
async fn ragged_rows_are_noted() {
    let table = csv("a,b\n1\n2,3,,\n4,5,6\n").await;
    assert_eq!(table.columns, "a: Int64, b: Int64, c2: Int64");
    assert_eq!(
        table.rows,
        [
            json!({"a": 1, "b": null, "c2": null}),
            json!({"a": 2, "b": 3, "c2": null}),
            json!({"a": 4, "b": 5, "c2": 6}),
        ]
    );
    assert_eq!(
        table.notes,
        [
            "1 column without a name in the header: named by position (c0, c1, …)",
            "1 row with fewer cells than the header: the rest is missing",
            "1 row with more cells than the header: in columns of their own",
        ]
    );
}

#[tokio::test]
async fn bytes_that_are_no_text_are_replaced() {
    let table = csv(b"n\xe4me,b\nM\xfcller,1\n").await;
    assert_eq!(table.columns, "n\u{fffd}me: Utf8, b: Int64");
    assert_eq!(table.rows[0]["n\u{fffd}me"], "M\u{fffd}ller");
    assert_eq!(table.notes, ["bytes that are not UTF-8 were replaced"]);
}

#[tokio::test]
async fn markers_among_numbers_are_missing() {
    let table = csv("a,b\n1,N/A\n-,x\n3,-\n").await;
    assert_eq!(table.columns, "a: Int64, b: Utf8");
    assert_eq!(table.rows[1], json!({"a": null, "b": "x"}));
    assert_eq!(table.rows[0]["b"], "N/A");
    assert_eq!(table.notes, ["a: 1 text read as missing"]);
}

/// As in JSON: who reads that the largest of them is "unknown" can know why.
#[tokio::test]
async fn text_among_numbers_is_noted() {
    let table = csv("price\n9\n10\n100\nunknown\n").await;
    assert_eq!(table.columns, "price: Utf8");
    assert_eq!(table.notes, ["price: 3 numbers and 1 text: all kept as text"]);
}

#[tokio::test]
async fn files_without_anything_are_refused() {
    for content in ["", "\n\n", "\u{feff}", " \n"] {
        let reason = complaint(file(content, FileFormat::Csv)).await;
        assert!(reason.contains("empty"), "{content:?}: {reason}");
    }
    let table = csv("a,b\n").await;
    assert_eq!((table.columns.as_str(), table.rows.len()), ("a: Utf8, b: Utf8", 0));
    let reason = complaint(file(b"\xff\xfea\0,\0b\0", FileFormat::Csv)).await;
    assert!(reason.contains("UTF-16"), "{reason}");
}

#[tokio::test]
async fn an_open_quote_says_where() {
    let reason = complaint(file("a,b\n1,2\n3,\"x\n4,5\n", FileFormat::Csv)).await;
    assert_eq!(reason, "line 3, column 3: a quote is opened and not closed");
}

/// Large enough for many blocks, with records that span lines.
pub(super) fn large(rows: usize) -> String {
    let mut content = String::from("id,name,note,price\n");
    for row in 0..rows {
        let price = if row % 10 == 0 { String::new() } else { format!("{}.25", row % 97) };
        content +=
            &format!("{row},name {},\"line {row}\nsays \"\"hi\"\", twice\",{price}\n", row % 1000);
    }
    content
}

fn assert_large(table: &Plain, rows: usize) {
    assert_eq!(table.columns, "id: Int64, name: Utf8, note: Utf8, price: Float64");
    assert_eq!(table.rows.len(), rows);
    for (row, value) in table.rows.iter().enumerate() {
        assert_eq!(value["id"], row);
        assert_eq!(value["note"], format!("line {row}\nsays \"hi\", twice"));
    }
}

#[tokio::test]
async fn blocks_end_where_records_end() {
    let rows = 200_000;
    assert_large(&csv(large(rows)).await, rows);
}

#[tokio::test]
async fn large_files_are_read_for_each_query() {
    let rows = 200_000;
    let content = large(rows);
    assert!(content.len() > 8 << 20);
    // The rows would not fit into this memory.
    let context = context(8 << 20);
    let input = file(content, FileFormat::Csv);
    let loaded = load(&context, "data", input).await.expect("a table");
    assert_eq!(context.runtime_env().memory_pool.reserved(), 0);
    for _ in 0..2 {
        let again = Loaded { provider: Arc::clone(&loaded.provider), notes: Vec::new() };
        let (columns, batches) = scanned(&context, again).await;
        let rows_of: Vec<Value> = batches.iter().flat_map(rows_of).collect();
        assert_large(&Plain { columns, rows: rows_of, notes: Vec::new() }, rows);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn any_bytes_are_a_table_or_an_error(bytes in prop::collection::vec(any_csv_byte(), 0..200)) {
        let runtime = tokio::runtime::Builder::new_current_thread().build().expect("runtime");
        for format in [FileFormat::Csv, FileFormat::Tsv] {
            let result = runtime.block_on(plain(file(&bytes, format)));
            prop_assert!(matches!(result, Ok(_) | Err(LoadError::Data(_))), "{result:?}");
        }
    }
}

/// Bytes that matter come more often.
fn any_csv_byte() -> impl Strategy<Value = u8> {
    prop_oneof![prop::sample::select(b",;\t|\"\n\r 0123456789.-eNat".to_vec()), any::<u8>(),]
}
