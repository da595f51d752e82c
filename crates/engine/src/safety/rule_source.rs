//! Where the rules come from, and where one is written that a person wants for good.

use std::fmt;

use narrows_policy::{AlwaysRule, PolicySettings};

/// The place of the rules, such as `narrows.toml`. What is in it holds from the next call on.
pub trait RuleSource: Send + Sync + fmt::Debug {
    /// Returns all rules, if they have changed since they were last read, or why they cannot be read.
    fn changed(&self) -> Option<Result<PolicySettings, String>>;

    /// Returns the text that [`RuleSource::add`] would write, or none if it could not.
    fn preview(&self, rule: &AlwaysRule) -> Option<String>;

    /// Returns the name of the place, for people.
    fn name(&self) -> String;

    /// Writes a rule.
    fn add(&self, rule: &AlwaysRule) -> Result<(), String>;
}
