//! What all forms of nested data have in common: values that are read one after the other.

use crate::flaw::Result;

/// A value, or the beginning of one that has others in it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Token<'a> {
    Null,
    Bool(bool),
    Int(i64),
    /// A whole number of more than 64 bits, in digits.
    Big(&'a str),
    Float(f64),
    Text(&'a str),
    /// Its elements follow, see [`Reader::element`].
    List,
    /// Its fields follow, see [`Reader::key`].
    Object,
}

/// What the next value is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    Null,
    Plain,
    List,
    Object,
}

/// Stands for a key in one reader.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Mark(pub(crate) u32);

pub(crate) trait Reader {
    /// Looks at the next value without reading it.
    fn form(&mut self) -> Result<Form>;

    fn value(&mut self) -> Result<Token<'_>>;

    /// Whether a value follows in the list; if not, the list has been left.
    fn element(&mut self) -> Result<bool>;

    /// The key of the value that follows in the object; if there is none, the object has been left.
    fn key(&mut self) -> Result<Option<&[u8]>>;

    /// What the key that was read last is known by without reading it, if it is.
    fn mark(&self) -> Option<Mark> {
        None
    }

    /// Goes past the next key if it is the one that has this mark.
    fn is_marked(&mut self, _: Mark) -> bool {
        false
    }
}
