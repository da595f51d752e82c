//! The rules in the configuration, and the mistakes that can be in them.

use std::collections::BTreeMap;

use thiserror::Error;

use super::{ask::Action, flow::FlowRule, matcher::Matcher, pattern::PatternError, quota::Quota};

/// A rule. It fits a call if all of its conditions hold; a condition that it leaves out does not count.
#[derive(Clone, Debug, PartialEq)]
pub struct Rule {
    /// The name, which the caller is told if the rule stops a call.
    pub name: String,
    /// Patterns of principals; empty for all.
    pub principals: Vec<String>,
    /// Patterns of `server.tool`, or of a server for all of its tools; empty for all tools.
    pub tools: Vec<String>,
    /// `true` for tools that say that they only read, `false` for all others.
    pub read_only: Option<bool>,
    /// `true` for tools that say that they destroy, `false` for all others.
    pub destructive: Option<bool>,
    /// Conditions on arguments, by their path: `to`, `filter.owner`, `items.*.id`.
    pub arguments: BTreeMap<String, Matcher>,
    pub action: Action,
    /// The reason, which the caller is told after the rule's name.
    pub why: Option<String>,
}

impl Rule {
    /// Returns a rule that fits every call.
    pub fn new(name: impl Into<String>, action: Action) -> Self {
        Self {
            name: name.into(),
            principals: Vec::new(),
            tools: Vec::new(),
            read_only: None,
            destructive: None,
            arguments: BTreeMap::new(),
            action,
            why: None,
        }
    }
}

/// A rule that trusts some tools with some kinds of personal data, or forbids them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RevealRule {
    /// Patterns as in [`Rule::tools`].
    pub tools: Vec<String>,
    /// Patterns of kinds: `EMAIL`; empty for all.
    pub kinds: Vec<String>,
    pub allow: bool,
}

/// All rules of a configuration.
#[derive(Clone, Debug, PartialEq)]
pub struct PolicySettings {
    /// The first rule that fits decides. A call that no rule fits is allowed, unless its tool says that
    /// it destroys.
    pub rules: Vec<Rule>,
    /// The action for tools that say that they destroy, if no rule fits.
    pub destructive: Action,
    pub flows: Vec<FlowRule>,
    pub quotas: Vec<Quota>,
    /// Which tools get which kinds. The first rule that fits decides; without one, the data is revealed.
    pub reveal: Vec<RevealRule>,
    /// Which tools' results reach the model as they are. The first rule that fits decides; without one,
    /// they do not.
    pub exempt: Vec<RevealRule>,
}

impl Default for PolicySettings {
    fn default() -> Self {
        Self {
            rules: Vec::new(),
            destructive: Action::Confirm,
            flows: Vec::new(),
            quotas: Vec::new(),
            reveal: Vec::new(),
            exempt: Vec::new(),
        }
    }
}

/// A mistake in the rules.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum PolicyError {
    #[error("a rule of the policy has no name: give it one, which is told to whoever it stops")]
    NoName,
    #[error("two rules of the policy are called {0:?}: give one of them another name")]
    SameName(String),
    #[error("the policy's rule {rule:?}: {problem}")]
    Rule { rule: String, problem: String },
    #[error("rule {number} of the policy's reveal rules: {problem}")]
    Reveal { number: usize, problem: PatternError },
}
