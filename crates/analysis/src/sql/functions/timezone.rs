//! `timezone(zone, time)`, which is what PostgreSQL calls `time AT TIME ZONE zone`.
//!
//! A time without a zone is read as local time in the zone and becomes a moment; a time with a zone
//! becomes local time in the other zone, without one.

use std::{str::FromStr, sync::Arc};

use datafusion::{
    arrow::{
        array::{ArrayRef, AsArray, PrimitiveArray, TimestampMicrosecondArray, timezone::Tz},
        compute::cast,
        datatypes::{
            ArrowTimestampType, DataType, Field, FieldRef, TimeUnit, TimestampMicrosecondType,
            TimestampMillisecondType, TimestampNanosecondType, TimestampSecondType,
        },
    },
    common::{ScalarValue, exec_datafusion_err, exec_err, plan_err},
    error::Result,
    logical_expr::{
        ColumnarValue, ReturnFieldArgs, ScalarFunctionArgs, ScalarUDFImpl, Signature, Volatility,
    },
};

use crate::times::{last_of_clock, on_clock, parse, zone_named};

pub(in crate::sql) const TIMEZONE: &str = "timezone";

#[derive(Debug, PartialEq, Eq, Hash)]
pub(super) struct TimeZone {
    signature: Signature,
}

impl TimeZone {
    pub(super) fn new() -> Self {
        Self { signature: Signature::any(2, Volatility::Immutable) }
    }
}

impl ScalarUDFImpl for TimeZone {
    fn name(&self) -> &str {
        TIMEZONE
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _: &[DataType]) -> Result<DataType> {
        exec_err!("the type of timezone depends on the zone")
    }

    fn return_field_from_args(&self, args: ReturnFieldArgs) -> Result<FieldRef> {
        let zone = args.scalar_arguments.first().copied().flatten();
        let Some(Some(zone)) = zone.map(ScalarValue::try_as_str) else {
            return plan_err!("a time zone is a text in quotes, such as 'Europe/Berlin'");
        };
        let Some((zone, _)) = zone.and_then(known) else {
            let zone = zone.unwrap_or("null");
            return plan_err!("no time zone '{zone}'; there are 'Europe/Berlin', 'UTC', '+02:00'");
        };
        let given = args.arg_fields[1].data_type();
        let Some(made) = made(given, &zone) else {
            return plan_err!("AT TIME ZONE is for times, not for {given}");
        };
        Ok(Arc::new(Field::new(TIMEZONE, made, true)))
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let zone = match &args.args[0] {
            ColumnarValue::Scalar(zone) => zone.try_as_str().flatten().and_then(known),
            ColumnarValue::Array(_) => None,
        };
        let Some((zone, tz)) = zone else {
            return exec_err!("a time zone is a text in quotes, such as 'Europe/Berlin'");
        };
        let times = ColumnarValue::values_to_arrays(&args.args[1..])?;
        Ok(ColumnarValue::Array(moved(&times[0], &zone, tz)?))
    }
}

/// Finds a zone by its name. Returns its own spelling too.
fn known(name: &str) -> Option<(Arc<str>, Tz)> {
    let name = name.trim();
    let is_world = ["utc", "gmt", "z"].iter().any(|world| name.eq_ignore_ascii_case(world));
    if is_world {
        return Some(("UTC".into(), Tz::from_str("UTC").ok()?));
    }
    zone_named(name).map(|(name, zone)| (name.into(), zone))
}

/// Returns the type that a time of this type is converted into.
fn made(given: &DataType, zone: &Arc<str>) -> Option<DataType> {
    Some(match given {
        DataType::Dictionary(_, values) => made(values, zone)?,
        DataType::Timestamp(unit, Some(_)) => DataType::Timestamp(*unit, None),
        DataType::Timestamp(unit, None) => DataType::Timestamp(*unit, Some(zone.clone())),
        DataType::Date32 | DataType::Date64 | DataType::Null => of_text(zone),
        text if text.is_string() => of_text(zone),
        _ => return None,
    })
}

fn of_text(zone: &Arc<str>) -> DataType {
    DataType::Timestamp(TimeUnit::Microsecond, Some(zone.clone()))
}

fn moved(times: &ArrayRef, zone: &Arc<str>, tz: Tz) -> Result<ArrayRef> {
    match times.data_type() {
        DataType::Dictionary(_, values) => moved(&cast(times, values)?, zone, tz),
        DataType::Timestamp(unit, of) => {
            let (target, is_zoned) = match of {
                Some(_) => (None, true),
                None => (Some(zone.clone()), false),
            };
            Ok(match unit {
                TimeUnit::Second => Arc::new(
                    shifted::<TimestampSecondType>(times, is_zoned, tz).with_timezone_opt(target),
                ) as ArrayRef,
                TimeUnit::Millisecond => Arc::new(
                    shifted::<TimestampMillisecondType>(times, is_zoned, tz)
                        .with_timezone_opt(target),
                ),
                TimeUnit::Microsecond => Arc::new(
                    shifted::<TimestampMicrosecondType>(times, is_zoned, tz)
                        .with_timezone_opt(target),
                ),
                TimeUnit::Nanosecond => Arc::new(
                    shifted::<TimestampNanosecondType>(times, is_zoned, tz)
                        .with_timezone_opt(target),
                ),
            })
        }
        text if text.is_string() => read(&cast(times, &DataType::Utf8)?, zone, tz),
        _ => {
            // Dates are midnights.
            let times = cast(times, &DataType::Timestamp(TimeUnit::Microsecond, None))?;
            moved(&times, zone, tz)
        }
    }
}

/// Converts local times into moments, or the other way round; the unit stays.
fn shifted<T: ArrowTimestampType>(times: &ArrayRef, is_zoned: bool, tz: Tz) -> PrimitiveArray<T> {
    let per_second = match T::UNIT {
        TimeUnit::Second => 1,
        TimeUnit::Millisecond => 1_000,
        TimeUnit::Microsecond => 1_000_000,
        TimeUnit::Nanosecond => 1_000_000_000,
    };
    times.as_primitive::<T>().unary_opt(|time| {
        let seconds = time.div_euclid(per_second);
        let micros = seconds.checked_mul(1_000_000)?;
        let other = if is_zoned { on_clock(micros, tz) } else { last_of_clock(micros, tz) };
        // Zones are whole seconds away from each other.
        time.checked_add((other - micros) / 1_000_000 * per_second)
    })
}

/// Parses texts as times. Those without an offset are local times in the zone.
fn read(texts: &ArrayRef, zone: &Arc<str>, tz: Tz) -> Result<ArrayRef> {
    let time = |text: Option<&str>| {
        let Some(text) = text else { return Ok(None) };
        let time = parse(text).ok_or_else(|| {
            exec_datafusion_err!("AT TIME ZONE: {text:?} is no time, such as 2026-03-01 12:30")
        })?;
        let micros = match time.is_zoned() {
            true => time.micros,
            false => last_of_clock(time.micros, tz),
        };
        Ok(Some(micros))
    };
    let times = texts.as_string::<i32>().iter().map(time);
    let times = times.collect::<Result<TimestampMicrosecondArray>>()?;
    Ok(Arc::new(times.with_timezone(zone.clone())))
}
