use std::sync::Arc;

use datafusion::arrow::{
    array::{
        BinaryArray, BinaryViewArray, BooleanArray, Date32Array, Date64Array, Decimal32Array,
        Decimal64Array, Decimal128Array, Decimal256Array, DictionaryArray,
        DurationMicrosecondArray, DurationMillisecondArray, DurationNanosecondArray,
        DurationSecondArray, FixedSizeBinaryArray, FixedSizeListArray, Float16Array, Float32Array,
        Float64Array, Int8Array, Int16Array, Int32Array, Int64Array, Int64Builder,
        IntervalDayTimeArray, IntervalMonthDayNanoArray, IntervalYearMonthArray, LargeBinaryArray,
        LargeListArray, LargeListViewArray, LargeStringArray, ListArray, ListViewArray, MapBuilder,
        NullArray, PrimitiveArray, RunArray, StringArray, StringBuilder, StringViewArray,
        Time32MillisecondArray, Time32SecondArray, Time64MicrosecondArray, Time64NanosecondArray,
        TimestampMicrosecondArray, TimestampMillisecondArray, TimestampNanosecondArray,
        TimestampSecondArray, UInt8Array, UInt16Array, UInt32Array, UInt64Array,
    },
    buffer::{OffsetBuffer, ScalarBuffer},
    datatypes::{
        Field, IntervalDayTime, IntervalMonthDayNano, Schema, UnionFields, UnionMode, i256,
    },
};
use serde_json::json;

use super::*;

#[track_caller]
fn assert_values(column: impl Array, expected: Value) {
    assert_eq!(Value::from(values(&column)), expected, "{}", column.data_type());
}

/// Nothing in it may make us fail, whatever it means.
#[track_caller]
fn assert_text<T: ArrowPrimitiveType>(extremes: [T::Native; 2], data_type: DataType) {
    let column = PrimitiveArray::<T>::from_iter_values(extremes).with_data_type(data_type);
    for value in values(&column) {
        assert!(value.is_string() || value.is_number(), "{}: {value}", column.data_type());
    }
}

#[test]
fn numbers_keep_all_their_digits() {
    assert_values(NullArray::new(2), json!([null, null]));
    assert_values(BooleanArray::from(vec![Some(true), None]), json!([true, null]));
    assert_values(Int8Array::from(vec![Some(-128), None]), json!([-128, null]));
    assert_values(Int16Array::from(vec![i16::MIN]), json!([i16::MIN]));
    assert_values(Int32Array::from(vec![i32::MAX]), json!([i32::MAX]));
    assert_values(Int64Array::from(vec![i64::MIN, i64::MAX]), json!([i64::MIN, i64::MAX]));
    assert_values(UInt8Array::from(vec![255]), json!([255]));
    assert_values(UInt16Array::from(vec![u16::MAX]), json!([u16::MAX]));
    assert_values(UInt32Array::from(vec![u32::MAX]), json!([u32::MAX]));
    assert_values(UInt64Array::from(vec![u64::MAX]), json!([u64::MAX]));
    let floats = vec![Some(0.1), Some(f64::NAN), Some(f64::INFINITY), Some(-f64::INFINITY), None];
    assert_values(Float64Array::from(floats), json!([0.1, null, "inf", "-inf", null]));
    let floats = vec![Some(0.1), Some(f32::NAN), Some(f32::MAX), Some(f32::NEG_INFINITY), None];
    assert_values(Float32Array::from(floats), json!([0.1, null, 3.4028235e38, "-inf", null]));
    let half =
        |value: f32| cast(&Float32Array::from(vec![value]), &DataType::Float16).expect("a cast");
    assert_values(half(0.5).as_primitive::<Float16Type>().clone(), json!([0.5]));
    assert_values(half(f32::INFINITY).as_primitive::<Float16Type>().clone(), json!(["inf"]));
    assert_values(Float16Array::from(vec![None]), json!([null]));
}

#[test]
fn infinite_numbers_are_found() {
    let floats = vec![Some(0.1), None, Some(f64::NAN)];
    assert!(!has_infinite(&Float64Array::from(floats)));
    assert!(has_infinite(&Float64Array::from(vec![None, Some(f64::NEG_INFINITY)])));
    assert!(has_infinite(&Float32Array::from(vec![f32::INFINITY])));
    assert!(!has_infinite(&StringArray::from(vec!["inf"])));
}

