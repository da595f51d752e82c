//! The tools of the gateway itself, as clients see them. Their texts are read by models with
//! every request, so each word counts.

use rmcp::model::Tool;
use serde_json::{Value, json};

use super::Surface;

/// A tool of the gateway itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum OwnTool {
    ExecuteCode,
    SearchTools,
    GetToolDefinition,
    ExecutePython,
    SaveSkill,
    LoadSkill,
    ListSkills,
    WriteWorkspaceFile,
    ReadWorkspaceFile,
    ListWorkspaceFiles,
    SanitizePii,
    RestorePii,
    ExecuteAnalysis,
    GetExecutionStats,
}

impl OwnTool {
    /// In the order in which they are listed; those of the core come first.
    const ALL: [Self; 14] = [
        Self::ExecuteCode,
        Self::SearchTools,
        Self::GetToolDefinition,
        Self::ExecutePython,
        Self::SaveSkill,
        Self::LoadSkill,
        Self::ListSkills,
        Self::WriteWorkspaceFile,
        Self::ReadWorkspaceFile,
        Self::ListWorkspaceFiles,
        Self::SanitizePii,
        Self::RestorePii,
        Self::ExecuteAnalysis,
        Self::GetExecutionStats,
    ];
    const CORE: usize = 3;

    /// By its name, whatever the surface: who knows a name may use it.
    pub(super) fn called(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|tool| tool.name() == name)
    }

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::ExecuteCode => "execute_code",
            Self::SearchTools => "search_tools",
            Self::GetToolDefinition => "get_tool_definition",
            Self::ExecutePython => "execute_python",
            Self::SaveSkill => "save_skill",
            Self::LoadSkill => "load_skill",
            Self::ListSkills => "list_skills",
            Self::WriteWorkspaceFile => "write_workspace_file",
            Self::ReadWorkspaceFile => "read_workspace_file",
            Self::ListWorkspaceFiles => "list_workspace_files",
            Self::SanitizePii => "sanitize_pii",
            Self::RestorePii => "restore_pii",
            Self::ExecuteAnalysis => "execute_analysis",
            Self::GetExecutionStats => "get_execution_stats",
        }
    }

    pub(super) fn runs_code(self) -> bool {
        matches!(self, Self::ExecuteCode | Self::ExecutePython)
    }

    /// As it is listed: its definition, and for those of the core a word to Claude Code, which gives its
    /// model no more than the names of tools of MCP servers, so that each costs a further turn before it
    /// can be called. Ours are few, and all work begins with them.
    fn listing(self) -> Value {
        let mut listing = self.definition();
        if Self::ALL[..Self::CORE].contains(&self) {
            listing["_meta"] = json!({"anthropic/alwaysLoad": true});
        }
        listing
    }

    fn definition(self) -> Value {
        match self {
            Self::ExecuteCode => execute_code(),
            Self::ExecutePython => execute_python(),
            Self::SearchTools => search_tools(),
            Self::GetToolDefinition => get_tool_definition(),
            Self::SaveSkill => save_skill(),
            Self::LoadSkill => load_skill(),
            Self::ListSkills => list_skills(),
            Self::WriteWorkspaceFile => write_workspace_file(),
            Self::ReadWorkspaceFile => read_workspace_file(),
            Self::ListWorkspaceFiles => list_workspace_files(),
            Self::SanitizePii | Self::RestorePii => pii(self.name()),
            Self::ExecuteAnalysis => execute_analysis(),
            Self::GetExecutionStats => get_execution_stats(),
        }
    }
}

/// The tools of a surface.
pub(super) fn tools(surface: Surface) -> Vec<Tool> {
    let shown = match surface {
        Surface::Core => &OwnTool::ALL[..OwnTool::CORE],
        Surface::Full => &OwnTool::ALL,
    };
    // They are constants of ours, and a test reads each of them.
    shown.iter().filter_map(|tool| serde_json::from_value(tool.listing()).ok()).collect()
}

