//! Reads a file in blocks that end where a record ends, for several threads.

use std::{borrow::Cow, fs::File, ops::Range, os::unix::fs::FileExt, sync::Arc};

use super::{memory_budget::Allowance, parallel::each, task::Task};
use crate::flaw::{Flaw, Result};

/// The size of a block: large enough to be worth the hand-over to a thread, small enough to share the
/// work evenly.
pub(super) const MAX_BLOCK: u64 = 4 << 20;

/// A function that finds the end of the last whole record in bytes that begin with a record. The byte is
/// the delimiter.
pub(super) type LastEnd = fn(&[u8], u8) -> Option<usize>;

/// An open file that is read at any offset.
#[derive(Clone, Debug)]
pub(super) struct Source {
    pub(super) file: Arc<File>,
    pub(super) length: u64,
}

impl Source {
    pub(super) fn new(file: File) -> Result<Self> {
        let length = file.metadata()?.len();
        Ok(Self { file: Arc::new(file), length })
    }

    /// Reads a range. Returns less only if the file has become shorter.
    pub(super) fn read(&self, range: Range<u64>) -> Result<Vec<u8>> {
        let size = usize::try_from(range.end.saturating_sub(range.start))
            .map_err(|_| Flaw::data("the file is too large"))?;
        let mut bytes = vec![0; size];
        let mut filled = 0;
        while filled < size {
            match self.file.read_at(&mut bytes[filled..], range.start + filled as u64) {
                Ok(0) => break,
                Ok(read) => filled += read,
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error.into()),
            }
        }
        bytes.truncate(filled);
        Ok(bytes)
    }

    /// Counts the lines before an offset.
    pub(super) fn lines_before(&self, offset: u64) -> Result<usize> {
        let mut lines = 0;
        let mut start = 0;
        while start < offset {
            let end = offset.min(start + MAX_BLOCK);
            let bytes = self.read(start..end)?;
            lines += bytes.iter().filter(|byte| **byte == b'\n').count();
            start = end;
        }
        Ok(lines)
    }
}

/// An iterator over the blocks of a file.
pub(super) struct Blocks {
    source: Source,
    start: u64,
    position: u64,
    /// The function that finds the end of a record, and its delimiter.
    last_end: (LastEnd, u8),
    size: u64,
    allowance: Arc<Allowance>,
}

/// A part of a file with whole records only.
pub(super) struct Block {
    pub(super) is_first: bool,
    pub(super) offset: u64,
    pub(super) bytes: Vec<u8>,
}

impl Block {
    pub(super) fn range(&self) -> Range<u64> {
        self.offset..self.offset + self.bytes.len() as u64
    }
}

impl Blocks {
    pub(super) fn new(task: &Task, source: &Source, start: u64, last_end: (LastEnd, u8)) -> Self {
        let (source, allowance) = (source.clone(), Arc::clone(&task.allowance));
        Self { source, start, position: start, last_end, size: task.block, allowance }
    }

    fn read_next(&mut self) -> Result<Option<Block>> {
        self.allowance.take(0)?;
        let offset = self.position;
        if offset >= self.source.length {
            return Ok(None);
        }
        let mut size = self.size;
        let bytes = loop {
            let end = self.source.length.min(offset + size);
            let mut bytes = self.source.read(offset..end)?;
            if end == self.source.length {
                break bytes;
            }
            let (last_end, byte) = self.last_end;
            if let Some(end) = last_end(&bytes, byte) {
                bytes.truncate(end);
                break bytes;
            }
            // The record is larger than a block.
            self.allowance.take(size as usize)?;
            size *= 2;
        };
        if bytes.is_empty() {
            return Ok(None);
        }
        self.position = offset + bytes.len() as u64;
        Ok(Some(Block { is_first: offset == self.start, offset, bytes }))
    }

    /// Returns how many threads have a block to work on.
    fn threads(&self, max: usize) -> usize {
        let blocks = self.source.length.saturating_sub(self.position) / self.size + 1;
        max.min(usize::try_from(blocks).unwrap_or(usize::MAX))
    }
}

impl Iterator for Blocks {
    type Item = Result<Block>;

    fn next(&mut self) -> Option<Self::Item> {
        self.read_next().transpose()
    }
}

/// Works on all blocks with several threads; see [`each`].
pub(super) fn each_block<T: Send>(
    blocks: Blocks,
    threads: usize,
    work: impl Fn(&Block) -> Result<T> + Sync,
) -> Result<Vec<T>> {
    let threads = blocks.threads(threads);
    each(blocks, threads, |block| work(&block))
}

/// Decodes a block as UTF-8. Returns whether invalid bytes were replaced too.
pub(super) fn text_of(bytes: &[u8]) -> (Cow<'_, str>, bool) {
    match str::from_utf8(bytes) {
        Ok(text) => (Cow::Borrowed(text), false),
        Err(_) => (String::from_utf8_lossy(bytes), true),
    }
}

/// Converts the offset of a flaw within a block into a line of the file.
pub(super) fn located(flaw: Flaw, text: &str, source: &Source, offset: u64) -> Flaw {
    match flaw {
        Flaw::At(..) => match source.lines_before(offset) {
            Ok(lines) => flaw.located(text, lines),
            Err(flaw) => flaw,
        },
        flaw => flaw,
    }
}

pub(super) const REPLACED: &str = "bytes that are not UTF-8 were replaced";

/// Returns the length of a UTF-8 byte order mark at the beginning of a file. Fails for UTF-16.
pub(super) fn byte_order_mark(bytes: &[u8]) -> Result<usize> {
    match bytes {
        [0xFE, 0xFF, ..] | [0xFF, 0xFE, ..] => {
            Err(Flaw::data("the file is UTF-16; it has to be UTF-8"))
        }
        [0xEF, 0xBB, 0xBF, ..] => Ok(3),
        _ => Ok(0),
    }
}

/// Returns the end of the last line.
pub(super) fn last_line_end(bytes: &[u8], _: u8) -> Option<usize> {
    bytes.iter().rposition(|byte| *byte == b'\n').map(|newline| newline + 1)
}
