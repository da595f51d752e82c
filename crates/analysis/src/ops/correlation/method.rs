//! How two columns are compared.

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CorrelationMethod {
    Pearson,
    Spearman,
    Kendall,
    Covariance,
}

impl CorrelationMethod {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Pearson => "pearson",
            Self::Spearman => "spearman",
            Self::Kendall => "kendall",
            Self::Covariance => "covariance",
        }
    }

    pub(super) fn is_by_rank(self) -> bool {
        matches!(self, Self::Spearman | Self::Kendall)
    }
}

pub(super) const METHODS: [(&str, &[&str], CorrelationMethod); 3] = [
    ("pearson", &["pearsonr", "linear"], CorrelationMethod::Pearson),
    ("spearman", &["spearmanr", "rank"], CorrelationMethod::Spearman),
    ("kendall", &["kendalltau", "kendall_tau", "tau"], CorrelationMethod::Kendall),
];
