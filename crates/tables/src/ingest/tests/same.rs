//! The same data gives the same table, in whatever form it comes.

use std::{
    io::Write,
    process::{Command, Stdio},
};

use bytes::Bytes;
use proptest::{prelude::*, strategy::ValueTree};
use serde_json::json;

use super::*;
use crate::{flaw, ingest::json::JsonReader, reader::Reader};

/// Runs Python.
pub(crate) fn python(program: &str, input: &[u8]) -> Vec<u8> {
    let mut python = Command::new("python3")
        .args(["-c", program])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("python3");
    let mut stdin = python.stdin.take().expect("stdin");
    let input = input.to_vec();
    let writer = std::thread::spawn(move || stdin.write_all(&input));
    let output = python.wait_with_output().expect("output");
    writer.join().expect("writer").expect("written");
    assert!(output.status.success(), "{program}");
    output.stdout
}

fn block_on<T>(future: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    runtime.expect("runtime").block_on(future)
}

fn scalar() -> impl Strategy<Value = Value> {
    prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        (-100_i64..100).prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        any::<f64>().prop_filter("JSON", |value| value.is_finite()).prop_map(Value::from),
        (-100_i32..100).prop_map(|value| Value::from(f64::from(value) / 4.0)),
        prop::sample::select(vec!["", "N/A", "1", "2.5", "007", "x"]).prop_map(Value::from),
        any::<String>().prop_map(Value::from),
    ]
}

fn key() -> impl Strategy<Value = String> {
    prop_oneof![
        8 => prop::sample::select(vec!["a", "b", "c", "d", "a.b", ""]).prop_map(str::to_owned),
        1 => any::<String>(),
    ]
}

fn nested() -> impl Strategy<Value = Value> {
    scalar().prop_recursive(4, 24, 5, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..5).prop_map(Value::from),
            prop::collection::vec((key(), inner), 0..5)
                .prop_map(|fields| Value::Object(fields.into_iter().collect())),
        ]
    })
}

fn document() -> impl Strategy<Value = Value> {
    let row = prop::collection::vec((key(), nested()), 0..5)
        .prop_map(|fields| Value::Object(fields.into_iter().collect()));
    prop_oneof![
        4 => prop::collection::vec(row, 0..8).prop_map(Value::from),
        1 => prop::collection::vec(prop::collection::vec(nested(), 0..4).prop_map(Value::from), 0..6)
            .prop_map(Value::from),
        1 => prop::collection::vec(nested(), 0..8).prop_map(Value::from),
        1 => nested(),
    ]
}

/// The table, or that there is none.
fn outcome(input: Input) -> Result<Plain, String> {
    block_on(plain(input)).map_err(|error| error.to_string())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn as_value_as_text_and_in_lines(value in document()) {
        let text = value.to_string();
        let expected = outcome(Input::Json(value.clone()));
        prop_assert_eq!(&outcome(Input::Text(text.clone())), &expected);
        prop_assert_eq!(&outcome(file(&text, FileFormat::Json)), &expected);
        let spaced = serde_json::to_string_pretty(&value).expect("text");
        prop_assert_eq!(&outcome(Input::Text(spaced)), &expected);
        if let Value::Array(elements) = &value && !elements.is_empty() {
            let lines: Vec<String> = elements.iter().map(Value::to_string).collect();
            prop_assert_eq!(&outcome(file(lines.join("\n"), FileFormat::JsonLines)), &expected);
        }
    }

    /// JSON is what `serde_json` takes for it, apart from what Python writes besides.
    #[test]
    fn json_is_told_from_what_is_none(text in almost_json()) {
        let mut reader = JsonReader::new(&text);
        let read = whole(&mut reader).is_ok() && reader.is_at_end();
        let known = serde_json::from_str::<Value>(&text);
        let lenient = ["NaN", "Infinity", "\\ud", "\\uD", "e", "E"].iter().any(|word| text.contains(word));
        prop_assert!(read == known.is_ok() || (read && lenient), "{text:?}: {known:?}");
    }
}

fn take_number(rest: &mut &[u8]) -> usize {
    let (number, after) = rest.split_first_chunk::<4>().expect("a number");
    *rest = after;
    u32::from_le_bytes(*number) as usize
}

/// Bytes after their number.
fn take_bytes(rest: &mut &[u8]) -> Bytes {
    let length = take_number(rest);
    let (bytes, after) = rest.split_at(length);
    *rest = after;
    Bytes::copy_from_slice(bytes)
}

/// The same each time.
fn documents() -> impl Iterator<Item = Value> {
    let mut runner = proptest::test_runner::TestRunner::deterministic();
    (0..300).map(move |_| document().new_tree(&mut runner).expect("document").current())
}

/// What Python writes of documents, each of which it reads from a line. It is slow to start: many
/// at once.
fn written(program: &str, documents: &[Value]) -> Vec<u8> {
    let lines: Vec<String> = documents.iter().map(Value::to_string).collect();
    python(program, (lines.join("\n") + "\n").as_bytes())
}

