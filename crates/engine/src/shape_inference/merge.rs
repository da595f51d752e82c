//! Widens shapes beyond what was seen, so that they stay small and hold no data.
//!
//! A shape is only ever widened, so all values that fitted it still do. When that happens depends on
//! what was seen by then, which is why it is not a part of [`Shape::merge`].

use super::{
    record::{ObservedObject, Record},
    shape::{MAX_DEPTH, Shape},
};

/// The most nodes of a shape: more than a reader takes in, and about 10 kB in a file.
pub(super) const MAX_NODES: usize = 300;

const LARGE: usize = 20;

/// The least number of keys of an object that can become a map.
const MIN_KEYS_OF_A_MAP: usize = 8;

impl Shape {
    /// Turns objects whose keys are data into maps, and replaces the deepest parts of a shape that is
    /// too large by `Any`.
    pub(crate) fn settle(&mut self) {
        self.find_maps();
        // The deepest parts go first, and of these the large ones.
        for depth in (1..=MAX_DEPTH).rev() {
            for min in [LARGE, 0] {
                let nodes = self.nodes();
                if nodes <= MAX_NODES {
                    return;
                }
                self.cut(depth, min, &mut (nodes - MAX_NODES));
            }
        }
    }

    fn find_maps(&mut self) {
        if let Some(list) = &mut self.list {
            list.find_maps();
        }
        match self.object.as_deref_mut() {
            Some(ObservedObject::Map(values)) => values.find_maps(),
            Some(ObservedObject::Record(record)) => {
                record.fields.iter_mut().for_each(|field| field.shape.find_maps());
                if is_map(record)
                    && let Some(object) = &mut self.object
                {
                    object.make_map();
                }
            }
            None => {}
        }
    }

    /// Replaces lists and objects at a depth by `Any`, until `too_many` nodes are gone.
    fn cut(&mut self, depth: usize, min: usize, too_many: &mut usize) {
        if depth > 0 {
            self.children().for_each(|child| child.cut(depth - 1, min, too_many));
        } else if *too_many > 0 && (self.list.is_some() || self.object.is_some()) {
            let nodes = self.nodes();
            if nodes >= min {
                *too_many = too_many.saturating_sub(nodes - 1);
                *self = Self::any();
            }
        }
    }

    fn children(&mut self) -> impl Iterator<Item = &mut Self> {
        let (values, fields) = match self.object.as_deref_mut() {
            Some(ObservedObject::Map(values)) => (Some(values), None),
            Some(ObservedObject::Record(record)) => (None, Some(&mut record.fields)),
            None => (None, None),
        };
        let fields = fields.into_iter().flatten().map(|field| &mut field.shape);
        self.list.as_deref_mut().into_iter().chain(values).chain(fields)
    }

    pub(super) fn nodes(&self) -> usize {
        let list = self.list.as_ref().map_or(0, |list| list.nodes());
        1 + list
            + match self.object.as_deref() {
                Some(ObservedObject::Map(values)) => values.nodes(),
                Some(ObservedObject::Record(record)) => {
                    record.fields.iter().map(|field| field.shape.nodes()).sum()
                }
                None => 0,
            }
    }

    /// Returns one bit for each sort of value except null.
    fn sorts(&self) -> u8 {
        [
            self.any,
            self.flag,
            self.number.is_some(),
            self.text.is_some(),
            self.list.is_some(),
            self.object.is_some(),
        ]
        .iter()
        .fold(0, |bits, is_there| bits << 1 | u8::from(*is_there))
    }
}

/// Tells whether the keys of these objects are data: there are many, all with values of one sort, and
/// either the objects differ in their keys or all values have the same fields.
fn is_map(record: &Record) -> bool {
    let fields = &record.fields;
    if fields.len() < MIN_KEYS_OF_A_MAP {
        return false;
    }
    let objects = record.seen - record.empty.min(record.seen);
    let present = || fields.iter().map(|field| u128::from(field.present));
    let are_few_common = objects >= 2
        && present().all(|present| present < u128::from(objects))
        && present().sum::<u128>() * 2 <= u128::from(objects) * fields.len() as u128;
    let mut sorts = fields.iter().map(|field| field.shape.sorts()).filter(|sorts| *sorts != 0);
    let first = sorts.next().unwrap_or_default();
    let are_alike = first.count_ones() == 1 && sorts.all(|sorts| sorts == first);
    are_alike && (are_few_common || have_same_fields(record))
}

fn have_same_fields(record: &Record) -> bool {
    let mut names = record.fields.iter().map(|field| match field.shape.object.as_deref() {
        Some(ObservedObject::Record(inner)) if inner.fields.len() >= 2 => {
            let mut names: Vec<&str> =
                inner.fields.iter().map(|field| field.name.as_str()).collect();
            names.sort_unstable();
            Some(names)
        }
        _ => None,
    });
    let first = names.next().flatten();
    first.is_some() && names.all(|names| names == first)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used)]
    use serde_json::{Map, Value, json};

    use super::*;

    fn letters(n: usize) -> String {
        [n / 676, n / 26 % 26, n % 26].iter().map(|n| char::from(b'a' + *n as u8)).collect()
    }

    fn object(keys: impl IntoIterator<Item = usize>, value: impl Fn(usize) -> Value) -> Value {
        keys.into_iter().map(|n| (letters(n), value(n))).collect::<Map<_, _>>().into()
    }

    fn learnt(values: &[Value]) -> Shape {
        let mut shape = Shape::default();
        for value in values {
            shape.merge(Shape::of(value));
            shape.settle();
        }
        shape
    }

    fn is_map(shape: &Shape) -> bool {
        matches!(shape.object.as_deref(), Some(ObservedObject::Map(_)))
    }

    #[test]
    fn keys_that_differ_from_call_to_call_are_data() {
        let maps = [
            vec![
                object(0..5, |n| json!(n)),
                object(5..10, |n| json!(n)),
                object(10..15, |n| json!(n)),
            ],
            vec![object(0..8, |n| json!({"age": n, "city": "x"}))],
            vec![object(0..65, |n| json!(n))],
        ];
        for values in maps {
            let shape = learnt(&values);
            assert!(is_map(&shape), "{values:?}");
            let text = serde_json::to_string(&shape).unwrap();
            assert!(!text.contains("aaa"), "{text}");
        }
        let records = [
            vec![object(0..20, |n| json!(n))],
            vec![object(0..20, |n| json!(n)); 3],
            // A failure now and then, told in another form.
            vec![
                object(0..20, |n| if n % 2 == 0 { json!(n) } else { json!("x") }),
                json!({"error": "x"}),
            ],
            vec![object(0..20, |n| json!(n)), json!({})],
            // One field in each of them.
            (1..9).map(|n| object([0, n * 2, n * 2 + 1], |n| json!(n))).collect(),
            vec![object(0..5, |n| json!(n)), object(5..7, |n| json!(n))],
        ];
        for values in records {
            assert!(!is_map(&learnt(&values)), "{values:?}");
        }
    }

    #[test]
    fn a_shape_has_its_bounds() {
        let wide = object(0..60, |n| object(n..n + 40, |_| json!([{"a": 1}])));
        let mut deep = json!(1);
        for _ in 0..100 {
            deep = json!([{"a": deep}]);
        }
        for value in [wide, deep] {
            let shape = learnt(&[value.clone(), json!({"other": value})]);
            assert!(shape.nodes() <= MAX_NODES, "{}", shape.nodes());
            assert!(serde_json::to_vec(&shape).unwrap().len() < 30_000);
            assert!(shape.schema() != json!({}));
        }
    }
}
