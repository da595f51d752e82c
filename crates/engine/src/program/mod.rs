//! What a program sees of the gateway: modules to import, tools to call, questions to ask.

mod host;
mod modules;
mod state;

pub use host::ProgramHost;
