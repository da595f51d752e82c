//! What tools say of themselves, which is public: it reaches models and programs as it is, in every mode.

use super::{
    Attempt,
    Step::{Call, Code, ToolList},
    attempt,
};

pub(crate) const PUBLIC: &[Attempt] = &[
    attempt(
        "in a tool's definition",
        &[Call("get_tool_definition", r#"{"name": "crm.described"}"#)],
    ),
    attempt(
        "in a tool's raw definition",
        &[Call("get_tool_definition", r#"{"name": "crm.described", "raw": true}"#)],
    ),
    attempt(
        "in what a search finds",
        &[Call("search_tools", r#"{"query": "address in its description"}"#)],
    ),
    attempt("in the list of tools", &[ToolList]),
    attempt(
        "printed out of a tool's definition",
        &[Code("from servers.crm import described\nhelp(described); print(described.__doc__)")],
    ),
    attempt(
        "out of a tool's definition",
        &[Code(
            "from servers.crm import described\nfrom tool_discovery import get_tool_definition\nprint(str(described.__doc__).encode().hex(), str(get_tool_definition('crm.described', raw=True)).encode().hex())",
        )],
    ),
];
