//! `narrows demo`: the main job on built-in data, for those who see it for the first time.

mod data;
mod run;
pub(crate) mod server;
mod tour;
mod workflow;

pub(crate) use run::{DemoArgs, run};
