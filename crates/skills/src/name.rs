//! The names of skills. A name is a Python identifier, because programs import it, and plain enough to
//! be a part of a file's name on every system.

use thiserror::Error;

use narrows_model::is_identifier;

/// The longest name. It is also the limit of the Agent Skills form.
const MAX_LEN: usize = 64;

/// The reason for which a skill cannot have a name.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum NameError {
    #[error("a skill needs a name: a Python identifier such as filter_high_risk")]
    Empty,
    #[error("the name has {length} characters: a skill's name has at most {MAX_LEN}")]
    TooLong { length: usize },
    #[error("{name:?} is not a Python identifier{}", try_instead(.name))]
    NotIdentifier { name: String },
    #[error("{name:?} starts with an underscore, which skills cannot{}", try_instead(.name))]
    Underscore { name: String },
    #[error("{name:?} is the name of a test: a skill's name does not start with test_")]
    Test { name: String },
}

fn try_instead(name: &str) -> String {
    // Texts that are unlike a name get no suggestion: they may be addresses.
    let is_near = name.chars().all(|c| c.is_alphanumeric() || "_-./ ".contains(c));
    match identifier(name).filter(|_| is_near) {
        Some(instead) => format!("; try {instead}"),
        None => ": use ASCII letters, digits and underscores, and no keyword".to_owned(),
    }
}

/// Checks that a skill may have this name.
pub fn check_name(name: &str) -> Result<(), NameError> {
    if name.is_empty() {
        return Err(NameError::Empty);
    }
    let length = name.chars().count();
    if length > MAX_LEN {
        return Err(NameError::TooLong { length });
    }
    if !is_identifier(name) {
        return Err(NameError::NotIdentifier { name: name.to_owned() });
    }
    if name.starts_with('_') {
        return Err(NameError::Underscore { name: name.to_owned() });
    }
    if name.starts_with("test_") {
        return Err(NameError::Test { name: name.to_owned() });
    }
    Ok(())
}

/// Returns the nearest name that a skill may have: `pdf_processing` for `pdf-processing`.
pub fn identifier(words: &str) -> Option<String> {
    let plain: String =
        words.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' }).collect();
    let parts: Vec<&str> = plain.split('_').filter(|part| !part.is_empty()).collect();
    let mut name = parts.join("_");
    if name.starts_with(|first: char| first.is_ascii_digit()) || name.starts_with("test_") {
        name.insert_str(0, "skill_");
    }
    if !name.is_empty() && !is_identifier(&name) {
        name.push('_');
    }
    check_name(&name).is_ok().then_some(name)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn names_that_programs_can_import_are_taken() {
        for name in ["filter_high_risk", "a", "A1", "match", &"x".repeat(64)] {
            assert_eq!(check_name(name), Ok(()), "{name}");
        }
    }

    #[test]
    fn other_names_are_refused_with_the_nearest_that_is_taken() {
        for (name, said) in [
            ("", "needs a name"),
            ("pdf-processing", "\"pdf-processing\" is not a Python identifier; try pdf_processing"),
            ("class", "try class_"),
            ("2fast", "try skill_2fast"),
            ("größe", "try gr_e"),
            ("__init__", "starts with an underscore, which skills cannot; try init"),
            ("_hidden", "try hidden"),
            ("test_it", "is the name of a test"),
            ("../etc/passwd", "try etc_passwd"),
            ("日本", "use ASCII letters"),
            (&"x".repeat(65), "has 65 characters: a skill's name has at most 64"),
        ] {
            let error = check_name(name).unwrap_err().to_string();
            assert!(error.contains(said), "{name}: {error}");
        }
    }
}
