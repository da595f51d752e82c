//! One row for each period.

use std::collections::{HashMap, hash_map::Entry};

use super::{
    interval::Interval,
    load::Source,
    parameters::{Fill, PeriodFunction, SeriesRequest},
    series::{SeriesColumn, TimeSeries},
};
use crate::{
    error::{AnalysisError, Result},
    ops::{arrays::HeldArrays, groups::Groups},
};

/// The most periods of a result.
const MAX_PERIODS: i64 = 5_000_000;

/// The running figures of a column in a period.
#[derive(Clone, Copy, Debug)]
struct PeriodFigures {
    count: u64,
    sum: f64,
    /// The rounding errors of the additions (Kahan summation).
    lost: f64,
    min: f64,
    max: f64,
    first: (i64, f64),
    last: (i64, f64),
}

impl PeriodFigures {
    const NONE: Self = Self {
        count: 0,
        sum: 0.0,
        lost: 0.0,
        min: f64::INFINITY,
        max: f64::NEG_INFINITY,
        first: (i64::MAX, f64::NAN),
        last: (i64::MIN, f64::NAN),
    };

    fn add(&mut self, time: i64, value: f64) {
        if value.is_nan() {
            return;
        }
        self.count += 1;
        let wanted = value - self.lost;
        let next = self.sum + wanted;
        self.lost = (next - self.sum) - wanted;
        self.sum = next;
        self.min = self.min.min(value);
        self.max = self.max.max(value);
        // Of values of the same time, the first and the last are those of the rows.
        if time < self.first.0 || self.count == 1 {
            self.first = (time, value);
        }
        if time >= self.last.0 {
            self.last = (time, value);
        }
    }

    fn get(&self, function: PeriodFunction) -> f64 {
        match function {
            PeriodFunction::Count => self.count as f64,
            _ if self.count == 0 => f64::NAN,
            PeriodFunction::Sum => self.sum,
            PeriodFunction::Mean => self.sum / self.count as f64,
            PeriodFunction::Min => self.min,
            PeriodFunction::Max => self.max,
            PeriodFunction::First => self.first.1,
            PeriodFunction::Last => self.last.1,
        }
    }
}

/// The periods of a group, by their numbers.
#[derive(Default)]
struct Periods {
    places: HashMap<i64, usize>,
    figures: Vec<PeriodFigures>,
}

impl Periods {
    /// Computes the figures of a period, one for each column of values.
    fn of(
        &mut self,
        period: i64,
        columns: usize,
        held: &HeldArrays,
    ) -> Result<&mut [PeriodFigures]> {
        let place = match self.places.entry(period) {
            Entry::Occupied(place) => *place.get(),
            Entry::Vacant(place) => {
                held.add(columns * size_of::<PeriodFigures>() + 64)?;
                let next = *place.insert(self.figures.len());
                self.figures.extend(std::iter::repeat_n(PeriodFigures::NONE, columns));
                next
            }
        };
        Ok(&mut self.figures[place..place + columns])
    }
}

pub(super) async fn run(
    source: &mut Source<'_>,
    asked: &SeriesRequest,
    interval: Interval,
    held: &HeldArrays,
) -> Result<(Groups, Vec<TimeSeries>)> {
    let columns = source.values.len();
    if columns == 0 {
        let reason = "there is no column of numbers to resample";
        return Err(AnalysisError::parameter("values", reason));
    }
    let mut groups = source.groups()?;
    let origins = origins(source, &mut groups, interval).await?;
    let origin = |group: usize| origins.get(group).copied().unwrap_or_else(|| interval.origin(0));
    let mut periods: Vec<Periods> = Vec::new();
    source
        .each(&mut groups, |row| {
            periods.resize_with(periods.len().max(row.group + 1), Periods::default);
            let period = interval.period(row.time, origin(row.group));
            let figures = periods[row.group].of(period, columns, held)?;
            let values = figures.iter_mut().zip(row.values);
            values.for_each(|(figures, value)| figures.add(row.time, value));
            Ok(())
        })
        .await?;
    periods.resize_with(groups.len(), Periods::default);
    let mut left = MAX_PERIODS;
    let series = periods.iter().enumerate().map(|(group, periods)| {
        let series = series(&source.values, asked, interval, origin(group), periods, left)?;
        left -= series.times.len() as i64;
        held.add(series.times.len() * (1 + series.columns.len()) * size_of::<f64>())?;
        Ok(series)
    });
    let series = series.collect::<Result<Vec<_>>>()?;
    Ok((groups, series))
}

/// Returns where the periods of each group are counted from. It takes a pass over the rows of its own if
/// that depends on where the series begin; otherwise the list is empty.
async fn origins(
    source: &mut Source<'_>,
    groups: &mut Groups,
    interval: Interval,
) -> Result<Vec<i64>> {
    if !interval.depends_on_first() && !source.may_begin_off_the_hour() {
        return Ok(Vec::new());
    }
    let mut firsts: Vec<i64> = Vec::new();
    source
        .each(groups, |row| {
            firsts.resize(firsts.len().max(row.group + 1), i64::MAX);
            firsts[row.group] = firsts[row.group].min(row.time);
            Ok(())
        })
        .await?;
    Ok(firsts.into_iter().map(|first| source.origin(interval, first)).collect())
}

fn series(
    names: &[String],
    asked: &SeriesRequest,
    interval: Interval,
    origin: i64,
    periods: &Periods,
    most: i64,
) -> Result<TimeSeries> {
    let mut numbers: Vec<i64> = periods.places.keys().copied().collect();
    numbers.sort_unstable();
    if let (Fill::Null | Fill::Zero | Fill::Previous | Fill::Linear, Some(&first), Some(&last)) =
        (asked.fill, numbers.first(), numbers.last())
    {
        check_count(last.saturating_sub(first), most)?;
        numbers = (first..=last).collect();
    }
    check_count(numbers.len() as i64, most)?;
    let columns = names.len();
    let none = vec![PeriodFigures::NONE; columns];
    let figures: Vec<&[PeriodFigures]> = numbers
        .iter()
        .map(|number| periods.places.get(number))
        .map(|place| {
            place.map_or(none.as_slice(), |&place| &periods.figures[place..place + columns])
        })
        .collect();
    let mut series = TimeSeries {
        times: numbers.iter().map(|&number| interval.begin(number, origin)).collect(),
        columns: Vec::new(),
    };
    for (at, name) in names.iter().enumerate() {
        for (ending, function) in &asked.functions {
            let values = figures.iter().map(|figures| figures[at].get(*function)).collect();
            let name = match (columns, asked.functions.len()) {
                (_, 1) => name.clone(),
                (1, _) if asked.is_ohlc => (*ending).to_owned(),
                _ => format!("{name}_{ending}"),
            };
            let mut column = SeriesColumn::new(name, values);
            column.is_count = *function == PeriodFunction::Count;
            series.columns.push(column);
        }
    }
    Ok(series)
}

fn check_count(periods: i64, most: i64) -> Result<()> {
    if periods >= most {
        let reason = format!(
            "there are more than {MAX_PERIODS} periods from the first to the last; a longer one \
             has fewer"
        );
        return Err(AnalysisError::parameter("resample", reason));
    }
    Ok(())
}
