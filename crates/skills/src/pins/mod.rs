//! The tools that a skill was written for, and what changed of them since.

mod changes;
mod pin;
mod schema;
#[cfg(test)]
mod tests;

pub use changes::{Difference, ToolChange};
pub use pin::{Pin, Pins, compare};
