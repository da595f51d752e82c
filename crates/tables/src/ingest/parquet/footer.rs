//! Checks the footer of a Parquet file before the reader, which trusts it: counts in it become
//! allocations, and nesting becomes recursion.

use datafusion::parquet::file::metadata::{ColumnChunkMetaData, ParquetMetaDataReader};

use crate::{
    flaw::{Flaw, Result},
    ingest::blocks::Source,
};

const MAGIC: &[u8] = b"PAR1";

/// The length of the tail: the size of the footer and the magic bytes.
const TAIL: u64 = 8;

/// The deepest nesting of types.
const MAX_LEVELS: usize = 100;

/// The ids of Thrift fields: the schema in the footer, and the number of children in a type.
const SCHEMA: i64 = 2;
const CHILDREN: i64 = 5;

/// Types of Thrift values.
const INT: u8 = 5;
const LIST: u8 = 9;
const STRUCT: u8 = 12;

/// Facts about a file that the footer tells.
#[derive(Clone, Copy, Debug)]
pub(super) struct Known {
    pub(super) rows: usize,
    /// Whether the row groups lie in the file in their order.
    pub(super) is_ascending: bool,
}

/// Reads the footer and refuses an implausible one.
pub(super) fn check(source: &Source, reserve: impl Fn(usize) -> Result<()>) -> Result<Known> {
    let length = source.length;
    let tail = source.read(length.saturating_sub(TAIL)..length)?;
    let Some((size, magic)) = tail.split_first_chunk::<4>().filter(|_| length >= 2 * TAIL - 4)
    else {
        return Err(Flaw::data("this is no Parquet file: it is too short"));
    };
    if magic != MAGIC {
        return Err(Flaw::data("this is no Parquet file, or its end is missing"));
    }
    let size = u64::from(u32::from_le_bytes(*size));
    let Some(start) = (length - TAIL).checked_sub(size) else { return Err(damaged()) };
    // What is read from the footer takes several times its size.
    reserve(usize::try_from(size).unwrap_or(usize::MAX).saturating_mul(8))?;
    let bytes = source.read(start..length - TAIL)?;
    Walk { bytes: &bytes, position: 0 }.file()?;
    check_ranges(&bytes, length)
}

fn damaged() -> Flaw {
    Flaw::data("the Parquet file is damaged: its footer cannot be read")
}

/// Checks that every column is within the file.
fn check_ranges(footer: &[u8], length: u64) -> Result<Known> {
    let metadata = ParquetMetaDataReader::decode_metadata(footer).map_err(|_| damaged())?;
    for column in metadata.row_groups().iter().flat_map(|group| group.columns()) {
        let start = first_page(column);
        let end = start.checked_add(column.compressed_size());
        let sizes =
            [start, column.data_page_offset(), column.compressed_size(), column.num_values()];
        if sizes.iter().any(|size| *size < 0) || end.is_none_or(|end| end as u64 > length) {
            return Err(Flaw::data("the Parquet file is damaged: a column is not within it"));
        }
    }
    let mut rows = 0_usize;
    for group in metadata.row_groups() {
        let more = usize::try_from(group.num_rows()).map_err(|_| damaged())?;
        rows = rows.checked_add(more).ok_or_else(damaged)?;
    }
    let starts = metadata.row_groups().iter().map(|group| group.columns().first().map(first_page));
    Ok(Known { rows, is_ascending: starts.is_sorted() })
}

fn first_page(column: &ColumnChunkMetaData) -> i64 {
    column.dictionary_page_offset().unwrap_or(column.data_page_offset())
}

/// A walk through Thrift's compact protocol that allocates nothing for values.
struct Walk<'a> {
    bytes: &'a [u8],
    position: usize,
}

/// The state of reading the schema, in which each type is followed by its children.
struct Schema {
    left: usize,
    /// The number of children still to come, for each level.
    open: Vec<usize>,
}

