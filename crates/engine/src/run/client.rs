//! Whoever a run is for.

use narrows_model::OutputStream;
use narrows_upstream::{Caller, NoCaller};

/// The client of a run: a caller who also hears what the program prints.
pub trait RunClient: Caller {
    /// Takes what was printed, as it is printed. What a model reads has tokens in it already.
    fn output(&self, stream: OutputStream, text: String);
}

impl RunClient for NoCaller {
    fn output(&self, _stream: OutputStream, _text: String) {}
}
