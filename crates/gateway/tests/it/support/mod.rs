//! What the tests have in common.

use std::time::Duration;

pub(crate) mod bystander;
pub(crate) mod dead;
pub(crate) mod fixture;
pub(crate) mod http;
pub(crate) mod oauth;
pub(crate) mod office;
pub(crate) mod real;
pub(crate) mod scripted;
pub(crate) mod state;

/// How long a test waits for what has to happen. Whatever takes longer hangs: nothing takes nearly
/// as long on the busiest machine.
pub(crate) const PATIENCE: Duration = Duration::from_secs(300);

/// The most time that a program may ask for. Those that are not about time get it, so that they
/// end by themselves on a busy machine too.
pub(crate) const MAX_PROGRAM_TIME: Duration = Duration::from_secs(120);