#[test]
fn decimals_are_numbers_only_if_they_are_exact() {
    let of = |digits: i128, precision, scale| {
        Decimal128Array::from(vec![Some(digits), None])
            .with_precision_and_scale(precision, scale)
            .expect("a decimal")
    };
    assert_values(of(12_345, 10, 2), json!([123.45, null]));
    assert_values(of(-500, 10, 2), json!([-5.0, null]));
    assert_values(of(0, 10, 2), json!([0.0, null]));
    assert_values(of(7, 10, 5), json!([0.00007, null]));
    assert_values(of(7, 10, 0), json!([7, null]));
    assert_values(of(7, 10, -3), json!([7000, null]));
    let long = 12_345_678_901_234_567_890_123_456_789;
    assert_values(of(long, 38, 10), json!(["1234567890123456789.0123456789", null]));
    assert_values(of(long, 38, 0), json!([long.to_string(), null]));
    let column = Decimal32Array::from(vec![150]).with_precision_and_scale(5, 1).expect("a decimal");
    assert_values(column, json!([15.0]));
    let column = Decimal64Array::from(vec![15]).with_precision_and_scale(12, 1).expect("a decimal");
    assert_values(column, json!([1.5]));
    let column = Decimal256Array::from(vec![i256::MAX]).with_data_type(DataType::Decimal256(76, 2));
    assert!(values(&column)[0].is_string());
}

#[test]
fn text_and_bytes() {
    let strange = "tab\t \"quote\" \u{0} \u{1F600} é";
    assert_values(
        StringArray::from(vec![Some(strange), Some(""), None]),
        json!([strange, "", null]),
    );
    assert_values(LargeStringArray::from(vec![strange]), json!([strange]));
    assert_values(StringViewArray::from(vec![Some(strange), None]), json!([strange, null]));
    let bytes: Vec<&[u8]> = vec![b"", b"f", b"fo", b"foo", b"foob", b"\xff\xfe\xfd"];
    let expected = json!(["", "Zg==", "Zm8=", "Zm9v", "Zm9vYg==", "//79"]);
    assert_values(BinaryArray::from(bytes.clone()), expected.clone());
    assert_values(LargeBinaryArray::from(bytes.clone()), expected.clone());
    assert_values(BinaryViewArray::from(bytes), expected);
    let column = FixedSizeBinaryArray::try_from_iter([[1_u8, 2]].into_iter()).expect("bytes");
    assert_values(column, json!(["AQI="]));
}

#[test]
fn dates_and_times_are_iso_8601() {
    assert_values(Date32Array::from(vec![Some(20_484), None]), json!(["2026-01-31", null]));
    let day = 86_400_000;
    assert_values(Date64Array::from(vec![20_484 * day]), json!(["2026-01-31"]));
    assert_values(Date64Array::from(vec![20_484 * day + 1_000]), json!(["2026-01-31T00:00:01"]));
    let noon = 20_484 * 86_400 + 43_200;
    assert_values(TimestampSecondArray::from(vec![noon]), json!(["2026-01-31T12:00:00"]));
    assert_values(
        TimestampSecondArray::from(vec![20_484 * 86_400]),
        json!(["2026-01-31T00:00:00"]),
    );
    let milliseconds = TimestampMillisecondArray::from(vec![noon * 1_000, noon * 1_000 + 5]);
    assert_values(milliseconds, json!(["2026-01-31T12:00:00", "2026-01-31T12:00:00.005"]));
    let microseconds = TimestampMicrosecondArray::from(vec![noon * 1_000_000]);
    let in_zone = |zone: &str| microseconds.clone().with_timezone(zone);
    assert_values(in_zone("UTC"), json!(["2026-01-31T12:00:00Z"]));
    assert_values(in_zone("+02:00"), json!(["2026-01-31T14:00:00+02:00"]));
    assert_values(in_zone("Europe/Berlin"), json!(["2026-01-31T13:00:00+01:00"]));
    assert_values(in_zone("Moon/Crater"), json!(["2026-01-31T12:00:00Z"]));
    assert_values(
        TimestampNanosecondArray::from(vec![1]),
        json!(["1970-01-01T00:00:00.000000001"]),
    );
    assert_values(Time32SecondArray::from(vec![3_661]), json!(["01:01:01"]));
    assert_values(Time32MillisecondArray::from(vec![1]), json!(["00:00:00.001"]));
    assert_values(Time64MicrosecondArray::from(vec![1]), json!(["00:00:00.000001"]));
    assert_values(Time64NanosecondArray::from(vec![1_000_000_000]), json!(["00:00:01"]));
}

