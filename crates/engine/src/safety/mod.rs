//! What keeps data in and harm out: personal data, policy, isolation levels, review, audit.
//!
//! | file | subject |
//! |---|---|
//! | `settings` | what can be said about all of it |
//! | `in_force` | what holds for all that a gateway does |
//! | `vault` | what tokens stand for, encrypted |
//! | `pii_filter` | tokens in the place of personal data, in all that leaves |
//! | `public_values` | what definitions of tools say, which is shown as it is |
//! | `message` | the walk over all that the protocol carries to a client |
//! | `bytes_kind` | whether bytes are an image or text |
//! | `run_guard` | one run, or one call: what it may do, what it has read, what is written down of it |
//! | `returned_values` | values that tools were given, recognised when they come back |
//! | `left_tokens` | tokens that stayed as they are, told once |
//! | `audit_span` | what is written down of something that is under way, also if it is given up |
//! | `confirm` | asking a person |
//! | `questions` | several calls of a run as one question |
//! | `question`, `shown` | what the person reads and can choose |
//! | `rule_source` | where rules come from, and where one is written that a person wants for good |
//! | `level` | the isolation level of a run, and the program looked at before it runs |
//!
//! The rules themselves are in `narrows-policy`, what is found in a program in `narrows_python::review`,
//! what is personal data in `narrows-pii`. None of those does anything by itself.

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
