//! Violations as facts and as a table.

use datafusion::{
    arrow::{array::AsArray, array::RecordBatch, datatypes::Int64Type},
    common::ScalarValue,
    functions_aggregate::expr_fn::{count, sum},
    logical_expr::{Expr, case, lit, when},
    prelude::{DataFrame, ident, make_array},
};
use serde_json::{Map, Value, json};

use super::{
    entry::CountRange,
    plan::{RuleCheck, Severity, ValidationPlan},
};
use crate::{
    error::Result,
    ops::rows::ROW,
    work::{AnalysisContext, OpOutput},
};

/// How many rows there are, and how many break each rule.
struct Counts {
    rows: u64,
    invalid_rows: u64,
    violations: Vec<u64>,
}

pub(super) async fn outcome(work: &AnalysisContext, plan: ValidationPlan<'_>) -> Result<OpOutput> {
    let rows = plan.rows().await?;
    let counts = count_rows(work, &rows, &plan.checks).await?;
    let broken: Vec<(CountRange, Severity, bool)> = plan
        .row_counts
        .iter()
        .map(|(range, severity)| (*range, *severity, !contains(*range, counts.rows)))
        .collect();
    let facts = facts(&plan.checks, &broken, &counts);
    Ok(OpOutput {
        facts,
        frame: Some(table(work, rows, &plan.checks, &broken, counts.rows)?),
        later: None,
    })
}

fn contains(range: CountRange, count: u64) -> bool {
    range.min.is_none_or(|min| count >= min) && range.max.is_none_or(|max| count <= max)
}

async fn count_rows(
    work: &AnalysisContext,
    rows: &DataFrame,
    checks: &[RuleCheck],
) -> Result<Counts> {
    let number = |violated: Expr| -> Result<Expr> {
        Ok(sum(when(violated, lit(1_i64)).otherwise(lit(0_i64))?))
    };
    let any = any(checks, |check| check.severity == Severity::Error);
    let mut sums = vec![count(lit(1_i64)).alias("rows"), number(any)?.alias("invalid")];
    for at in 0..checks.len() {
        sums.push(number(ident(format!("v{at}")))?.alias(format!("n{at}")));
    }
    let batches = work.collect(rows.clone().aggregate(Vec::new(), sums)?).await?;
    let batch = batches.iter().find(|batch| batch.num_rows() > 0);
    // The sum of no rows is null.
    let whole = |at: usize| batch.map_or(0, |batch| whole(batch, at));
    Ok(Counts {
        rows: whole(0),
        invalid_rows: whole(1),
        violations: (0..checks.len()).map(|at| whole(at + 2)).collect(),
    })
}

fn whole(batch: &RecordBatch, column: usize) -> u64 {
    let column = batch.column(column).as_primitive_opt::<Int64Type>();
    let value = column.and_then(|column| column.iter().next().flatten());
    value.and_then(|value| u64::try_from(value).ok()).unwrap_or_default()
}

/// Returns a condition for whether a row breaks one of these rules.
fn any(checks: &[RuleCheck], which: impl Fn(&RuleCheck) -> bool) -> Expr {
    let chosen = checks.iter().enumerate().filter(|(_, check)| which(check));
    chosen.map(|(at, _)| ident(format!("v{at}"))).reduce(Expr::or).unwrap_or_else(|| lit(false))
}

fn facts(
    checks: &[RuleCheck],
    row_counts: &[(CountRange, Severity, bool)],
    counts: &Counts,
) -> Map<String, Value> {
    let of_rows = checks.iter().zip(&counts.violations);
    let of_rows =
        of_rows.map(|(check, &count)| (check.field.clone(), check.rule, check.severity, count));
    let of_table = row_counts
        .iter()
        .map(|(_, severity, is_broken)| (None, "row_count", *severity, u64::from(*is_broken)));
    let all: Vec<(Option<String>, &str, Severity, u64)> = of_table.chain(of_rows).collect();
    let sum = |wanted: Severity| -> u64 {
        all.iter()
            .filter(|(_, _, severity, _)| *severity == wanted)
            .map(|(_, _, _, count)| count)
            .sum()
    };
    let (errors, warnings) = (sum(Severity::Error), sum(Severity::Warning));
    let rule = |(field, rule, severity, count): &(Option<String>, &str, Severity, u64)| {
        let mut fact = Map::new();
        fact.extend(field.as_ref().map(|field| ("field".to_owned(), field.as_str().into())));
        fact.insert("rule".to_owned(), (*rule).into());
        if *severity == Severity::Warning {
            fact.insert("severity".to_owned(), "warning".into());
        }
        fact.insert("violations".to_owned(), (*count).into());
        Value::from(fact)
    };
    let mut facts = Map::new();
    facts.insert("valid".to_owned(), (errors == 0).into());
    facts.insert("checked_count".to_owned(), counts.rows.into());
    facts.insert("violation_count".to_owned(), (errors + warnings).into());
    if warnings > 0 {
        facts.insert("warning_count".to_owned(), warnings.into());
    }
    facts.insert("invalid_row_count".to_owned(), counts.invalid_rows.into());
    facts.insert("rules".to_owned(), json!(all.iter().map(rule).collect::<Vec<_>>()));
    facts
}

