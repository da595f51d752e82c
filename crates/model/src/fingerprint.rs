//! A fingerprint of texts that is the same in every version of Narrows. (The standard library's hash
//! may change with the compiler.)

/// Returns the 64-bit FNV-1a hash of a sequence of texts.
pub fn fingerprint<'a>(texts: impl IntoIterator<Item = &'a str>) -> u64 {
    let bytes = texts.into_iter().flat_map(|text| text.bytes().chain([0xff]));
    bytes.fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_does_not_change_and_where_texts_end_matters() {
        assert_eq!(fingerprint(["narrows"]), 0x9dc6_e01a_035f_64fc);
        assert_ne!(fingerprint(["ab", "c"]), fingerprint(["a", "bc"]));
    }
}
