//! The settings of safety, and the errors in them.

use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

use narrows_policy::{DataOrigin, LevelError, LevelSettings, Levels, PolicyError, PolicySettings};
use narrows_python::review::ReviewSettings;
use serde::Serialize;
use thiserror::Error;

/// The place at which personal data is replaced by tokens.
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

/// The form in which the audit records arguments and results.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum AuditContents {
    /// A keyed hash, which shows that contents are equal and nothing else about them.
    #[default]
    Hashes,
    /// The text, with personal data replaced by tokens.
    Protected,
}

/// The settings of safety.
#[derive(Clone, Debug, PartialEq)]
pub struct SafetySettings {
    pub mode: Mode,
    pub pii: narrows_pii::Settings,
    /// How long values of tokens are kept after they were last seen.
    pub keep: Duration,
    /// The principals that may ask for values with `restore_pii`.
    pub restorers: BTreeSet<String>,
    pub policy: PolicySettings,
    pub levels: BTreeMap<String, LevelSettings>,
    /// The level of principals that are not in `levels_of`.
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

/// Kinds that are only detected if the configuration asks for them, because most values of these kinds
/// in the output of tools and programs are not private.
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

/// Checks that rules name only kinds that exist: a rule about an unknown kind would protect nothing.
pub(super) fn check_kinds(
    pii: &narrows_pii::Settings,
    policy: &PolicySettings,
) -> Result<(), SafetyError> {
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
