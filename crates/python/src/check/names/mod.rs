//! Names that nothing binds, or that are read before they are bound.
//!
//! | file | subject |
//! |---|---|
//! | `undefined` | names that nothing binds, or not yet |
//! | `early` | names that are read before they are bound |
//! | `library` | where the other names that a program may mean are |

mod early;
mod library;
pub(super) mod undefined;

pub(super) use undefined::Undefined;
