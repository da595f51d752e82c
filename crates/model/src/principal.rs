//! Principals, and the namespaces that they may use.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// An agent or a tenant on whose behalf a request is made.
///
/// Lasting state (files, skills, sessions, boards, shared values) belongs to a namespace. Each
/// principal has a home namespace, and may have access to others.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Principal {
    pub name: String,
    /// The namespace of its own, in which it may do everything.
    pub home: String,
    /// The other namespaces that it may read or change.
    pub others: BTreeMap<String, Access>,
}

/// The access of a principal to a namespace.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Access {
    Read,
    Write,
}

/// Tells whether a name is allowed for a namespace, a session or an agent. Some of these are also names
/// of directories, on any system.
pub fn is_plain_name(name: &str) -> bool {
    (1..=64).contains(&name.len())
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_".contains(&byte))
}

impl Principal {
    /// The home of principals for whom none is configured.
    pub const DEFAULT_HOME: &str = "default";

    /// Creates a principal with a home and no other rights.
    pub fn new(name: impl Into<String>, home: impl Into<String>) -> Self {
        Self { name: name.into(), home: home.into(), others: BTreeMap::new() }
    }

    /// Returns the principal of the person who uses this machine.
    pub fn local() -> Self {
        Self::new("local", Self::DEFAULT_HOME)
    }

    pub fn may(&self, access: Access, namespace: &str) -> bool {
        self.home == namespace || self.others.get(namespace).is_some_and(|given| *given >= access)
    }

    /// Returns all namespaces that it may read, its home first.
    pub fn namespaces(&self) -> impl Iterator<Item = &str> {
        let others = self.others.keys().map(String::as_str).filter(|other| *other != self.home);
        std::iter::once(self.home.as_str()).chain(others)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_principal_may_do_what_it_was_given_and_nothing_else() {
        let mut agent = Principal::new("a", "team");
        agent.others.insert("library".into(), Access::Read);
        agent.others.insert("plan".into(), Access::Write);
        for (namespace, read, write) in [
            ("team", true, true),
            ("library", true, false),
            ("plan", true, true),
            ("other", false, false),
        ] {
            assert_eq!(agent.may(Access::Read, namespace), read, "{namespace}");
            assert_eq!(agent.may(Access::Write, namespace), write, "{namespace}");
        }
        assert_eq!(agent.namespaces().collect::<Vec<_>>(), ["team", "library", "plan"]);
    }
}
