//! Names that generated code must not be given.

pub(crate) use narrows_model::{is_identifier, is_keyword};

/// Names that a generated module refers to. A tool or class of such a name would change the meaning of
/// every annotation after it.
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

pub(super) fn is_module_name(name: &str) -> bool {
    MODULE_NAMES.contains(&name)
}
