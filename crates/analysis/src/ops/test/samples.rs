//! Tests of samples of numbers.

use datafusion::{
    arrow::datatypes::DataType,
    logical_expr::{Expr, cast},
};
use futures::TryStreamExt;
use serde_json::Value;

use super::{
    hypothesis::{Test, TestRequest},
    report,
};
use crate::{
    error::{AnalysisError, Result, available},
    ops::{
        arrays::{HeldArrays, busy, floats},
        groups::Groups,
        names::{Names, counted},
        numbers::numeric,
    },
    stats::{
        Alternative, Summary, Tested, mann_whitney, median, one_sample_t, one_way_anova, paired_t,
        two_sample_t, two_samples, welch, with_normal,
    },
    work::{AnalysisContext, OpOutput},
};

/// The most values that a test takes into memory.
const MAX_VALUES: usize = 20_000_000;
/// How often a value is held while it is ranked.
const COPIES: usize = 5;
/// The most groups that an analysis of variance compares.
const MAX_GROUPS: usize = 1_000;

#[derive(Debug)]
struct Sample {
    name: String,
    values: Vec<f64>,
}

/// The figures of a sample.
#[derive(Debug)]
pub(super) struct SampleFigures {
    pub(super) name: String,
    pub(super) n: usize,
    pub(super) summary: Summary,
    pub(super) median: Option<f64>,
}

impl SampleFigures {
    fn of(mut sample: Sample) -> Self {
        let summary = Summary::of(&sample.values);
        let n = sample.values.len();
        Self { name: sample.name, n, summary, median: median(&mut sample.values) }
    }
}

pub(super) async fn run(work: &AnalysisContext, asked: &TestRequest) -> Result<OpOutput> {
    let held = HeldArrays::new(work, "test");
    let samples = read(work, asked, &held).await?;
    check(asked, &samples)?;
    let (test, alternative, alpha) = (asked.test, asked.alternative, asked.alpha);
    let (value, shape) = (asked.parameters.value, (asked.parameters.mean, asked.parameters.std));
    let (figures, tested) = busy(move || {
        let tested = match (test, samples.as_slice()) {
            (Test::T, [one]) => one_sample_t(&one.values, value.unwrap_or(0.0), alternative, alpha),
            (Test::T, [a, b]) => two_sample_t(&a.values, &b.values, alternative, alpha),
            (Test::Welch, [a, b]) => welch(&a.values, &b.values, alternative, alpha),
            (Test::PairedT, [a, b]) => paired_t(&a.values, &b.values, alternative, alpha),
            (Test::MannWhitney, [a, b]) => Ok(mann_whitney(&a.values, &b.values, alternative)),
            (Test::Ks, [one]) => normal(one, shape, alternative),
            (Test::Ks, [a, b]) => Ok(two_samples(&a.values, &b.values, alternative)),
            (_, groups) => {
                let groups: Vec<&[f64]> = groups.iter().map(|it| it.values.as_slice()).collect();
                one_way_anova(&groups)
            }
        };
        let figures: Vec<SampleFigures> = samples.into_iter().map(SampleFigures::of).collect();
        (figures, tested)
    })
    .await?;
    drop(held);
    let tested = tested.map_err(|reason| AnalysisError::parameter(parameter(asked), reason))?;
    Ok(report::samples(work, asked, tested, &figures))
}

fn normal(
    sample: &Sample,
    (mean, deviation): (Option<f64>, Option<f64>),
    alternative: Alternative,
) -> Result<Tested, String> {
    let summary = Summary::of(&sample.values);
    let mean = mean.unwrap_or_else(|| summary.mean());
    let deviation = deviation.unwrap_or_else(|| summary.deviation());
    if !(deviation > 0.0 && deviation.is_finite() && mean.is_finite()) {
        return Err("a normal distribution has a mean and a spread, and these values have none; \
                    `mean` and `std` say them"
            .to_owned());
    }
    Ok(with_normal(&sample.values, mean, deviation, alternative))
}

/// Returns the parameter that an error about the values names.
fn parameter(asked: &TestRequest) -> &'static str {
    if asked.parameters.fields.is_some() { "fields" } else { "field" }
}

