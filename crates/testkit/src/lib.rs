//! Helpers for the tests of several crates: the test data of the repository, the pinned real servers
//! and clients, a PostgreSQL server, and one way to skip a test.
//!
//! | file | subject |
//! |---|---|
//! | `data.rs` | the made-up servers, labelled queries and labelled texts of `tests/data` |
//! | `skip.rs` | tests that cannot run on this machine say so; under CI they fail |
//! | `tools.rs` | what `scripts/install-test-tools` installs |
//! | `postgres.rs` | a PostgreSQL server of the tests' own |
//! | `size.rs` | how much tests take: little in CI, all in `make soak` |
//! | `thread.rs` | whether work holds up the only async thread |
//! | `chance.rs` | numbers that look random |
//! | `damage.rs` | damaged seeds for property tests of readers |
#![allow(clippy::unwrap_used)]

mod chance;
mod damage;
mod data;
mod postgres;
mod size;
mod skip;
mod thread;
mod tools;

pub use chance::Chance;
pub use damage::{damaged, same_cases};
pub use data::{
    catalog, catalog_directory, innocuous_outputs, labelled_queries, labelled_queries_file,
    labelled_texts, repository,
};
pub use postgres::Postgres;
pub use size::{is_full_size, report_figures, size};
pub use skip::skip;
pub use thread::leaves_thread;
pub use tools::Tools;
