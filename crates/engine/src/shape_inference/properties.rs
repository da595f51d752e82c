//! Property tests of shapes, with random values.

#![allow(clippy::unwrap_used, clippy::expect_used)]

use narrows_testkit::Chance;
use serde_json::{Map, Value, json};

use super::shape::Shape;

/// A source of random values and shapes.
struct Dice(Chance);

impl Dice {
    fn key(&mut self) -> String {
        match self.0.below(40) {
            0 => "a@example.com".to_owned(),
            1 => "2026-11-16".to_owned(),
            // Enough different ones to make maps.
            2..10 => {
                format!("f{}", char::from(b'a' + self.0.below(26) as u8))
                    + self.0.one_of(&["a", "b", "c"])
            }
            _ => self.0.one_of(&["id", "name", "state", "kind", "items", "tags"]).to_owned(),
        }
    }

    fn value(&mut self, depth: usize) -> Value {
        match self.0.below(if depth == 0 { 7 } else { 12 }) {
            0 => Value::Null,
            1 => json!(self.0.below(2) == 0),
            2 => json!(self.0.below(1000)),
            3 => json!(0.5),
            4 | 5 => {
                json!(self.0.one_of(&["open", "closed", "a", "b", "c", "d", "e", "f", "g", "h"]))
            }
            6 => json!(self.0.one_of(&[
                "",
                "Ada",
                "2026-11-16",
                "2026-11-16T10:00:00Z",
                "https://x.example"
            ])),
            7 | 8 => (0..self.0.below(5)).map(|_| self.value(depth - 1)).collect(),
            _ => {
                let many = if self.0.below(30) == 0 { 80 } else { 6 };
                let fields = (0..self.0.below(many)).map(|_| (self.key(), self.value(depth - 1)));
                fields.collect::<Map<_, _>>().into()
            }
        }
    }

    /// Learns a shape from some random values.
    fn shape(&mut self) -> Shape {
        let mut shape = Shape::default();
        for _ in 0..self.0.below(6) {
            let depth = self.0.below(10);
            shape.merge(Shape::of(&self.value(depth)));
            if self.0.below(3) == 0 {
                shape.settle();
            }
        }
        shape
    }
}

fn merged(one: &Shape, other: &Shape) -> Shape {
    let mut shape = one.clone();
    shape.merge(other.clone());
    shape
}

/// Returns the schema without words, which are only there if they recur often enough.
fn type_of(shape: &Shape) -> Value {
    fn strip(kept: &mut Value) {
        match kept {
            Value::Object(parts) => {
                parts.remove("w");
                parts.values_mut().for_each(strip);
            }
            Value::Array(list) => list.iter_mut().for_each(strip),
            _ => {}
        }
    }
    let mut kept = serde_json::to_value(shape).unwrap();
    strip(&mut kept);
    serde_json::from_value::<Shape>(kept).unwrap().schema()
}

#[test]
fn the_order_of_merging_does_not_matter() {
    let mut dice = Dice(Chance::new(0x9e37_79b9_7f4a_7c15));
    let mut maps = 0;
    for _ in 0..3_000 {
        let (a, b, c) = (dice.shape(), dice.shape(), dice.shape());
        assert_eq!(merged(&a, &b), merged(&b, &a));
        assert_eq!(merged(&merged(&a, &b), &c), merged(&a, &merged(&b, &c)));
        assert_eq!(type_of(&merged(&a, &a)), type_of(&a));
        assert_eq!(merged(&a, &Shape::default()), a);
        maps += usize::from(a.schema().to_string().contains("additionalProperties"));
    }
    // The random values must cover both cases.
    assert!((300..2_700).contains(&maps), "{maps}");
}

#[test]
fn every_value_fits_what_was_learnt_from_it() {
    let mut dice = Dice(Chance::new(0x2545_f491_4f6c_dd1d));
    for _ in 0..500 {
        let mut values = Vec::new();
        let mut shape = Shape::default();
        for _ in 0..1 + dice.0.below(12) {
            let depth = dice.0.below(10);
            let value = dice.value(depth);
            shape.merge(Shape::of(&value));
            shape.settle();
            values.push(value);
        }
        let schema = shape.schema();
        let validator = jsonschema::validator_for(&schema).unwrap();
        for value in values {
            assert!(validator.is_valid(&value), "{value}\n{schema}");
        }
    }
}

#[test]
fn settling_is_done_once_and_survives_writing() {
    let mut dice = Dice(Chance::new(0x1234_5678_9abc_def1));
    for _ in 0..1_000 {
        let mut shape = dice.shape();
        shape.settle();
        let mut again = shape.clone();
        again.settle();
        assert_eq!(again, shape);
        let text = serde_json::to_string(&shape).unwrap();
        let read: Shape = serde_json::from_str(&text).unwrap();
        assert_eq!(read, shape);
        assert!(
            !text.contains("Ada") && !text.contains("example") && !text.contains("2026"),
            "{text}"
        );
    }
}

#[test]
fn of_a_long_list_some_elements_are_looked_at() {
    let mut items: Vec<Value> = (0..50_000).map(|n| json!({"n": n})).collect();
    items[999] = json!("among the first");
    let list = Shape::of(&items.clone().into()).schema();
    assert!(list.to_string().contains("string"));
    items[999] = json!({"n": 1});
    // Every forty-ninth from the thousandth on.
    items[1_000 + 49] = json!("one of those between");
    assert!(Shape::of(&items.into()).schema().to_string().contains("string"));
}

#[test]
fn of_a_huge_result_every_field_is_seen() {
    let rows: Vec<Value> = (0..900).map(|_| vec![vec![1, 2, 3]; 200].into()).collect();
    let value = json!({"rows": rows, "more": [1, "too late"], "total": 900});
    let schema = Shape::of(&value).schema();
    assert_eq!(schema["required"], json!(["rows", "more", "total"]));
    assert_eq!(schema["properties"]["more"]["items"], json!({"type": "integer"}));
}
