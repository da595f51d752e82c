//! Connects the rules of the configuration file with the engine's safety, which reads them and has new
//! ones written.

use narrows_engine::safety::RuleSource;
use narrows_policy::{AlwaysRule, PolicySettings};

use crate::{config::RulesFile, error_chain::error_chain};

/// The configuration file as the source of rules.
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
