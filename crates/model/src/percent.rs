//! Percent-encoding, which references within JSON schemas use.

/// Decodes percent-encoded text; `None` if it is malformed.
pub fn percent_decoded(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        if byte != b'%' {
            bytes.push(byte);
            continue;
        }
        let digit = |byte: Option<u8>| char::from(byte?).to_digit(16);
        let code = digit(rest.next())? * 16 + digit(rest.next())?;
        bytes.push(u8::try_from(code).ok()?);
    }
    String::from_utf8(bytes).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_whole_is_decoded() {
        assert_eq!(percent_decoded("/a%20b~1c/%c3%A4"), Some("/a b~1c/ä".to_owned()));
        for broken in ["%", "%2", "%zz", "%ff"] {
            assert_eq!(percent_decoded(broken), None, "{broken}");
        }
    }
}
