//! With Python itself, and with bytes that Python would never write.

use std::sync::Arc;

use bytes::Bytes;
use datafusion::arrow::{
    array::{
        ArrayRef, BinaryArray, BooleanArray, Date32Array, Decimal128Array, Float32Array,
        Float64Array, Int32Array, Int64Array, ListArray, NullArray, RecordBatch, StringArray,
        StringViewArray, StructArray, TimestampMicrosecondArray, UInt64Array,
        builder::{Int32Builder, MapBuilder, StringBuilder},
    },
    datatypes::{DataType, Field, Int32Type},
};
use proptest::prelude::*;

use super::marshal;
use crate::ingest::{
    Input, LoadError,
    tests::{PLENTY, context, plain, plain_in, rows_of, same::python},
};

fn table(columns: Vec<(&str, ArrayRef)>) -> RecordBatch {
    RecordBatch::try_from_iter_with_nullable(
        columns.into_iter().map(|(name, array)| (name, array, true)),
    )
    .expect("batch")
}

fn written(table: &RecordBatch) -> Vec<u8> {
    marshal(&table.schema(), std::slice::from_ref(table))
}

/// What Python shows of it.
fn shown(table: &RecordBatch) -> String {
    let program = "import sys, marshal; print(marshal.loads(sys.stdin.buffer.read()))";
    let text = String::from_utf8(python(program, &written(table))).expect("text");
    text.trim_end().to_owned()
}

#[test]
fn python_reads_plain_values() {
    let long = "x".repeat(300);
    let table = table(vec![
        ("int", Arc::new(Int64Array::from(vec![Some(1), None, Some(i64::MIN), Some(i64::MAX)]))),
        (
            "float",
            Arc::new(Float64Array::from(vec![
                Some(0.5),
                None,
                Some(f64::NAN),
                Some(f64::NEG_INFINITY),
            ])),
        ),
        ("ok", Arc::new(BooleanArray::from(vec![Some(true), None, Some(false), Some(true)]))),
        (
            "täxt",
            Arc::new(StringArray::from(vec![Some("ü😀"), None, Some(""), Some(long.as_str())])),
        ),
    ]);
    assert_eq!(
        shown(&table),
        format!(
            "[{{'int': 1, 'float': 0.5, 'ok': True, 'täxt': 'ü😀'}}, \
             {{'int': None, 'float': None, 'ok': None, 'täxt': None}}, \
             {{'int': -9223372036854775808, 'float': nan, 'ok': False, 'täxt': ''}}, \
             {{'int': 9223372036854775807, 'float': -inf, 'ok': True, 'täxt': '{long}'}}]"
        )
    );
}

#[test]
fn python_reads_other_values() {
    let list = ListArray::from_iter_primitive::<Int32Type, _, _>([Some(vec![Some(1), None]), None]);
    let fields = vec![
        (
            Arc::new(Field::new("x", DataType::Int32, true)),
            Arc::new(Int32Array::from(vec![7, 8])) as ArrayRef,
        ),
        (
            Arc::new(Field::new("y", DataType::Utf8, true)),
            Arc::new(StringArray::from(vec!["a", "b"])),
        ),
    ];
    let mut map = MapBuilder::new(None, StringBuilder::new(), Int32Builder::new());
    map.keys().append_value("k");
    map.values().append_value(5);
    map.append(true).expect("entry");
    map.append(false).expect("entry");
    let micros = TimestampMicrosecondArray::from(vec![Some(1_700_000_000_123_456), None]);
    let table = table(vec![
        ("list", Arc::new(list)),
        ("struct", Arc::new(StructArray::from(fields))),
        ("map", Arc::new(map.finish())),
        ("date", Arc::new(Date32Array::from(vec![Some(19_000), None]))),
        ("time", Arc::new(micros.clone())),
        ("utc", Arc::new(micros.clone().with_timezone("UTC"))),
        ("zone", Arc::new(micros.with_timezone("Europe/Zurich"))),
        (
            "decimal",
            Arc::new(
                Decimal128Array::from(vec![Some(12345), None])
                    .with_precision_and_scale(10, 2)
                    .expect("decimal"),
            ),
        ),
        ("unsigned", Arc::new(UInt64Array::from(vec![Some(u64::MAX), Some(3)]))),
        ("single", Arc::new(Float32Array::from(vec![Some(0.5), None]))),
        ("view", Arc::new(StringViewArray::from(vec![Some("a text that is not short"), None]))),
        ("binary", Arc::new(BinaryArray::from(vec![Some(&b"\xff\x01"[..]), None]))),
        ("nothing", Arc::new(NullArray::new(2))),
    ]);
    let shown = shown(&table);
    let first = "[{'list': [1, None], 'struct': {'x': 7, 'y': 'a'}, 'map': {'k': 5}, \
        'date': '2022-01-08', 'time': '2023-11-14T22:13:20.123456', \
        'utc': '2023-11-14T22:13:20.123456Z', 'zone': '2023-11-14T22:13:20.123456Z', \
        'decimal': 123.45, 'unsigned': 18446744073709551615, 'single': 0.5, \
        'view': 'a text that is not short', 'binary': 'ff01', 'nothing': None}, ";
    assert!(shown.starts_with(first), "{shown}\n{first}");
    assert!(
        shown.contains("{'list': None, 'struct': {'x': 8, 'y': 'b'}, 'map': None, 'date': None"),
        "{shown}"
    );
}

