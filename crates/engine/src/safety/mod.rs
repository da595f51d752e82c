//! What keeps data in and harm out: personal data, policy, isolation levels, review, audit.
//!
//! | file | subject |
//! |---|---|
//! | `vault` | what tokens stand for, encrypted |
//! | `pii_filter` | tokens in the place of personal data, in all that leaves |
//! | `public_values` | what definitions of tools say, which is shown as it is |
//! | `message` | the walk over all that the protocol carries to a client |
//! | `bytes_kind` | whether bytes are an image or text |
//! | `run_guard` | one run, or one call: what it may do, what it has read, what is written down of it |
//! | `returned_values` | values that tools were given, recognised when they come back |
//! | `left_tokens` | tokens that stayed as they are, told once |
//! | `confirm` | asking a person |
//! | `questions` | several calls of a run as one question |
//! | `question`, `shown` | what the person reads and can choose |
//! | `rule_source` | where rules come from, and where one is written that a person wants for good |
//! | `level` | the isolation level of a run, and the program looked at before it runs |
//!
//! The rules themselves are in `crate::policy`, what is found in a program in `crate::review`,
//! what is personal data in `narrows-pii`. None of those does anything by itself.

mod audit_span;
mod bytes_kind;
mod confirm;
mod left_tokens;
mod level;
mod message;
mod pii_filter;
mod public_values;
mod question;
mod questions;
mod returned_values;
mod rule_source;
mod run_guard;
mod shown;
mod vault;

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{Arc, PoisonError, RwLock},
    time::Duration,
};

use narrows_pii::Scanner;
use serde::Serialize;
use thiserror::Error;

use crate::{
    policy::{DataOrigin, Level, LevelError, Levels, Meter, Policy, PolicyError, PolicySettings},
    review::ReviewSettings,
};

pub(crate) use audit_span::AuditSpan;
pub use confirm::ASKER;
pub(crate) use level::Reviewed;
pub use pii_filter::{PiiFilter, RevealOutcome, Streams, Unredactable};
pub use question::{choices_of, chosen};
pub use rule_source::RuleSource;
pub(crate) use run_guard::Admitted;
pub use run_guard::{CallTarget, RunGuard};
pub use shown::visible;
pub use vault::{KeySource, Vault, VaultError};

/// Where personal data is replaced by tokens.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Mode {
    /// On the way to the model: programs see values, the model sees tokens.
    #[default]
    Boundary,
    /// On the way into the sandbox: programs see tokens too.
    Strict,
    /// Nowhere.
    Off,
}

/// What the audit has of arguments and results.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum AuditContents {
    /// A keyed hash: equal contents are seen to be equal, and nothing else is seen.
    #[default]
    Hashes,
    /// The text, with tokens in the place of personal data.
    Protected,
}

