//! The modules that a program may import.

use std::collections::BTreeSet;

/// The modules that a program may import. A module includes its parts: `os` allows `os.path` too.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Modules {
    Any,
    Only(BTreeSet<String>),
}

impl Modules {
    /// The modules that Narrows itself provides to programs.
    pub const OWN: [&'static str; 4] = ["servers", "skills", "client", "tool_discovery"];

    pub(super) fn allow(&self, module: &str) -> bool {
        match self {
            Self::Any => true,
            Self::Only(modules) => covers(modules, module),
        }
    }
}

/// Tells whether a list has a module, or a module around it.
pub(super) fn covers(modules: &BTreeSet<String>, module: &str) -> bool {
    modules.contains(module)
        || module.match_indices('.').any(|(dot, _)| modules.contains(&module[..dot]))
}
