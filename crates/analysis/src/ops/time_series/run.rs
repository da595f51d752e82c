//! From what is asked for to what is answered.

use serde_json::{Map, Value};

use super::{
    gaps,
    interval::Interval,
    load::{self, Axis, Source},
    overview,
    parameters::SeriesRequest,
    resample, rows,
    series::TimeSeries,
    table::SeriesTable,
};
use crate::{
    error::Result,
    ops::{
        arrays::{HeldArrays, busy},
        columns,
        groups::Groups,
    },
    work::{AnalysisContext, OpOutput},
};

pub(crate) async fn run(
    work: &AnalysisContext,
    parameters: &Map<String, Value>,
) -> Result<OpOutput> {
    let asked = SeriesRequest::read(parameters)?;
    if let Some(keys) = rows::order(work, &asked, parameters).await? {
        return rows::run(work, &asked, keys).await;
    }
    let held = HeldArrays::new(work, "time_series");
    let is_by_days = asked.step().is_some_and(Interval::is_calendar);
    let axis = if is_by_days { Axis::Clock } else { Axis::World };
    let mut source = Source::open(work, &asked, axis).await?;
    let (groups, series) = match asked.resample {
        Some(interval) => resample::run(&mut source, &asked, interval, &held).await?,
        None => load::all(&mut source, &held).await?,
    };
    let read = source.finish()?;
    let (order, series) = sorted(&groups, series);
    let table = SeriesTable { work, source: &source, read: &read, groups: &groups, order: &order };
    if let Some(expected) = asked.gaps {
        return gaps::outcome(&table, &series, expected, held);
    }
    if asked.is_overview() {
        return overview::outcome(&table, &series, held);
    }
    let wanted = asked.wanted.clone();
    let finished = busy(move || series.into_iter().map(|series| series.finish(&asked)).collect());
    let series: Vec<TimeSeries> = finished.await?;
    let outcome = table.outcome(&series, held)?;
    match (wanted, outcome.frame) {
        (Some(wanted), Some(frame)) => {
            let keys = source.group_by.iter().chain([&source.time]).cloned();
            let names: Vec<String> = keys.chain(wanted).collect();
            Ok(OpOutput { frame: Some(columns::only(frame, &names)?), ..outcome })
        }
        (_, frame) => Ok(OpOutput { frame, ..outcome }),
    }
}

/// Returns the groups in the order of their values, and their series, without groups that have no times.
fn sorted(groups: &Groups, series: Vec<TimeSeries>) -> (Vec<usize>, Vec<TimeSeries>) {
    let order = groups.sorted();
    let mut series: Vec<Option<TimeSeries>> = series.into_iter().map(Some).collect();
    series.resize_with(groups.len(), || None);
    let is_alone = series.len() == 1;
    let has_times = |series: &TimeSeries| is_alone || !series.times.is_empty();
    let taken =
        order.iter().filter_map(|&group| Some((group, series[group].take().filter(has_times)?)));
    taken.unzip()
}
