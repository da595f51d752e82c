//! Hexadecimal encoding.

/// Encodes bytes in hexadecimal, two digits for each.
pub fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
