//! From places in a text to lines.

use ruff_text_size::TextSize;

/// Where the lines of a text start.
#[derive(Debug)]
pub(super) struct Lines(Vec<usize>);

impl Lines {
    pub(super) fn of(code: &str) -> Self {
        let bytes = code.as_bytes();
        let ends = bytes.iter().enumerate().filter(|(at, byte)| match byte {
            b'\n' => true,
            b'\r' => bytes.get(at + 1) != Some(&b'\n'),
            _ => false,
        });
        Self(std::iter::once(0).chain(ends.map(|(at, _)| at + 1)).collect())
    }

    /// From 1.
    pub(super) fn line(&self, at: TextSize) -> u32 {
        let line = self.0.partition_point(|start| *start <= at.to_usize());
        u32::try_from(line.max(1)).unwrap_or(u32::MAX)
    }
}
