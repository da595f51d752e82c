//! The interface to all formats of nested data: values are read one after the other.

use crate::flaw::Result;

/// A value, or the beginning of a list or an object.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Token<'a> {
    Null,
    Bool(bool),
    Int(i64),
    /// An integer of more than 64 bits, in digits.
    Big(&'a str),
    Float(f64),
    Text(&'a str),
    /// Its elements follow, see [`Reader::element`].
    List,
    /// Its fields follow, see [`Reader::key`].
    Object,
}

/// The kind of the next value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    Null,
    Plain,
    List,
    Object,
}

/// A number by which one reader recognizes a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Mark(pub(crate) u32);

pub(crate) trait Reader {
    /// Returns the kind of the next value without reading it.
    fn form(&mut self) -> Result<Form>;

    fn value(&mut self) -> Result<Token<'_>>;

    /// Tells whether a value follows in the current list; if not, leaves the list.
    fn element(&mut self) -> Result<bool>;

    /// Returns the key of the next value in the current object; if there is none, leaves the object.
    fn key(&mut self) -> Result<Option<&[u8]>>;

    /// Returns the mark of the key that was read last, if it has one.
    fn mark(&self) -> Option<Mark> {
        None
    }

    /// Skips the next key if it has this mark.
    fn is_marked(&mut self, _: Mark) -> bool {
        false
    }
}
