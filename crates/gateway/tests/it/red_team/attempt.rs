//! What an attempt is: what a model does to get a planted value out.

use serde_json::{Value, json};

use crate::support::MAX_PROGRAM_TIME;

/// One attempt.
#[derive(Debug)]
pub(crate) struct Attempt {
    pub(crate) name: &'static str,
    pub(crate) steps: &'static [Step],
}

/// One thing that a client does. Arguments are JSON, in which `<EMAIL>` is the last token of the
/// kind EMAIL that the client received.
#[derive(Debug)]
pub(crate) enum Step {
    /// Runs a program that has a customer's record from the server `crm`: see [`PRELUDE`].
    Run(&'static str),
    /// The same in a session.
    In(&'static str, &'static str),
    /// Runs a program as it is.
    Code(&'static str),
    /// Calls a tool of the gateway, or one of the server `crm`, which is passed through.
    Call(&'static str, &'static str),
    Prompt(&'static str),
    Resource(&'static str),
    Complete(&'static str),
    /// Lists prompts, resources and templates.
    Lists,
    ToolList,
    /// Reads a file piece by piece.
    Pieces(&'static str),
}

const PRELUDE: &str = "from servers.crm import customer\n\
                       record = await customer()\n\
                       email, key, card = record['email'], record['api_key'], record['card']\n";

pub(crate) const fn attempt(name: &'static str, steps: &'static [Step]) -> Attempt {
    Attempt { name, steps }
}

impl Step {
    pub(crate) fn order(&self) -> Value {
        let run = |mut arguments: Value| {
            arguments["timeout"] = MAX_PROGRAM_TIME.as_secs().into();
            json!({"tool": "execute_code", "arguments": arguments})
        };
        let with_record = |code: &str| format!("{PRELUDE}{code}");
        match self {
            Self::Run(code) => run(json!({"code": with_record(code)})),
            Self::In(session, code) => {
                run(json!({"code": with_record(code), "session_id": session}))
            }
            Self::Code(code) => run(json!({"code": code})),
            Self::Call(tool, arguments) => json!({"tool": tool, "arguments": parsed(arguments)}),
            Self::Prompt(name) => json!({"prompt": name}),
            Self::Resource(uri) => json!({"resource": uri}),
            Self::Complete(prompt) => json!({"complete": prompt}),
            Self::Lists => json!({"lists": true}),
            Self::ToolList => json!({"tool_list": true}),
            Self::Pieces(arguments) => json!({"pieces": parsed(arguments)}),
        }
    }
}

fn parsed(arguments: &str) -> Value {
    serde_json::from_str(arguments).unwrap_or_else(|error| panic!("{error}: {arguments}"))
}
