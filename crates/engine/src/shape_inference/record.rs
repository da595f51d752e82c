//! The objects at one place: records with fields, or maps whose keys are data.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::{
    names,
    shape::{ObservationContext, Shape},
};

/// The most fields of a record. An object with more keys is a map, or as good as one to a reader.
pub(super) const MAX_FIELDS: usize = 64;

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) enum ObservedObject {
    #[serde(rename = "r")]
    Record(Record),
    /// A map, whose keys are data and not kept.
    #[serde(rename = "m")]
    Map(Shape),
}

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct Record {
    /// The number of objects that were seen.
    #[serde(rename = "n")]
    pub(super) seen: u64,
    /// The number of those objects without any field.
    #[serde(rename = "e", default, skip_serializing_if = "is_zero")]
    pub(super) empty: u64,
    /// In the order in which they were first seen.
    #[serde(rename = "f")]
    pub(super) fields: Vec<ObservedField>,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct ObservedField {
    #[serde(rename = "k")]
    pub(super) name: String,
    /// The number of objects that had it.
    #[serde(rename = "n")]
    pub(super) present: u64,
    #[serde(rename = "t")]
    pub(super) shape: Shape,
    /// Whether its words may be kept. Only known while values are observed.
    #[serde(skip)]
    tells: bool,
}

/// The order of fields does not matter.
impl PartialEq for Record {
    fn eq(&self, other: &Self) -> bool {
        let same = |field: &ObservedField| {
            other.fields.iter().any(|other| {
                field.name == other.name
                    && field.present == other.present
                    && field.shape == other.shape
            })
        };
        self.seen == other.seen
            && self.empty == other.empty
            && self.fields.len() == other.fields.len()
            && self.fields.iter().all(same)
    }
}

impl ObservedObject {
    pub(super) fn observe(
        &mut self,
        object: &Map<String, Value>,
        place: ObservationContext,
        left: &mut usize,
    ) {
        let mut entries = object.iter();
        let mut refused = None;
        if let Self::Record(record) = self {
            record.seen += 1;
            record.empty += u64::from(object.is_empty());
            for (at, (name, value)) in entries.by_ref().enumerate() {
                let Some(field) = record.field(at, name) else {
                    refused = Some(value);
                    break;
                };
                field.present += 1;
                field.shape.observe(value, place.field(field.tells), left);
            }
            if refused.is_none() {
                return;
            }
        }
        let mut values = self.take_values();
        for value in refused.into_iter().chain(entries.map(|(_, value)| value)) {
            values.observe(value, place.field(false), left);
            if *left == 0 {
                break;
            }
        }
        *self = Self::Map(values);
    }

    pub(super) fn merge(&mut self, other: Self) {
        match (&mut *self, other) {
            (Self::Record(record), Self::Record(other)) => {
                record.merge(other);
                if record.fields.len() > MAX_FIELDS {
                    self.make_map();
                }
            }
            (_, mut other) => {
                let mut values = self.take_values();
                values.merge(other.take_values());
                *self = Self::Map(values);
            }
        }
    }

    /// Turns the object into a map, and drops the names of its fields.
    pub(super) fn make_map(&mut self) {
        *self = Self::Map(self.take_values());
    }

    /// Takes the merged shape of all values. Words are dropped, because the values no longer belong to
    /// a field whose name allows to keep them.
    fn take_values(&mut self) -> Shape {
        match self {
            Self::Map(values) => std::mem::take(values),
            Self::Record(record) => {
                let mut values = Shape::default();
                for field in record.fields.drain(..) {
                    values.merge(field.shape);
                }
                values.forget_words();
                values
            }
        }
    }
}

impl Record {
    /// Returns the field of a name, which is often at the same position as in earlier objects. `None`
    /// if the key cannot be a field, or there are too many.
    fn field(&mut self, at: usize, name: &str) -> Option<&mut ObservedField> {
        let is_there = self.fields.get(at).is_some_and(|field| field.name == name);
        let at = if is_there { Some(at) } else { self.position(name) };
        match at {
            Some(at) => self.fields.get_mut(at),
            None if self.fields.len() == MAX_FIELDS || names::is_data(name) => None,
            None => {
                let tells = names::is_category(name);
                let (name, shape) = (name.to_owned(), Shape::default());
                self.fields.push(ObservedField { name, present: 0, shape, tells });
                self.fields.last_mut()
            }
        }
    }

    fn position(&self, name: &str) -> Option<usize> {
        self.fields.iter().position(|field| field.name == name)
    }

    fn merge(&mut self, other: Self) {
        self.seen = self.seen.saturating_add(other.seen);
        self.empty = self.empty.saturating_add(other.empty);
        for field in other.fields {
            match self.position(&field.name) {
                Some(at) => {
                    let known = &mut self.fields[at];
                    known.present = known.present.saturating_add(field.present);
                    known.shape.merge(field.shape);
                }
                None => self.fields.push(field),
            }
        }
    }
}

fn is_zero(number: &u64) -> bool {
    *number == 0
}
