//! What there is to say of one limit.

use std::{ops::RangeInclusive, time::Duration};

use super::{KIB, LimitKind, Limits, MIB};

/// A limit: what it is called, how it is set, and what a run is told that reaches it. Amounts are
/// nanoseconds, bytes or pieces.
#[derive(Clone, Copy, Debug)]
pub struct LimitSpec {
    pub kind: LimitKind,
    /// As errors call it.
    pub name: &'static str,
    /// As tables in the documents call it.
    pub title: &'static str,
    /// As the configuration calls it. Some limits are set together, by one key.
    pub key: &'static str,
    /// What the configuration counts it in.
    pub unit: LimitUnit,
    /// The least and the most that the configuration can say.
    pub(super) range: (u32, u32),
    pub scope: LimitScope,
    /// What a run is told that reaches it, with `{}` for the amount.
    pub(super) reached: &'static str,
    /// What to do about it then.
    pub(super) advice: &'static str,
    pub(super) get: fn(&Limits) -> u64,
    pub(super) set: fn(&mut Limits, u64),
}

/// What a limit is counted in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LimitUnit {
    Seconds,
    Kilobytes,
    Megabytes,
    Pieces,
}

/// Where the configuration can set a limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LimitScope {
    /// In `[limits]` alone: it is the same at all levels of isolation.
    Everywhere,
    /// In levels alone.
    Levels,
    /// In levels, and in `[limits]` for the level of those who have no other.
    Both,
}

impl LimitSpec {
    /// Returns the amount that these limits have of it.
    pub fn amount_of(&self, limits: &Limits) -> u64 {
        (self.get)(limits)
    }

    pub fn set(&self, limits: &mut Limits, amount: u64) {
        (self.set)(limits, amount);
    }

    /// Returns the amount that a number of the configuration stands for.
    pub fn amount(&self, number: u32) -> u64 {
        u64::from(number) * self.unit.amount()
    }

    /// The numbers that the configuration can have.
    pub fn range(&self) -> RangeInclusive<u32> {
        self.range.0..=self.range.1
    }

    pub fn is_in_levels(&self) -> bool {
        self.scope != LimitScope::Everywhere
    }

    /// Whether it stands in `[limits]`.
    pub fn is_in_table(&self) -> bool {
        self.scope != LimitScope::Levels
    }
}

impl LimitUnit {
    /// Returns how much one of it is.
    fn amount(self) -> u64 {
        match self {
            Self::Seconds => 1_000_000_000,
            Self::Kilobytes => KIB,
            Self::Megabytes => MIB,
            Self::Pieces => 1,
        }
    }
}

/// What a field of [`Limits`] can be.
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