/// Returns what a surface says to a client that lists it, as JSON; without `_meta`, which is for the
/// client and not for its model.
pub(crate) fn surface_text(surface: Surface) -> String {
    let mut tools = tools(surface);
    tools.iter_mut().for_each(|tool| tool.meta = None);
    let result = rmcp::model::ListToolsResult::with_all_items(tools);
    serde_json::to_string(&result).unwrap_or_default()
}

fn execute_code() -> Value {
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
                "timeout": {"type": "number", "description": "seconds, 1 to 120; default 30"},
                "session_id": {"type": "string", "description": "keeps variables for later calls"},
                "isolation": {"type": "string", "description": "a stricter level, as hardened"},
            },
            "required": ["code"],
        },
        "annotations": {"readOnlyHint": false, "destructiveHint": true, "openWorldHint": true},
    })
}

/// For callers that know it by this name; all that `execute_code` takes it takes too.
fn execute_python() -> Value {
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

fn search_tools() -> Value {
    json!({
        "name": "search_tools",
        "title": "Find tools",
        "description": "Find tools to call from execute_code; without query, list servers. \
                        Example: {\"query\": \"create issue\"}",
        "inputSchema": {
            "type": "object",
            "properties": {
                "query": {"type": "string"},
                "detail_level": {"enum": ["name_only", "with_description", "full"]},
                "limit": {"type": "integer"},
                "server": {"type": "string"},
                "category": {"type": "string"},
            },
        },
        "annotations": {"readOnlyHint": true, "openWorldHint": false},
    })
}

fn get_tool_definition() -> Value {
    json!({
        "name": "get_tool_definition",
        "title": "Show a tool",
        "description":
            "A tool's signature and types. Example: {\"name\": \"github.create_issue\"}",
        "inputSchema": {
            "type": "object",
            "properties": {
                "name": {"type": "string"},
                "server": {"type": "string"},
                "raw": {"type": "boolean", "description": "the JSON schema instead"},
            },
            "required": ["name"],
        },
        "annotations": {"readOnlyHint": true, "openWorldHint": false},
    })
}

fn save_skill() -> Value {
    json!({
        "name": "save_skill",
        "title": "Save a skill",
        "description": "Save Python as a skill: `from skills import NAME` imports the function \
                        NAME that it defines. Example: {\"name\": \"double\", \"code\": \
                        \"def double(n: int) -> int:\\n    return n * 2\"}",
        "inputSchema": {
            "type": "object",
            "properties": {
                "name": {"type": "string"},
                "code": {"type": "string"},
                "description": {"type": "string"},
                "tags": {"type": "array", "items": {"type": "string"}},
            },
            "required": ["name", "code"],
        },
        "annotations": {"readOnlyHint": false, "destructiveHint": false, "openWorldHint": false},
    })
}

fn load_skill() -> Value {
    json!({
        "name": "load_skill",
        "title": "Show a skill",
        "description": "The code of a skill. Example: {\"name\": \"double\"}",
        "inputSchema": {
            "type": "object",
            "properties": {"name": {"type": "string"}, "version": {"type": "integer"}},
            "required": ["name"],
        },
        "annotations": {"readOnlyHint": true, "openWorldHint": false},
    })
}

fn list_skills() -> Value {
    json!({
        "name": "list_skills",
        "title": "Find skills",
        "description": "Saved skills, all or by query. Example: {\"query\": \"high risk leads\"}",
        "inputSchema": {
            "type": "object",
            "properties": {"query": {"type": "string"}, "limit": {"type": "integer"}},
        },
        "annotations": {"readOnlyHint": true, "openWorldHint": false},
    })
}

fn write_workspace_file() -> Value {
    json!({
        "name": "write_workspace_file",
        "title": "Write a file",
        "description": "Write a file that code sees as /workspace/PATH. \
                        Example: {\"path\": \"notes.md\", \"content\": \"text\"}",
        "inputSchema": {
            "type": "object",
            "properties": {
                "path": {"type": "string"},
                "content": {"type": "string"},
                "encoding": {"enum": ["text", "base64"]},
            },
            "required": ["path", "content"],
        },
        "annotations": {"readOnlyHint": false, "destructiveHint": true, "openWorldHint": false},
    })
}

fn read_workspace_file() -> Value {
    json!({
        "name": "read_workspace_file",
        "title": "Read a file",
        "description": "A file of the workspace, 32768 bytes unless limit says more. \
                        Example: {\"path\": \"notes.md\"}",
        "inputSchema": {
            "type": "object",
            "properties": {
                "path": {"type": "string"},
                "offset": {"type": "integer"},
                "limit": {"type": "integer"},
                "encoding": {"enum": ["text", "base64"]},
            },
            "required": ["path"],
        },
        "annotations": {"readOnlyHint": true, "openWorldHint": false},
    })
}

fn list_workspace_files() -> Value {
    json!({
        "name": "list_workspace_files",
        "title": "List files",
        "description": "Files of the workspace. Example: {\"pattern\": \"*.csv\"}",
        "inputSchema": {"type": "object", "properties": {"pattern": {"type": "string"}}},
        "annotations": {"readOnlyHint": true, "openWorldHint": false},
    })
}

fn pii(name: &str) -> Value {
    let (title, description) = match name {
        "sanitize_pii" => (
            "Hide personal data",
            "Put tokens in the place of personal data. \
             Example: {\"text\": \"Write to a@example.com\"}",
        ),
        _ => (
            "Show personal data",
            "What tokens stand for, where that is allowed. \
             Example: {\"text\": \"Write to [EMAIL_abc]\"}",
        ),
    };
    json!({
        "name": name,
        "title": title,
        "description": description,
        "inputSchema": {
            "type": "object",
            "properties": {"text": {"type": "string"}, "data": {"description": "or any JSON"}},
        },
        "annotations": {"readOnlyHint": true, "openWorldHint": false},
    })
}

fn execute_analysis() -> Value {
    json!({
        "name": "execute_analysis",
        "title": "Analyse rows",
        "description": "Analyse rows without reading them. Example: {\"analysis_type\": \
                        \"aggregate\", \"source\": \"sales.csv\", \"parameters\": {\"group_by\": \
                        \"region\", \"aggregations\": {\"amount\": \"sum\"}}}",
        "inputSchema": {
            "type": "object",
            "properties": {
                "analysis_type": {"enum": narrows_analysis::Kind::ALL},
                "data": {"description": "rows; rather use source"},
                "source": {
                    "description": "workspace file, {tool, arguments, path}, {session, variable} \
                                    or {result}",
                },
                "tables": {"type": "object", "description": "more sources by name"},
                "parameters": {"type": "object"},
                "output": {"description": "{rows, format, file}"},
            },
            "required": ["analysis_type"],
        },
        "annotations": {"readOnlyHint": false, "destructiveHint": false},
    })
}

fn get_execution_stats() -> Value {
    json!({
        "name": "get_execution_stats",
        "title": "Show token savings",
        "description": "Runs, tool calls, and tokens seen compared with direct calls. Example: {}",
        "inputSchema": {"type": "object", "properties": {}},
        "annotations": {"readOnlyHint": true, "openWorldHint": false},
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_tool_is_well_formed_and_has_annotations() {
        let tools = tools(Surface::Full);
        let names: Vec<&str> = tools.iter().map(|tool| tool.name.as_ref()).collect();
        assert_eq!(names, OwnTool::ALL.map(OwnTool::name));
        assert!(tools.iter().all(|tool| tool.annotations.is_some() && tool.title.is_some()));
    }

    #[test]
    fn the_tools_of_the_core_are_in_every_prompt_of_claude_code() {
        let loaded = |tool: &Tool| {
            let listed = serde_json::to_value(tool).unwrap_or_default();
            listed["_meta"]["anthropic/alwaysLoad"] == true
        };
        assert!(tools(Surface::Core).iter().all(loaded));
        assert_eq!(tools(Surface::Full).iter().filter(|tool| loaded(tool)).count(), OwnTool::CORE);
    }
}
