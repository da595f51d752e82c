//! Converts columns of every type into JSON values.

use std::collections::HashSet;

use datafusion::arrow::{
    array::{
        Array, ArrayRef, ArrowPrimitiveType, AsArray, MapArray, RecordBatch, StructArray,
        UnionArray,
    },
    compute::cast,
    datatypes::{
        DataType, Fields, Float16Type, Float32Type, Float64Type, Int8Type, Int16Type, Int32Type,
        Int64Type, TimeUnit, UInt8Type, UInt16Type, UInt32Type, UInt64Type,
    },
    util::display::{ArrayFormatter, FormatOptions},
};
use serde_json::{Map, Value};

/// Returns the names of columns. A repeated name gets a number, so that no value is lost.
pub(super) fn names(fields: &Fields) -> Vec<String> {
    let mut taken = HashSet::new();
    let unique = |given: &String| {
        let mut name = given.clone();
        let mut number = 1;
        while !taken.insert(name.clone()) {
            number += 1;
            name = format!("{given}_{number}");
        }
        name
    };
    fields.iter().map(|field| field.name()).map(unique).collect()
}

/// Returns the rows of a batch as objects, with these names for the columns.
pub(super) fn rows(names: &[String], batch: &RecordBatch) -> Vec<Value> {
    objects(names, batch.columns(), batch.num_rows()).map(Value::Object).collect()
}

fn objects(
    names: &[String],
    columns: &[ArrayRef],
    rows: usize,
) -> impl Iterator<Item = Map<String, Value>> {
    let mut columns: Vec<_> = columns.iter().map(|column| values(column).into_iter()).collect();
    (0..rows).map(move |_| {
        let values = columns.iter_mut().map(|column| column.next().unwrap_or_default());
        names.iter().cloned().zip(values).collect()
    })
}

/// Returns the values of a column. Values that JSON has no form for become text.
fn values(column: &dyn Array) -> Vec<Value> {
    match column.data_type() {
        DataType::Null => vec![Value::Null; column.len()],
        DataType::Boolean => column.as_boolean().iter().map(Value::from).collect(),
        DataType::Int8 => numbers::<Int8Type>(column),
        DataType::Int16 => numbers::<Int16Type>(column),
        DataType::Int32 => numbers::<Int32Type>(column),
        DataType::Int64 => numbers::<Int64Type>(column),
        DataType::UInt8 => numbers::<UInt8Type>(column),
        DataType::UInt16 => numbers::<UInt16Type>(column),
        DataType::UInt32 => numbers::<UInt32Type>(column),
        DataType::UInt64 => numbers::<UInt64Type>(column),
        DataType::Float16 => {
            let floats = column.as_primitive::<Float16Type>().iter();
            floats.map(|value| value.map(|value| float(widened(value.to_f32()))).into()).collect()
        }
        DataType::Float32 => {
            let floats = column.as_primitive::<Float32Type>().iter();
            floats.map(|value| value.map(|value| float(widened(value))).into()).collect()
        }
        DataType::Float64 => {
            let floats = column.as_primitive::<Float64Type>().iter();
            floats.map(|value| value.map(float).into()).collect()
        }
        DataType::Decimal32(_, scale)
        | DataType::Decimal64(_, scale)
        | DataType::Decimal128(_, scale)
        | DataType::Decimal256(_, scale) => decimals(column, *scale),
        DataType::Utf8 => column.as_string::<i32>().iter().map(Value::from).collect(),
        DataType::LargeUtf8 => column.as_string::<i64>().iter().map(Value::from).collect(),
        DataType::Utf8View => column.as_string_view().iter().map(Value::from).collect(),
        DataType::Binary => encoded(column.as_binary::<i32>().iter()),
        DataType::LargeBinary => encoded(column.as_binary::<i64>().iter()),
        DataType::BinaryView => encoded(column.as_binary_view().iter()),
        DataType::FixedSizeBinary(_) => encoded(column.as_fixed_size_binary().iter()),
        DataType::List(_) => lists(column, |row| column.as_list::<i32>().value(row)),
        DataType::LargeList(_) => lists(column, |row| column.as_list::<i64>().value(row)),
        DataType::ListView(_) => lists(column, |row| column.as_list_view::<i32>().value(row)),
        DataType::LargeListView(_) => lists(column, |row| column.as_list_view::<i64>().value(row)),
        DataType::FixedSizeList(..) => lists(column, |row| column.as_fixed_size_list().value(row)),
        DataType::Struct(fields) => structs(column.as_struct(), fields),
        DataType::Map(..) => maps(column.as_map()),
        DataType::Union(..) => unions(column.as_union()),
        DataType::Dictionary(_, plain) => unpacked(column, plain),
        DataType::RunEndEncoded(_, plain) => unpacked(column, plain.data_type()),
        DataType::Timestamp(..)
        | DataType::Date32
        | DataType::Date64
        | DataType::Time32(_)
        | DataType::Time64(_)
        | DataType::Duration(_)
        | DataType::Interval(_) => texts(column),
    }
}

fn numbers<T>(column: &dyn Array) -> Vec<Value>
where
    T: ArrowPrimitiveType,
    Value: From<Option<T::Native>>,
{
    column.as_primitive::<T>().iter().map(Value::from).collect()
}

/// Tells whether a column has infinite numbers.
pub(super) fn has_infinite(column: &dyn Array) -> bool {
    match column.data_type() {
        DataType::Float16 => {
            column.as_primitive::<Float16Type>().iter().flatten().any(|value| value.is_infinite())
        }
        DataType::Float32 => {
            column.as_primitive::<Float32Type>().iter().flatten().any(|value| value.is_infinite())
        }
        DataType::Float64 => {
            column.as_primitive::<Float64Type>().iter().flatten().any(|value| value.is_infinite())
        }
        _ => false,
    }
}

