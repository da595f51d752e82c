//! A column while it is filled. It holds values of one type until a value of another type is set.

use datafusion::arrow::array::NullBufferBuilder;

use super::{
    column_stats::Facts,
    number::{is_exact, write_int, write_plain},
};
use crate::{
    flaw::{Flaw, Result},
    reader::Token,
};

/// One value of a column.
#[derive(Clone, Copy, Debug)]
pub(in crate::ingest) enum Cell<'a> {
    Null,
    Bool(bool),
    Int(i64),
    /// An integer of more than 64 bits, in digits.
    Big(&'a str),
    Float(f64),
    Text(&'a str),
    /// A list or an object.
    Json(&'a [u8]),
}

impl<'a> Cell<'a> {
    /// Converts a token. Returns none for lists and objects, which have to be written as JSON first.
    pub(in crate::ingest) fn of(token: Token<'a>) -> Option<Self> {
        Some(match token {
            Token::Null => Self::Null,
            Token::Bool(value) => Self::Bool(value),
            Token::Int(value) => Self::Int(value),
            Token::Big(digits) => Self::Big(digits),
            Token::Float(value) => Self::Float(value),
            Token::Text(text) => Self::Text(text),
            Token::List | Token::Object => return None,
        })
    }

    pub(in crate::ingest) fn size(&self) -> usize {
        8 + match self {
            Self::Text(text) | Self::Big(text) => text.len(),
            Self::Json(json) => json.len(),
            _ => 0,
        }
    }
}

/// The type that a value had before it became text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::ingest) enum Kind {
    Null,
    Bool,
    Int,
    Float,
    Text,
    Json,
}

#[derive(Debug)]
pub(in crate::ingest) struct Column {
    len: usize,
    pub(in crate::ingest) nulls: NullBufferBuilder,
    pub(in crate::ingest) values: ColumnValues,
}

#[derive(Debug)]
pub(in crate::ingest) enum ColumnValues {
    /// Only nulls so far.
    Nothing,
    Bool(Vec<bool>),
    Int(Vec<i64>),
    /// Floats, and integers that are exact as floats.
    Float(Vec<f64>),
    Text(Texts),
    /// Values of different types, as text.
    Mixed(Texts, Vec<Kind>),
}

/// Texts, stored one after the other.
#[derive(Debug)]
pub(in crate::ingest) struct Texts {
    /// The start of each text, and the end of the last.
    pub(in crate::ingest) offsets: Vec<i32>,
    pub(in crate::ingest) bytes: Vec<u8>,
}

impl Texts {
    /// Makes this many empty texts.
    fn new(count: usize) -> Self {
        Self { offsets: vec![0; count + 1], bytes: Vec::new() }
    }

    fn push(&mut self, text: &[u8]) -> Result<()> {
        self.bytes.extend_from_slice(text);
        self.end()
    }

    /// Ends the text that was written to `bytes`.
    fn end(&mut self) -> Result<()> {
        let end = i32::try_from(self.bytes.len())
            .map_err(|_| Flaw::data("a column has more than 2 GB of text"))?;
        self.offsets.push(end);
        Ok(())
    }

    fn pad(&mut self, count: usize) {
        let end = self.offsets.last().copied().unwrap_or_default();
        self.offsets.resize(self.offsets.len() + count, end);
    }

    fn truncate(&mut self, count: usize) {
        self.offsets.truncate(count + 1);
        let end = self.offsets.last().copied().unwrap_or_default();
        self.bytes.truncate(end as usize);
    }

    pub(in crate::ingest) fn len(&self) -> usize {
        self.offsets.len() - 1
    }

    pub(in crate::ingest) fn get(&self, index: usize) -> &[u8] {
        &self.bytes[self.offsets[index] as usize..self.offsets[index + 1] as usize]
    }
}

impl Column {
    pub(in crate::ingest) fn new() -> Self {
        Self { len: 0, nulls: NullBufferBuilder::new(0), values: ColumnValues::Nothing }
    }

    #[inline]
    pub(in crate::ingest) fn len(&self) -> usize {
        self.len
    }

    /// Sets the value of a row, which may be the next one, one further on (rows between become null), or
    /// one that was set before.
    #[inline]
    pub(in crate::ingest) fn set(&mut self, row: usize, cell: Cell<'_>) -> Result<()> {
        if self.len() != row {
            self.reach(row);
        }
        match (&mut self.values, cell) {
            (ColumnValues::Int(values), Cell::Int(value)) => values.push(value),
            (ColumnValues::Text(texts), Cell::Text(text)) => texts.push(text.as_bytes())?,
            (ColumnValues::Float(values), Cell::Float(value)) => values.push(value),
            (ColumnValues::Float(values), Cell::Int(value)) if is_exact(value) => {
                values.push(value as f64);
            }
            (ColumnValues::Bool(values), Cell::Bool(value)) => values.push(value),
            (_, Cell::Null) => {
                self.pad(1);
                return Ok(());
            }
            (ColumnValues::Mixed(texts, kinds), cell) => {
                kinds.push(write(texts, cell));
                texts.end()?;
            }
            (_, cell) => {
                self.widen(cell)?;
                return self.set(row, cell);
            }
        }
        self.nulls.append_non_null();
        self.len += 1;
        Ok(())
    }

    /// Fills up or cuts the column so that `row` is the next one to be set.
    pub(in crate::ingest) fn reach(&mut self, row: usize) {
        if self.len() < row {
            self.pad(row - self.len());
        } else {
            self.truncate(row);
        }
    }

    fn pad(&mut self, count: usize) {
        let len = self.len + count;
        self.len = len;
        match &mut self.values {
            ColumnValues::Nothing => {}
            ColumnValues::Bool(values) => values.resize(len, false),
            ColumnValues::Int(values) => values.resize(len, 0),
            ColumnValues::Float(values) => values.resize(len, 0.0),
            ColumnValues::Text(texts) => texts.pad(count),
            ColumnValues::Mixed(texts, kinds) => {
                texts.pad(count);
                kinds.resize(len, Kind::Null);
            }
        }
        self.nulls.append_n_nulls(count);
    }

    fn truncate(&mut self, len: usize) {
        match &mut self.values {
            ColumnValues::Nothing => {}
            ColumnValues::Bool(values) => values.truncate(len),
            ColumnValues::Int(values) => values.truncate(len),
            ColumnValues::Float(values) => values.truncate(len),
            ColumnValues::Text(texts) => texts.truncate(len),
            ColumnValues::Mixed(texts, kinds) => {
                texts.truncate(len);
                kinds.truncate(len);
            }
        }
        self.nulls.truncate(len);
        self.len = len;
    }

    /// Converts the values to a type that can hold this value too.
    #[cold]
    fn widen(&mut self, cell: Cell<'_>) -> Result<()> {
        let len = self.len();
        self.values = match (std::mem::replace(&mut self.values, ColumnValues::Nothing), cell) {
            (ColumnValues::Nothing, Cell::Bool(_)) => ColumnValues::Bool(vec![false; len]),
            (ColumnValues::Nothing, Cell::Int(_)) => ColumnValues::Int(vec![0; len]),
            (ColumnValues::Nothing, Cell::Float(_)) => ColumnValues::Float(vec![0.0; len]),
            (ColumnValues::Nothing, Cell::Text(_)) => ColumnValues::Text(Texts::new(len)),
            (ColumnValues::Int(values), Cell::Float(_)) if values.iter().copied().all(is_exact) => {
                ColumnValues::Float(values.into_iter().map(|value| value as f64).collect())
            }
            (values, _) => {
                let (texts, kinds) = mixed(values, len, |row| self.nulls.is_valid(row))?;
                ColumnValues::Mixed(texts, kinds)
            }
        };
        Ok(())
    }

    /// Counts the values of each kind.
    pub(in crate::ingest) fn facts(&self) -> Facts {
        let mut facts = Facts::default();
        let present = (0..self.len()).filter(|row| self.nulls.is_valid(*row));
        let count = || match self.nulls.as_slice() {
            None => self.len(),
            Some(_) => present.clone().count(),
        };
        match &self.values {
            ColumnValues::Nothing => {}
            ColumnValues::Bool(_) => facts.bools = count(),
            ColumnValues::Int(values) => {
                facts.ints = count();
                facts.inexact = !values.iter().copied().all(is_exact);
            }
            ColumnValues::Float(_) => facts.floats = count(),
            ColumnValues::Text(texts) => present.for_each(|row| facts.text(texts.get(row))),
            ColumnValues::Mixed(texts, kinds) => {
                for row in present {
                    facts.see(kinds[row], texts.get(row));
                }
            }
        }
        facts
    }

    /// Returns the text of a row, if it is text.
    pub(in crate::ingest) fn text(&self, row: usize) -> Option<String> {
        match &self.values {
            ColumnValues::Text(texts) if row < texts.len() && self.nulls.is_valid(row) => {
                Some(String::from_utf8_lossy(texts.get(row)).into_owned())
            }
            _ => None,
        }
    }
}

/// Writes a value to the end of the bytes.
fn write(texts: &mut Texts, cell: Cell<'_>) -> Kind {
    let out = &mut texts.bytes;
    match cell {
        Cell::Null => Kind::Null,
        Cell::Bool(value) => {
            out.extend_from_slice(if value { b"true" } else { b"false" });
            Kind::Bool
        }
        Cell::Int(value) => {
            write_int(value, out);
            Kind::Int
        }
        Cell::Big(digits) => {
            out.extend_from_slice(digits.as_bytes());
            Kind::Int
        }
        Cell::Float(value) => {
            write_plain(value, out);
            Kind::Float
        }
        Cell::Text(text) => {
            out.extend_from_slice(text.as_bytes());
            Kind::Text
        }
        Cell::Json(json) => {
            out.extend_from_slice(json);
            Kind::Json
        }
    }
}

/// Converts all values to text, with the kinds that they had.
pub(in crate::ingest) fn mixed(
    values: ColumnValues,
    len: usize,
    present: impl Fn(usize) -> bool,
) -> Result<(Texts, Vec<Kind>)> {
    let kind = match &values {
        ColumnValues::Nothing => Kind::Null,
        ColumnValues::Bool(_) => Kind::Bool,
        ColumnValues::Int(_) => Kind::Int,
        ColumnValues::Float(_) => Kind::Float,
        ColumnValues::Text(_) => Kind::Text,
        ColumnValues::Mixed(..) => Kind::Json,
    };
    let kinds = |len: usize| {
        (0..len).map(|row| if present(row) { kind } else { Kind::Null }).collect::<Vec<_>>()
    };
    let mut texts = Texts::new(0);
    match values {
        ColumnValues::Mixed(texts, kinds) => return Ok((texts, kinds)),
        ColumnValues::Text(texts) => return Ok((texts, kinds(len))),
        ColumnValues::Nothing => texts.pad(len),
        ColumnValues::Bool(values) => {
            fill(&mut texts, &present, values.into_iter().map(Cell::Bool))?
        }
        ColumnValues::Int(values) => fill(&mut texts, &present, values.into_iter().map(Cell::Int))?,
        ColumnValues::Float(values) => {
            fill(&mut texts, &present, values.into_iter().map(Cell::Float))?
        }
    }
    Ok((texts, kinds(len)))
}

fn fill<'a>(
    texts: &mut Texts,
    present: impl Fn(usize) -> bool,
    cells: impl Iterator<Item = Cell<'a>>,
) -> Result<()> {
    for (row, cell) in cells.enumerate() {
        if present(row) {
            write(texts, cell);
        }
        texts.end()?;
    }
    Ok(())
}
