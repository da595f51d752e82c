//! `narrows bench`: measures this machine against the budgets, as ratios where there is
//! something to compare with.

mod analysis;
mod arguments;
mod budget;
mod calls;
mod catalog;
mod check;
mod gateway;
mod http_gateway;
mod load;
mod pii;
mod process;
mod python;
mod round_trip;
mod run;
mod sandbox;
mod search;
mod statistics;
mod store;
mod tokens;

pub(crate) use arguments::BenchArgs;
use run::read_json;
pub(crate) use run::run;
