//! What keeps data in and harm out: tokens, approvals, the audit.

pub(crate) mod approvals;
pub(crate) mod audit;
pub(crate) mod pii;