async fn read(
    work: &AnalysisContext,
    asked: &TestRequest,
    held: &HeldArrays,
) -> Result<Vec<Sample>> {
    let given = &asked.parameters;
    match (&given.field, &given.fields, &given.group_by) {
        (Some(field), None, Some(group_by)) => grouped(work, asked, field, group_by, held).await,
        (Some(field), None, None) => columns(work, asked, &Names::One(field.clone()), held).await,
        (None, Some(fields), None) => columns(work, asked, fields, held).await,
        (None, None, _) => Err(AnalysisError::parameter(
            "field",
            "which numbers are tested is missing: `field` (with `group_by` for groups), or `fields`",
        )),
        _ => Err(AnalysisError::parameter("fields", "either `field` or `fields`, not both")),
    }
}

/// Reads a sample from each column.
async fn columns(
    work: &AnalysisContext,
    asked: &TestRequest,
    fields: &Names,
    held: &HeldArrays,
) -> Result<Vec<Sample>> {
    fields.check_distinct("fields")?;
    let names = fields.as_slice();
    check_count(asked, names.len(), "fields", || names.iter().map(String::as_str).collect())?;
    let frame = work.main().await?;
    let mut selected: Vec<Expr> = Vec::new();
    let parameter = if asked.parameters.fields.is_some() { "fields" } else { "field" };
    for (path, name) in fields.with_paths(parameter) {
        let number = numeric(work, &frame, &path, name).await?;
        selected.push(cast(number, DataType::Float64).alias(format!("f{}", selected.len())));
    }
    let mut samples: Vec<Sample> =
        names.iter().map(|name| Sample { name: name.clone(), values: Vec::new() }).collect();
    let mut missing = 0_u64;
    let mut rows = frame.select(selected)?.execute_stream().await?;
    while let Some(batch) = rows.try_next().await? {
        held.add(batch.num_rows() * samples.len() * COPIES * size_of::<f64>())?;
        let columns = batch.columns().iter().map(floats).collect::<Result<Vec<_>>>()?;
        let is_known = |row: usize| columns.iter().all(|column| !column[row].is_nan());
        for row in 0..batch.num_rows() {
            // Of a pair both values count, or none.
            if asked.test == Test::PairedT && !is_known(row) {
                missing += 1;
                continue;
            }
            for (sample, column) in samples.iter_mut().zip(&columns) {
                if column[row].is_nan() {
                    missing += 1;
                } else {
                    sample.values.push(column[row]);
                }
            }
        }
        check_size(samples.iter().map(|sample| sample.values.len()).sum())?;
    }
    note_missing(work, missing, if asked.test == Test::PairedT { "pair" } else { "value" });
    Ok(samples)
}

/// Reads a sample from each group.
async fn grouped(
    work: &AnalysisContext,
    asked: &TestRequest,
    field: &str,
    group_by: &str,
    held: &HeldArrays,
) -> Result<Vec<Sample>> {
    if asked.test == Test::PairedT {
        let reason = "pairs are in the columns of a row: `fields` names the two columns";
        return Err(AnalysisError::parameter("group_by", reason));
    }
    let frame = work.main().await?;
    let key = work.column(&frame, "group_by", group_by)?.alias("g");
    let number = cast(numeric(work, &frame, "field", field).await?, DataType::Float64).alias("f");
    let frame = frame.select(vec![key, number])?;
    let mut groups = Groups::new(vec![frame.schema().field(0).data_type().clone()])?;
    let mut values: Vec<Vec<f64>> = Vec::new();
    let (mut missing, mut size) = (0_u64, 0);
    let mut rows = frame.execute_stream().await?;
    while let Some(batch) = rows.try_next().await? {
        held.add(batch.num_rows() * COPIES * size_of::<f64>())?;
        let places = groups.of(&batch.columns()[..1], batch.num_rows())?;
        let numbers = floats(batch.column(1))?;
        if groups.len() > MAX_GROUPS {
            let reason = format!("{group_by:?} has more than {MAX_GROUPS} values");
            return Err(AnalysisError::parameter("group_by", reason));
        }
        values.resize_with(groups.len(), Vec::new);
        for (place, number) in places.into_iter().zip(numbers) {
            if number.is_nan() {
                missing += 1;
            } else {
                values[place].push(number);
                size += 1;
            }
        }
        check_size(size)?;
    }
    note_missing(work, missing, "value");
    let labels = groups.labels()?;
    let mut samples = Vec::new();
    for group in groups.sorted() {
        let values = std::mem::take(&mut values[group]);
        match &labels[group] {
            Some(name) => samples.push(Sample { name: name.clone(), values }),
            None => note_missing(work, values.len() as u64, "value without a group"),
        }
    }
    choose(asked, samples)
}

