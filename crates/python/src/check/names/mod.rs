//! Names that nothing binds, or that are read before they are bound.
//!
//! | file | subject |
//! |---|---|
//! | `undefined` | names that nothing binds, or not yet |
//! | `early` | names that are read before they are bound |
//! | `library` | tables of names that programs use without having them |

mod early;
mod library;
pub(super) mod undefined;

pub(super) use undefined::Undefined;
