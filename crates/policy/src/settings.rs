//! The rules as the configuration has them, and what can be wrong with them.

use std::collections::BTreeMap;

use thiserror::Error;

use super::{ask::Action, flow::FlowRule, matcher::Matcher, pattern::PatternError, quota::Quota};

/// One rule. It fits a call if all that it says is true of it; what it does not say is not asked.
#[derive(Clone, Debug, PartialEq)]
pub struct Rule {
    /// Told to whoever it stops.
    pub name: String,
    /// Patterns of principals; empty for all.
    pub principals: Vec<String>,
    /// Patterns of `server.tool`, or of a server for all of it; empty for all tools.
    pub tools: Vec<String>,
    /// `true` for tools that say that they only read, `false` for all others.
    pub read_only: Option<bool>,
    /// `true` for tools that say that they destroy, `false` for all others.
    pub destructive: Option<bool>,
    /// What arguments must be, by their path: `to`, `filter.owner`, `items.*.id`.
    pub arguments: BTreeMap<String, Matcher>,
    pub action: Action,
    /// Told to the caller after the rule's name.
    pub why: Option<String>,
}

impl Rule {
    /// A rule that fits everything.
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

/// Tools, and kinds of personal data that they are trusted with, or not.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RevealRule {
    /// Patterns as in [`Rule::tools`].
    pub tools: Vec<String>,
    /// Patterns of kinds: `EMAIL`; empty for all.
    pub kinds: Vec<String>,
    pub allow: bool,
}

/// All rules.
#[derive(Clone, Debug, PartialEq)]
pub struct PolicySettings {
    /// The first that fits decides. What none fits is allowed, unless it destroys.
    pub rules: Vec<Rule>,
    /// What becomes of a tool that says that it destroys and that no rule fits.
    pub destructive: Action,
    pub flows: Vec<FlowRule>,
    pub quotas: Vec<Quota>,
    /// The first that fits decides. What none fits may be revealed.
    pub reveal: Vec<RevealRule>,
    /// Which tools' results reach the model as they are. The first that fits decides; what none
    /// fits does not.
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

/// Why rules cannot be used.
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
