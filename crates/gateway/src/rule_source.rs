//! The rules of the configuration file, as safety asks for them and has one written.

use narrows_engine::safety::RuleSource;
use narrows_policy::{AlwaysRule, PolicySettings};

use crate::{config::RulesFile, error_chain::error_chain};

/// The configuration file as the place of rules.
#[derive(Debug)]
pub(crate) struct ConfiguredRules(pub(crate) RulesFile);

impl RuleSource for ConfiguredRules {
    fn changed(&self) -> Option<Result<PolicySettings, String>> {
        Some(self.0.changed()?.map_err(|error| error.to_string()))
    }

    fn preview(&self, rule: &AlwaysRule) -> Option<String> {
        self.0.preview(rule)
    }

    fn name(&self) -> String {
        self.0.name()
    }

    fn add(&self, rule: &AlwaysRule) -> Result<(), String> {
        self.0.add(rule).map_err(|error| error_chain(&error.into()))
    }
}