#[test]
fn durations_and_intervals_are_text() {
    assert_values(DurationSecondArray::from(vec![Some(90), None]), json!(["PT90S", null]));
    assert_values(DurationMillisecondArray::from(vec![1_500]), json!(["PT1.5S"]));
    assert_values(DurationMicrosecondArray::from(vec![-1]), json!(["-PT0.000001S"]));
    assert_values(DurationNanosecondArray::from(vec![0]), json!(["P0D"]));
    assert_values(IntervalYearMonthArray::from(vec![14]), json!(["1 years 2 mons"]));
    assert_values(IntervalDayTimeArray::from(vec![IntervalDayTime::new(2, 0)]), json!(["2 days"]));
    let interval = IntervalMonthDayNano::new(1, 2, 3_000_000_000);
    assert_values(
        IntervalMonthDayNanoArray::from(vec![interval]),
        json!(["1 mons 2 days 3.000000000 secs"]),
    );
}

#[test]
fn extremes_of_time_are_text_or_numbers() {
    use datafusion::arrow::datatypes::*;

    let all = [i64::MIN, i64::MAX];
    assert_text::<Date32Type>([i32::MIN, i32::MAX], DataType::Date32);
    assert_text::<Date64Type>(all, DataType::Date64);
    for zone in [None, Some("+14:00".into()), Some("Asia/Tokyo".into()), Some("-23:59".into())] {
        let of = |unit| DataType::Timestamp(unit, zone.clone());
        assert_text::<TimestampSecondType>(all, of(TimeUnit::Second));
        assert_text::<TimestampMillisecondType>(all, of(TimeUnit::Millisecond));
        assert_text::<TimestampMicrosecondType>(all, of(TimeUnit::Microsecond));
        assert_text::<TimestampNanosecondType>(all, of(TimeUnit::Nanosecond));
        // The last second that has a date, which may have none in the zone.
        assert_text::<TimestampSecondType>(
            [-8_334_601_228_800, 8_210_266_876_799],
            of(TimeUnit::Second),
        );
    }
    assert_text::<Time32SecondType>([i32::MIN, i32::MAX], DataType::Time32(TimeUnit::Second));
    assert_text::<Time32MillisecondType>(
        [i32::MIN, i32::MAX],
        DataType::Time32(TimeUnit::Millisecond),
    );
    assert_text::<Time64MicrosecondType>(all, DataType::Time64(TimeUnit::Microsecond));
    assert_text::<Time64NanosecondType>(all, DataType::Time64(TimeUnit::Nanosecond));
    assert_text::<DurationSecondType>(all, DataType::Duration(TimeUnit::Second));
    assert_text::<DurationMillisecondType>(all, DataType::Duration(TimeUnit::Millisecond));
    assert_text::<DurationMicrosecondType>(all, DataType::Duration(TimeUnit::Microsecond));
    assert_text::<DurationNanosecondType>(all, DataType::Duration(TimeUnit::Nanosecond));
    let months = DataType::Interval(IntervalUnit::YearMonth);
    assert_text::<IntervalYearMonthType>([i32::MIN, i32::MAX], months);
    assert_text::<IntervalDayTimeType>(
        [IntervalDayTime::MIN, IntervalDayTime::MAX],
        DataType::Interval(IntervalUnit::DayTime),
    );
    assert_text::<IntervalMonthDayNanoType>(
        [IntervalMonthDayNano::MIN, IntervalMonthDayNano::MAX],
        DataType::Interval(IntervalUnit::MonthDayNano),
    );
    assert_text::<Decimal128Type>([i128::MIN, i128::MAX], DataType::Decimal128(38, 10));
    assert_text::<Decimal128Type>([i128::MIN, i128::MAX], DataType::Decimal128(38, -10));
}