#[test]
fn empty_tables_are_empty_lists() {
    let columns: ArrayRef = Arc::new(Int64Array::from(Vec::<i64>::new()));
    assert_eq!(shown(&table(vec![("a", columns)])), "[]");
}

#[tokio::test]
async fn rows_survive_the_way_there_and_back() {
    let texts: StringArray =
        (0..300_000).map(|n| (n % 5 > 0).then(|| format!("täxt {n}"))).collect();
    let numbers: Int64Array = (0..300_000).map(|n| (n % 3 > 0).then_some(n * 1_000_003)).collect();
    let table = table(vec![("text", Arc::new(texts)), ("number", Arc::new(numbers))]);
    let expected: Vec<_> = rows_of(&table).into_iter().collect();
    let found = plain(Input::Marshal(vec![written(&table).into()])).await.expect("a table");
    assert_eq!(found.columns, "text: Utf8, number: Int64");
    assert!(found.rows == expected);
}

async fn complaint(bytes: &[u8]) -> String {
    match plain(Input::Marshal(vec![Bytes::copy_from_slice(bytes)])).await {
        Err(LoadError::Data(reason)) => reason,
        other => panic!("{bytes:?}: {other:?}"),
    }
}

#[tokio::test]
async fn hostile_bytes_are_refused() {
    let cases: [(&[u8], &str); 14] = [
        (b"", "end too early"),
        (b"[", "end too early"),
        (b"[\xff\xff\xff\x7f", "end too early"),
        (b"[\xff\xff\xff\xff", "length is negative"),
        (b"[\x01\0\0\0u\xff\xff\xff\x7f", "end too early"),
        (b"[\x01\0\0\0r\x05\0\0\0", "reference goes nowhere"),
        // A list in itself, a dictionary in itself, and both by way of others.
        (b"\xdb\x01\0\0\0r\0\0\0\0", "has itself in it"),
        (b"[\x01\0\0\0\xfbz\x01ar\0\0\0\0\x30", "has itself in it"),
        (b"\xdb\x01\0\0\0\xfbz\x01a\xdb\x01\0\0\0r\0\0\0\0\x30", "has itself in it"),
        (b"[\x01\0\0\0s\x01\0\0\0x", "bytes cannot be in a table"),
        (b"[\x01\0\0\0c", "code cannot be in a table"),
        (b"[\x01\0\0\0z\x02\xff\xfe", "text is damaged"),
        (b"[\x01\0\0\0l\xff\xff\xff\x7f", "more than 4,300 digits"),
        (b"[\x01\0\0\0{)\x00N0", "neither text nor a number"),
    ];
    for (bytes, expected) in cases {
        let reason = complaint(bytes).await;
        assert!(reason.contains(expected), "{bytes:?}: {reason}");
    }
    let deep = [&b"[\x01\0\0\0"[..]; 100_000].concat();
    assert!(complaint(&deep).await.contains("nested more than 128"));
}

/// Lists that have the same list twice, many times over: short to write, endless to read.
#[tokio::test]
async fn endless_values_end_with_the_memory() {
    // The text is number 0, each list has the one before twice and is the next number.
    let mut bytes = b"[\x40\0\0\0\xfa\x04text".to_vec();
    for number in 0..63_u32 {
        bytes.extend_from_slice(b"\xdb\x02\0\0\0");
        for _ in 0..2 {
            bytes.push(b'r');
            bytes.extend_from_slice(&number.to_le_bytes());
        }
    }
    let error = plain_in(&context(PLENTY >> 4), Input::Marshal(vec![bytes.into()])).await;
    assert!(matches!(error, Err(LoadError::Memory(_))), "{error:?}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn any_bytes_are_a_table_or_an_error(
        parts in prop::collection::vec(prop::collection::vec(any_code(), 0..60), 1..3),
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread().build().expect("runtime");
        let parts = Input::Marshal(parts.into_iter().map(Bytes::from).collect());
        let result = runtime.block_on(plain_in(&context(1 << 22), parts));
        let expected = matches!(result, Ok(_) | Err(LoadError::Data(_) | LoadError::Memory(_)));
        prop_assert!(expected, "{result:?}");
    }
}

/// Bytes that mean something come more often.
fn any_code() -> impl Strategy<Value = u8> {
    let codes = b"0NTFifgxylstru([)]{<>aAzZ:.c\0\0\0\0\0\0\x01\x02\x03";
    let flagged: Vec<u8> = codes.iter().map(|code| code | 0x80).collect();
    prop_oneof![6 => prop::sample::select(codes.to_vec()), 3 => prop::sample::select(flagged), 1 => any::<u8>()]
}
