//! The detectors: one file a subject.
//!
//! Nothing here reaches across a line break, apart from private keys.

mod address;
mod card;
mod cluster;
mod date;
mod email;
mod given_names;
mod iban;
mod labelled;
mod national;
mod net;
mod numbers;
mod pem;
mod person;
mod phone;
mod scan;
mod secret;
mod ssn;
mod url;
mod window;

pub(crate) use pem::open_private_key;
pub(crate) use scan::{Options, Sink, all};
pub(crate) use secret::SECRETS;
use window::window;
