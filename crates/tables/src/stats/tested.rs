//! The result of a test of a hypothesis.

/// The deviation from the null hypothesis that counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Alternative {
    #[default]
    TwoSided,
    /// The first sample is the lesser one.
    Less,
    /// The first sample is the greater one.
    Greater,
}

impl Alternative {
    /// Returns the p-value of a statistic whose distribution is symmetric about zero, from the
    /// probability of being above a value.
    pub(super) fn symmetric(self, statistic: f64, above: impl Fn(f64) -> f64) -> f64 {
        match self {
            Self::TwoSided => (2.0 * above(statistic.abs())).min(1.0),
            Self::Less => above(-statistic),
            Self::Greater => above(statistic),
        }
    }
}

#[derive(Clone, Debug)]
pub struct Tested {
    pub statistic: f64,
    pub p_value: f64,
    /// The degrees of freedom: none, one, or those of numerator and denominator.
    pub degrees_of_freedom: Vec<f64>,
    pub effect: Effect,
    /// The confidence interval of the difference of the means, where the test is about means.
    pub interval: Option<Interval>,
    /// How the p-value was found, where there are several ways.
    pub method: Option<&'static str>,
}

/// How large a difference is, whatever the number of values.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Effect {
    pub name: &'static str,
    pub value: f64,
    /// The values from which on it is called small, medium and large, if there is a convention.
    pub steps: Option<[f64; 3]>,
}

impl Effect {
    pub(super) fn cohen_d(value: f64) -> Self {
        Self { name: "cohen_d", value, steps: Some([0.2, 0.5, 0.8]) }
    }

    /// Makes an effect of association, with Cohen's steps for a correlation.
    pub(super) fn association(name: &'static str, value: f64) -> Self {
        Self { name, value, steps: Some([0.1, 0.3, 0.5]) }
    }

    pub fn magnitude(&self) -> Option<&'static str> {
        let [small, medium, large] = self.steps?;
        let value = self.value.abs();
        Some(match value {
            _ if value >= large => "large",
            _ if value >= medium => "medium",
            _ if value >= small => "small",
            _ => "negligible",
        })
    }
}

/// A confidence interval; without a bound on one side if the alternative is one-sided.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Interval {
    pub estimate: f64,
    pub low: Option<f64>,
    pub high: Option<f64>,
}
