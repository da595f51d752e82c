//! Parquet files.

use std::panic::AssertUnwindSafe;

use datafusion::{
    arrow::{
        array::{Float64Array, Int64Array, StringArray},
        record_batch::RecordBatch,
    },
    parquet::{arrow::ArrowWriter, file::properties::WriterProperties},
    prelude::{col, lit},
};

use futures::FutureExt;

use super::*;

fn batch(rows: i64) -> RecordBatch {
    let ids = Int64Array::from_iter_values(0..rows);
    let names = StringArray::from_iter_values((0..rows).map(|n| format!("name {}", n % 100)));
    let prices = Float64Array::from_iter((0..rows).map(|n| (n % 7 != 0).then_some(n as f64 / 4.0)));
    RecordBatch::try_from_iter([
        ("id", Arc::new(ids) as Arc<dyn Array>),
        ("Name with space", Arc::new(names)),
        ("price", Arc::new(prices)),
    ])
    .expect("batch")
}

fn parquet(rows: i64) -> Vec<u8> {
    let batch = batch(rows);
    let properties = WriterProperties::builder().set_max_row_group_row_count(Some(1_000)).build();
    let mut bytes = Vec::new();
    let mut writer =
        ArrowWriter::try_new(&mut bytes, batch.schema(), Some(properties)).expect("writer");
    writer.write(&batch).expect("written");
    writer.close().expect("closed");
    bytes
}

async fn loaded(context: &SessionContext, bytes: &[u8]) -> Result<Loaded, LoadError> {
    load(context, "data", file(bytes, FileFormat::Parquet)).await
}

#[tokio::test]
async fn rows_come_back() {
    let context = context(PLENTY);
    let first = loaded(&context, &parquet(10_000)).await.expect("a table");
    let second = loaded(&context, &parquet(10)).await.expect("a table");
    context.register_table("first", first.provider).expect("registered");
    context.register_table("second", second.provider).expect("registered");
    for (name, rows) in [("first", 10_000), ("second", 10)] {
        let frame = context.table(name).await.expect("table");
        assert_eq!(frame.clone().count().await.expect("count"), rows);
        let one = frame.filter(col("id").eq(lit(7_i64))).expect("filter").collect().await;
        let one = one.expect("rows");
        assert_eq!(one.iter().map(RecordBatch::num_rows).sum::<usize>(), 1);
    }
}

#[tokio::test]
async fn the_file_goes_with_the_table() {
    let context = context(PLENTY);
    let before = format!("{:?}", context.runtime_env().object_store_registry);
    let loaded = loaded(&context, &parquet(10)).await.expect("a table");
    assert_ne!(before, format!("{:?}", context.runtime_env().object_store_registry));
    drop(loaded);
    assert_eq!(before, format!("{:?}", context.runtime_env().object_store_registry));
}

#[tokio::test]
async fn files_that_are_no_parquet_are_refused() {
    let context = context(PLENTY);
    let whole = parquet(100);
    let mut cut = whole.clone();
    cut.truncate(whole.len() - 20);
    let mut long_footer = whole.clone();
    let size = whole.len() - 8;
    long_footer[size..size + 4].copy_from_slice(&u32::MAX.to_le_bytes());
    let cases: [&[u8]; 6] =
        [b"", b"PAR1", b"PAR1PAR1", b"id,name\n1,x\n1,x\n1,x\n", &cut, &long_footer];
    for bytes in cases {
        match loaded(&context, bytes).await.map(|loaded| loaded.notes) {
            Err(LoadError::Data(reason)) => {
                assert!(reason.contains("Parquet"), "{reason}");
            }
            other => panic!("{other:?}"),
        }
    }
}

/// A file that has nothing but a footer.
fn with_footer(footer: &[u8]) -> Vec<u8> {
    let size = (footer.len() as u32).to_le_bytes();
    [b"PAR1", footer, &size, b"PAR1"].concat()
}

#[tokio::test]
async fn numbers_in_a_footer_are_not_trusted() {
    let context = context(PLENTY);
    // The version, a schema of nothing but its root, and no rows.
    let beginning = b"\x15\x02\x19\x1c\x48\x01r\x15\0\0\x16\0";
    let empty = with_footer(&[&beginning[..], b"\x19\x0c\0"].concat());
    assert!(loaded(&context, &empty).await.is_ok());
    let two_billion = b"\xff\xff\xff\xff\x07";
    let groups = with_footer(&[&beginning[..], b"\x19\xfc", two_billion, b"\0"].concat());
    let children = [&b"\x15\x02\x19\x1c\x48\x01r\x15"[..], two_billion, b"\0\x16\0\x19\x0c\0"];
    let children = with_footer(&children.concat());
    // Each type has the next one in it.
    let mut types = b"\x15\x02\x19\xfc\xa0\x8d\x06".to_vec();
    types.extend_from_slice(&b"\x35\0\x18\x01r\x15\x02\0".repeat(99_999));
    types.extend_from_slice(b"\x15\x02\x25\0\x18\x01r\0\x16\0\x19\x0c\0");
    let deep = with_footer(&types);
    for bytes in [groups, children, deep] {
        match loaded(&context, &bytes).await.map(|loaded| loaded.notes) {
            Err(LoadError::Data(reason)) => {
                assert_eq!(reason, "the Parquet file is damaged: its footer cannot be read");
            }
            other => panic!("{other:?}"),
        }
    }
}

/// Every byte of the footer changed in several ways: never a panic, a crash or a huge allocation.
#[tokio::test]
async fn damaged_footers_are_survived() {
    let context = context(PLENTY);
    let whole = parquet(30);
    let size =
        u32::from_le_bytes(whole[whole.len() - 8..whole.len() - 4].try_into().expect("four"));
    let footer = whole.len() - 8 - size as usize..whole.len() - 8;
    for position in footer {
        for change in [0xFF, 0x7F, 0x80, 0x01] {
            let mut bytes = whole.clone();
            bytes[position] ^= change;
            match loaded(&context, &bytes).await {
                Ok(_) | Err(LoadError::Data(_)) => {}
                Err(error) => panic!("{position} {change:x}: {error:?}"),
            }
        }
    }
}

/// Every byte of the columns changed: whoever runs the query gets other rows, an error, or at worst
/// a panic of the reader that can be caught.
#[tokio::test]
async fn damaged_columns_are_survived() {
    let whole = parquet(30);
    let mut refused = 0;
    for position in 4..whole.len() - 8 {
        for change in [0xFF, 0x01] {
            let mut bytes = whole.clone();
            bytes[position] ^= change;
            let context = context(PLENTY);
            let Ok(loaded) = loaded(&context, &bytes).await else { continue };
            let state = context.state();
            let run = AssertUnwindSafe(async {
                let scan = loaded.provider.scan(&state, None, &[], None).await?;
                collect_partitioned(scan, context.task_ctx()).await
            });
            refused += usize::from(!matches!(run.catch_unwind().await, Ok(Ok(_))));
        }
    }
    assert!(refused > 100, "{refused}");
}
