//! Which modules a program may import.

use std::collections::BTreeSet;

/// Which modules a program may import. A module's parts go with it: `os` is `os.path` too.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Modules {
    Any,
    Only(BTreeSet<String>),
}

impl Modules {
    /// What we give to programs ourselves.
    pub const OWN: [&'static str; 4] = ["servers", "skills", "client", "tool_discovery"];

    pub(super) fn allow(&self, module: &str) -> bool {
        match self {
            Self::Any => true,
            Self::Only(modules) => covers(modules, module),
        }
    }
}

/// Whether a module or one that it is a part of is in a list.
pub(super) fn covers(modules: &BTreeSet<String>, module: &str) -> bool {
    modules.contains(module)
        || module.match_indices('.').any(|(dot, _)| modules.contains(&module[..dot]))
}
