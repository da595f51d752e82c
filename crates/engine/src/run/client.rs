//! The client that a run is done for.

use narrows_model::OutputStream;
use narrows_upstream::{Caller, NoCaller};

/// The client of a run: a caller who also hears what the program prints.
pub trait RunClient: Caller {
    /// Takes a piece of output as soon as it is printed. If a model reads it, personal data is already
    /// replaced by tokens.
    fn output(&self, stream: OutputStream, text: String);
}

impl RunClient for NoCaller {
    fn output(&self, _stream: OutputStream, _text: String) {}
}
