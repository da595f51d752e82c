//! The names that a server may have.

/// The length of a server's name. Longer ones do not fit into the names of tools that models accept.
pub(crate) const MAX_LETTERS: usize = 64;

/// The separator of server and tool in `mcp__server__tool`.
const SEPARATOR: &str = "__";

/// Checks a name; the error says what is wrong with it and what to do.
pub(crate) fn check(name: &str) -> Result<(), String> {
    match fault(name) {
        None => Ok(()),
        Some(fault) => {
            let better = valid_name(name);
            Err(format!("is not a name for a server: it {fault}; call it {better}, for example"))
        }
    }
}

fn fault(name: &str) -> Option<&'static str> {
    if name.is_empty() {
        Some("is empty")
    } else if name.len() > MAX_LETTERS {
        Some("is longer than 64 characters")
    } else if !name.chars().all(is_allowed) {
        Some("may have only letters, digits, `_`, `.` and `-`")
    } else if name.contains(SEPARATOR) {
        Some("contains `__`, which separates server and tool in mcp__server__tool")
    } else {
        None
    }
}

fn is_allowed(letter: char) -> bool {
    letter.is_ascii_alphanumeric() || "_.-".contains(letter)
}

/// Returns the nearest valid name, which is the same one if it is valid.
pub fn valid_name(name: &str) -> String {
    if fault(name).is_none() {
        return name.to_owned();
    }
    let mut valid = String::with_capacity(name.len());
    for letter in name.chars() {
        let letter = if is_allowed(letter) { letter } else { '-' };
        let doubled = "_-".contains(letter) && valid.ends_with(letter);
        if !doubled && valid.len() < MAX_LETTERS {
            valid.push(letter);
        }
    }
    match valid.trim_matches('-') {
        "" => "server".to_owned(),
        trimmed => trimmed.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn invalid_names_get_a_valid_one() {
        for (name, valid) in [
            ("github", "github"),
            ("my.server_1-x", "my.server_1-x"),
            ("a--b", "a--b"),
            ("My Server (prod)", "My-Server-prod"),
            ("a__b", "a_b"),
            ("a____b", "a_b"),
            ("", "server"),
            ("日本", "server"),
            ("io.github/x", "io.github-x"),
        ] {
            assert_eq!(valid_name(name), valid);
            assert!(check(valid).is_ok());
            assert_eq!(check(name).is_ok(), name == valid);
        }
        let long = "x".repeat(65);
        assert_eq!(valid_name(&long).len(), 64);
        assert!(check(&long).unwrap_err().contains("longer than 64"));
    }
}
