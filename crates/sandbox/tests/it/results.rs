//! The result of a program: `result` or else its last expression, as JSON.

use narrows_model::{Outcome, Program};
use narrows_sandbox::RunOptions;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use crate::support::{SANDBOX, TestHost, run, value};

/// Returns the result of a program that must succeed without any notes.
async fn plain(source: &str) -> Value {
    let outcome = run(source).await;
    let result = value(&outcome).clone();
    assert_eq!(outcome.notes, Vec::<String>::new(), "{source}");
    result
}

/// Returns the result of a program and the notes about it.
async fn noted(source: &str) -> (Value, Vec<String>) {
    let outcome = run(source).await;
    let result = value(&outcome).clone();
    (result, outcome.notes)
}

#[track_caller]
fn same(actual: (Value, Vec<String>), result: Value, notes: &[&str]) {
    assert_eq!(actual.0, result);
    assert_eq!(actual.1, notes);
}

async fn with_context(source: &str, context: Value) -> Outcome {
    let Value::Object(context) = context else { panic!("an object") };
    let program = Program { context, ..Program::new(source) };
    let (host, options) = (TestHost::new(), RunOptions::default());
    SANDBOX.run(program, &host, options, CancellationToken::new()).await.unwrap()
}

// Which value it is.

#[tokio::test]
async fn the_result_is_the_variable_result() {
    assert_eq!(
        plain("result = {'a': [1, 2.5, None, True, 'x']}").await,
        json!({"a": [1, 2.5, null, true, "x"]})
    );
    assert_eq!(plain("result = 5\nresult + 1").await, 5);
    assert_eq!(plain("result: int = 5\n'last'").await, 5);
    assert_eq!(plain("result, other = 1, 2\n'last'").await, 1);
    assert_eq!(plain("if (result := 5): pass\n'last'").await, 5);
    assert_eq!(plain("for result in range(3): pass\n'last'").await, 2);
    assert_eq!(plain("def f():\n    global result\n    result = 5\nf()\n'last'").await, 5);
}

#[tokio::test]
async fn the_result_is_assigned_in_a_branch() {
    let source = "x = 5\nif x > 3:\n    result = 'big'\nelse:\n    result = 'small'\nx";
    assert_eq!(plain(source).await, "big");
    let source = "try:\n    result = 1 / 0\nexcept ZeroDivisionError:\n    result = 'caught'\n7";
    assert_eq!(plain(source).await, "caught");
    assert_eq!(plain("if False:\n    result = 1\n'last'").await, "last");
    let source =
        "import asyncio\nasync def main():\n    global result\n    result = 3\nawait main()";
    assert_eq!(plain(source).await, 3);
}

#[tokio::test]
async fn the_result_is_else_the_last_expression() {
    assert_eq!(plain("x = 20\nx * 2 + 2").await, 42);
    assert_eq!(plain("[1, 2]; 4").await, 4);
    assert_eq!(plain("4;").await, 4);
    assert_eq!(plain("5  # a comment\n\n# and another\n").await, 5);
    assert_eq!(plain("'a' \\\n  'b'").await, "ab");
    assert_eq!(plain("x = 5\nf'{x!r}'").await, "5");
    assert_eq!(plain("{'a': 1}").await, json!({"a": 1}));
    assert_eq!(plain("def f():\n    result = 5\nf()\n'last'").await, "last");
    assert_eq!(plain("class R:\n    result = 3\nR().result").await, 3);
    assert_eq!(plain("from __future__ import annotations\nx: int = 1\nx").await, 1);
}

#[tokio::test]
async fn the_last_expression_can_be_awaited() {
    assert_eq!(plain("import asyncio\nawait asyncio.sleep(0, 'slept')").await, "slept");
    let source = "import asyncio\nasync def f(n): return n\nawait asyncio.gather(f(1), f(2))";
    assert_eq!(plain(source).await, json!([1, 2]));
    let source = "import asyncio\nasync def main(): return 5\nasyncio.run(main())";
    assert_eq!(plain(source).await, 5);
    let source = "async def f():\n    for n in range(3): yield n\n[n async for n in f()]";
    assert_eq!(plain(source).await, json!([0, 1, 2]));
}

