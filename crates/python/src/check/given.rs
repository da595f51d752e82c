//! The variables that a program is given.

use std::collections::HashSet;

/// The variables that a program is given.
#[derive(Clone, Copy, Debug)]
pub enum GivenVariables<'a> {
    /// Exactly these. There may be hundreds of thousands of them.
    Names(&'a HashSet<&'a str>),
    /// Any variables that earlier programs of its session have bound.
    Unknown,
}

impl GivenVariables<'_> {
    /// Tells whether a name that a program does not bind may be a variable that it is given.
    pub(crate) fn may_have(self, name: &str) -> bool {
        match self {
            Self::Names(names) => names.contains(name),
            Self::Unknown => true,
        }
    }
}