impl Walk<'_> {
    fn file(mut self) -> Result<()> {
        self.fields(
            0,
            |walk, id, kind| {
                if id == SCHEMA && kind == 9 { walk.types() } else { walk.value(kind, 0) }
            },
        )
    }

    fn types(&mut self) -> Result<()> {
        let (count, kind) = self.list()?;
        if kind != STRUCT {
            return Err(damaged());
        }
        let mut schema = Schema { left: count, open: Vec::new() };
        for _ in 0..count {
            let mut children = 0;
            self.fields(0, |walk, id, kind| match (id, kind) {
                (CHILDREN, INT) => walk.signed().map(|count| children = count),
                _ => walk.value(kind, 0),
            })?;
            schema.add(usize::try_from(children).map_err(|_| damaged())?)?;
        }
        Ok(())
    }

    fn fields(
        &mut self,
        depth: usize,
        mut field: impl FnMut(&mut Self, i64, u8) -> Result<()>,
    ) -> Result<()> {
        if depth > MAX_LEVELS {
            return Err(damaged());
        }
        let mut id = 0_i64;
        loop {
            let head = self.byte()?;
            if head == 0 {
                return Ok(());
            }
            id = match head >> 4 {
                0 => self.signed()?,
                delta => id.wrapping_add(i64::from(delta)),
            };
            field(self, id, head & 0x0F)?;
        }
    }

    fn value(&mut self, kind: u8, depth: usize) -> Result<()> {
        match kind {
            // A boolean field has no value beside its type.
            1 | 2 => Ok(()),
            3 => self.skip(1),
            4 | INT | 6 => self.number().map(drop),
            7 => self.skip(8),
            8 => {
                let length = self.number()?;
                self.skip(usize::try_from(length).map_err(|_| damaged())?)
            }
            LIST | 10 => {
                let (count, kind) = self.list()?;
                (0..count).try_for_each(|_| self.element(kind, depth + 1))
            }
            11 => {
                let count = self.number()?;
                let kinds = if count > 0 { self.byte()? } else { 0 };
                for _ in 0..self.at_most_left(count)? {
                    self.element(kinds >> 4, depth + 1)?;
                    self.element(kinds & 0x0F, depth + 1)?;
                }
                Ok(())
            }
            STRUCT => self.fields(depth + 1, |walk, _, kind| walk.value(kind, depth + 1)),
            13 => self.skip(16),
            _ => Err(damaged()),
        }
    }

    fn element(&mut self, kind: u8, depth: usize) -> Result<()> {
        match kind {
            _ if depth > MAX_LEVELS => Err(damaged()),
            1 | 2 => self.skip(1),
            kind => self.value(kind, depth),
        }
    }

    /// Reads how many elements a list has, and their type.
    fn list(&mut self) -> Result<(usize, u8)> {
        let head = self.byte()?;
        let count = match head >> 4 {
            15 => self.number()?,
            count => u64::from(count),
        };
        Ok((self.at_most_left(count)?, head & 0x0F))
    }

    /// Checks a count of elements, each of which takes at least a byte of what is left.
    fn at_most_left(&self, count: u64) -> Result<usize> {
        let left = self.bytes.len() - self.position;
        usize::try_from(count).ok().filter(|count| *count <= left).ok_or_else(damaged)
    }

    fn byte(&mut self) -> Result<u8> {
        let byte = self.bytes.get(self.position).copied().ok_or_else(damaged)?;
        self.position += 1;
        Ok(byte)
    }

    fn skip(&mut self, count: usize) -> Result<()> {
        self.position += self.at_most_left(count as u64)?;
        Ok(())
    }

    fn number(&mut self) -> Result<u64> {
        let mut number = 0;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            number |= u64::from(byte & 0x7F) << shift;
            if byte & 0x80 == 0 {
                return Ok(number);
            }
        }
        Err(damaged())
    }

    fn signed(&mut self) -> Result<i64> {
        let number = self.number()?;
        Ok((number >> 1) as i64 ^ -((number & 1) as i64))
    }
}

impl Schema {
    fn add(&mut self, children: usize) -> Result<()> {
        self.left -= 1;
        while self.open.last() == Some(&0) {
            self.open.pop();
        }
        if let Some(open) = self.open.last_mut() {
            *open -= 1;
        }
        if children > self.left || self.open.len() > MAX_LEVELS {
            return Err(damaged());
        }
        if children > 0 {
            self.open.push(children);
        }
        Ok(())
    }
}
