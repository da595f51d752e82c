//! Shapes: the type of all values that were seen at one place.
//!
//! Shapes are a join-semilattice: [`Shape::merge`] returns the least upper bound of two shapes,
//! whatever their order. Counts are added up.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{
    record::{ObservedObject, Record},
    text::Text,
};

/// Lists and objects that are nested deeper are `Any`. Limits the stack, and the size of a type for its
/// reader.
pub(super) const MAX_DEPTH: usize = 8;

/// The number of elements that are sampled from the start of a longer list, and as many spread evenly
/// over the rest. What only other elements have is not learnt.
const SAMPLE: usize = 1_000;

/// After so many values of a result, only the first value of each further list and map is observed, so
/// that learning does not delay a call.
const MAX_VALUES: usize = 200_000;

/// The union of all types that were seen. If no alternative is set, nothing was seen.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct Shape {
    /// Any value fits. Then nothing else is set.
    #[serde(rename = "a", skip_serializing_if = "is_false")]
    pub(super) any: bool,
    #[serde(rename = "z", skip_serializing_if = "is_false")]
    pub(super) null: bool,
    #[serde(rename = "b", skip_serializing_if = "is_false")]
    pub(super) flag: bool,
    #[serde(rename = "n", skip_serializing_if = "Option::is_none")]
    pub(super) number: Option<Number>,
    #[serde(rename = "s", skip_serializing_if = "Option::is_none")]
    pub(super) text: Option<Text>,
    /// The elements of lists.
    #[serde(rename = "l", skip_serializing_if = "Option::is_none")]
    pub(super) list: Option<Box<Shape>>,
    #[serde(rename = "o", skip_serializing_if = "Option::is_none")]
    pub(super) object: Option<Box<ObservedObject>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(super) enum Number {
    #[serde(rename = "i")]
    Int,
    #[serde(rename = "f")]
    Float,
}

/// The place at which a value was seen.
#[derive(Clone, Copy, Debug)]
pub(super) struct ObservationContext {
    depth: usize,
    /// Whether its words may be kept.
    pub(super) tells: bool,
}

impl ObservationContext {
    const ROOT: Self = Self { depth: 0, tells: false };

    pub(super) fn field(self, tells: bool) -> Self {
        Self { depth: self.depth + 1, tells }
    }

    /// Returns the place of a list's elements, which share the name of the list.
    fn element(self) -> Self {
        Self { depth: self.depth + 1, ..self }
    }
}

impl Shape {
    /// Returns the shape of one value.
    pub(crate) fn of(value: &Value) -> Self {
        let (mut shape, mut left) = (Self::default(), MAX_VALUES);
        shape.observe(value, ObservationContext::ROOT, &mut left);
        shape.settle();
        shape
    }

    /// Widens this shape to the least upper bound of both.
    pub(crate) fn merge(&mut self, other: Self) {
        if self.any || other.any {
            *self = Self::any();
            return;
        }
        self.null |= other.null;
        self.flag |= other.flag;
        self.number = self.number.max(other.number);
        join(&mut self.text, other.text, Text::merge);
        join(&mut self.list, other.list, |list, other| list.merge(*other));
        join(&mut self.object, other.object, |object, other| object.merge(*other));
    }

    pub(super) fn any() -> Self {
        Self { any: true, ..Self::default() }
    }

    /// Adds one value. `left` is how many more values may be observed in full.
    pub(super) fn observe(&mut self, value: &Value, place: ObservationContext, left: &mut usize) {
        if self.any {
            return;
        }
        *left = left.saturating_sub(1);
        match value {
            Value::Null => self.null = true,
            Value::Bool(_) => self.flag = true,
            Value::Number(number) => {
                let sort = if number.is_f64() { Number::Float } else { Number::Int };
                self.number = self.number.max(Some(sort));
            }
            Value::String(text) => self.text.get_or_insert_default().observe(text, place.tells),
            Value::Array(_) | Value::Object(_) if place.depth >= MAX_DEPTH => *self = Self::any(),
            Value::Array(items) => {
                let element = self.list.get_or_insert_default();
                let (first, rest) = items.split_at(items.len().min(SAMPLE));
                for (at, item) in first.iter().enumerate() {
                    if at > 0 && *left == 0 {
                        return;
                    }
                    element.observe(item, place.element(), left);
                }
                for item in rest.iter().step_by(rest.len().div_ceil(SAMPLE).max(1)) {
                    element.observe(item, place.element(), left);
                }
            }
            Value::Object(fields) => {
                let new = || Box::new(ObservedObject::Record(Record::default()));
                self.object.get_or_insert_with(new).observe(fields, place, left);
            }
        }
    }

    /// Drops the words of this place, and keeps none from now on.
    pub(super) fn forget_words(&mut self) {
        if let Some(text) = &mut self.text {
            text.forget_words();
        }
        if let Some(list) = &mut self.list {
            list.forget_words();
        }
    }
}

fn join<T>(one: &mut Option<T>, other: Option<T>, merge: impl FnOnce(&mut T, T)) {
    match (one.as_mut(), other) {
        (Some(one), Some(other)) => merge(one, other),
        (None, other) => *one = other,
        (Some(_), None) => {}
    }
}

fn is_false(flag: &bool) -> bool {
    !flag
}
