//! Random documents and texts with personal data strewn in.

use serde_json::{Map, Number, Value};

use crate::vault::Chance;

const VALUES: [&str; 26] = [
    "ada@example.com",
    "+1 212-555-0147",
    "(212) 555-0147",
    "4111 1111 1111 1111",
    "378282246310005",
    "078-05-1120",
    "GB29 NWBK 6016 1331 9268 19",
    "151.101.7.17",
    "2a00:1450::8a2e:370:7334",
    "00:1B:44:11:3A:B7",
    "Dear Grace Hopper,",
    "221 Baker Street, Springfield",
    "dob: 1980-03-05",
    "password=hunter2",
    "ftp://ada:pw12@example.com/x",
    "529.982.247-25",
    "[EMAIL_abcdefghijkl]",
    "[EMAIL_",
    "]",
    "plain words",
    "1731000000123",
    "ünïcödé 用户@例子.广告",
    "\"quoted\" \\ back",
    "{\"phone\": \"2125550147\"}",
    "550e8400-e29b-41d4-a716-446655440000",
    "",
];

const KEYS: [&str; 20] = [
    "id",
    "email",
    "phone",
    "card",
    "name",
    "first_name",
    "value",
    "type",
    "notes",
    "password",
    "ssn",
    "address",
    "items",
    "ada@example.com",
    "ключ",
    "",
    "created_at",
    "token",
    "customer",
    "number",
];

/// Returns some pieces with something between them.
pub(crate) fn text(chance: &mut Chance, between: &[&str]) -> String {
    let mut text = String::new();
    for _ in 0..chance.below(5) {
        let (value, gap): (&&str, &&str) = (chance.pick(&VALUES), chance.pick(between));
        text.push_str(value);
        text.push_str(gap);
    }
    text
}

pub(crate) fn document(chance: &mut Chance, depth: usize) -> Value {
    match chance.below(if depth == 0 { 6 } else { 9 }) {
        0 => Value::Null,
        1 => Value::Bool(true),
        2 => Value::Number(number(chance)),
        3..=5 => Value::String(text(chance, &["", " ", ", ", "\n", "; ", "x", "\t"])),
        6 => (0..chance.below(4)).map(|_| document(chance, depth - 1)).collect(),
        _ => {
            let mut fields = Map::new();
            for _ in 0..chance.below(6) {
                fields.insert((*chance.pick(&KEYS)).to_owned(), document(chance, depth - 1));
            }
            Value::Object(fields)
        }
    }
}

fn number(chance: &mut Chance) -> Number {
    match chance.below(6) {
        0 => Number::from(4_111_111_111_111_111_u64),
        1 => Number::from(12_125_550_147_u64),
        2 => Number::from(chance.next()),
        3 => Number::from(chance.next() as i64),
        4 => Number::from_f64(chance.next() as f64 / 1e7).unwrap(),
        _ => Number::from(chance.below(1000)),
    }
}
