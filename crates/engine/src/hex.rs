//! Names of random bytes in hexadecimal digits.

pub(crate) use narrows_model::hex;
use ring::rand::{SecureRandom, SystemRandom};

/// A name of so many random bytes. Whoever needs a secret must not use it: without randomness it
/// is all zeros.
pub(crate) fn random_name<const N: usize>() -> String {
    let mut bytes = [0; N];
    let _ = SystemRandom::new().fill(&mut bytes);
    hex(&bytes)
}
