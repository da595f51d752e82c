//! The source of the rules, to which a rule is written when a person chooses "always".

use std::fmt;

use narrows_policy::{AlwaysRule, PolicySettings};

/// The place where rules are kept, such as `narrows.toml`. A change holds from the next call on.
pub trait RuleSource: Send + Sync + fmt::Debug {
    /// Returns all rules if they have changed since they were last read, or the reason why they cannot
    /// be read.
    fn changed(&self) -> Option<Result<PolicySettings, String>>;

    /// Returns the text that [`RuleSource::add`] would write, or `None` if it cannot write the rule.
    fn preview(&self, rule: &AlwaysRule) -> Option<String>;

    /// Returns the name of the place, for people.
    fn name(&self) -> String;

    /// Adds a rule to the source.
    fn add(&self, rule: &AlwaysRule) -> Result<(), String>;
}
