//! Reports the result of a test, and what speaks against relying on it.

use serde_json::{Map, Value, json};

use super::{
    hypothesis::{Test, TestRequest},
    samples::SampleFigures,
};
use crate::{
    ops::names::counted,
    stats::{Alternative, Effect, Interval, Tested},
    work::{AnalysisContext, OpOutput},
};

/// With fewer values, it matters whether they are normally distributed, and cannot be seen.
const FEW: usize = 10;
/// From this ratio of variances on, a test that takes them to be equal misleads.
const UNEQUAL: f64 = 4.0;

/// Returns the facts that all tests have.
pub(super) fn facts(asked: &TestRequest, tested: &Tested) -> Map<String, Value> {
    let degrees = match tested.degrees_of_freedom.as_slice() {
        [] => None,
        [one] => Some(json!(one)),
        several => Some(json!(several)),
    };
    let mut facts = Map::new();
    facts.insert("test".to_owned(), asked.test.name().into());
    if asked.alternative != Alternative::TwoSided {
        let is_less = asked.alternative == Alternative::Less;
        facts.insert("alternative".to_owned(), if is_less { "less" } else { "greater" }.into());
    }
    facts.insert("statistic".to_owned(), json!(tested.statistic));
    facts.insert("p_value".to_owned(), json!(tested.p_value));
    facts.insert("significant".to_owned(), (tested.p_value < asked.alpha).into());
    facts.insert("alpha".to_owned(), json!(asked.alpha));
    facts.extend(degrees.map(|degrees| ("degrees_of_freedom".to_owned(), degrees)));
    facts.insert("effect_size".to_owned(), effect(tested.effect));
    facts.extend(tested.method.map(|method| ("method".to_owned(), method.into())));
    facts
}

fn effect(effect: Effect) -> Value {
    let mut fact = Map::new();
    fact.insert("name".to_owned(), effect.name.into());
    fact.insert("value".to_owned(), json!(effect.value));
    let magnitude = effect.magnitude();
    fact.extend(magnitude.map(|magnitude| ("magnitude".to_owned(), magnitude.into())));
    fact.into()
}

pub(super) fn samples(
    work: &AnalysisContext,
    asked: &TestRequest,
    mut tested: Tested,
    samples: &[SampleFigures],
) -> OpOutput {
    if asked.parameters.hedges {
        tested.effect = hedges(tested.effect, &tested.degrees_of_freedom);
    }
    note_doubts(work, asked, samples);
    let mut facts = facts(asked, &tested);
    if let Some(interval) = tested.interval {
        facts.insert("difference".to_owned(), difference(interval, asked.alpha));
    }
    let groups: Vec<Value> = samples.iter().map(group).collect();
    facts.insert("groups".to_owned(), groups.into());
    OpOutput { facts, frame: None, later: None }
}

/// Corrects Cohen's d, which is too large on average for small samples.
fn hedges(effect: Effect, degrees: &[f64]) -> Effect {
    let degrees = degrees.first().copied().unwrap_or(f64::INFINITY);
    let correction = 1.0 - 3.0 / (4.0 * degrees - 1.0);
    Effect { name: "hedges_g", value: effect.value * correction, ..effect }
}

fn difference(interval: Interval, alpha: f64) -> Value {
    json!({
        "mean": interval.estimate,
        "confidence": 1.0 - alpha,
        "low": interval.low,
        "high": interval.high,
    })
}

fn group(sample: &SampleFigures) -> Value {
    let deviation = sample.summary.deviation();
    json!({
        "group": sample.name,
        "n": sample.n,
        "mean": sample.summary.mean(),
        "std": deviation.is_finite().then_some(deviation),
        "median": sample.median,
    })
}

fn note_doubts(work: &AnalysisContext, asked: &TestRequest, samples: &[SampleFigures]) {
    let is_about_means = matches!(asked.test, Test::T | Test::Welch | Test::PairedT | Test::Anova);
    let fewest = samples.iter().map(|sample| sample.n).min().unwrap_or_default();
    if is_about_means && fewest < FEW {
        let instead = if samples.len() == 2 && asked.test != Test::PairedT {
            "; mann_whitney does without that"
        } else {
            ""
        };
        work.note(format!(
            "there are only {}: the test takes them to be from a normal distribution{instead}",
            counted(fewest as u64, "value"),
        ));
    }
    let takes_variances_to_be_equal = matches!(asked.test, Test::T | Test::Anova);
    if takes_variances_to_be_equal && ratio_of_variances(samples) >= UNEQUAL {
        let instead = if asked.test == Test::T {
            "; the test welch does not take them to be equal"
        } else {
            ""
        };
        work.note(format!("the variances of the groups are unequal{instead}"));
    }
    if asked.test == Test::Ks {
        note_about_ks(work, asked, samples);
    }
}

fn note_about_ks(work: &AnalysisContext, asked: &TestRequest, samples: &[SampleFigures]) {
    let is_estimated = asked.parameters.mean.is_none() || asked.parameters.std.is_none();
    if samples.len() == 1 && is_estimated {
        work.note(
            "the normal distribution has its mean and deviation from the values themselves, so \
             the true p-value is smaller than the one given",
        );
    }
    if asked.alternative != Alternative::TwoSided {
        work.note(
            "less and greater are about the distribution function: where it is greater, the \
             values are less",
        );
    }
}

fn ratio_of_variances(samples: &[SampleFigures]) -> f64 {
    let variances = || {
        let several = samples.iter().filter(|sample| sample.n > 1);
        several.map(|sample| sample.summary.variance())
    };
    let (least, most) =
        (variances().fold(f64::INFINITY, f64::min), variances().fold(0.0, f64::max));
    if samples.len() < 2 || most == 0.0 { 1.0 } else { most / least }
}
