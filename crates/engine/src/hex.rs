//! Random names in hexadecimal digits.

pub(crate) use narrows_model::hex;
use ring::rand::{SecureRandom, SystemRandom};

/// Returns a name of `N` random bytes. Not for secrets: if the system has no randomness, it is all
/// zeros.
pub(crate) fn random_name<const N: usize>() -> String {
    let mut bytes = [0; N];
    let _ = SystemRandom::new().fill(&mut bytes);
    hex(&bytes)
}
