//! `execute_python`: what `execute_code` is, for callers that know it by this name. All that
//! `execute_code` takes it takes too.

use serde_json::{Value, json};

use super::{OwnTool, Purpose, execute_code::execute, outcome::Form};

pub(super) const TOOL: OwnTool = OwnTool {
    name: "execute_python",
    purpose: Purpose::Code,
    definition,
    handler: |request| execute(request, Form::Joined),
};

fn definition() -> Value {
    json!({
        "name": "execute_python",
        "title": "Run Python",
        "description": "The same as execute_code.",
        "inputSchema": {
            "type": "object",
            "properties": {
                "code": {"type": "string"},
                "context": {"type": "object"},
                "timeout": {"type": "number"},
            },
            "required": ["code"],
        },
        "annotations": {"destructiveHint": true},
    })
}
