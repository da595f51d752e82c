//! Personal data and secrets: found in text and JSON, replaced by tokens, and put back.
//!
//! Nothing here does IO, waits or looks at a clock. A [`Scanner`] finds values; whoever keeps
//! them gives a token for each (see [`Tokens`]); [`reveal`] and [`reveal_json`] put them back
//! exactly. [`Stream`] does the same for output that comes in pieces.
//!
//! Two rules hold everywhere, and the stream depends on the first:
//! 1. Apart from private keys nothing is found across a line break, and no line gives context to
//!    another.
//! 2. A token that already stands in a text is left as it is.

mod context;
mod detect;
#[cfg(any(test, fuzzing))]
#[doc(hidden)]
pub mod fuzz;
mod json;
mod kind;
mod lexicon;
mod protect;
mod reveal;
mod scanner;
pub mod score;
mod settings;
mod stream;
mod token;

pub use kind::{Kind, kinds};
pub use protect::Tokens;
pub use reveal::{Revealed, reveal, reveal_json};
pub use scanner::{Found, Scanner, View};
pub use settings::{Custom, CustomPattern, KindSettings, Settings, SettingsError, Urls};
pub use stream::Stream;
pub use token::{Form, Token, TokenMaker, tokens_in};
