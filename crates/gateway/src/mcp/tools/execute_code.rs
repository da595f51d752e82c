//! `execute_code`: a program of an agent, run in the sandbox.

use futures::future::BoxFuture;
use narrows_model::Limits;
use serde_json::{Value, json};

use super::{
    OwnTool, Purpose, ToolRequest,
    code_request::CodeRequest,
    outcome::Form,
    result::{ClientResult, failure},
};

pub(super) const TOOL: OwnTool = OwnTool {
    name: "execute_code",
    purpose: Purpose::Code,
    definition,
    handler: |request| execute(request, Form::Streams),
};

fn definition() -> Value {
    let (min, max) = (Limits::MIN_SECONDS, Limits::MAX_SECONDS);
    let default = Limits::default().wall_time.as_secs();
    let timeout = format!("seconds, {min} to {max}; default {default}");
    json!({
        "name": "execute_code",
        "title": "Run Python",
        "description":
            "Run Python in a sandbox that can call all connected tools; only what it prints or \
             puts into `result` comes back. Top-level await works. \
             Example: from servers.github import list_issues\n\
             issues = await list_issues(owner='o', repo='r')\n\
             result = [i['title'] for i in issues if 'bug' in i['title']]",
        "inputSchema": {
            "type": "object",
            "properties": {
                "code": {"type": "string"},
                "context": {"type": "object", "description": "variables for the code"},
                "timeout": {"type": "number", "description": timeout},
                "session_id": {"type": "string", "description": "keeps variables for later calls"},
                "isolation": {"type": "string", "description": "a stricter level, as hardened"},
            },
            "required": ["code"],
        },
        "annotations": {"readOnlyHint": false, "destructiveHint": true, "openWorldHint": true},
    })
}

/// Runs the program of a request. `execute_python` differs in the form of its answer only.
pub(super) fn execute(request: ToolRequest, form: Form) -> BoxFuture<'static, ClientResult> {
    Box::pin(async move {
        let ToolRequest { gateway, agent, arguments, bytes, client, stats } = request;
        let request = match agent.compute(bytes, || CodeRequest::parse(arguments)).await {
            Ok(request) => request,
            Err(mistake) => return ClientResult::protect(failure(mistake), &agent).await,
        };
        match gateway.engine.execute(&agent, request.into_run(stats), client).await {
            Ok(finished) => ClientResult::finished(finished, form),
            // Busy, or asked for something impossible: the model can mend that.
            Err(refusal) => refusal.into(),
        }
    })
}
