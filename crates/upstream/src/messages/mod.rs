//! Messages from servers, whatever the wire: how large they may be, where they are parsed, which memory
//! they take.
//!
//! | file | subject |
//! |---|---|
//! | `limits.rs` | how large a message may be |
//! | `bounded.rs` | bodies and events over HTTP, read within limits |
//! | `budget.rs` | the memory that large messages of all servers share |
//! | `inbox.rs` | where messages are parsed |
//! | `outbox.rs` | answers that a server does not take |
//! | `raw.rs` | tools as their server wrote them |

pub(crate) mod bounded;
pub(crate) mod budget;
pub(crate) mod inbox;
pub(crate) mod limits;
pub(crate) mod outbox;
pub(crate) mod raw;
