//! Commands about safety: tokens, approvals, the audit.

pub(crate) mod approvals;
pub(crate) mod audit;
pub(crate) mod pii;
