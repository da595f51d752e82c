//! Reads and writes values in the format of Python's `marshal`: the quickest way for them to and from
//! Python.
//!
//! A value is a byte with its type and then its content. Values that may be referred to later have
//! [`FLAG_REF`] set; they are numbered in order, and a reference is such a number.

mod read;
#[cfg(test)]
mod tests;
mod write;

pub(crate) use read::MarshalReader;
pub use write::marshal;

/// Set for values that may be referred to.
const FLAG_REF: u8 = 0x80;

/// The digits of long numbers have so many bits.
const DIGIT_BITS: u32 = 15;
