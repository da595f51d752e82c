//! The lines of a text: from byte offsets to line numbers.

use ruff_text_size::TextSize;

/// The offsets at which the lines of a text start.
#[derive(Debug)]
pub struct Lines(Vec<usize>);

impl Lines {
    pub fn of(code: &str) -> Self {
        let bytes = code.as_bytes();
        let ends = bytes.iter().enumerate().filter(|(at, byte)| match byte {
            b'\n' => true,
            b'\r' => bytes.get(at + 1) != Some(&b'\n'),
            _ => false,
        });
        Self(std::iter::once(0).chain(ends.map(|(at, _)| at + 1)).collect())
    }

    /// Returns the offset at which a line starts; lines count from 1.
    pub fn start(&self, line: u32) -> usize {
        let index = usize::try_from(line.saturating_sub(1)).unwrap_or(usize::MAX);
        self.0.get(index).copied().unwrap_or_default()
    }

    /// Returns the number of the line at an offset, counted from 1.
    pub fn line(&self, at: TextSize) -> u32 {
        let line = self.0.partition_point(|start| *start <= at.to_usize());
        u32::try_from(line.max(1)).unwrap_or(u32::MAX)
    }
}