#[test]
fn nested_values_stay_nested() {
    let item = || Arc::new(Field::new("item", DataType::Int64, true));
    let numbers: ArrayRef = Arc::new(Int64Array::from(vec![Some(1), None, Some(3)]));
    let lists = ListArray::from_iter_primitive::<Int64Type, _, _>([
        Some(vec![Some(1), None]),
        None,
        Some(vec![]),
    ]);
    assert_values(lists, json!([[1, null], null, []]));
    let offsets = OffsetBuffer::new(vec![0_i64, 2, 3].into());
    let lists = LargeListArray::new(item(), offsets, numbers.clone(), None);
    assert_values(lists, json!([[1, null], [3]]));
    let views = |offsets, sizes| ListViewArray::new(item(), offsets, sizes, numbers.clone(), None);
    assert_values(views(vec![1, 0].into(), vec![2, 1].into()), json!([[null, 3], [1]]));
    let sizes: ScalarBuffer<i64> = vec![3].into();
    let lists = LargeListViewArray::new(item(), vec![0].into(), sizes, numbers.clone(), None);
    assert_values(lists, json!([[1, null, 3]]));
    let lists = FixedSizeListArray::new(item(), 3, numbers.clone(), None);
    assert_values(lists, json!([[1, null, 3]]));

    let texts: ArrayRef = Arc::new(StringArray::from(vec!["x", "y", "z"]));
    let fields =
        vec![Field::new("a", DataType::Int64, true), Field::new("a", DataType::Utf8, false)];
    let valid = Some(vec![true, false, true].into());
    let structs = StructArray::new(fields.into(), vec![numbers, texts], valid);
    assert_values(structs, json!([{"a": 1, "a_2": "x"}, null, {"a": 3, "a_2": "z"}]));

    let mut maps = MapBuilder::new(None, StringBuilder::new(), Int64Builder::new());
    maps.keys().append_value("k");
    maps.values().append_value(1);
    maps.append(true).expect("an entry");
    maps.append(false).expect("no map");
    assert_values(maps.finish(), json!([{"k": 1}, null]));
    let mut maps = MapBuilder::new(None, Int64Builder::new(), StringBuilder::new());
    maps.keys().append_value(7);
    maps.values().append_null();
    maps.append(true).expect("an entry");
    assert_values(maps.finish(), json!([{"7": null}]));
}

#[test]
fn packed_values_are_unpacked() {
    let texts: DictionaryArray<Int8Type> = [Some("a"), None, Some("a")].into_iter().collect();
    assert_values(texts, json!(["a", null, "a"]));
    let none = StringArray::from(Vec::<&str>::new());
    let texts =
        DictionaryArray::<Int32Type>::new(Int32Array::from(vec![None, None]), Arc::new(none));
    assert_values(texts, json!([null, null]));
    let nested = ListArray::from_iter_primitive::<Int64Type, _, _>([Some(vec![Some(1)])]);
    let lists = DictionaryArray::<UInt8Type>::new(UInt8Array::from(vec![0, 0]), Arc::new(nested));
    assert_values(lists, json!([[1], [1]]));
    let ends = Int32Array::from(vec![2, 3]);
    let runs = RunArray::try_new(&ends, &StringArray::from(vec![Some("a"), None])).expect("runs");
    assert_values(runs, json!(["a", "a", null]));
    let runs = RunArray::try_new(&ends, &Float64Array::from(vec![0.5, 1.5])).expect("runs");
    assert_values(runs.slice(1, 2), json!([0.5, 1.5]));
}

#[test]
fn unions_are_what_they_hold() {
    let fields =
        [(0, Field::new("n", DataType::Int64, true)), (1, Field::new("t", DataType::Utf8, true))];
    let fields: UnionFields = fields.into_iter().map(|(id, field)| (id, Arc::new(field))).collect();
    let numbers: ArrayRef = Arc::new(Int64Array::from(vec![Some(1), None]));
    let texts: ArrayRef = Arc::new(StringArray::from(vec!["x"]));
    let union = UnionArray::try_new(
        fields,
        vec![0, 1, 0].into(),
        Some(vec![0, 0, 1].into()),
        vec![numbers, texts],
    )
    .expect("a union");
    assert!(matches!(union.data_type(), DataType::Union(_, UnionMode::Dense)));
    assert_values(union, json!([1, "x", null]));
}

#[test]
fn columns_of_the_same_name_are_told_apart() {
    let of = |names: &[&str]| {
        let fields: Vec<Field> =
            names.iter().map(|name| Field::new(*name, DataType::Int64, true)).collect();
        self::names(Schema::new(fields).fields())
    };
    assert_eq!(of(&["a", "b", "a", "a"]), ["a", "b", "a_2", "a_3"]);
    assert_eq!(of(&["a", "a", "a_2", ""]), ["a", "a_2", "a_2_2", ""]);
}
