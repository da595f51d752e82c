//! The figures of columns.

use datafusion::{
    arrow::{
        array::{Array, ArrayRef, AsArray, RecordBatch},
        compute::cast as cast_array,
        datatypes::{DataType, Float64Type, Int64Type},
    },
    functions::expr_fn::character_length,
    functions_aggregate::expr_fn::{
        approx_distinct, approx_percentile_cont, avg, count, max, min, stddev,
    },
    logical_expr::{Expr, ExprSchemable, cast, lit},
    prelude::{DataFrame, ident},
};

use crate::{
    error::Result,
    functions::{TallyOutput, bits, distribution, quantile, tally},
    ops::{
        columns,
        numbers::{is_text, plain_type},
    },
    work::AnalysisContext,
};

/// The profile of a column.
#[derive(Debug, Default)]
pub(super) struct Profile {
    pub(super) name: String,
    pub(super) kind: String,
    /// Lists and objects are only counted.
    is_nested: bool,
    /// Whether there were too many values to count.
    pub(super) is_estimated: bool,
    pub(super) count: i64,
    pub(super) nulls: i64,
    pub(super) distinct: Option<i64>,
    pub(super) numbers: NumberFigures,
    pub(super) min_text: Option<String>,
    pub(super) max_text: Option<String>,
    pub(super) shortest: Option<i64>,
    pub(super) longest: Option<i64>,
    pub(super) top: Option<String>,
    pub(super) top_count: Option<i64>,
    pub(super) samples: Vec<String>,
}

/// The figures that only numbers have.
#[derive(Debug, Default)]
pub(super) struct NumberFigures {
    pub(super) min: Option<f64>,
    pub(super) max: Option<f64>,
    pub(super) mean: Option<f64>,
    pub(super) std: Option<f64>,
    pub(super) quartiles: [Option<f64>; 3],
}

const QUARTILES: [f64; 3] = [0.25, 0.5, 0.75];

/// Whole numbers up to this are exact as floats.
const EXACT: i128 = 1 << 53;

/// One look at some columns.
pub(super) struct ProfilePass {
    pub(super) rows: usize,
    /// The most memory for counting the values of a column.
    pub(super) max_bytes: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ColumnNature {
    Number,
    Text,
    /// Values that have an order and can be counted.
    Plain,
    Nested,
}

impl ColumnNature {
    fn of(data_type: &DataType) -> Self {
        match plain_type(data_type) {
            text if is_text(text) => Self::Text,
            number if number.is_numeric() => Self::Number,
            DataType::Boolean => Self::Plain,
            time if time.is_temporal() => Self::Plain,
            _ => Self::Nested,
        }
    }
}

impl ProfilePass {
    pub(super) async fn run(
        &self,
        work: &AnalysisContext,
        frame: &DataFrame,
        names: &[String],
    ) -> Result<Vec<Profile>> {
        let exact =
            ProfileRow::of(work, frame, names, |column, name| self.add(column, frame, name));
        let exact = exact.await?;
        let profile = |(index, name): (usize, &String)| {
            self.profile(name, &columns::data_type(frame, name), &exact.of(index))
        };
        let mut profiles: Vec<Profile> = names.iter().enumerate().map(profile).collect();
        let (places, names): (Vec<usize>, Vec<String>) = profiles
            .iter()
            .enumerate()
            .filter(|(_, profile)| profile.has_too_many())
            .map(|(place, profile)| (place, profile.name.clone()))
            .unzip();
        if names.is_empty() {
            return Ok(profiles);
        }
        let estimates =
            ProfileRow::of(work, frame, &names, |column, name| add_estimates(column, frame, name));
        let estimates = estimates.await?;
        for (index, place) in places.into_iter().enumerate() {
            profiles[place].estimate(&estimates.of(index));
        }
        Ok(profiles)
    }