/// Returns the groups that were asked for, in that order.
fn choose(asked: &TestRequest, mut samples: Vec<Sample>) -> Result<Vec<Sample>> {
    let Some(groups) = &asked.parameters.groups else {
        check_count(asked, samples.len(), "group_by", || names(&samples))?;
        return Ok(samples);
    };
    check_count(asked, groups.len(), "groups", || names(&samples))?;
    let mut known: Vec<String> = samples.iter().map(|sample| sample.name.clone()).collect();
    known.sort();
    let mut chosen: Vec<Sample> = Vec::new();
    for (at, group) in groups.iter().enumerate() {
        let name = match group {
            Value::String(name) => name.clone(),
            other => other.to_string(),
        };
        match samples.iter().position(|sample| sample.name == name) {
            Some(place) => chosen.push(samples.swap_remove(place)),
            None => {
                let reason = match known.contains(&name) {
                    true => format!("the group {name:?} is named twice"),
                    false => {
                        let known = known.iter().map(String::as_str);
                        format!("no group {name:?}{}", available(known))
                    }
                };
                return Err(AnalysisError::parameter(format!("groups[{at}]"), reason));
            }
        }
    }
    Ok(chosen)
}

fn names(samples: &[Sample]) -> Vec<&str> {
    samples.iter().map(|sample| sample.name.as_str()).collect()
}

/// Checks how many samples a test compares.
fn check_count<'a>(
    asked: &TestRequest,
    count: usize,
    parameter: &str,
    names: impl FnOnce() -> Vec<&'a str>,
) -> Result<()> {
    let test = asked.test.name();
    let is_one_enough = matches!(asked.test, Test::T | Test::Ks) && parameter == "fields";
    let (wanted, is_right) = match asked.test {
        Test::Anova => ("two groups or more", count >= 2),
        _ if is_one_enough => ("one or two columns", count == 1 || count == 2),
        _ => ("two groups", count == 2),
    };
    if is_right {
        return Ok(());
    }
    let choose = if count > 2 && parameter == "group_by" {
        "; `groups` chooses two of them, or the test anova compares all"
    } else {
        ""
    };
    let reason = format!("{test} compares {wanted}, not {count}{choose}{}", available(names()));
    Err(AnalysisError::parameter(parameter, reason))
}

/// Checks that each sample has enough values.
fn check(asked: &TestRequest, samples: &[Sample]) -> Result<()> {
    if asked.parameters.value.is_some() && samples.len() > 1 {
        let reason = "a mean to compare with is for one sample, and there are two";
        return Err(AnalysisError::parameter("value", reason));
    }
    if samples.len() > 1 && (asked.parameters.mean.is_some() || asked.parameters.std.is_some()) {
        let reason = "a distribution to compare with is for one sample, and there are two";
        return Err(AnalysisError::parameter("mean", reason));
    }
    let min = match asked.test {
        Test::T | Test::Welch | Test::PairedT => 2,
        _ => 1,
    };
    for Sample { name, values } in samples {
        if values.len() < min {
            let has = counted(values.len() as u64, "value");
            let reason = format!("{name:?} has {has}, and at least {min} are needed");
            return Err(AnalysisError::parameter(parameter(asked), reason));
        }
        let is_about_order =
            matches!(asked.test, Test::MannWhitney | Test::Ks) && samples.len() > 1;
        if !is_about_order && values.iter().any(|value| value.is_infinite()) {
            let reason = format!("{name:?} has infinite values, which have no mean");
            return Err(AnalysisError::parameter(parameter(asked), reason));
        }
    }
    Ok(())
}

fn check_size(values: usize) -> Result<()> {
    if values > MAX_VALUES {
        let reason = format!("a test takes at most {MAX_VALUES} values; use a sample of the rows");
        return Err(AnalysisError::parameter("field", reason));
    }
    Ok(())
}

fn note_missing(work: &AnalysisContext, count: u64, what: &str) {
    if count > 0 {
        let missing = if what == "value" { "missing value" } else { what };
        work.note(format!("{} left out", counted(count, missing)));
    }
}
