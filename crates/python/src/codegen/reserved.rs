//! Names that generated code must not be given.

/// No identifier at all in Python.
const KEYWORDS: &[&str] = &[
    "False", "None", "True", "and", "as", "assert", "async", "await", "break", "class", "continue",
    "def", "del", "elif", "else", "except", "finally", "for", "from", "global", "if", "import",
    "in", "is", "lambda", "nonlocal", "not", "or", "pass", "raise", "return", "try", "while",
    "with", "yield",
];

/// What a generated module refers to. A tool or class of that name would change the
/// meaning of every annotation after it.
const MODULE_NAMES: &[&str] = &[
    "Annotated",
    "Any",
    "Awaitable",
    "Callable",
    "Coroutine",
    "Literal",
    "Mapping",
    "Never",
    "NotRequired",
    "Optional",
    "Required",
    "Sequence",
    "ToolError",
    "TypedDict",
    "Union",
    "bool",
    "bytes",
    "dict",
    "float",
    "frozenset",
    "int",
    "list",
    "object",
    "overload",
    "set",
    "str",
    "tuple",
    "type",
    "typing",
];

pub(super) fn is_keyword(name: &str) -> bool {
    KEYWORDS.contains(&name)
}

pub(super) fn is_module_name(name: &str) -> bool {
    MODULE_NAMES.contains(&name)
}

/// Whether Python takes this as a name. ASCII only: Python normalises other identifiers,
/// so that two different ones can be the same to it.
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
