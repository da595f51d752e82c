//! The gateway's own tools: what a tool is, the list of all, and the way that every call takes. Models
//! read the texts of the definitions with every request, so each word counts.

use std::{fmt, sync::Arc};

use futures::future::BoxFuture;
use narrows_engine::{
    aliases,
    compute::json_bytes,
    model_text,
    state::Agent,
    token_stats::{RequestKind, RequestStats},
};
use rmcp::model::{CallToolResult, Tool};
use serde_json::{Map, Value, json};

use super::{
    execute_analysis, execute_code, execute_python, get_execution_stats, get_tool_definition,
    list_skills, list_workspace_files, load_skill, read_workspace_file, restore_pii,
    result::{ClientResult, add_notes},
    sanitize_pii, save_skill, search_tools, write_workspace_file,
};
use crate::mcp::{Gateway, Surface, client::ClientHandle};

/// A tool of the gateway itself.
pub(in crate::mcp) struct OwnTool {
    pub(in crate::mcp) name: &'static str,
    pub(super) purpose: Purpose,
    pub(super) definition: fn() -> Value,
    pub(super) handler: fn(ToolRequest) -> BoxFuture<'static, ClientResult>,
}

/// The purpose of a tool. Tools with the same purpose are treated alike.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Purpose {
    /// Runs a program.
    Code,
    Analysis,
    /// Only looks. What it does not know of its arguments is left out, and told.
    Lookup,
    /// Reads and writes what lasts. What it does not know is refused: it may write, and not without
    /// what was asked for.
    Lasting,
    /// Turns values into tokens, or back: whoever calls it knows what tokens are.
    Privacy,
}

/// A call of one of our own tools.
pub(super) struct ToolRequest {
    pub(super) gateway: Arc<Gateway>,
    pub(super) agent: Agent,
    pub(super) arguments: Map<String, Value>,
    /// The size of the arguments.
    pub(super) bytes: usize,
    pub(super) client: Arc<ClientHandle>,
    /// Where it is written what the call would have cost a model without Narrows.
    pub(super) stats: Arc<RequestStats>,
}

impl OwnTool {
    /// In the order in which they are listed; those of the core come first.
    const ALL: [Self; 14] = [
        execute_code::TOOL,
        search_tools::TOOL,
        get_tool_definition::TOOL,
        execute_python::TOOL,
        save_skill::TOOL,
        load_skill::TOOL,
        list_skills::TOOL,
        write_workspace_file::TOOL,
        read_workspace_file::TOOL,
        list_workspace_files::TOOL,
        sanitize_pii::TOOL,
        restore_pii::TOOL,
        execute_analysis::TOOL,
        get_execution_stats::TOOL,
    ];
    const CORE: usize = 3;

    /// Finds a tool by its name, whatever the surface: a client that knows the name may use the tool.
    pub(in crate::mcp) fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|tool| tool.name == name)
    }

    pub(in crate::mcp) fn runs_code(&self) -> bool {
        self.purpose == Purpose::Code
    }

    /// Tells whether the tool is about tokens, so that its callers need no explanation of them.
    pub(in crate::mcp) fn is_about_tokens(&self) -> bool {
        self.purpose == Purpose::Privacy
    }

    /// Calls the tool, and counts the tokens of its request and its result.
    pub(in crate::mcp) async fn call(
        &self,
        gateway: &Arc<Gateway>,
        agent: Agent,
        mut arguments: Map<String, Value>,
        client: Arc<ClientHandle>,
    ) -> CallToolResult {
        let is_run = matches!(self.purpose, Purpose::Code | Purpose::Analysis);
        let kind = if is_run { RequestKind::Run } else { RequestKind::Lookup };
        let bytes = json_bytes(&arguments);
        let opening = || {
            let written = serde_json::to_string(&arguments).unwrap_or_default();
            gateway.token_stats.open(kind, &format!("{}{written}", self.name))
        };
        let stats = agent.compute(bytes, opening).await;
        let naming = || {
            // A program's arguments may be wrapped in others, and are renamed where they are read.
            if self.purpose != Purpose::Code {
                aliases::rename(self.name, &mut arguments);
            }
            match self.purpose {
                Purpose::Lookup => aliases::take_unknown(self.name, &mut arguments),
                _ => Vec::new(),
            }
        };
        let mut ignored = agent.compute(bytes, naming).await;
        ignored.iter_mut().for_each(|note| agent.pii_filter().replace(note));
        let request = ToolRequest {
            gateway: Arc::clone(gateway),
            agent: agent.clone(),
            arguments,
            bytes,
            client,
            stats: Arc::clone(&stats),
        };
        let mut result = (self.handler)(request).await.into_inner();
        add_notes(&mut result, ignored);
        agent.keep_tokens_or_warn().await;
        let closing = || stats.close(&model_text(&result), result.is_error != Some(true));
        agent.compute(json_bytes(&result), closing).await;
        result
    }

    /// Returns the definition as it is listed. Those of the core have a hint for Claude Code, which
    /// otherwise gives its model no more than the names of MCP tools, so that each costs a further turn
    /// before it can be called. Core tools are few, and all work begins with them.
    fn listing(&self) -> Value {
        let mut listing = (self.definition)();
        if Self::ALL[..Self::CORE].iter().any(|core| core.name == self.name) {
            listing["_meta"] = json!({"anthropic/alwaysLoad": true});
        }
        listing
    }
}

impl fmt::Debug for OwnTool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("OwnTool").field(&self.name).finish()
    }
}

/// Returns the tools of a surface.
pub(in crate::mcp) fn own_tools(surface: Surface) -> Vec<Tool> {
    let shown = match surface {
        Surface::Core => &OwnTool::ALL[..OwnTool::CORE],
        Surface::Full => &OwnTool::ALL,
    };
    // The definitions are constants, and a test parses each of them.
    shown.iter().filter_map(|tool| serde_json::from_value(tool.listing()).ok()).collect()
}

/// Returns the list of a surface's tools as JSON, as a model reads it: without `_meta`, which is for the
/// client.
pub(crate) fn surface_text(surface: Surface) -> String {
    let mut tools = own_tools(surface);
    tools.iter_mut().for_each(|tool| tool.meta = None);
    let result = rmcp::model::ListToolsResult::with_all_items(tools);
    serde_json::to_string(&result).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_tool_is_well_formed_and_has_annotations() {
        let tools = own_tools(Surface::Full);
        let names: Vec<&str> = tools.iter().map(|tool| tool.name.as_ref()).collect();
        assert_eq!(names, OwnTool::ALL.map(|tool| tool.name));
        assert!(tools.iter().all(|tool| tool.annotations.is_some() && tool.title.is_some()));
    }

    #[test]
    fn the_tools_of_the_core_are_in_every_prompt_of_claude_code() {
        let loaded = |tool: &Tool| {
            let listed = serde_json::to_value(tool).unwrap_or_default();
            listed["_meta"]["anthropic/alwaysLoad"] == true
        };
        assert!(own_tools(Surface::Core).iter().all(loaded));
        let full = own_tools(Surface::Full);
        assert_eq!(full.iter().filter(|tool| loaded(tool)).count(), OwnTool::CORE);
    }
}
