//! Identifiers of Python.

/// The keywords of Python, which are not identifiers.
const KEYWORDS: &[&str] = &[
    "False", "None", "True", "and", "as", "assert", "async", "await", "break", "class", "continue",
    "def", "del", "elif", "else", "except", "finally", "for", "from", "global", "if", "import",
    "in", "is", "lambda", "nonlocal", "not", "or", "pass", "raise", "return", "try", "while",
    "with", "yield",
];

/// Tells whether a word is a keyword of Python.
pub fn is_keyword(name: &str) -> bool {
    KEYWORDS.contains(&name)
}

/// Tells whether a name is an identifier in Python. ASCII only, because Python normalises other
/// identifiers, so that two different ones can be the same.
pub fn is_identifier(name: &str) -> bool {
    let mut bytes = name.bytes();
    let starts_well = bytes.next().is_some_and(|b| b.is_ascii_alphabetic() || b == b'_');
    starts_well && bytes.all(|b| b.is_ascii_alphanumeric() || b == b'_') && !is_keyword(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn identifiers_are_what_python_takes_without_normalising() {
        assert!(is_identifier("_a1") && is_identifier("match"));
        for not in ["", "1a", "a-b", "größe", "from", "None", "a b"] {
            assert!(!is_identifier(not), "{not:?}");
        }
    }
}
