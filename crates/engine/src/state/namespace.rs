//! Checks whether a principal may use a namespace.

use narrows_model::{Access, Principal};

use super::StateError;

/// Returns the namespace that a request names, or the principal's home, if it may be used in this way.
pub(super) fn namespace<'a>(
    principal: &'a Principal,
    named: Option<&'a str>,
    access: Access,
) -> Result<&'a str, StateError> {
    let namespace = named.unwrap_or(&principal.home);
    if principal.may(access, namespace) {
        return Ok(namespace);
    }
    Err(StateError::Denied {
        principal: principal.name.clone(),
        verb: match access {
            Access::Read => "read",
            Access::Write => "change",
        },
        namespace: namespace.to_owned(),
        allowed: {
            let allowed = principal.namespaces().filter(|other| principal.may(access, other));
            allowed.collect::<Vec<_>>().join(", ")
        },
    })
}