/// Makes a table with a row for each violation, in the order of the rows.
fn table(
    work: &AnalysisContext,
    rows: DataFrame,
    checks: &[RuleCheck],
    row_counts: &[(CountRange, Severity, bool)],
    count: u64,
) -> Result<DataFrame> {
    let has_warnings = checks
        .iter()
        .map(|check| check.severity)
        .chain(row_counts.iter().map(|(_, severity, _)| *severity))
        .any(|severity| severity == Severity::Warning);
    let mut frame = of_rows(rows, checks, has_warnings)?;
    for (range, severity, is_broken) in row_counts {
        if *is_broken {
            let message = format!("the table has {count} rows, not {}", shown(*range));
            frame = of_table(work, &message, *severity, count, has_warnings)?.union(frame)?;
        }
    }
    let order = vec![ident(ROW).sort(true, true), ident("check").sort(true, true)];
    let mut shown = vec!["row", "field", "rule", "value", "message"];
    shown.extend(has_warnings.then_some("severity"));
    Ok(frame.sort(order)?.select(shown.into_iter().map(ident).collect::<Vec<_>>())?)
}

fn shown(range: CountRange) -> String {
    match (range.min, range.max) {
        (Some(min), Some(max)) if min == max => format!("{min}"),
        (Some(min), Some(max)) => format!("{min} to {max}"),
        (Some(min), None) => format!("at least {min}"),
        (None, Some(max)) => format!("at most {max}"),
        (None, None) => "any number".to_owned(),
    }
}

/// Makes a row for each rule that a row breaks. Rows that break a rule are few, and only these are
/// multiplied.
fn of_rows(rows: DataFrame, checks: &[RuleCheck], has_warnings: bool) -> Result<DataFrame> {
    let numbers = (0_i64..)
        .zip(checks)
        .enumerate()
        .map(|(at, (number, _))| Ok(when(ident(format!("v{at}")), lit(number)).end()?));
    let mut numbers = numbers.collect::<Result<Vec<_>>>()?;
    if numbers.is_empty() {
        numbers.push(lit(ScalarValue::Int64(None)));
    }
    let columns = rows.schema().columns().into_iter().map(Expr::Column);
    let kept = columns.chain([make_array(numbers).alias("check")]).collect::<Vec<_>>();
    let broken = rows
        .filter(any(checks, |_| true))?
        .select(kept)?
        .unnest_columns(&["check"])?
        .filter(ident("check").is_not_null())?;
    let text = |text: Option<&str>| lit(ScalarValue::Utf8(text.map(str::to_owned)));
    let mut selected = vec![
        ident(ROW),
        ident("check"),
        each(checks, |check| text(check.field.as_deref()))?.alias("field"),
        each(checks, |check| text(Some(check.rule)))?.alias("rule"),
        each(checks, |check| check.value.clone().unwrap_or_else(|| text(None)))?.alias("value"),
        each(checks, |check| check.message.clone())?.alias("message"),
    ];
    if has_warnings {
        selected
            .push(each(checks, |check| text(Some(severity(check.severity))))?.alias("severity"));
    }
    Ok(broken.select(selected)?)
}

/// Returns an expression that selects a value by the number of the rule.
fn each(checks: &[RuleCheck], of: impl Fn(&RuleCheck) -> Expr) -> Result<Expr> {
    let mut cases = case(ident("check"));
    for (number, check) in (0_i64..).zip(checks) {
        cases = cases.when(lit(number), of(check));
    }
    Ok(match checks {
        [] => lit(ScalarValue::Utf8(None)),
        _ => cases.end()?,
    })
}

fn severity(severity: Severity) -> &'static str {
    match severity {
        Severity::Error => "error",
        Severity::Warning => "warning",
    }
}

/// Makes a single row about the table itself.
fn of_table(
    work: &AnalysisContext,
    message: &str,
    of: Severity,
    count: u64,
    has_warnings: bool,
) -> Result<DataFrame> {
    let null = || lit(ScalarValue::Utf8(None));
    let mut selected = vec![
        lit(ScalarValue::Int64(None)).alias(ROW),
        lit(-1_i64).alias("check"),
        null().alias("field"),
        lit("row_count").alias("rule"),
        lit(count.to_string()).alias("value"),
        lit(message).alias("message"),
    ];
    if has_warnings {
        selected.push(lit(severity(of)).alias("severity"));
    }
    Ok(work.context().read_empty()?.select(selected)?)
}
