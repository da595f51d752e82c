//! Estimates the size of a value as JSON without writing it, and without visiting each letter of its
//! texts.

use serde::{
    Serialize, Serializer,
    ser::{
        Error, SerializeMap, SerializeSeq, SerializeStruct, SerializeStructVariant, SerializeTuple,
        SerializeTupleStruct, SerializeTupleVariant,
    },
};
use thiserror::Error;

use crate::INLINE_BYTES;

/// The bytes that a number, the name of a variant or a pair of brackets counts.
const SMALL: usize = 4;

/// Returns about how many bytes a value has as JSON. Stops counting when it is too large to be worked
/// on at once.
pub fn json_bytes(it: &(impl Serialize + ?Sized)) -> usize {
    let mut size = Size(0);
    // Ends with an error when it is known to be large.
    let _ = it.serialize(&mut size);
    size.0
}

/// The number of bytes so far.
struct Size(usize);

/// The error that ends counting, when the value is known to be large.
#[derive(Debug, Error)]
#[error("it is large")]
struct SizeReached;

impl Error for SizeReached {
    fn custom<T: std::fmt::Display>(_: T) -> Self {
        Self
    }
}

type SizeCheck = Result<(), SizeReached>;

impl Size {
    fn add(&mut self, bytes: usize) -> SizeCheck {
        self.0 = self.0.saturating_add(bytes);
        if self.0 > INLINE_BYTES { Err(SizeReached) } else { Ok(()) }
    }
}

/// Counts numbers of all types alike.
macro_rules! count_small {
    ($($method:ident: $type:ty,)*) => {
        $(fn $method(self, _: $type) -> SizeCheck {
            self.add(SMALL)
        })*
    };
}

impl Serializer for &mut Size {
    type Ok = ();
    type Error = SizeReached;
    type SerializeSeq = Self;
    type SerializeTuple = Self;
    type SerializeTupleStruct = Self;
    type SerializeTupleVariant = Self;
    type SerializeMap = Self;
    type SerializeStruct = Self;
    type SerializeStructVariant = Self;

    count_small! {
        serialize_bool: bool,
        serialize_i8: i8,
        serialize_i16: i16,
        serialize_i32: i32,
        serialize_i64: i64,
        serialize_u8: u8,
        serialize_u16: u16,
        serialize_u32: u32,
        serialize_u64: u64,
        serialize_f32: f32,
        serialize_f64: f64,
        serialize_char: char,
        serialize_unit_struct: &'static str,
    }

    fn serialize_str(self, text: &str) -> SizeCheck {
        self.add(text.len() + SMALL)
    }

    fn serialize_bytes(self, bytes: &[u8]) -> SizeCheck {
        self.add(bytes.len() + SMALL)
    }

    fn serialize_none(self) -> SizeCheck {
        self.add(SMALL)
    }

    fn serialize_unit(self) -> SizeCheck {
        self.add(SMALL)
    }

    fn serialize_some<T: Serialize + ?Sized>(self, value: &T) -> SizeCheck {
        value.serialize(self)
    }

    fn serialize_unit_variant(self, _: &'static str, _: u32, _: &'static str) -> SizeCheck {
        self.add(SMALL)
    }

    fn serialize_newtype_struct<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        value: &T,
    ) -> SizeCheck {
        value.serialize(self)
    }

    fn serialize_newtype_variant<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        _: u32,
        _: &'static str,
        value: &T,
    ) -> SizeCheck {
        value.serialize(self)
    }

    fn serialize_seq(self, _: Option<usize>) -> Result<Self, SizeReached> {
        self.add(SMALL).map(|()| self)
    }

    fn serialize_tuple(self, _: usize) -> Result<Self, SizeReached> {
        self.add(SMALL).map(|()| self)
    }

    fn serialize_tuple_struct(self, _: &'static str, _: usize) -> Result<Self, SizeReached> {
        self.add(SMALL).map(|()| self)
    }

    fn serialize_tuple_variant(
        self,
        _: &'static str,
        _: u32,
        _: &'static str,
        _: usize,
    ) -> Result<Self, SizeReached> {
        self.add(SMALL).map(|()| self)
    }

    fn serialize_map(self, _: Option<usize>) -> Result<Self, SizeReached> {
        self.add(SMALL).map(|()| self)
    }

    fn serialize_struct(self, _: &'static str, _: usize) -> Result<Self, SizeReached> {
        self.add(SMALL).map(|()| self)
    }

    fn serialize_struct_variant(
        self,
        _: &'static str,
        _: u32,
        _: &'static str,
        _: usize,
    ) -> Result<Self, SizeReached> {
        self.add(SMALL).map(|()| self)
    }
}

/// Counts the parts of lists of all types alike.
macro_rules! count_parts {
    ($($part:ident: $method:ident,)*) => {
        $(impl $part for &mut Size {
            type Ok = ();
            type Error = SizeReached;

            fn $method<T: Serialize + ?Sized>(&mut self, value: &T) -> SizeCheck {
                value.serialize(&mut **self)
            }

            fn end(self) -> SizeCheck {
                Ok(())
            }
        })*
    };
}

count_parts! {
    SerializeSeq: serialize_element,
    SerializeTuple: serialize_element,
    SerializeTupleStruct: serialize_field,
    SerializeTupleVariant: serialize_field,
}

impl SerializeMap for &mut Size {
    type Ok = ();
    type Error = SizeReached;

    fn serialize_key<T: Serialize + ?Sized>(&mut self, key: &T) -> SizeCheck {
        key.serialize(&mut **self)
    }

    fn serialize_value<T: Serialize + ?Sized>(&mut self, value: &T) -> SizeCheck {
        value.serialize(&mut **self)
    }

    fn end(self) -> SizeCheck {
        Ok(())
    }
}

/// Counts the fields of structures of all types alike.
macro_rules! count_fields {
    ($($structure:ident,)*) => {
        $(impl $structure for &mut Size {
            type Ok = ();
            type Error = SizeReached;

            fn serialize_field<T: Serialize + ?Sized>(
                &mut self,
                name: &'static str,
                value: &T,
            ) -> SizeCheck {
                self.add(name.len() + SMALL)?;
                value.serialize(&mut **self)
            }

            fn end(self) -> SizeCheck {
                Ok(())
            }
        })*
    };
}

count_fields! { SerializeStruct, SerializeStructVariant, }

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn of_large_values_only_the_beginning_is_counted() {
        let small = json!({"a": [1, -2.5, "b", null, true], "c": {}, "text": "x".repeat(100)});
        let written = small.to_string().len();
        assert!((written / 2..written * 2).contains(&json_bytes(&small)));
        assert!(json_bytes(&json!("x".repeat(INLINE_BYTES))) > INLINE_BYTES);
        assert!(json_bytes(&json!({"x".repeat(INLINE_BYTES): 1})) > INLINE_BYTES);
        let many = json_bytes(&vec![0; 1_000_000]);
        assert!((INLINE_BYTES..INLINE_BYTES + 8).contains(&many), "{many}");
    }
}