/// Everything that can be said about safety.
#[derive(Clone, Debug, PartialEq)]
pub struct SafetySettings {
    pub mode: Mode,
    pub pii: narrows_pii::Settings,
    /// How long values are kept after they were last met.
    pub keep: Duration,
    /// The principals that may ask for values with `restore_pii`.
    pub restorers: BTreeSet<String>,
    pub policy: PolicySettings,
    pub levels: BTreeMap<String, crate::policy::LevelSettings>,
    /// The level of those who have none of their own.
    pub level: String,
    pub levels_of: BTreeMap<String, String>,
    pub review: ReviewSettings,
    pub audit: AuditSettings,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AuditSettings {
    pub contents: AuditContents,
    /// Older entries are removed.
    pub age: Option<Duration>,
    /// The oldest are removed while all are larger than this.
    pub bytes: Option<u64>,
}

/// Kinds that are only looked for where somebody asks for them: in what tools and programs print, most
/// of these are nobody's secret.
pub const KINDS_ON_REQUEST: [&str; 5] = ["IP", "MAC", "DATE_OF_BIRTH", "ADDRESS", "PERSON"];

fn default_pii() -> narrows_pii::Settings {
    let off = || narrows_pii::KindSettings { on: false, ..narrows_pii::KindSettings::default() };
    let kinds = KINDS_ON_REQUEST.map(|kind| (kind.to_owned(), off()));
    narrows_pii::Settings { kinds: kinds.into(), ..narrows_pii::Settings::default() }
}

impl Default for SafetySettings {
    fn default() -> Self {
        Self {
            mode: Mode::default(),
            pii: default_pii(),
            keep: Duration::from_secs(30 * 24 * 60 * 60),
            restorers: BTreeSet::new(),
            policy: PolicySettings::default(),
            levels: BTreeMap::new(),
            level: Levels::DEFAULT.to_owned(),
            levels_of: BTreeMap::new(),
            review: ReviewSettings::default(),
            audit: AuditSettings::default(),
        }
    }
}

/// A rule about a kind that does not exist would hold for nothing.
fn check_kinds(pii: &narrows_pii::Settings, policy: &PolicySettings) -> Result<(), SafetyError> {
    let custom = pii.custom.iter().map(|custom| custom.kind.as_str());
    let known: Vec<&str> = narrows_pii::kinds().iter().copied().chain(custom).collect();
    let rules = policy.reveal.iter().chain(&policy.exempt);
    let of_flows = policy.flows.iter().flat_map(|flow| &flow.from);
    let of_flows = of_flows.filter_map(|origin| match origin {
        DataOrigin::Pii(kind) => Some(kind),
        DataOrigin::Tools(_) => None,
    });
    let named = rules.flat_map(|rule| &rule.kinds).chain(of_flows);
    let is_known = |kind: &str| {
        kind.contains(['*', '?']) || known.iter().any(|known| known.eq_ignore_ascii_case(kind))
    };
    match named.into_iter().find(|kind| !is_known(kind)) {
        Some(wrong) => {
            let near = narrows_model::nearest(wrong, known.iter().copied()).to_string();
            Err(SafetyError::UnknownKind(wrong.clone(), near))
        }
        None => Ok(()),
    }
}

#[derive(Debug, Error)]
pub enum SafetyError {
    #[error("there is no kind of personal data {0:?}{1}; see docs/CONFIGURATION.md")]
    UnknownKind(String, String),
    #[error("pii: {0}")]
    Pii(#[from] narrows_pii::SettingsError),
    #[error("policy: {0}")]
    Policy(#[from] PolicyError),
    #[error("isolation: {0}")]
    Level(#[from] LevelError),
}

/// The safety of a gateway, shared by all that it does.
pub struct Safety {
    mode: Mode,
    scanner: Scanner,
    pii: narrows_pii::Settings,
    vault: Vault,
    returned_values: returned_values::ReturnedValues,
    restorers: BTreeSet<String>,
    policy: RwLock<Arc<Policy>>,
    rules: Option<Arc<dyn RuleSource>>,
    meter: Meter,
    levels: Levels,
    level: String,
    levels_of: BTreeMap<String, String>,
    review: ReviewSettings,
    audit: AuditSettings,
}

impl Safety {
    /// Makes everything ready, with rules that stay as they are.
    pub fn new(settings: SafetySettings, key: KeySource) -> Result<Arc<Self>, SafetyError> {
        Self::make(settings, key, None)
    }

    /// Makes everything ready. The rules are read again from their source when they change there.
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
            returned_values: returned_values::ReturnedValues::default(),
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

    /// The rules of now.
    pub fn policy(&self) -> Arc<Policy> {
        Arc::clone(&self.policy.read().unwrap_or_else(PoisonError::into_inner))
    }

    pub(crate) fn rule_source(&self) -> Option<&Arc<dyn RuleSource>> {
        self.rules.as_ref()
    }

    /// Reads the rules again if they have changed. If they cannot be used, those of before stay.
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

    /// The level of a principal.
    pub fn level_of(&self, principal: &str) -> Result<Arc<Level>, LevelError> {
        self.levels.get(self.levels_of.get(principal).unwrap_or(&self.level))
    }

    /// Whether a principal may be told what tokens stand for.
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
