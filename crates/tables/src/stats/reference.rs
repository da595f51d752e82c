//! The same samples as SciPy has them, and the same results.

use narrows_testkit::Tools;
use serde_json::Value;

use super::{
    correlation::{kendall, pearson, ranks, spearman},
    smirnov, *,
};

const ALPHA: f64 = 0.05;

fn reference(part: &str) -> Option<Vec<Value>> {
    Some(Tools::find()?.lines("analysis/statistics.py", &[part]))
}

fn number(value: &Value) -> Option<f64> {
    value.as_f64()
}

fn numbers(value: &Value) -> Vec<f64> {
    value.as_array().unwrap().iter().map(|value| value.as_f64().unwrap()).collect()
}

/// How far apart two numbers are in proportion; what is smaller than a p-value ever needs to be
/// is compared as it is.
fn distance(ours: f64, theirs: f64) -> f64 {
    let larger = ours.abs().max(theirs.abs());
    if larger < 1e-200 { 0.0 } else { (ours - theirs).abs() / larger }
}

/// Collects what differs, so that one run shows all of it.
#[derive(Default)]
struct Differences {
    compared: usize,
    found: Vec<String>,
}

impl Differences {
    fn compare(&mut self, what: &str, ours: Option<f64>, theirs: Option<f64>, tolerance: f64) {
        self.compared += 1;
        let distance = match (ours, theirs) {
            (Some(ours), Some(theirs)) => distance(ours, theirs),
            (None, None) => 0.0,
            _ => f64::INFINITY,
        };
        // What is NaN is not near.
        let is_near = distance <= tolerance;
        if !is_near {
            self.found.push(format!("{what}: {ours:?}, SciPy has {theirs:?} ({distance:.1e})"));
        }
    }

    fn end(self, min: usize) {
        assert!(self.found.is_empty(), "{} differ:\n{}", self.found.len(), self.found.join("\n"));
        assert!(self.compared >= min, "only {} were compared", self.compared);
    }
}

fn alternative(result: &Value) -> Alternative {
    match result["alternative"].as_str().unwrap() {
        "two-sided" => Alternative::TwoSided,
        "less" => Alternative::Less,
        _ => Alternative::Greater,
    }
}

fn run(result: &Value, samples: &[Vec<f64>]) -> Result<Tested, String> {
    let alternative = alternative(result);
    let name = result["test"].as_str().unwrap();
    match (name, samples) {
        ("t", [one]) => one_sample_t(one, number(&result["value"]).unwrap(), alternative, ALPHA),
        ("t", [a, b]) => two_sample_t(a, b, alternative, ALPHA),
        ("welch", [a, b]) => welch(a, b, alternative, ALPHA),
        ("paired_t", [a, b]) => paired_t(a, b, alternative, ALPHA),
        ("mann_whitney", [a, b]) => Ok(mann_whitney(a, b, alternative)),
        ("ks", [one]) => {
            let shape = numbers(&result["shape"]);
            Ok(with_normal(one, shape[0], shape[1], alternative))
        }
        ("ks", [a, b]) => Ok(two_samples(a, b, alternative)),
        ("goodness_of_fit", [observed, expected]) => Ok(goodness_of_fit(observed, expected)),
        ("independence", table) => Ok(independence(table)),
        ("anova", groups) => one_way_anova(&groups.iter().map(Vec::as_slice).collect::<Vec<_>>()),
        _ => panic!("no test {name}"),
    }
}

#[test]
fn tests_agree_with_scipy() {
    let Some(lines) = reference("tests") else { return };
    let mut differences = Differences::default();
    for line in &lines {
        let Some(results) = line["results"].as_array() else { continue };
        let samples: Vec<Vec<f64>> =
            line["samples"].as_array().unwrap().iter().map(numbers).collect();
        let sizes: Vec<usize> = samples.iter().map(Vec::len).collect();
        for result in results {
            let what = |part: &str| {
                format!("{} {} of {sizes:?}: {part}", result["test"], result["alternative"])
            };
            let ours = run(result, &samples).unwrap_or_else(|error| panic!("{}", what(&error)));
            let mut compare = |part: &str, ours: Option<f64>, theirs: &Value| {
                differences.compare(&what(part), ours, number(theirs), 1e-9);
            };
            compare("statistic", Some(ours.statistic), &result["statistic"]);
            compare("p", Some(ours.p_value), &result["p_value"]);
            compare("effect", Some(ours.effect.value), &result["effect"]);
            for at in 0..2 {
                let degrees = ours.degrees_of_freedom.get(at).copied();
                compare("degrees", degrees, &result["degrees_of_freedom"][at]);
            }
            compare("low", ours.interval.and_then(|it| it.low), &result["interval"][0]);
            compare("high", ours.interval.and_then(|it| it.high), &result["interval"][1]);
        }
    }
    differences.end(5000);
}

#[test]
fn the_distribution_of_kolmogorov_agrees_with_scipy() {
    let Some(lines) = reference("tests") else { return };
    let mut differences = Differences::default();
    for point in lines.iter().filter_map(|line| line["distribution"].as_array()).flatten() {
        let (n, d) = (number(&point["n"]).unwrap(), number(&point["d"]).unwrap());
        let one_sided = smirnov::one_sided_above(n, d);
        differences.compare(
            &format!("one-sided {n} {d}"),
            Some(one_sided),
            number(&point["one_sided"]),
            1e-9,
        );
        let two_sided = smirnov::two_sided_above(n, d);
        differences.compare(
            &format!("two-sided {n} {d}"),
            Some(two_sided),
            number(&point["two_sided"]),
            1e-9,
        );
    }
    differences.end(400);
}

fn is_perfect(correlation: f64) -> bool {
    1.0 - correlation.abs() < 1e-14
}

#[test]
fn correlations_agree_with_scipy() {
    let Some(lines) = reference("correlations") else { return };
    let mut differences = Differences::default();
    for line in &lines {
        let (x, y) = (numbers(&line["x"]), numbers(&line["y"]));
        let ours = [
            ("pearson", pearson(&x, &y)),
            ("spearman", spearman(&ranks(&x), &ranks(&y))),
            ("kendall", kendall(&x, &y)),
        ];
        for (method, ours) in ours {
            let theirs = &line["methods"][method];
            let what = format!("{method} of {}", x.len());
            differences.compare(&what, ours.map(|it| it.value), number(&theirs[0]), 1e-9);
            let p_value = ours.map(|it| it.p_value).filter(|p_value| !p_value.is_nan());
            if ours.is_some_and(|it| x.len() > 2 && method != "kendall" && is_perfect(it.value)) {
                // The last digit of the correlation decides, so that there is nothing to compare.
                assert!(p_value.is_some_and(|p_value| p_value < 1e-7), "{what}: {p_value:?}");
                continue;
            }
            differences.compare(&format!("{what}: p"), p_value, number(&theirs[1]), 1e-9);
        }
    }
    differences.end(500);
}
