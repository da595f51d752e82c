//! The answers of our own tools, and what they cost a model.

use std::sync::Arc;

use narrows_engine::{
    aliases,
    compute::{ALWAYS_APART, json_bytes},
    ledger::Kind,
    model_text,
    search::{DefinitionRequest, SearchRequest},
    state::Agent,
};
use rmcp::model::{CallToolResult, ContentBlock};
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};

use super::{
    analysis,
    client::Client,
    code::{self, CodeRequest},
    gateway::Gateway,
    keeping,
    own_tools::OwnTool,
    passing::keep_tokens,
    privacy,
    protected::{ClientResult, Exemption},
};
use crate::stats;

/// Does what a tool of ours is asked for.
pub(super) async fn answer(
    gateway: &Arc<Gateway>,
    agent: Agent,
    tool: OwnTool,
    mut arguments: Map<String, Value>,
    client: Arc<Client>,
) -> CallToolResult {
    let is_run = tool.runs_code() || tool == OwnTool::ExecuteAnalysis;
    let kind = if is_run { Kind::Run } else { Kind::Lookup };
    let bytes = json_bytes(&arguments);
    let opening = || {
        let written = serde_json::to_string(&arguments).unwrap_or_default();
        gateway.ledger.open(kind, &format!("{}{written}", tool.name()))
    };
    let tab = agent.compute(bytes, opening).await;
    if !tool.runs_code() {
        aliases::rename(tool.name(), &mut arguments);
    }
    // The others refuse what they do not know: they may write, and not without what was asked for.
    let is_lookup = matches!(
        tool,
        OwnTool::SearchTools | OwnTool::GetToolDefinition | OwnTool::GetExecutionStats
    );
    let ignored = match is_lookup {
        true => aliases::take_unknown(tool.name(), &mut arguments),
        false => Vec::new(),
    };
    let protect = |result| ClientResult::protect(result, &agent);
    let result = match tool {
        OwnTool::ExecuteCode | OwnTool::ExecutePython => {
            match agent.compute(bytes, || CodeRequest::read(arguments)).await {
                Ok(request) => {
                    code::execute(gateway, &agent, tool, request, client, Arc::clone(&tab)).await
                }
                Err(mistake) => protect(failed(mistake)).await,
            }
        }
        OwnTool::ExecuteAnalysis => {
            analysis::execute(gateway, &agent, arguments, client, Arc::clone(&tab)).await
        }
        OwnTool::SanitizePii => {
            ClientResult::exempt(privacy::sanitize(&agent, arguments).await, Exemption::Sanitized)
        }
        OwnTool::RestorePii => {
            let restored = privacy::restore(&agent, arguments, client).await;
            ClientResult::exempt(restored, Exemption::Restored)
        }
        OwnTool::SearchTools => {
            definitions(search_tools(gateway, &agent, arguments).await, &agent).await
        }
        OwnTool::GetToolDefinition => {
            definitions(get_tool_definition(gateway, &agent, arguments).await, &agent).await
        }
        OwnTool::GetExecutionStats => protect(execution_stats(gateway, &agent).await).await,
        OwnTool::SaveSkill => protect(keeping::save_skill(gateway, &agent, arguments).await).await,
        OwnTool::LoadSkill => protect(keeping::load_skill(&agent, arguments).await).await,
        OwnTool::ListSkills => {
            protect(keeping::list_skills(gateway, &agent, arguments).await).await
        }
        OwnTool::WriteWorkspaceFile => protect(keeping::write_file(&agent, arguments).await).await,
        OwnTool::ReadWorkspaceFile => protect(keeping::read_file(&agent, arguments).await).await,
        OwnTool::ListWorkspaceFiles => protect(keeping::list_files(&agent, arguments).await).await,
    };
    let mut result = result.into_inner();
    note(&mut result, ignored);
    let result_bytes = json_bytes(&result);
    if !is_run {
        keep_tokens(&agent).await;
    }
    let closing = || tab.close(&model_text(&result), result.is_error != Some(true));
    agent.compute(result_bytes, closing).await;
    result
}

/// Sends definitions as they are. Why there are none is no definition: it may be what a server wrote
/// before it ended.
async fn definitions(result: CallToolResult, agent: &Agent) -> ClientResult {
    if result.is_error == Some(true) {
        ClientResult::protect(result, agent).await
    } else {
        ClientResult::exempt(result, Exemption::Definitions)
    }
}

async fn search_tools(
    gateway: &Gateway,
    agent: &Agent,
    arguments: Map<String, Value>,
) -> CallToolResult {
    match read::<SearchRequest>(arguments) {
        Ok(request) => said(gateway.guide().search(&request, agent).await.text()),
        Err(mistake) => failed(mistake),
    }
}

async fn get_tool_definition(
    gateway: &Gateway,
    agent: &Agent,
    arguments: Map<String, Value>,
) -> CallToolResult {
    if !arguments.contains_key("name") {
        return failed("\"name\" is missing; say which tool, as in github.create_issue");
    }
    let request = match read::<DefinitionRequest>(arguments) {
        Ok(request) => request,
        Err(mistake) => return failed(mistake),
    };
    match gateway.guide().define(&request, agent).await {
        Ok(Value::String(definition)) => said(definition),
        Ok(raw) => said(raw.to_string()),
        Err(error) => failed(error.to_string()),
    }
}

async fn execution_stats(gateway: &Gateway, agent: &Agent) -> CallToolResult {
    // What was answered just now is counted first.
    let counting = || (gateway.ledger.here(), gateway.ledger.all());
    let (here, all) = agent.compute(ALWAYS_APART, counting).await;
    let text = format!("{}\n\n{}", stats::table("this gateway", &here), stats::table("all", &all));
    told(text, json!({"here": stats::json(&here), "all": stats::json(&all)}))
}

/// What a tool is asked for.
pub(super) fn read<T: DeserializeOwned>(arguments: Map<String, Value>) -> Result<T, String> {
    serde_json::from_value(Value::Object(arguments))
        .map_err(|error| format!("the arguments do not fit: {error}"))
}

/// Puts notes behind an answer: in a block of their own, for the text may be a definition, and in the
/// structure, which some clients hand to their model in the place of the text.
fn note(result: &mut CallToolResult, notes: Vec<String>) {
    if notes.is_empty() {
        return;
    }
    let lines: Vec<String> = notes.iter().map(|note| format!("note: {note}")).collect();
    result.content.push(ContentBlock::text(lines.join("\n")));
    if let Some(Value::Object(structured)) = &mut result.structured_content {
        structured.insert("notes".to_owned(), json!(notes));
    }
}

/// Text for a model and the same as data for a program. Some clients hand the data to their model
/// in the place of the text: what the text says, the data has to say too.
pub(super) fn told(text: String, data: Value) -> CallToolResult {
    let mut result = said(text);
    result.structured_content = Some(data);
    result
}

pub(super) fn said(text: String) -> CallToolResult {
    CallToolResult::success(vec![ContentBlock::text(text)])
}

pub(super) fn failed(message: impl Into<String>) -> CallToolResult {
    CallToolResult::error(vec![ContentBlock::text(message)])
}
