//! The upstream server of the demo: a real MCP server over stdio, in a process of its own.

use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering},
};

use clap::ValueEnum;
use rmcp::{
    ErrorData, RoleServer, ServerHandler, ServiceExt,
    model::{
        CallToolRequestParams, CallToolResponse, CallToolResult, Implementation, ListToolsResult,
        PaginatedRequestParams, ServerCapabilities, ServerConfig, Tool, ToolsCapability,
    },
    service::RequestContext,
};
use serde_json::{Map, Value, json};

use super::data;
use crate::app::Exit;

/// How many times a build has to be polled before it is done.
const POLLS: u64 = 4;

/// The fault of the server when a tool is called, for tests and measurements of what others notice of
/// it.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum Fault {
    /// It never answers
    Hang,
    /// Its process ends
    Crash,
}

pub(crate) async fn serve(fault: Option<Fault>) -> anyhow::Result<Exit> {
    let company = Company { fault, ..Company::default() };
    let served = company.serve(rmcp::transport::stdio()).await;
    match served {
        Ok(running) => {
            running.waiting().await?;
            Ok(Exit::Success)
        }
        Err(rmcp::service::ServerInitializeError::ConnectionClosed(_)) => Ok(Exit::Success),
        Err(error) => Err(error.into()),
    }
}

/// A company with expenses, trips, parks to visit, issues and builds.
#[derive(Clone, Default)]
struct Company {
    polls: Arc<AtomicU64>,
    fault: Option<Fault>,
}

fn definitions() -> Vec<Value> {
    let tool = |name: &str, description: &str, properties: Value, required: Value, row: Value| {
        json!({
            "name": name,
            "description": description,
            "inputSchema": {
                "type": "object",
                "properties": properties,
                "required": required,
                "additionalProperties": false,
            },
            "outputSchema": row,
            "annotations": {"readOnlyHint": true},
        })
    };
    let rows = |properties: Value| {
        json!({
            "type": "object",
            "properties": {
                "rows": {"type": "array", "items": {"type": "object", "properties": properties}},
            },
            "required": ["rows"],
        })
    };
    let text = json!({"type": "string"});
    let number = json!({"type": "number"});
    let truth = json!({"type": "boolean"});
    vec![
        tool(
            "get_expenses",
            "All expenses of the company, or those of one department",
            json!({"department": {"type": "string", "description": "for example Engineering"}}),
            json!([]),
            rows(json!({
                "id": number, "employee": text, "department": text, "category": text,
                "amount": number, "date": text, "approved": truth,
            })),
        ),
        tool(
            "get_trips",
            "Business trips, or those of one employee",
            json!({"employee": {"type": "string"}}),
            json!([]),
            rows(
                json!({"id": number, "employee": text, "city": text, "start": text, "nights": number}),
            ),
        ),
        tool(
            "list_parks",
            "National parks with their visitors, or those of one state",
            json!({"state": {"type": "string", "description": "two letters, such as CA"}}),
            json!([]),
            rows(
                json!({"id": number, "name": text, "state": text, "visitors": number, "has_camping": truth}),
            ),
        ),
        tool(
            "list_issues",
            "One page of a hundred issues of the tracker",
            json!({"page": {"type": "integer", "minimum": 1}}),
            json!(["page"]),
            rows(json!({
                "number": number, "title": text, "state": text, "label": text, "author": text,
                "comments": number,
            })),
        ),
        tool(
            "get_build",
            "The state of a build, which takes a while",
            json!({"id": {"type": "string"}}),
            json!(["id"]),
            json!({
                "type": "object",
                "properties": {"id": text, "state": {"enum": ["running", "done"]}, "log": text},
                "required": ["id", "state"],
            }),
        ),
    ]
}

impl Company {
    fn answer(&self, name: &str, arguments: &Map<String, Value>) -> Option<Value> {
        let text = |key: &str| arguments.get(key).and_then(Value::as_str);
        Some(match name {
            "get_expenses" => json!({ "rows": data::expenses(text("department")) }),
            "get_trips" => json!({ "rows": data::trips(text("employee")) }),
            "list_parks" => json!({ "rows": data::parks(text("state")) }),
            "list_issues" => {
                let page = arguments.get("page").and_then(Value::as_u64).unwrap_or(1);
                json!({ "rows": data::issues(page) })
            }
            "get_build" => {
                let poll = self.polls.fetch_add(1, Ordering::Relaxed) + 1;
                let state = if poll.is_multiple_of(POLLS) { "done" } else { "running" };
                let log = "compiling a module of the program\n".repeat(40);
                json!({ "id": text("id"), "state": state, "log": log })
            }
            _ => return None,
        })
    }
}

impl ServerHandler for Company {
    fn get_info(&self) -> ServerConfig {
        let mut capabilities = ServerCapabilities::default();
        capabilities.tools = Some(ToolsCapability::default());
        ServerConfig::new(capabilities)
            .with_server_info(Implementation::new("company", env!("CARGO_PKG_VERSION")))
    }

    async fn list_tools(
        &self,
        _request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        let tools = definitions().into_iter().filter_map(|tool| serde_json::from_value(tool).ok());
        Ok(ListToolsResult::with_all_items(tools.collect::<Vec<Tool>>()))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        _context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        match self.fault {
            Some(Fault::Hang) => std::future::pending().await,
            Some(Fault::Crash) => std::process::exit(Exit::Failure as i32),
            None => {}
        }
        let arguments = request.arguments.unwrap_or_default();
        match self.answer(&request.name, &arguments) {
            Some(answer) => Ok(CallToolResult::structured(answer).into()),
            None => Err(ErrorData::invalid_params("there is no such tool", None)),
        }
    }
}

/// Makes the server, for a client in the same process.
pub(super) fn company() -> impl ServerHandler {
    Company::default()
}
