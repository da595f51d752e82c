//! A problem in a configuration.

use std::fmt;

use super::Position;

/// A problem, with its position and what to do. It names keys, and never shows values that may be
/// secret.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    pub at: Position,
    /// The path of the key, such as `servers.github.args`.
    pub key: String,
    /// The end of a sentence that begins with the key: "must be a string, not a number".
    pub message: String,
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}: {} {}", self.at.line, self.key, self.message)
    }
}

/// Returns the path of a key below another, with quotes where TOML needs them.
pub(crate) fn key_path(above: &str, name: &str) -> String {
    let plain = |letter: char| letter.is_ascii_alphanumeric() || "_-".contains(letter);
    let name = if !name.is_empty() && name.chars().all(plain) {
        name.to_owned()
    } else {
        format!("{name:?}")
    };
    if above.is_empty() { name } else { format!("{above}.{name}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn odd_names_are_quoted() {
        assert_eq!(key_path("servers", "git hub"), "servers.\"git hub\"");
        assert_eq!(key_path("", "servers"), "servers");
    }
}
