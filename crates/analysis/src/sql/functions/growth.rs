//! How much a function may make of what it is given.

use datafusion::{
    arrow::{
        array::{Array, ArrayRef, AsArray},
        compute::{cast, max, min},
        datatypes::{DataType, Int64Type, IntervalMonthDayNanoType, IntervalUnit, TimeUnit},
    },
    error::Result,
    logical_expr::ColumnarValue,
};

use super::pattern;
use crate::guard::weigh;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Growth {
    /// All arguments after one another.
    Together,
    /// The same with the first between them.
    Separated,
    /// The first as often as the second says.
    Repeated,
    /// As many characters as the second says.
    Padded,
    /// The third for each place of the second in the first.
    Replaced,
    /// The third for each match of a pattern in the first.
    MatchesReplaced,
    /// The groups of a pattern.
    Captured,
    /// No more than a number, but a pattern has to be looked for.
    Matched,
    /// A date in the form that the second says.
    Formatted,
    /// The elements of the first as text, with the second between them.
    ListText,
    /// A list of the parts of the first.
    Split,
    /// Numbers or dates from the first to the second in steps of the third.
    Series,
    /// A number, but each character is compared with each.
    Compared,
}

/// A character has at most so many bytes.
const CHARACTER: usize = 4;
/// The bytes that an element of a list or a row takes beside its value.
const ELEMENT: usize = 16;
/// The longest text of a number or a date.
const NUMBER_TEXT: usize = 32;
/// How much longer a date is than what stands for it in a form (`%c` is the longest).
const FORMAT: usize = 16;
/// How many comparisons take as long as making one byte may.
const COMPARISONS: usize = 16;

impl Growth {
    /// Patterns have to be known before any row is.
    pub(super) fn check(self, name: &str, args: &[ColumnarValue]) -> Result<()> {
        match self {
            Self::MatchesReplaced | Self::Captured | Self::Matched => pattern::check(name, args),
            _ => Ok(()),
        }
    }

    /// Returns an upper bound of the bytes of the result for these arguments.
    pub(super) fn bytes(self, args: &[ColumnarValue], rows: usize) -> usize {
        let arg = |index: usize| Argument { value: args.get(index), rows };
        let all =
            (0..args.len()).fold(0, |sum: usize, index| sum.saturating_add(arg(index).total()));
        let overhead = rows.saturating_mul(ELEMENT);
        let bytes = match self {
            Self::Together => all.saturating_add(overhead.saturating_mul(args.len())),
            Self::Separated => {
                let separators = rows.saturating_mul(args.len());
                all.saturating_add(arg(0).widest().saturating_mul(separators))
            }
            Self::Repeated => arg(0).total().saturating_mul(arg(1).largest()),
            Self::Padded => {
                let made = rows.saturating_mul(arg(1).farthest()).saturating_mul(CHARACTER);
                made.saturating_add(all)
            }
            Self::Replaced => {
                let places = arg(0).total() / arg(1).narrowest().max(1);
                let made = places.saturating_add(rows).saturating_mul(arg(2).widest());
                all.saturating_add(made)
            }
            Self::MatchesReplaced => {
                let matches = match pattern::is_global(args) {
                    true => arg(0).total().saturating_add(rows),
                    false => rows,
                };
                let made = matches.saturating_mul(arg(2).widest());
                let groups = pattern::references(args).saturating_mul(arg(0).total());
                all.saturating_add(made).saturating_add(groups)
            }
            Self::Captured => {
                let each = arg(0).total().saturating_add(overhead);
                each.saturating_mul(pattern::groups(args).saturating_add(1))
            }
            Self::Formatted => {
                let each = arg(1).widest().saturating_mul(FORMAT).saturating_add(NUMBER_TEXT);
                rows.saturating_mul(each)
            }
            Self::ListText => {
                let between = arg(1).widest().saturating_add(arg(2).widest());
                let each = between.saturating_add(NUMBER_TEXT);
                arg(0).elements().saturating_mul(each).saturating_add(all)
            }
            Self::Split => all.saturating_mul(1 + ELEMENT / 4),
            Self::Series => rows.saturating_mul(length(args)).saturating_mul(ELEMENT / 2),
            Self::Compared => {
                let each = arg(0).widest().saturating_mul(arg(1).widest());
                each.saturating_mul(rows) / COMPARISONS
            }
            Self::Matched => pattern::effort(args, arg(0).total()),
        };
        bytes.saturating_add(overhead)
    }
}

/// One argument for so many rows.
struct Argument<'a> {
    value: Option<&'a ColumnarValue>,
    rows: usize,
}

