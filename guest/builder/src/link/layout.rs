//! What the guest says about its own memory when the snapshot is taken; see `packing.py`.

use std::ops::Range;

use anyhow::{Result, ensure};

/// Addresses in the guest's memory.
#[derive(Clone, Debug)]
pub(crate) struct Layout {
    /// Where every program writes.
    pub(super) resident: Range<i32>,
    /// Behind this, all is free: what is there are traces of pieces that are gone, and the image of
    /// the memory, which is part of the binary, would go as far as the last of them.
    pub(super) end: i32,
}

impl Layout {
    /// Reads what the guest wrote down: three words.
    pub(crate) fn parse(bytes: &[u8]) -> Result<Self> {
        let words: Vec<i32> =
            bytes.as_chunks().0.iter().map(|word| i32::from_le_bytes(*word)).collect();
        let &[start, resident_end, end] = words.as_slice() else {
            anyhow::bail!("the guest's layout has {} words", words.len());
        };
        ensure!(0 < start && start < resident_end && resident_end <= end, "no layout: {words:?}");
        Ok(Self { resident: start..resident_end, end })
    }

    /// Fails if one of the guest's objects is where all should be free.
    pub(crate) fn check(&self, roster: &[u8]) -> Result<()> {
        let words = roster.as_chunks().0.iter().map(|word| u32::from_le_bytes(*word));
        let last = words.max().unwrap_or_default();
        ensure!(i64::from(last) < i64::from(self.end), "an object at {last}, behind {}", self.end);
        Ok(())
    }

    /// The part of a piece of data at this address that is in use.
    pub(super) fn in_use<'a>(&self, address: i32, data: &'a [u8]) -> &'a [u8] {
        let length = usize::try_from(self.end.saturating_sub(address)).unwrap_or_default();
        &data[..length.min(data.len())]
    }
}
