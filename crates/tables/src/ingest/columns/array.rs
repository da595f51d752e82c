//! Converts a filled column into an array of the type that the column has in the whole table.

use std::sync::Arc;

use datafusion::arrow::{
    array::{ArrayRef, BooleanArray, Float64Array, Int64Array, StringArray, new_null_array},
    buffer::{BooleanBuffer, Buffer, NullBuffer, OffsetBuffer, ScalarBuffer},
    datatypes::DataType,
};

use super::{
    column::{Column, ColumnValues, Kind, Texts, mixed},
    column_stats::Type,
    nested::text_json,
    number::{self, Number},
};
use crate::flaw::{Flaw, Result};

impl Type {
    pub(in crate::ingest) fn data_type(self) -> DataType {
        match self {
            Self::Bool => DataType::Boolean,
            Self::Int => DataType::Int64,
            Self::Float => DataType::Float64,
            Self::Text | Self::Json => DataType::Utf8,
        }
    }
}

impl Column {
    pub(in crate::ingest) fn into_array(mut self, kind: Type) -> Result<ArrayRef> {
        let len = self.len();
        let nulls = self.nulls.finish();
        Ok(match (self.values, kind) {
            (ColumnValues::Nothing, kind) => new_null_array(&kind.data_type(), len),
            (ColumnValues::Bool(values), Type::Bool) => {
                Arc::new(BooleanArray::new(BooleanBuffer::from(values), nulls))
            }
            (ColumnValues::Int(values), Type::Int) => {
                Arc::new(Int64Array::new(values.into(), nulls))
            }
            (ColumnValues::Int(values), Type::Float) => {
                let values = values.into_iter().map(|value| value as f64).collect();
                Arc::new(Float64Array::new(values, nulls))
            }
            (ColumnValues::Float(values), Type::Float) => {
                Arc::new(Float64Array::new(values.into(), nulls))
            }
            (ColumnValues::Text(texts), Type::Text) => Arc::new(text_array(texts, nulls)?),
            (values, kind) => {
                let present = |row| nulls.as_ref().is_none_or(|nulls| nulls.is_valid(row));
                let (texts, kinds) = mixed(values, len, present)?;
                converted(texts, &kinds, nulls, kind)?
            }
        })
    }
}

fn text_array(texts: Texts, nulls: Option<NullBuffer>) -> Result<StringArray> {
    let offsets = OffsetBuffer::new(ScalarBuffer::from(texts.offsets));
    Ok(StringArray::try_new(offsets, Buffer::from(texts.bytes), nulls)?)
}

fn converted(
    texts: Texts,
    kinds: &[Kind],
    nulls: Option<NullBuffer>,
    kind: Type,
) -> Result<ArrayRef> {
    let cells = kinds.iter().enumerate().map(|(row, kind)| (*kind, texts.get(row)));
    Ok(match kind {
        Type::Text => Arc::new(text_array(texts, nulls)?),
        Type::Json => Arc::new(json_array(cells)?),
        Type::Bool => Arc::new(cells.map(as_bool).collect::<Result<BooleanArray>>()?),
        Type::Int => Arc::new(cells.map(as_int).collect::<Result<Int64Array>>()?),
        Type::Float => Arc::new(cells.map(as_float).collect::<Result<Float64Array>>()?),
    })
}

fn as_bool((kind, bytes): (Kind, &[u8])) -> Result<Option<bool>> {
    match kind {
        Kind::Null => Ok(None),
        Kind::Bool => Ok(Some(bytes == b"true")),
        Kind::Text if number::is_missing(text(bytes)?) => Ok(None),
        _ => Err(Flaw::changed()),
    }
}

fn as_int(cell: (Kind, &[u8])) -> Result<Option<i64>> {
    match as_number(cell)? {
        Some(Number::Int(value)) => Ok(Some(value)),
        Some(_) => Err(Flaw::changed()),
        None => Ok(None),
    }
}

fn as_float(cell: (Kind, &[u8])) -> Result<Option<f64>> {
    match as_number(cell)? {
        Some(Number::Int(value)) => Ok(Some(value as f64)),
        Some(Number::Float(value)) => Ok(Some(value)),
        Some(Number::Huge) => Err(Flaw::changed()),
        None => Ok(None),
    }
}

fn as_number((kind, bytes): (Kind, &[u8])) -> Result<Option<Number>> {
    let text = text(bytes)?;
    match kind {
        Kind::Null => Ok(None),
        Kind::Float => Ok(Some(Number::Float(text.parse().map_err(|_| Flaw::changed())?))),
        Kind::Text if number::is_missing(text) => Ok(None),
        Kind::Int | Kind::Text => number::parse(text).map(Some).ok_or_else(Flaw::changed),
        Kind::Bool | Kind::Json => Err(Flaw::changed()),
    }
}

fn text(bytes: &[u8]) -> Result<&str> {
    str::from_utf8(bytes).map_err(|_| Flaw::changed())
}

fn json_array<'a>(cells: impl Iterator<Item = (Kind, &'a [u8])>) -> Result<StringArray> {
    let mut scratch = Vec::new();
    let json = cells.map(|(kind, bytes)| {
        let json = match kind {
            Kind::Null => return Ok(None),
            // JSON knows neither "not a number" nor infinity.
            Kind::Float if !bytes.last().is_some_and(u8::is_ascii_digit) => return Ok(None),
            Kind::Text => {
                scratch.clear();
                text_json(text(bytes)?, &mut scratch);
                text(&scratch)?
            }
            _ => text(bytes)?,
        };
        Ok(Some(json.to_owned()))
    });
    json.collect()
}
