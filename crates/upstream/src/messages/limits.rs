//! How much a server may send. What is over a limit is told to whoever waits for it, and where it
//! is a server's own fault for longer, in its status.

use narrows_model::scan_json;
use rmcp::model::{ErrorData, RequestId, ServerJsonRpcMessage};
use thiserror::Error;

/// One message, over any wire: a line, a body, an event. A server that sends without end would
/// fill our memory.
pub(crate) const MAX_MESSAGE_BYTES: usize = 32 << 20;
/// Values and keys in the JSON of one message. Three bytes of `[],` are a value of many times
/// their size in memory.
const MAX_MESSAGE_VALUES: usize = 2_000_000;
/// A notification, which nobody has asked for: progress, a log message, a change.
pub(crate) const MAX_NOTICE_BYTES: usize = 1 << 20;
/// The body of an answer that says no more than that something failed.
pub(crate) const MAX_ERROR_BYTES: usize = 64 << 10;

/// Larger messages of one server are read a few at a time, and the others wait on the wire: a
/// program may have dozens of calls in flight.
pub(crate) const LARGE_BYTES: usize = 1 << 20;
pub(crate) const MAX_LARGE_AT_ONCE: usize = 2;

/// Why a message is not read.
#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
pub(crate) enum Excess {
    #[error(
        "the answer has more than {} MB, which is the most that is read; ask for less at once",
        MAX_MESSAGE_BYTES >> 20
    )]
    Bytes,
    #[error(
        "the answer has more than {MAX_MESSAGE_VALUES} JSON values and keys, which is the most that \
         is read; ask for less at once"
    )]
    Values,
    #[error(
        "the answer is large, and other large answers take the memory that there is for all of them; \
         try again, or ask for less at once"
    )]
    Busy,
    #[error("the answer is large, and its end did not come in time; ask for less at once")]
    Slow,
}

/// Checks how large a message is before it is parsed, and returns the number of its values and keys.
pub(crate) fn check_message(text: &[u8]) -> Result<usize, Excess> {
    if text.len() > MAX_MESSAGE_BYTES {
        return Err(Excess::Bytes);
    }
    // How deep it is nested, the parser bounds.
    scan_json(text, usize::MAX, MAX_MESSAGE_VALUES).map_err(|_| Excess::Values)
}

impl Excess {
    /// Returns an error answer in the place of a message that is not read.
    pub(crate) fn answer(self, id: RequestId) -> ServerJsonRpcMessage {
        ServerJsonRpcMessage::error(ErrorData::internal_error(self.to_string(), None), Some(id))
    }
}
