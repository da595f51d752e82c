//! Reads the parameters of `test`.

use narrows_model::nearest;
use serde_json::{Map, Value};

use super::{counts, samples};
use crate::{
    error::{AnalysisError, Result, available},
    kind::AnalysisType,
    ops::{
        names::{Names, plain, word},
        params::{Params, wrong},
    },
    stats::Alternative,
    work::{AnalysisContext, OpOutput},
};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Test {
    T,
    Welch,
    PairedT,
    MannWhitney,
    ChiSquare,
    Anova,
    Ks,
}

const TESTS: [(&str, &[&str], Test); 7] = [
    (
        "t",
        &[
            "t_test",
            "ttest",
            "student",
            "student_t",
            "ttest_ind",
            "two_sample_t",
            "one_sample_t",
            "ttest_1samp",
        ],
        Test::T,
    ),
    ("welch", &["welch_t", "welch_t_test", "welchs_t"], Test::Welch),
    ("paired_t", &["paired", "paired_t_test", "ttest_rel", "dependent_t"], Test::PairedT),
    (
        "mann_whitney",
        &[
            "mann_whitney_u",
            "mannwhitney",
            "mannwhitneyu",
            "u",
            "u_test",
            "rank_sum",
            "wilcoxon_rank_sum",
            "ranksums",
        ],
        Test::MannWhitney,
    ),
    (
        "chi_square",
        &[
            "chi2",
            "chi_squared",
            "chisquare",
            "chi2_contingency",
            "independence",
            "goodness_of_fit",
        ],
        Test::ChiSquare,
    ),
    ("anova", &["one_way_anova", "f_oneway", "f", "f_test"], Test::Anova),
    (
        "ks",
        &["kolmogorov_smirnov", "ks_2samp", "ks_1samp", "kstest", "ks_test", "normality"],
        Test::Ks,
    ),
];

const ALTERNATIVES: [(&str, &[&str], Alternative); 3] = [
    ("two_sided", &["two_tailed", "both", "two", "different", "unequal"], Alternative::TwoSided),
    ("less", &["smaller", "lower", "left"], Alternative::Less),
    ("greater", &["larger", "higher", "right"], Alternative::Greater),
];

impl Test {
    pub(super) fn name(self) -> &'static str {
        TESTS.iter().find(|(_, _, test)| *test == self).map_or("", |(name, _, _)| name)
    }
}

#[derive(Debug)]
pub(super) struct TestParameters {
    pub(super) field: Option<String>,
    pub(super) fields: Option<Names>,
    pub(super) group_by: Option<String>,
    pub(super) groups: Option<Vec<Value>>,
    /// The mean that one sample is compared with.
    pub(super) value: Option<f64>,
    /// Whether Cohen's d is corrected for small samples.
    pub(super) hedges: bool,
    /// The mean and deviation of the normal distribution that one sample is compared with.
    pub(super) mean: Option<f64>,
    pub(super) std: Option<f64>,
    /// The expected frequency of each value, as counts or shares.
    pub(super) expected: Option<Map<String, Value>>,
}

impl TestParameters {
    fn read(given: &Params<'_>) -> Result<Self> {
        let expected = |path: &str, value: &Value| match value {
            Value::Object(counts) => Ok(counts.clone()),
            other => Err(wrong(path, "an object with a number for each value", other)),
        };
        Ok(Self {
            field: given.text("field")?.map(str::to_owned),
            fields: given.read("fields", Names::read)?,
            group_by: given.text("group_by")?.map(str::to_owned),
            groups: given.list("groups")?.map(<[Value]>::to_vec),
            value: given.number("value")?,
            hedges: given.flag("hedges")?.unwrap_or_default(),
            mean: given.number("mean")?,
            std: given.number("std")?,
            expected: given.read("expected", expected)?,
        })
    }
}

/// The parsed parameters.
#[derive(Debug)]
pub(super) struct TestRequest {
    pub(super) test: Test,
    pub(super) alternative: Alternative,
    pub(super) alpha: f64,
    pub(super) parameters: TestParameters,
}

impl TestRequest {
    fn read(given: &Map<String, Value>) -> Result<Self> {
        let given = Params::parameters(AnalysisType::Test, given)?;
        let names = TESTS.map(|(name, _, _)| name);
        let test = match given.text("test")? {
            Some(test) => find(test)?,
            None => {
                let reason = format!("which test is missing{}", available(names));
                return Err(AnalysisError::parameter("test", reason));
            }
        };
        let alternative = match given.text("alternative")? {
            Some(alternative) => word("alternative", alternative, &ALTERNATIVES)?,
            None => Alternative::TwoSided,
        };
        let alpha = given.number("alpha")?.unwrap_or(0.05);
        if !(alpha > 0.0 && alpha < 1.0) {
            return Err(AnalysisError::parameter("alpha", "it is between 0 and 1, such as 0.05"));
        }
        let asked = Self { test, alternative, alpha, parameters: TestParameters::read(&given)? };
        asked.check()?;
        Ok(asked)
    }

    /// Refuses parameters of other tests, which would be ignored silently.
    fn check(&self) -> Result<()> {
        let given = &self.parameters;
        let fits = [
            ("value", given.value.is_some(), self.test == Test::T),
            ("mean", given.mean.is_some(), self.test == Test::Ks),
            ("std", given.std.is_some(), self.test == Test::Ks),
            ("expected", given.expected.is_some(), self.test == Test::ChiSquare),
            ("hedges", given.hedges, matches!(self.test, Test::T | Test::Welch | Test::PairedT)),
            (
                "alternative",
                self.alternative != Alternative::TwoSided,
                !matches!(self.test, Test::ChiSquare | Test::Anova),
            ),
            ("groups", given.groups.is_some(), given.group_by.is_some()),
        ];
        match fits.into_iter().find(|(_, is_given, fits)| *is_given && !fits) {
            Some(("groups", _, _)) => {
                Err(AnalysisError::parameter("groups", "it says which values of `group_by` count"))
            }
            Some((parameter, _, _)) => {
                let reason = format!("the test {} has no such parameter", self.test.name());
                Err(AnalysisError::parameter(parameter, reason))
            }
            None => Ok(()),
        }
    }
}

/// Finds a test by any of its names. The error lists the main names.
fn find(given: &str) -> Result<Test> {
    let plain = plain(given).replace(['\'', '’'], "");
    let known =
        TESTS.iter().find(|(name, others, _)| *name == plain || others.contains(&plain.as_str()));
    known.map(|(_, _, test)| *test).ok_or_else(|| {
        let all = TESTS.iter().flat_map(|(name, others, _)| others.iter().chain([name]));
        let names = TESTS.map(|(name, _, _)| name);
        let near = nearest(given, all.copied());
        AnalysisError::parameter("test", format!("no test {given:?}{near}{}", available(names)))
    })
}

pub(crate) async fn run(
    work: &AnalysisContext,
    parameters: &Map<String, Value>,
) -> Result<OpOutput> {
    let asked = TestRequest::read(parameters)?;
    match asked.test {
        Test::ChiSquare => counts::run(work, &asked).await,
        _ => samples::run(work, &asked).await,
    }
}
