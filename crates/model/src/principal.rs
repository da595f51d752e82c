//! Who asks, and what of that which lasts is theirs.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// An agent or a tenant: whoever is behind a request.
///
/// What lasts (files, skills, sessions, boards, shared values) belongs to a namespace. Each
/// principal has one of its own, and may be let into others.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Principal {
    pub name: String,
    /// Where its own things are; it may do everything there.
    pub home: String,
    /// What else it may see or change.
    pub others: BTreeMap<String, Access>,
}

/// What a principal may do in a namespace.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Access {
    Read,
    Write,
}

/// Whether a name can be that of a namespace, a session or an agent: some of them are names of
/// directories too, on any system.
pub fn is_plain_name(name: &str) -> bool {
    (1..=64).contains(&name.len())
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_".contains(&byte))
}

impl Principal {
    /// The namespace of those who were given none.
    pub const DEFAULT_HOME: &str = "default";

    /// A principal with a home of its own and no other rights.
    pub fn new(name: impl Into<String>, home: impl Into<String>) -> Self {
        Self { name: name.into(), home: home.into(), others: BTreeMap::new() }
    }

    /// Whoever uses this machine.
    pub fn local() -> Self {
        Self::new("local", Self::DEFAULT_HOME)
    }

    pub fn may(&self, access: Access, namespace: &str) -> bool {
        self.home == namespace || self.others.get(namespace).is_some_and(|given| *given >= access)
    }

    /// Every namespace that it may see, its own first.
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