impl Argument<'_> {
    /// Returns the values, and how often they are repeated: a constant is one value for all rows.
    fn array(&self) -> Option<(ArrayRef, usize)> {
        match self.value? {
            ColumnarValue::Array(array) => Some((array.clone(), 1)),
            ColumnarValue::Scalar(scalar) => Some((scalar.to_array().ok()?, self.rows)),
        }
    }

    /// Returns the bytes for all rows.
    fn total(&self) -> usize {
        self.array().map_or(0, |(array, times)| weigh(&array).saturating_mul(times))
    }

    fn lengths(&self) -> impl Iterator<Item = usize> {
        let array = self.array().map(|(array, _)| array);
        let rows = array.as_ref().map_or(0, |array| array.len());
        (0..rows).filter_map(move |row| Some(weigh(&array.as_ref()?.slice(row, 1))))
    }

    /// Returns the bytes of the longest value.
    fn widest(&self) -> usize {
        self.lengths().max().unwrap_or_default()
    }

    fn narrowest(&self) -> usize {
        self.lengths().min().unwrap_or_default()
    }

    /// Returns the smallest and the largest number.
    fn extent(&self) -> (i64, i64) {
        let numbers = self.array().and_then(|(array, _)| cast(&array, &DataType::Int64).ok());
        let extent = numbers.and_then(|numbers| {
            let numbers = numbers.as_primitive::<Int64Type>();
            Some((min(numbers)?, max(numbers)?))
        });
        extent.unwrap_or_default()
    }

    /// Returns the largest number, or 0 if that is negative.
    fn largest(&self) -> usize {
        usize::try_from(self.extent().1).unwrap_or_default()
    }

    /// Returns the largest distance of a number from zero.
    fn farthest(&self) -> usize {
        let (least, most) = self.extent();
        usize::try_from(least.unsigned_abs().max(most.unsigned_abs())).unwrap_or(usize::MAX)
    }

    /// Returns the number of elements of all lists.
    fn elements(&self) -> usize {
        fn leaves(array: &ArrayRef) -> usize {
            match array.data_type() {
                DataType::List(_) => leaves(array.as_list::<i32>().values()),
                DataType::LargeList(_) => leaves(array.as_list::<i64>().values()),
                DataType::FixedSizeList(_, _) => leaves(array.as_fixed_size_list().values()),
                _ => array.len(),
            }
        }
        self.array().map_or(0, |(array, times)| leaves(&array).saturating_mul(times))
    }
}

/// Returns an upper bound of the elements of a series.
fn length(args: &[ColumnarValue]) -> usize {
    let bounds = |index: usize| {
        let (array, _) = Argument { value: args.get(index), rows: 1 }.array()?;
        extent(&array)
    };
    let (start, stop, step) = match args.len() {
        1 => (Some((0, 0)), bounds(0), Some((1, 1))),
        2 => (bounds(0), bounds(1), Some((1, 1))),
        _ => (bounds(0), bounds(1), bounds(2)),
    };
    // What has no values has no elements; what cannot be understood is left to the function.
    let (Some(start), Some(stop), Some(step)) = (start, stop, step) else { return 1 };
    let spread = (stop.1 - start.0).abs().max((start.1 - stop.0).abs());
    let step = step.0.abs().min(step.1.abs()).max(1);
    usize::try_from(spread / step).unwrap_or(usize::MAX).saturating_add(1)
}

const DAY: i128 = 86_400_000_000_000;
/// The shortest month.
const MONTH: i128 = 28 * DAY;

/// Returns the smallest and the largest value; of dates and intervals, in nanoseconds.
fn extent(array: &ArrayRef) -> Option<(i128, i128)> {
    match array.data_type() {
        DataType::Interval(_) => {
            let kind = DataType::Interval(IntervalUnit::MonthDayNano);
            let array = cast(array, &kind).ok()?;
            let lengths = array.as_primitive::<IntervalMonthDayNanoType>().iter().flatten();
            let lengths: Vec<i128> = lengths
                .map(|it| {
                    i128::from(it.months) * MONTH
                        + i128::from(it.days) * DAY
                        + i128::from(it.nanoseconds)
                })
                .collect();
            Some((*lengths.iter().min()?, *lengths.iter().max()?))
        }
        DataType::Date32 => numbers(array, DAY),
        DataType::Date64 => numbers(array, 1_000_000),
        DataType::Timestamp(unit, _) => numbers(
            array,
            match unit {
                TimeUnit::Second => 1_000_000_000,
                TimeUnit::Millisecond => 1_000_000,
                TimeUnit::Microsecond => 1_000,
                TimeUnit::Nanosecond => 1,
            },
        ),
        _ => numbers(array, 1),
    }
}

fn numbers(array: &ArrayRef, unit: i128) -> Option<(i128, i128)> {
    let array = match array.data_type() {
        DataType::Date32 => cast(&cast(array, &DataType::Int32).ok()?, &DataType::Int64),
        _ => cast(array, &DataType::Int64),
    };
    let array = array.ok()?;
    let numbers = array.as_primitive::<Int64Type>();
    Some((i128::from(min(numbers)?) * unit, i128::from(max(numbers)?) * unit))
}
