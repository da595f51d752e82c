//! Bytes in hexadecimal digits.

use ring::rand::{SecureRandom, SystemRandom};

pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// A name of so many random bytes. Whoever needs a secret must not use it: without randomness it
/// is all zeros.
pub(crate) fn random_name<const N: usize>() -> String {
    let mut bytes = [0; N];
    let _ = SystemRandom::new().fill(&mut bytes);
    hex(&bytes)
}
