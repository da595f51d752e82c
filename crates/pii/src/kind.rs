//! The kinds of what can be found.

use std::{fmt, sync::Arc};

/// The kinds that are built in, the strongest first: where two findings overlap without one
/// holding the other, the earlier kind names both.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub(crate) enum Builtin {
    PrivateKey,
    Jwt,
    ApiKey,
    Email,
    Iban,
    CreditCard,
    UsSsn,
    NationalId,
    Ip,
    Mac,
    Phone,
    DateOfBirth,
    Url,
    Address,
    Person,
}

impl Builtin {
    pub(crate) const ALL: [Self; 15] = [
        Self::PrivateKey,
        Self::Jwt,
        Self::ApiKey,
        Self::Email,
        Self::Iban,
        Self::CreditCard,
        Self::UsSsn,
        Self::NationalId,
        Self::Ip,
        Self::Mac,
        Self::Phone,
        Self::DateOfBirth,
        Self::Url,
        Self::Address,
        Self::Person,
    ];

    pub(crate) fn name(self) -> &'static str {
        NAMES[self as usize]
    }
}

const NAMES: [&str; 15] = [
    "PRIVATE_KEY",
    "JWT",
    "API_KEY",
    "EMAIL",
    "IBAN",
    "CREDIT_CARD",
    "US_SSN",
    "NATIONAL_ID",
    "IP",
    "MAC",
    "PHONE",
    "DATE_OF_BIRTH",
    "URL",
    "ADDRESS",
    "PERSON",
];

/// Returns the names of the built-in kinds, as they stand in settings and tokens.
pub fn kinds() -> &'static [&'static str] {
    &NAMES
}

/// The kind of something found: built in, or one of the user's own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Kind(Name);

#[derive(Clone, Debug, PartialEq, Eq)]
enum Name {
    Builtin(Builtin),
    Custom(Arc<str>),
}

impl Kind {
    pub(crate) fn custom(name: Arc<str>) -> Self {
        Self(Name::Custom(name))
    }

    /// Returns the name, as it stands in settings and tokens.
    pub fn as_str(&self) -> &str {
        match &self.0 {
            Name::Builtin(builtin) => builtin.name(),
            Name::Custom(name) => name,
        }
    }

    /// Returns the rank: where two findings overlap the smaller one names both. The user's own kinds
    /// come first: whoever writes one knows better than we do.
    pub(crate) fn rank(&self) -> u8 {
        match &self.0 {
            Name::Builtin(builtin) => *builtin as u8 + 1,
            Name::Custom(_) => 0,
        }
    }
}

impl From<Builtin> for Kind {
    fn from(builtin: Builtin) -> Self {
        Self(Name::Builtin(builtin))
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_has_its_own_name() {
        let names: Vec<_> = Builtin::ALL.iter().map(|kind| kind.name()).collect();
        assert_eq!(names, kinds());
        assert_eq!(Builtin::Phone.name(), "PHONE");
        assert_eq!(Builtin::Person.name(), "PERSON");
    }
}
