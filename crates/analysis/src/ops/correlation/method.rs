//! How two columns are compared.

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Method {
    Pearson,
    Spearman,
    Kendall,
    Covariance,
}

impl Method {
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

pub(super) const METHODS: [(&str, &[&str], Method); 3] = [
    ("pearson", &["pearsonr", "linear"], Method::Pearson),
    ("spearman", &["spearmanr", "rank"], Method::Spearman),
    ("kendall", &["kendalltau", "kendall_tau", "tau"], Method::Kendall),
];
