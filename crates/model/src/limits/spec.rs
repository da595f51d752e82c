//! The specification of a limit.

use std::{ops::RangeInclusive, time::Duration};

use super::{KIB, LimitKind, Limits, MIB};

/// The specification of a limit: its names, how it is set, and the message to a run that reaches it.
/// Amounts are nanoseconds, bytes or pieces.
#[derive(Clone, Copy, Debug)]
pub struct LimitSpec {
    pub kind: LimitKind,
    /// Its name in errors.
    pub name: &'static str,
    /// Its name in tables of the documents.
    pub title: &'static str,
    /// Its key in the configuration. Some limits are set together, by one key.
    pub key: &'static str,
    /// Its unit in the configuration.
    pub unit: LimitUnit,
    /// The smallest and the largest number that the configuration accepts.
    pub(super) range: (u32, u32),
    pub scope: LimitScope,
    /// The message to a run that reaches it, with `{}` for the amount.
    pub(super) reached: &'static str,
    /// The advice to a run that reaches it.
    pub(super) advice: &'static str,
    pub(super) get: fn(&Limits) -> u64,
    pub(super) set: fn(&mut Limits, u64),
}

/// The unit of a limit in the configuration.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LimitUnit {
    Seconds,
    Kilobytes,
    Megabytes,
    Pieces,
}

/// The sections of the configuration that can set a limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LimitScope {
    /// Only `[limits]`: it is the same at all isolation levels.
    Everywhere,
    /// Only levels.
    Levels,
    /// Levels, and `[limits]` for principals without a level of their own.
    Both,
}

impl LimitSpec {
    /// Returns its amount in these limits.
    pub fn amount_of(&self, limits: &Limits) -> u64 {
        (self.get)(limits)
    }

    pub fn set(&self, limits: &mut Limits, amount: u64) {
        (self.set)(limits, amount);
    }

    /// Converts a number of the configuration to an amount.
    pub fn amount(&self, number: u32) -> u64 {
        u64::from(number) * self.unit.amount()
    }

    /// Returns the numbers that the configuration accepts.
    pub fn range(&self) -> RangeInclusive<u32> {
        self.range.0..=self.range.1
    }

    pub fn is_in_levels(&self) -> bool {
        self.scope != LimitScope::Everywhere
    }

    /// Tells whether `[limits]` can set it.
    pub fn is_in_table(&self) -> bool {
        self.scope != LimitScope::Levels
    }
}

impl LimitUnit {
    /// Returns the amount of one unit.
    fn amount(self) -> u64 {
        match self {
            Self::Seconds => 1_000_000_000,
            Self::Kilobytes => KIB,
            Self::Megabytes => MIB,
            Self::Pieces => 1,
        }
    }
}

/// A type that a field of [`Limits`] can have.
pub(super) trait Amount {
    fn to_amount(&self) -> u64;
    fn from_amount(amount: u64) -> Self;
}

impl Amount for Duration {
    fn to_amount(&self) -> u64 {
        u64::try_from(self.as_nanos()).unwrap_or(u64::MAX)
    }

    fn from_amount(amount: u64) -> Self {
        Self::from_nanos(amount)
    }
}

impl Amount for u64 {
    fn to_amount(&self) -> u64 {
        *self
    }

    fn from_amount(amount: u64) -> Self {
        amount
    }
}

impl Amount for u32 {
    fn to_amount(&self) -> u64 {
        u64::from(*self)
    }

    fn from_amount(amount: u64) -> Self {
        Self::try_from(amount).unwrap_or(Self::MAX)
    }
}
