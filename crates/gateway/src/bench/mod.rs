//! `narrows bench`: measures this machine against the budgets, as ratios where there is
//! something to compare with.
//!
//! | file | subject |
//! |---|---|
//! | `arguments`, `run` | what the user can ask for, and how it is answered |
//! | `measuring/` | what is measured with: budgets, summaries of times, catalogs, processes |
//! | `sandbox`, `calls`, `check`, `pii`, `search`, `store`, `tokens`, `analysis/` | one part each |
//! | `gateway/`, `load/` | the whole, with real processes: one client, and many users |

mod analysis;
mod arguments;
mod calls;
mod check;
mod gateway;
mod load;
mod measuring;
mod pii;
mod run;
mod sandbox;
mod search;
mod store;
mod tokens;

use measuring::{budget, catalog, process, python, read_json, statistics};

pub(crate) use arguments::BenchArgs;
pub(crate) use run::run;
