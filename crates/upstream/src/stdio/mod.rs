//! Servers that are child processes.
//!
//! | file | subject |
//! |---|---|
//! | `transport.rs` | the wire to a child |
//! | `child.rs` | the process, in its group |
//! | `child_starter.rs` | the thread that starts all children |
//! | `child_reaper.rs` | the second process, which ends groups when this one is killed |

pub(crate) mod child;
pub(crate) mod child_reaper;
pub(crate) mod child_starter;
pub(crate) mod transport;
