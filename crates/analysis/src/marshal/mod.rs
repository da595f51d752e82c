//! Values as Python's `marshal` writes them: the quickest way for them to and from Python.
//!
//! A value is a byte that says what it is and then its content. Values that may come again have
//! [`FLAG_REF`] set; they are numbered in the order in which they come, and a reference is such a
//! number.

mod read;
#[cfg(test)]
mod tests;
mod write;

pub(crate) use read::MarshalReader;

use crate::answer::Table;

/// Set for values that may be referred to.
const FLAG_REF: u8 = 0x80;

/// The digits of long numbers have so many bits.
const DIGIT_BITS: u32 = 15;

impl Table {
    /// The rows as a list of dictionaries, for Python's `marshal.loads`.
    pub fn marshal(&self) -> Vec<u8> {
        write::write(&self.schema, &self.batches)
    }
}