/// Converts a float. Infinite numbers become text, because JSON has none; NaN becomes null.
fn float(value: f64) -> Value {
    match value.is_infinite() {
        true => value.to_string().into(),
        false => value.into(),
    }
}

/// Widens a float by its shortest text: 0.1 stays 0.1 and does not become 0.10000000149011612.
fn widened(value: f32) -> f64 {
    value.to_string().parse().unwrap_or_else(|_| value.into())
}

/// Converts decimals into numbers if all digits are kept, otherwise into text.
fn decimals(column: &dyn Array, scale: i8) -> Vec<Value> {
    let mut values = texts(column);
    for value in &mut values {
        if let Some(number) = value.as_str().and_then(|text| exact(text, scale)) {
            *value = number;
        }
    }
    values
}

fn exact(text: &str, scale: i8) -> Option<Value> {
    if scale <= 0 {
        return text.parse::<i64>().ok().map(Value::from);
    }
    let number: f64 = text.parse().ok()?;
    let plain = text.trim_end_matches('0').trim_end_matches('.');
    (number.to_string() == plain).then(|| number.into())
}

fn encoded<'a>(items: impl Iterator<Item = Option<&'a [u8]>>) -> Vec<Value> {
    items.map(|bytes| bytes.map(base64).into()).collect()
}

fn base64(bytes: &[u8]) -> String {
    const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for group in bytes.chunks(3) {
        let bits =
            (0..3).fold(0, |bits, at| bits << 8 | group.get(at).map_or(0, |byte| *byte as usize));
        for at in 0..4 {
            let letter = LETTERS[bits >> (18 - 6 * at) & 63];
            text.push(if at > group.len() { '=' } else { letter.into() });
        }
    }
    text
}

fn lists(column: &dyn Array, items: impl Fn(usize) -> ArrayRef) -> Vec<Value> {
    let list = |row| if column.is_null(row) { Value::Null } else { values(&items(row)).into() };
    (0..column.len()).map(list).collect()
}

fn structs(column: &StructArray, fields: &Fields) -> Vec<Value> {
    let names = names(fields);
    let objects = objects(&names, column.columns(), column.len());
    let present =
        |(row, object)| if column.is_null(row) { Value::Null } else { Value::Object(object) };
    objects.enumerate().map(present).collect()
}

fn maps(column: &MapArray) -> Vec<Value> {
    let map = |row| {
        if column.is_null(row) {
            return Value::Null;
        }
        let entries = column.value(row);
        let [keys, items] = entries.columns() else { return Value::Null };
        let keys = values(keys).into_iter().map(|key| match key {
            Value::String(key) => key,
            other => other.to_string(),
        });
        Value::Object(keys.zip(values(items)).collect())
    };
    (0..column.len()).map(map).collect()
}

fn unions(column: &UnionArray) -> Vec<Value> {
    (0..column.len()).map(|row| values(&column.value(row)).pop().unwrap_or_default()).collect()
}

/// Converts a dictionary or run-length encoded column by its plain type.
fn unpacked(column: &dyn Array, plain: &DataType) -> Vec<Value> {
    match cast(column, plain) {
        Ok(column) => values(&column),
        Err(_) => texts(column),
    }
}

/// Converts dates and times into ISO 8601, and other values into text. A time beyond the calendar
/// becomes its number.
fn texts(column: &dyn Array) -> Vec<Value> {
    let options = FormatOptions::new();
    let Ok(formatter) = ArrayFormatter::try_new(column, &options) else {
        return in_universal_time(column);
    };
    let numbers = if column.data_type().is_temporal() {
        cast(column, &DataType::Int64).map(|numbers| values(&numbers)).unwrap_or_default()
    } else {
        Vec::new()
    };
    let text = |row| {
        if column.is_null(row) {
            return Value::Null;
        }
        let number = numbers.get(row).cloned().unwrap_or_default();
        if is_far(&number, column.data_type()) {
            return number;
        }
        let text = formatter.value(row).try_to_string();
        text.map_or(number, |text| without_midnight(text, column.data_type()).into())
    };
    (0..column.len()).map(text).collect()
}

/// Tells whether a moment is so far away that it may have no date in its time zone, though it has one in
/// UTC.
fn is_far(number: &Value, data_type: &DataType) -> bool {
    const MAX_SECONDS: u64 = 8_200_000_000_000;
    let DataType::Timestamp(unit, Some(_)) = data_type else { return false };
    let units = match unit {
        TimeUnit::Second => 1,
        TimeUnit::Millisecond => 1_000,
        TimeUnit::Microsecond => 1_000_000,
        TimeUnit::Nanosecond => 1_000_000_000,
    };
    number.as_i64().is_some_and(|number| (number / units).unsigned_abs() > MAX_SECONDS)
}

/// Removes the time of day from a `Date64`, which counts milliseconds though it is a date.
fn without_midnight(mut text: String, data_type: &DataType) -> String {
    const MIDNIGHT: &str = "T00:00:00";
    if *data_type == DataType::Date64 && text.ends_with(MIDNIGHT) {
        text.truncate(text.len() - MIDNIGHT.len());
    }
    text
}

/// Converts times in an unknown time zone by writing them in UTC.
fn in_universal_time(column: &dyn Array) -> Vec<Value> {
    if let DataType::Timestamp(unit, Some(zone)) = column.data_type()
        && zone.as_ref() != "UTC"
        && let Ok(column) = cast(column, &DataType::Timestamp(*unit, Some("UTC".into())))
    {
        return texts(&column);
    }
    vec![Value::Null; column.len()]
}

#[cfg(test)]
mod tests;