    fn add(&self, column: &mut ProfiledColumn<'_>, frame: &DataFrame, name: &str) -> Result<()> {
        let value = columns::value(frame, name);
        let nature = ColumnNature::of(&columns::data_type(frame, name));
        column.add("count", count(value.clone()));
        let tallied = match nature {
            ColumnNature::Nested => return Ok(()),
            ColumnNature::Number => self.add_distribution(column, frame, &value)?,
            ColumnNature::Text | ColumnNature::Plain => {
                column.aggregate("values", tally(value.clone(), self.max_bytes))
            }
        };
        column.value("distinct", TallyOutput::Distinct.of(tallied.clone()));
        column.value("top", cast(TallyOutput::Value.of(tallied.clone()), DataType::Utf8));
        column.value("top_count", TallyOutput::Count.of(tallied.clone()));
        if nature == ColumnNature::Number {
            let number = cast(value.clone(), DataType::Float64);
            column.add("min", min(value.clone()));
            column.add("max", max(value));
            column.add("mean", avg(number.clone()));
            column.add("std", stddev(number));
            return Ok(());
        }
        let smallest = column.aggregate("min", min(value.clone()));
        let largest = column.aggregate("max", max(value.clone()));
        column.value("min_text", cast(smallest, DataType::Utf8));
        column.value("max_text", cast(largest, DataType::Utf8));
        if nature == ColumnNature::Text {
            column.add("shortest", min(character_length(value.clone())));
            column.add("longest", max(character_length(value)));
        }
        Ok(())
    }

    /// Adds the quartiles of numbers, and returns the counts of the values. Numbers that are rounded to
    /// be sorted are counted by themselves, because rounding may make two of them equal.
    fn add_distribution(
        &self,
        column: &mut ProfiledColumn<'_>,
        frame: &DataFrame,
        value: &Expr,
    ) -> Result<Expr> {
        let (number, is_exact) = sortable(value, frame)?;
        let max_bytes = if is_exact { self.max_bytes } else { self.max_bytes / 2 };
        let sorted = column.aggregate("values", distribution(number, &QUARTILES, max_bytes));
        for place in 0..QUARTILES.len() {
            column.value(&quartile(place), quantile(sorted.clone(), place));
        }
        Ok(match is_exact {
            true => sorted,
            false => column.aggregate("counts", tally(value.clone(), max_bytes)),
        })
    }

    fn profile(&self, name: &str, data_type: &DataType, figures: &ProfileRow<'_>) -> Profile {
        let count = figures.whole("count").unwrap_or_default();
        Profile {
            name: name.to_owned(),
            kind: kind(data_type),
            is_nested: ColumnNature::of(data_type) == ColumnNature::Nested,
            count,
            nulls: self.rows as i64 - count,
            distinct: figures.whole("distinct"),
            numbers: NumberFigures {
                min: figures.number("min").filter(|_| figures.inexact("min").is_none()),
                max: figures.number("max").filter(|_| figures.inexact("max").is_none()),
                mean: figures.number("mean"),
                std: figures.number("std"),
                quartiles: figures.quartiles(),
            },
            min_text: figures.text("min_text").or_else(|| figures.inexact("min")),
            max_text: figures.text("max_text").or_else(|| figures.inexact("max")),
            shortest: figures.whole("shortest"),
            longest: figures.whole("longest"),
            top: figures.text("top"),
            top_count: figures.whole("top_count"),
            ..Profile::default()
        }
    }
}

impl Profile {
    /// Tells whether there were too many values to count or to sort.
    fn has_too_many(&self) -> bool {
        let lacks_quartiles = self.numbers.mean.is_some() && self.numbers.quartiles[0].is_none();
        !self.is_nested && (self.distinct.is_none() || lacks_quartiles)
    }

