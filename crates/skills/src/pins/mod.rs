//! Pins: the tools that a skill was written for, and their changes since.

mod changes;
mod pin;
mod schema;
#[cfg(test)]
mod tests;

pub use changes::{Difference, ToolChange};
pub use pin::{Pin, Pins, compare};