#[tokio::test]
async fn there_is_no_result_without_an_expression_at_the_end() {
    for source in [
        "",
        "# only a comment",
        "x = 1",
        "None",
        "print()",
        "for i in range(3):\n    i",
        "def f(): return 3",
        "x = 1; x\nif x: pass",
        "result = None\n'last'",
        "import os",
    ] {
        assert_eq!(plain(source).await, Value::Null, "{source}");
    }
}

#[tokio::test]
async fn a_result_that_was_deleted_is_no_result() {
    assert_eq!(plain("result = 1\ndel result\n'last'").await, "last");
}

#[tokio::test]
async fn text_that_looks_like_an_assignment_is_text() {
    assert_eq!(plain("text = '''\nresult = 5\n'''\nlen(text)").await, 12);
    assert_eq!(plain("text = \"\"\"\nresult = 5\n\"\"\"\ntext").await, "\nresult = 5\n");
    assert_eq!(plain("result = '''a\nresult = 7\n'''\n9").await, "a\nresult = 7\n");
    assert_eq!(plain("\"\"\"documentation\"\"\"\n1").await, 1);
}

#[tokio::test]
async fn text_on_several_lines_that_looks_like_an_assignment_is_text() {
    assert_eq!(plain("x = 'a\\\nresult = 7'\nlen(x)").await, 11);
}

#[tokio::test]
async fn a_result_in_the_context_does_not_hide_the_last_expression() {
    let outcome = with_context("result + 1", json!({"result": 1})).await;
    assert_eq!(*value(&outcome), 2);
    let outcome = with_context("x = 1", json!({"result": 1})).await;
    assert_eq!(*value(&outcome), 1);
    let outcome = with_context("result = [result]\n5", json!({"result": 1})).await;
    assert_eq!(*value(&outcome), json!([1]));
    let outcome = with_context("result = result\n5", json!({"result": [1]})).await;
    assert_eq!(*value(&outcome), json!([1]));
}

#[tokio::test]
async fn context_variables_arrive_as_they_are() {
    let context = json!({
        "text": "ü \" \\ \n 😀 \u{2028}", "number": 7, "float": 0.1, "large": 18_446_744_073_709_551_615_u64,
        "nothing": null, "yes": true, "list": [1, [2, {"a": []}]], "object": {"größe": 1, "": 2},
        "größe": 5, "_x1": 6,
    });
    let source = "
result = [text, number, float, large, nothing, yes, list, object, größe, _x1]
assert type(number) is int and nothing is None and yes is True
";
    let outcome = with_context(source, context.clone()).await;
    let expected: Vec<_> = context.as_object().unwrap().values().cloned().collect();
    assert_eq!(*value(&outcome), Value::Array(expected));
    let outcome =
        with_context("def f():\n    return user_id * 2\nf()", json!({"user_id": 21})).await;
    assert_eq!(*value(&outcome), 42);
}

// What becomes of it.

#[tokio::test]
async fn json_values_come_out_as_they_are() {
    let source = r#"
result = {
    "ints": [0, -1, 2**53 + 1, 2**63 - 1, 2**63, 2**64 - 1, -2**63],
    "floats": [0.1 + 0.2, 1e22, 1.0, -0.0, 5e-324, 1.7976931348623157e308],
    "texts": ["", "ü", "日本", "😀", "a\"b\\c\n\t\x00\x7f\u2028", "</script>"],
    "others": [None, True, False, [], {}, [[]], {"": {}}],
}
"#;
    let expected = json!({
        "ints": [0, -1, 9_007_199_254_740_993_i64, i64::MAX, 9_223_372_036_854_775_808_u64, u64::MAX, i64::MIN],
        "floats": [0.1 + 0.2, 1e22, 1.0, -0.0, 5e-324, f64::MAX],
        "texts": ["", "ü", "日本", "😀", "a\"b\\c\n\t\0\u{7f}\u{2028}", "</script>"],
        "others": [null, true, false, [], {}, [[]], {"": {}}],
    });
    assert_eq!(plain(source).await, expected);
}

