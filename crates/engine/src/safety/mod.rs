//! Safety: protects personal data, applies the policy and the isolation levels, reviews programs, and
//! records what happens for the audit.
//!
//! | file | subject |
//! |---|---|
//! | `settings` | the settings of all of it |
//! | `in_force` | the scanner, the vault, the rules and the levels that are in force for the whole gateway |
//! | `vault` | what tokens stand for, encrypted |
//! | `pii_filter` | replaces personal data by tokens in all that leaves |
//! | `public_values` | values in definitions of tools, which are public and shown as they are |
//! | `message` | applies the filter to every message of the protocol that goes to a client |
//! | `bytes_kind` | whether bytes are an image or text |
//! | `run_guard` | one run, or one call: what it may do, what it has read, what the audit records of it |
//! | `returned_values` | recognises values that tools were given when they come back |
//! | `left_tokens` | tokens that could not be replaced by their values, reported once |
//! | `audit_span` | the audit entry of an action in progress, also if it is cancelled |
//! | `confirm` | asks a person to approve a call |
//! | `questions` | asks about several calls of a run in one question |
//! | `question`, `shown` | the form that the person reads, and how arguments are shown in it |
//! | `rule_source` | the file that rules are read from, and that a rule of "always" is written to |
//! | `level` | the isolation level of a run, and the review of its program |
//!
//! The rules themselves are in `narrows-policy`, the findings of a review in `narrows-python`, the
//! detection of personal data in `narrows-pii`. None of those does anything by itself.

mod audit_span;
mod bytes_kind;
mod confirm;
mod in_force;
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
mod settings;
mod shown;
mod vault;

pub(crate) use audit_span::AuditSpan;
pub use confirm::ASKER;
pub use in_force::Safety;
pub(crate) use level::Reviewed;
pub use pii_filter::{PiiFilter, RevealOutcome, Streams, Unredactable};
pub use question::{choices_of, chosen};
pub use rule_source::RuleSource;
pub(crate) use run_guard::Admitted;
pub use run_guard::{CallTarget, RunGuard};
pub use settings::{
    AuditContents, AuditSettings, KINDS_ON_REQUEST, Mode, SafetyError, SafetySettings,
};
pub use shown::visible;
pub use vault::{KeySource, Vault, VaultError};
