//! Periods that are missing.

use std::{collections::HashMap, sync::Arc};

use datafusion::arrow::array::Int64Array;
use serde_json::{Map, Value};

use super::{
    interval::{Interval, begin_of_month, is_weekday, month_of},
    series::TimeSeries,
    table::SeriesTable,
};
use crate::{
    error::Result,
    ops::arrays::HeldArrays,
    times::{DAY, date_of},
    work::OpOutput,
};

/// The first and the last time that is missing between two that are there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Gap {
    from: i64,
    to: i64,
    pub(super) missing: i64,
}

pub(super) fn outcome(
    table: &SeriesTable<'_>,
    series: &[TimeSeries],
    expected: Option<Interval>,
    held: HeldArrays,
) -> Result<OpOutput> {
    let step = expected.or_else(|| usual_step(series));
    let gaps: Vec<Vec<Gap>> = series.iter().map(|series| find(&series.times, step)).collect();
    let mut facts = table.facts(
        series.iter().filter_map(|series| series.times.first().copied()),
        series.iter().filter_map(|series| series.times.last().copied()),
    );
    facts.extend(self::facts(step, gaps.iter().flatten()));
    if step.is_none() {
        table.work.note("fewer than two different times have no step between them");
    }
    note_weekends(table, step, gaps.iter().flatten());
    let all: Vec<Gap> = gaps.iter().flatten().copied().collect();
    let mut columns = table.group_columns(gaps.iter().map(Vec::len))?;
    let times = |of: fn(&Gap) -> i64| table.times(&all.iter().map(of).collect::<Vec<_>>());
    columns.push(("from".to_owned(), times(|gap| gap.from)));
    columns.push(("to".to_owned(), times(|gap| gap.to)));
    let missing = Int64Array::from_iter_values(all.iter().map(|gap| gap.missing));
    columns.push(("missing".to_owned(), Arc::new(missing)));
    Ok(OpOutput { facts, frame: Some(table.frame(columns, held)?), later: None })
}

pub(super) fn facts<'a>(
    step: Option<Interval>,
    gaps: impl Iterator<Item = &'a Gap>,
) -> Map<String, Value> {
    let (count, missing) = gaps.fold((0_u64, 0_i64), |(count, missing), gap| {
        (count + 1, missing.saturating_add(gap.missing))
    });
    let mut facts = Map::new();
    facts.insert("step".to_owned(), step.map_or(Value::Null, |step| step.text().into()));
    facts.insert("gap_count".to_owned(), count.into());
    facts.insert("missing_count".to_owned(), missing.into());
    facts
}

/// Weekends are the usual reason for gaps between days.
fn note_weekends<'a>(
    table: &SeriesTable<'_>,
    step: Option<Interval>,
    gaps: impl Iterator<Item = &'a Gap> + Clone,
) {
    let is_weekend = |gap: &&Gap| !is_weekday(gap.from) && !is_weekday(gap.to) && gap.missing <= 2;
    let (weekends, all) = (gaps.clone().filter(is_weekend).count(), gaps.count());
    if step == Some(Interval::Days(1)) && weekends > 0 {
        table.work.note(format!(
            "{weekends} of {all} gaps are weekends; {{\"expected\": \"1b\"}} expects only the days \
             from Monday to Friday"
        ));
    }
}

/// Returns the most common step from one time to the next; of several, the shortest. Times on the same
/// day of each month, or at its end, have steps of months.
pub(super) fn usual_step(series: &[TimeSeries]) -> Option<Interval> {
    let steps = || {
        series.iter().flat_map(|series| series.times.windows(2)).filter(|pair| pair[0] < pair[1])
    };
    let times = || steps().flatten().copied();
    let time_of_day = times().next()?.rem_euclid(DAY);
    // Of most series the first step says that it is none of months.
    let is_monthly = steps().all(|pair| month_of(pair[0]) < month_of(pair[1]))
        && times().all(|time| time.rem_euclid(DAY) == time_of_day)
        && day_of_months(times()).is_some();
    if is_monthly {
        let every = most_common(steps().map(|pair| month_of(pair[1]) - month_of(pair[0])))?;
        return Some(Interval::Months { every, align: 1 });
    }
    let micros = most_common(steps().map(|pair| pair[1] - pair[0]))?;
    Some(if micros % DAY == 0 { Interval::Days(micros / DAY) } else { Interval::Fixed(micros) })
}

/// Returns the day of the month on which all of these times are. The last day of a month stands for days
/// that it does not have: 31 for the ends of months.
fn day_of_months(mut times: impl Iterator<Item = i64> + Clone) -> Option<i64> {
    let day = times.clone().map(day_of_month).max()?;
    let is_there = |time| day_of_month(time) == day.min(days_in(month_of(time)));
    times.all(is_there).then_some(day)
}

fn day_of_month(time: i64) -> i64 {
    date_of(time.div_euclid(DAY)).2
}

fn days_in(month: i64) -> i64 {
    (begin_of_month(month + 1) - begin_of_month(month)) / DAY
}

fn most_common(steps: impl Iterator<Item = i64>) -> Option<i64> {
    let mut counts: HashMap<i64, u64> = HashMap::new();
    steps.for_each(|step| *counts.entry(step).or_default() += 1);
    counts.into_iter().max_by_key(|&(step, count)| (count, -step)).map(|(step, _)| step)
}

/// Gaps between times that are in order. A time that is a bit early or late makes none.
pub(super) fn find(times: &[i64], step: Option<Interval>) -> Vec<Gap> {
    let Some(step) = step else { return Vec::new() };
    let day = match step {
        Interval::Months { .. } => day_of_months(times.iter().copied()),
        _ => None,
    };
    let gaps = times.windows(2).filter_map(|pair| between(pair[0], pair[1], step, day));
    gaps.filter(|gap| gap.missing > 0).collect()
}

/// Returns the gap between two times. `day` is their day of the month if all times have the same.
fn between(before: i64, after: i64, step: Interval, day: Option<i64>) -> Option<Gap> {
    match step {
        Interval::Months { every, .. } => {
            let missing = rounded(month_of(after) - month_of(before), every) - 1;
            let later = |months| months_later(before, months, day);
            Some(Gap { from: later(every), to: later(missing.max(1) * every), missing })
        }
        Interval::Weekdays => {
            let (first, last) = (before.div_euclid(DAY) + 1, after.div_euclid(DAY) - 1);
            let mut weekdays = (first..=last).filter(|day| is_weekday(day * DAY));
            let from = weekdays.next()?;
            let (missing, to) = weekdays.fold((1, from), |(count, _), day| (count + 1, day));
            Some(Gap { from: from * DAY, to: to * DAY, missing })
        }
        other => {
            let micros = other.micros()?;
            let missing = rounded(after.checked_sub(before)?, micros) - 1;
            Some(Gap { from: before + micros, to: before + missing * micros, missing })
        }
    }
}

/// Returns how many steps fit into a distance, rounded.
fn rounded(distance: i64, step: i64) -> i64 {
    let (whole, rest) = (distance / step, distance % step);
    whole + i64::from(rest >= step - rest)
}

/// Returns the time some months later, on that day of the month or on its last one.
fn months_later(time: i64, months: i64, day: Option<i64>) -> i64 {
    let day = day.unwrap_or_else(|| day_of_month(time));
    let month = month_of(time) + months;
    begin_of_month(month) + (day.min(days_in(month)) - 1) * DAY + time.rem_euclid(DAY)
}