#[tokio::test]
async fn the_order_of_entries_is_kept() {
    let result = plain("result = {'z': 1, 'a': 2, 'm': 3}").await;
    assert_eq!(result.to_string(), r#"{"z":1,"a":2,"m":3}"#);
}

#[tokio::test]
async fn dataclasses_become_objects() {
    let source = "
import dataclasses, typing
@dataclasses.dataclass
class Point:
    x: int
    inner: list = dataclasses.field(default_factory=list, repr=False)
    shared: typing.ClassVar[int] = 9
    def __post_init__(self): self.extra = 1
@dataclasses.dataclass(slots=True, frozen=True)
class Slim:
    name: str
result = [Point(1, [Point(2), {'slim': Slim('s')}])]
";
    let expected = json!([{"x": 1, "inner": [{"x": 2, "inner": []}, {"slim": {"name": "s"}}]}]);
    assert_eq!(plain(source).await, expected);
    let (result, notes) =
        noted("import dataclasses\n@dataclasses.dataclass\nclass P:\n    x: int\nresult = P").await;
    assert_eq!(result, "<class '__main__.P'>");
    assert_eq!(notes, ["result: an object of type type became text"]);
}

#[tokio::test]
async fn dates_and_times_become_iso_text() {
    let source = "
import datetime as d
result = [d.datetime(2024, 1, 2, 3, 4, 5), d.datetime(2024, 1, 2, tzinfo=d.timezone.utc),
          d.date(2024, 1, 2), d.time(3, 4), d.timedelta(days=1, seconds=5)]
";
    same(
        noted(source).await,
        json!([
            "2024-01-02T03:04:05",
            "2024-01-02T00:00:00+00:00",
            "2024-01-02",
            "03:04:00",
            "1 day, 0:00:05"
        ]),
        &[
            "result: a datetime became text (2 times)",
            "result: a date became text",
            "result: a time became text",
            "result: a timedelta became text",
        ],
    );
}

#[tokio::test]
async fn numbers_that_json_does_not_know_become_text() {
    let source = "
import decimal, fractions
result = [decimal.Decimal('1.10'), fractions.Fraction(1, 3), complex(1, 2)]
";
    same(
        noted(source).await,
        json!(["1.10", "1/3", "(1+2j)"]),
        &[
            "result: a Decimal became text",
            "result: a Fraction became text",
            "result: an object of type complex became text",
        ],
    );
}

#[tokio::test]
async fn uuids_paths_and_the_like_become_text() {
    let source = "
import pathlib, uuid, zoneinfo
result = [uuid.UUID(int=5), pathlib.Path('/a/b'), zoneinfo.ZoneInfo('Europe/Berlin')]
";
    same(
        noted(source).await,
        json!(["00000000-0000-0000-0000-000000000005", "/a/b", "Europe/Berlin"]),
        &[
            "result: a UUID became text",
            "result: a PosixPath became text",
            "result: a ZoneInfo became text",
        ],
    );
}

#[tokio::test]
async fn notes_use_the_right_article() {
    let (result, notes) = noted("import ipaddress\nipaddress.ip_address('1.2.3.4')").await;
    assert_eq!(result, "1.2.3.4");
    assert_eq!(notes, ["result: an IPv4Address became text"]);
    let (_, notes) = noted("enumerate([1])").await;
    assert_eq!(notes, ["result: an enumerate became text; use list(...) to return its items"]);
}

#[tokio::test]
async fn sets_become_sorted_lists() {
    assert_eq!(plain("result = {3, 1, 2}").await, json!([1, 2, 3]));
    assert_eq!(plain("result = frozenset('bca')").await, json!(["a", "b", "c"]));
    assert_eq!(plain("result = {'a': {2, 1}, 'b': set()}").await, json!({"a": [1, 2], "b": []}));
    assert_eq!(plain("result = {(2, 1), (1, 2)}").await, json!([[1, 2], [2, 1]]));
    let mixed = plain("result = {1, 'a', None, (2, 3)}").await;
    let mixed = mixed.as_array().unwrap();
    assert_eq!(mixed.len(), 4);
    for item in [json!(1), json!("a"), json!(null), json!([2, 3])] {
        assert!(mixed.contains(&item), "{item}");
    }
}

#[tokio::test]
async fn tuples_and_other_sequences_become_lists() {
    let source = "
import array, collections, typing
class Pair(typing.NamedTuple):
    a: int
    b: str = 'x'
Point = collections.namedtuple('Point', 'x y')
result = [(1, (2, 3)), Pair(1), Point(1, 2), range(3), collections.deque([1, 2]),
          array.array('i', [1, 2]), collections.UserList([1])]
";
    let expected = json!([[1, [2, 3]], [1, "x"], [1, 2], [0, 1, 2], [1, 2], [1, 2], [1]]);
    assert_eq!(plain(source).await, expected);
}

#[tokio::test]
async fn views_of_dicts_become_lists() {
    let source = "d = {'a': 1, 'b': 2}\nresult = [d.values(), d.items()]";
    assert_eq!(plain(source).await, json!([[1, 2], [["a", 1], ["b", 2]]]));
    assert_eq!(plain("result = {'a': 1, 'b': 2}.keys()").await, json!(["a", "b"]));
}

#[tokio::test]
async fn bytes_become_text() {
    same(
        noted("result = [b'abc', 'ü'.encode(), bytearray(b'x'), memoryview(b'yz')]").await,
        json!(["abc", "ü", "x", "yz"]),
        &["result: bytes became text (4 times)"],
    );
    same(
        noted("result = b'\\xff\\x00\\x01'").await,
        json!("/wAB"),
        &["result: bytes became text in base64"],
    );
    same(noted("result = b''").await, json!(""), &["result: bytes became text"]);
}

#[tokio::test]
async fn numbers_that_are_none_become_null() {
    same(
        noted("result = [float('nan'), float('inf'), -float('inf'), 1.5]").await,
        json!([null, null, null, 1.5]),
        &["result: nan became null", "result: inf became null", "result: -inf became null"],
    );
    same(noted("result = 1e308 * 10").await, json!(null), &["result: inf became null"]);
    same(
        noted("result = {'a': [float('nan'), float('nan')]}").await,
        json!({"a": [null, null]}),
        &["result: nan became null (2 times)"],
    );
}

#[tokio::test]
async fn huge_integers_become_text() {
    let note = "result: an integer of more than 64 bits became text";
    same(noted("result = 2 ** 100").await, json!("1267650600228229401496703205376"), &[note]);
    same(
        noted("result = {'a': [2 ** 64, -2 ** 63 - 1, 2 ** 64 - 1]}").await,
        json!({"a": ["18446744073709551616", "-9223372036854775809", u64::MAX]}),
        &["result: an integer of more than 64 bits became text (2 times)"],
    );
}

#[tokio::test]
async fn integers_of_any_length_become_decimal_text() {
    let (result, notes) = noted("result = 10 ** 5000").await;
    assert_eq!(result, format!("1{}", "0".repeat(5000)));
    assert_eq!(notes, ["result: an integer of more than 64 bits became text"]);
}

#[tokio::test]
async fn members_of_enumerations_become_their_values() {
    let source = "
import enum
class Plain(enum.Enum):
    A = 'a'
    B = 2
    C = (1, 2)
class Int(enum.IntEnum):
    A = 1
class Str(enum.StrEnum):
    X = 'x'
class Flag(enum.Flag):
    P = 1
    Q = 2
class IntFlag(enum.IntFlag):
    P = 1
    Q = 2
result = [Plain.A, Plain.B, Plain.C, Int.A, Str.X, Flag.Q, Flag.P | Flag.Q, IntFlag.P | IntFlag.Q]
";
    assert_eq!(plain(source).await, json!(["a", 2, [1, 2], 1, "x", 2, 3, 3]));
}

#[tokio::test]
async fn mappings_of_all_kinds_become_objects() {
    let source = "
import collections, types
d = collections.defaultdict(list)
d['a'].append(1)
result = [d, collections.OrderedDict(b=1, a=2), collections.Counter('aab'),
          collections.ChainMap({'a': 1}, {'a': 0, 'b': 2}), types.MappingProxyType({'a': {1}}),
          collections.UserDict(a=1)]
";
    let expected = json!([
        {"a": [1]}, {"b": 1, "a": 2}, {"a": 2, "b": 1}, {"a": 1, "b": 2}, {"a": [1]}, {"a": 1}
    ]);
    assert_eq!(plain(source).await, expected);
}

#[tokio::test]
async fn keys_become_text() {
    let source = "
import datetime, enum
class E(enum.Enum):
    A = 'a'
result = {1: 'int', None: 'none', False: 'bool', 1.5: 'float', E.A: 'enum',
          datetime.date(2024, 1, 2): 'date', 10 ** 30: 'large'}
";
    let expected = json!({
        "1": "int", "null": "none", "false": "bool", "1.5": "float", "a": "enum",
        "2024-01-02": "date", "1000000000000000000000000000000": "large"
    });
    assert_eq!(plain(source).await, expected);
    same(
        noted("import uuid\nresult = {(1, 2): 3, b'x': 4, uuid.UUID(int=1): 5}").await,
        json!({"(1, 2)": 3, "b'x'": 4, "00000000-0000-0000-0000-000000000001": 5}),
        &[
            "result: a key of type tuple became text",
            "result: a key of type bytes became text",
            "result: a key of type UUID became text",
        ],
    );
    same(
        noted("import collections\nresult = collections.Counter([(1, 2), (1, 2)])").await,
        json!({"(1, 2)": 2}),
        &["result: a key of type tuple became text"],
    );
}

#[tokio::test]
async fn iterators_become_text_and_a_note_says_what_to_do() {
    for (source, kind) in [
        ("(x for x in range(3))", "generator"),
        ("map(str, [1])", "map"),
        ("zip([1], [2])", "zip"),
        ("iter([1])", "list_iterator"),
    ] {
        let (result, notes) = noted(source).await;
        assert!(result.as_str().unwrap().contains(kind), "{result}");
        let expected = format!("result: a {kind} became text; use list(...) to return its items");
        assert_eq!(notes, [expected]);
    }
}

#[tokio::test]
async fn exceptions_become_text() {
    same(
        noted("result = [ValueError('bad'), KeyError('k')]").await,
        json!(["ValueError: bad", "KeyError: 'k'"]),
        &["result: an exception became text (2 times)"],
    );
    let (result, _) = noted("result = ValueError()").await;
    assert_eq!(result, "ValueError");
}

#[tokio::test]
async fn functions_classes_and_objects_become_text() {
    for (source, start, kind) in [
        ("def f(): pass\nresult = f", "<function f at 0x", "function"),
        ("result = lambda x: x", "<function <lambda> at 0x", "function"),
        ("result = len", "<built-in function len>", "builtin_function_or_method"),
        ("class K: pass\nresult = K", "<class '__main__.K'>", "type"),
        ("class K: pass\nresult = K()", "<__main__.K object at 0x", "K"),
        ("import json\nresult = json", "<module 'json'", "module"),
        (
            "import re\nresult = re.match('a', 'a')",
            "<re.Match object; span=(0, 1), match='a'>",
            "Match",
        ),
        ("result = ...", "Ellipsis", "ellipsis"),
    ] {
        let (result, notes) = noted(source).await;
        assert!(result.as_str().unwrap().starts_with(start), "{result}");
        assert_eq!(notes, [format!("result: an object of type {kind} became text")]);
    }
}

#[tokio::test]
async fn an_object_that_cannot_show_itself_becomes_text() {
    for body in [
        "def __repr__(self): raise ValueError('x')",
        "def __repr__(self): return 5",
        "def __iter__(self): raise ValueError('x')",
        "def __getattr__(self, name): raise RuntimeError(name)",
        "def __str__(self): raise ValueError('x')",
        "def __hash__(self): raise ValueError('x')",
        "def __eq__(self, other): raise ValueError('x')",
        "def __len__(self): raise ValueError('x')",
        "def __bool__(self): raise ValueError('x')",
    ] {
        let (result, notes) = noted(&format!("class Odd:\n    {body}\nresult = [1, Odd()]")).await;
        assert_eq!(result[0], 1, "{body}");
        assert!(result[1].as_str().unwrap().contains("Odd"), "{body}: {result}");
        assert_eq!(notes, ["result: an object of type Odd became text"], "{body}");
    }
}

#[tokio::test]
async fn a_container_that_fails_gives_a_note() {
    let source =
        "class Odd(dict):\n    def items(self): raise ValueError('no items')\nresult = Odd(a=1)";
    let (_, notes) = noted(source).await;
    assert_eq!(notes.len(), 1);
    assert!(notes[0].contains("ValueError"), "{notes:?}");
    assert!(notes[0].contains("no items"), "{notes:?}");
}

#[tokio::test]
async fn what_fails_in_a_result_does_not_take_the_rest_with_it() {
    for class in [
        "class Odd(dict):\n    def items(self): raise ValueError('x')",
        "class Odd(list):\n    def __iter__(self): raise ValueError('x')",
        "class Odd(Exception):\n    def __str__(self): raise ValueError('x')",
        "class Odd:\n    def __repr__(self): raise KeyboardInterrupt",
        "class Odd:\n    @property\n    def __class__(self): raise RuntimeError('x')",
        "from collections.abc import Mapping\nclass Odd(Mapping):\n    def __getitem__(self, key): \
         raise KeyError(key)\n    def __iter__(self): return iter(['a'])\n    def __len__(self): return 1",
    ] {
        let outcome = run(&format!("{class}\nodd = Odd()\nif hasattr(odd, 'update'): odd.update(a=1)\nif list in type(odd).__mro__: odd.append(1)\nresult = {{'good': [1, 2], 'bad': odd}}")).await;
        assert_eq!(value(&outcome)["good"], json!([1, 2]), "{class}: {:?}", outcome.notes);
        assert!(!outcome.notes.is_empty(), "{class}");
    }
}

#[tokio::test]
async fn a_key_that_fails_does_not_take_the_rest_with_it() {
    let source = "
class Odd:
    def __str__(self): raise ValueError('x')
result = {'good': 1, Odd(): 2}
";
    let (result, notes) = noted(source).await;
    assert_eq!(result["good"], 1);
    assert!(!notes.is_empty());
}

#[tokio::test]
async fn half_of_a_surrogate_pair_is_replaced() {
    for source in
        ["result = 'a\\ud800b'", "result = {'x': ['a\\udfffb']}", "result = {'a\\ud800b': 1}"]
    {
        let (result, notes) = noted(source).await;
        let text = result.to_string();
        assert!(text.contains("a?b") || text.contains("a\u{fffd}b"), "{text}");
        assert_eq!(notes, ["result: half of a surrogate pair was replaced"]);
    }
}

#[tokio::test]
async fn values_that_contain_themselves_end_somewhere() {
    let note = "result: a reference of a value to itself became text";
    same(noted("a = [1]\na.append(a)\nresult = a").await, json!([1, "<cycle>"]), &[note]);
    same(
        noted("a = {}\na['b'] = {'c': a}\nresult = a").await,
        json!({"b": {"c": "<cycle>"}}),
        &[note],
    );
    let source = "
import dataclasses
@dataclasses.dataclass
class Node:
    next: object = None
node = Node()
node.next = [node]
result = node
";
    same(noted(source).await, json!({"next": ["<cycle>"]}), &[note]);
    assert_eq!(plain("a = [1]\nresult = [a, a, {'a': a}]").await, json!([[1], [1], {"a": [1]}]));
}

fn depth(mut value: &Value) -> usize {
    let mut depth = 0;
    while let Some(inner) = value.get(0).or_else(|| value.get("a")) {
        value = inner;
        depth += 1;
    }
    depth
}

#[tokio::test]
async fn deep_nesting_ends_in_text() {
    let note = "result: what is nested more than 100 levels deep became text";
    for source in [
        "a = []\nfor _ in range(200): a = [a]\nresult = a",
        "a = []\nfor _ in range(10_000): a = [a]\nresult = a",
        "a = {}\nfor _ in range(10_000): a = {'a': a}\nresult = a",
        "a = ()\nfor _ in range(10_000): a = ({'a': a},)\nresult = a",
    ] {
        let (result, notes) = noted(source).await;
        assert_eq!(depth(&result), 100, "{source}");
        assert_eq!(notes, [note], "{source}");
    }
    let result = plain("a = 1\nfor _ in range(100): a = [a]\nresult = a").await;
    assert_eq!(depth(&result), 100);
}

#[tokio::test]
async fn subclasses_of_plain_types_are_plain() {
    let source = "
class Text(str):
    def __str__(self): return 'other'
class Int(int):
    def __repr__(self): return 'other'
    __str__ = __repr__
class Float(float):
    def __repr__(self): return 'other'
class List(list): pass
class Dict(dict): pass
result = [Text('x'), Int(5), Float(1.5), List([1]), Dict(a=1), {Text('k'): 1}]
";
    assert_eq!(plain(source).await, json!(["x", 5, 1.5, [1], {"a": 1}, {"k": 1}]));
}

#[tokio::test]
async fn a_user_string_is_text() {
    let (result, _) =
        noted("from collections import UserString\nresult = UserString('hello')").await;
    assert_eq!(result, "hello");
}

#[tokio::test]
async fn long_text_keeps_its_digits() {
    let source = "result = {'card': '1234567890123456789012', 'n': 12345678901234567890}";
    let expected = json!({"card": "1234567890123456789012", "n": 12_345_678_901_234_567_890_u64});
    assert_eq!(plain(source).await, expected);
}

#[tokio::test]
async fn many_notes_of_one_kind_are_one_note() {
    let (result, notes) = noted("result = [object() for _ in range(1000)]").await;
    assert_eq!(result.as_array().unwrap().len(), 1000);
    assert_eq!(notes, ["result: an object of type object became text (1000 times)"]);
}

#[tokio::test]
async fn the_notes_of_a_result_with_many_kinds_stay_few() {
    let (_, notes) = noted("result = [type(f'K{n}', (), {})() for n in range(1000)]").await;
    assert!(notes.len() <= 50, "{} notes", notes.len());
}

#[tokio::test]
async fn a_failed_program_has_no_result() {
    let outcome = run("result = 5\nraise ValueError('x')").await;
    assert!(!outcome.is_success());
    assert!(outcome.result.is_null());
}

#[tokio::test]
async fn an_argument_named_result_does_not_hide_the_last_expression() {
    let source = "def f(result): pass\nf(\nresult = 1)\n'last'";
    assert_eq!(*value(&run(source).await), "last");
}