    fn estimate(&mut self, figures: &ProfileRow<'_>) {
        self.distinct = figures.whole("distinct");
        self.numbers.quartiles = figures.quartiles();
        self.top = None;
        self.top_count = None;
        self.is_estimated = true;
    }
}

/// Adds figures that take little memory however many values there are.
fn add_estimates(column: &mut ProfiledColumn<'_>, frame: &DataFrame, name: &str) -> Result<()> {
    let value = columns::value(frame, name);
    if ColumnNature::of(&columns::data_type(frame, name)) != ColumnNature::Number {
        column.add("distinct", approx_distinct(value));
        return Ok(());
    }
    let is_float = value.get_type(frame.schema())? == DataType::Float64;
    let counted = if is_float { bits(value.clone()) } else { value.clone() };
    column.add("distinct", approx_distinct(counted));
    for (place, fraction) in QUARTILES.iter().enumerate() {
        let sorted = cast(value.clone(), DataType::Float64).sort(true, false);
        column.add(&quartile(place), approx_percentile_cont(sorted, lit(*fraction), None));
    }
    Ok(())
}

/// Numbers as one of the two types that can be put in order, and whether they are the same there.
fn sortable(value: &Expr, frame: &DataFrame) -> Result<(Expr, bool)> {
    let (target, is_exact) = match value.get_type(frame.schema())? {
        DataType::UInt64 => (DataType::Float64, false),
        whole if whole.is_integer() => (DataType::Int64, true),
        number => (DataType::Float64, number.is_floating()),
    };
    Ok((cast(value.clone(), target), is_exact))
}

fn quartile(place: usize) -> String {
    format!("quartile_{place}")
}

fn kind(data_type: &DataType) -> String {
    let kind = match plain_type(data_type) {
        text if is_text(text) => "text",
        whole if whole.is_integer() => "integer",
        number if number.is_numeric() => "number",
        DataType::Boolean => "boolean",
        DataType::Date32 | DataType::Date64 => "date",
        DataType::Timestamp(_, _) => "datetime",
        list if list.is_list() => "list",
        DataType::Struct(_) => "object",
        DataType::Null => "nothing",
        other => return other.to_string(),
    };
    kind.to_owned()
}

/// Where the aggregates of a column go, and the values that are made of them.
struct ProfiledColumn<'p> {
    index: usize,
    aggregates: &'p mut Vec<Expr>,
    values: &'p mut Vec<Expr>,
}

fn hidden(index: usize, figure: &str) -> String {
    format!("__{index}_{figure}")
}

impl ProfiledColumn<'_> {
    fn aggregate(&mut self, figure: &str, aggregate: Expr) -> Expr {
        let name = hidden(self.index, figure);
        self.aggregates.push(aggregate.alias(&name));
        ident(name)
    }

    fn value(&mut self, figure: &str, value: Expr) {
        self.values.push(value.alias(hidden(self.index, figure)));
    }

    fn add(&mut self, figure: &str, aggregate: Expr) {
        let value = self.aggregate(figure, aggregate);
        self.values.push(value);
    }
}

/// The row with the figures of columns that came back, of which one is looked at.
struct ProfileRow<'r> {
    row: Option<&'r RecordBatch>,
    index: usize,
}

/// The figures of all columns.
struct AllFigures(Vec<RecordBatch>);

impl AllFigures {
    fn of(&self, index: usize) -> ProfileRow<'_> {
        ProfileRow { row: self.0.iter().find(|batch| batch.num_rows() > 0), index }
    }
}

impl ProfileRow<'_> {
    /// Looks at columns in one pass; `add` says at what.
    async fn of(
        work: &AnalysisContext,
        frame: &DataFrame,
        names: &[String],
        add: impl Fn(&mut ProfiledColumn<'_>, &str) -> Result<()>,
    ) -> Result<AllFigures> {
        let mut aggregates = Vec::new();
        let mut values = Vec::new();
        for (index, name) in names.iter().enumerate() {
            let mut column =
                ProfiledColumn { index, aggregates: &mut aggregates, values: &mut values };
            add(&mut column, name)?;
        }
        let figures = frame.clone().aggregate(Vec::new(), aggregates)?.select(values)?;
        Ok(AllFigures(work.collect(figures).await?))
    }

    fn read(&self, figure: &str, data_type: &DataType) -> Option<ArrayRef> {
        let column = self.row?.column_by_name(&hidden(self.index, figure))?;
        cast_array(column, data_type).ok().filter(|column| column.is_valid(0))
    }

    fn whole(&self, figure: &str) -> Option<i64> {
        Some(self.read(figure, &DataType::Int64)?.as_primitive::<Int64Type>().value(0))
    }

    fn number(&self, figure: &str) -> Option<f64> {
        Some(self.read(figure, &DataType::Float64)?.as_primitive::<Float64Type>().value(0))
    }

    /// Returns an integer that a float cannot hold, as text.
    fn inexact(&self, figure: &str) -> Option<String> {
        let column = self.row?.column_by_name(&hidden(self.index, figure))?;
        let whole = column.data_type().is_integer().then(|| self.text(figure)).flatten()?;
        whole.parse::<i128>().is_ok_and(|whole| whole.abs() > EXACT).then_some(whole)
    }

    fn quartiles(&self) -> [Option<f64>; 3] {
        [0, 1, 2].map(|place| self.number(&quartile(place)))
    }

    fn text(&self, figure: &str) -> Option<String> {
        Some(self.read(figure, &DataType::Utf8)?.as_string::<i32>().value(0).to_owned())
    }
}
