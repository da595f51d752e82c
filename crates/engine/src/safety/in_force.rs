//! The safety settings in force for the whole gateway.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{Arc, PoisonError, RwLock},
};

use narrows_pii::Scanner;
use narrows_policy::{Level, LevelError, Levels, Meter, Policy};
use narrows_python::review::ReviewSettings;

use super::{
    AuditSettings, KeySource, Mode, RuleSource, SafetyError, SafetySettings, Vault,
    returned_values::ReturnedValues, settings::check_kinds,
};

/// The safety of a gateway: its scanner, vault, rules, levels and review, shared by all runs.
pub struct Safety {
    pub(super) mode: Mode,
    pub(super) scanner: Scanner,
    pub(super) pii: narrows_pii::Settings,
    pub(super) vault: Vault,
    pub(super) returned_values: ReturnedValues,
    pub(super) restorers: BTreeSet<String>,
    pub(super) policy: RwLock<Arc<Policy>>,
    pub(super) rules: Option<Arc<dyn RuleSource>>,
    pub(super) meter: Meter,
    pub(super) levels: Levels,
    pub(super) level: String,
    pub(super) levels_of: BTreeMap<String, String>,
    pub(super) review: ReviewSettings,
    pub(super) audit: AuditSettings,
}

impl Safety {
    /// Prepares everything, with rules that do not change.
    pub fn new(settings: SafetySettings, key: KeySource) -> Result<Arc<Self>, SafetyError> {
        Self::make(settings, key, None)
    }

    /// Prepares everything. The rules are read again when they change in their source.
    pub fn with_rules_from(
        source: Arc<dyn RuleSource>,
        settings: SafetySettings,
        key: KeySource,
    ) -> Result<Arc<Self>, SafetyError> {
        Self::make(settings, key, Some(source))
    }

    fn make(
        settings: SafetySettings,
        key: KeySource,
        rules: Option<Arc<dyn RuleSource>>,
    ) -> Result<Arc<Self>, SafetyError> {
        check_kinds(&settings.pii, &settings.policy)?;
        let levels = Levels::new(settings.levels)?;
        for name in std::iter::once(&settings.level).chain(settings.levels_of.values()) {
            levels.get(name)?;
        }
        Ok(Arc::new(Self {
            mode: settings.mode,
            scanner: Scanner::new(&settings.pii)?,
            pii: settings.pii,
            vault: Vault::new(key, settings.keep),
            returned_values: ReturnedValues::default(),
            restorers: settings.restorers,
            policy: RwLock::new(Arc::new(Policy::new(settings.policy)?)),
            rules,
            meter: Meter::default(),
            levels,
            level: settings.level,
            levels_of: settings.levels_of,
            review: settings.review,
            audit: settings.audit,
        }))
    }

    pub fn mode(&self) -> Mode {
        self.mode
    }

    /// Returns the rules that are in force now.
    pub fn policy(&self) -> Arc<Policy> {
        Arc::clone(&self.policy.read().unwrap_or_else(PoisonError::into_inner))
    }

    pub(crate) fn rule_source(&self) -> Option<&Arc<dyn RuleSource>> {
        self.rules.as_ref()
    }

    /// Reads the rules again if they have changed. If the new ones are invalid, the old ones stay in
    /// force.
    pub(crate) fn refresh_policy(&self) {
        let Some(changed) = self.rules.as_ref().and_then(|rules| rules.changed()) else { return };
        let ready = changed.and_then(|settings| {
            check_kinds(&self.pii, &settings).map_err(|error| error.to_string())?;
            Policy::new(settings).map_err(|error| error.to_string())
        });
        match ready {
            Ok(policy) => {
                *self.policy.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(policy);
            }
            Err(error) => {
                tracing::error!(%error, "the rules have changed and cannot be used; the old ones stay");
            }
        }
    }

    pub fn levels(&self) -> &Levels {
        &self.levels
    }

    pub fn audit(&self) -> &AuditSettings {
        &self.audit
    }

    /// Returns the isolation level of a principal.
    pub fn level_of(&self, principal: &str) -> Result<Arc<Level>, LevelError> {
        self.levels.get(self.levels_of.get(principal).unwrap_or(&self.level))
    }

    /// Tells whether a principal may restore the values of tokens.
    pub fn may_restore(&self, principal: &str) -> bool {
        self.restorers.contains(principal)
    }

    pub(crate) fn vault(&self) -> &Vault {
        &self.vault
    }
}

impl std::fmt::Debug for Safety {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Safety").field("mode", &self.mode).finish_non_exhaustive()
    }
}