#[test]
fn as_python_writes_it() {
    let documents: Vec<Value> = documents().collect();
    let program = "import sys, json, marshal\n\
         for line in sys.stdin:\n\
         \x20 value = json.loads(line)\n\
         \x20 for version in (0, 2, 3, 4):\n\
         \x20   data = marshal.dumps(value, version)\n\
         \x20   sys.stdout.buffer.write(len(data).to_bytes(4, 'little') + data)\n";
    let written = written(program, &documents);
    let mut rest = &written[..];
    for document in &documents {
        // Python keeps no order of first appearance other than ours, but knows larger numbers.
        let expected = outcome(Input::Json(document.clone()));
        for version in [0, 2, 3, 4] {
            let found = outcome(Input::Marshal(vec![take_bytes(&mut rest)]));
            assert_eq!(found, expected, "version {version}: {document}");
        }
    }
    assert!(rest.is_empty());
}

/// However a list is divided.
#[test]
fn in_parts_as_python_writes_them() {
    let lists: Vec<Value> = documents().filter(Value::is_array).collect();
    let program = "import sys, json, marshal\n\
         for line in sys.stdin:\n\
         \x20 value = json.loads(line)\n\
         \x20 for size in (1, 2, 5):\n\
         \x20   parts = [marshal.dumps(value[at:at + size]) for at in range(0, len(value), size)]\n\
         \x20   sys.stdout.buffer.write(len(parts).to_bytes(4, 'little'))\n\
         \x20   for data in parts:\n\
         \x20     sys.stdout.buffer.write(len(data).to_bytes(4, 'little') + data)\n";
    let written = written(program, &lists);
    let mut rest = &written[..];
    for list in &lists {
        let expected = outcome(Input::Json(list.clone()));
        for size in [1, 2, 5] {
            let count = take_number(&mut rest);
            let parts = (0..count).map(|_| take_bytes(&mut rest)).collect();
            assert_eq!(outcome(Input::Marshal(parts)), expected, "{size}: {list}");
        }
    }
    assert!(rest.is_empty());
}

#[tokio::test]
async fn parts_that_are_no_lists_are_refused() {
    let program = "import sys, marshal; sys.stdout.buffer.write(marshal.dumps({'a': 1}))";
    let object: Bytes = python(program, b"").into();
    let error = plain(Input::Marshal(vec![object.clone(), object])).await.expect_err("no list");
    assert_eq!(error.to_string(), "a part of a list is none");
    let nothing = plain(Input::Marshal(Vec::new())).await.expect("a table");
    assert_eq!(nothing, plain(Input::Json(json!([]))).await.expect("a table"));
}

/// Reads a value with all that is in it.
fn whole<R: Reader>(reader: &mut R) -> flaw::Result<()> {
    use crate::reader::Token;
    match reader.value()? {
        Token::List => {
            while reader.element()? {
                whole(reader)?;
            }
        }
        Token::Object => {
            while reader.key()?.is_some() {
                whole(reader)?;
            }
        }
        _ => {}
    }
    Ok(())
}

/// JSON with a mistake here and there.
fn almost_json() -> impl Strategy<Value = String> {
    let change = (
        any::<prop::sample::Index>(),
        prop::sample::select("{}[]\",:\\u019.-+eE tfn \n".chars().collect::<Vec<_>>()),
    );
    (nested(), prop::collection::vec(change, 0..3), any::<bool>()).prop_map(
        |(value, changes, pretty)| {
            let text = if pretty {
                serde_json::to_string_pretty(&value).expect("text")
            } else {
                value.to_string()
            };
            let mut characters: Vec<char> = text.chars().collect();
            for (place, character) in changes {
                let place = place.index(characters.len());
                characters[place] = character;
            }
            characters.into_iter().collect()
        },
    )
}

#[tokio::test]
async fn python_values_that_json_has_not() {
    let program = "import sys, marshal\n\
        rows = [{'a': float('nan'), 'b': 2**70, 'c': (1, 2), 'd': {3}, 'e': '\\ud800x', 1: 2, None: 3, True: 4, 2.5: 5, -2**80: 6},\n\
                {'a': -float('inf'), 'b': -5}]\n\
        sys.stdout.buffer.write(marshal.dumps(rows, 4))";
    let bytes = python(program, b"").into();
    let plain = plain(Input::Marshal(vec![bytes])).await.expect("a table");
    // True is 1 in Python: the same key.
    let expected = json!({
        "a": "float NaN", "b": "1180591620717411303424", "c": "[1,2]", "d": "[3]",
        "e": "\u{fffd}x", "1": 4, "null": 3, "2.5": 5, "-1208925819614629174706176": 6,
    });
    assert_eq!(plain.rows[0], expected);
    assert_eq!(plain.rows[1]["b"], "-5");
}

#[tokio::test]
async fn shared_python_values_are_read_again() {
    let program = "import sys, marshal\n\
        inner = {'x': [1, 'text'], 'y': 'text'}\n\
        row = {'id': 1, 'inner': inner, 'again': inner, 'list': [inner, inner]}\n\
        sys.stdout.buffer.write(marshal.dumps([row, row, dict(row, id=2)], 4))";
    let bytes = python(program, b"").into();
    let plain = plain(Input::Marshal(vec![bytes])).await.expect("a table");
    assert_eq!(
        plain.columns,
        "id: Int64, inner.x: Utf8, inner.y: Utf8, again.x: Utf8, again.y: Utf8, list: Utf8"
    );
    let list = "[{\"x\":[1,\"text\"],\"y\":\"text\"},{\"x\":[1,\"text\"],\"y\":\"text\"}]";
    for (row, id) in plain.rows.iter().zip([1, 1, 2]) {
        assert_eq!(row["id"], id);
        assert_eq!(row["again.x"], "[1,\"text\"]");
        assert_eq!(row["list"], list);
    }
}
