//! `execute_analysis`: an answer about rows that never pass through the model.

use narrows_engine::{AnalyzeOptions, analysis::AnalysisRequest};
use serde_json::{Value, json};

use super::{
    OwnTool, Purpose, ToolRequest,
    result::{ClientResult, failure},
};

pub(super) const TOOL: OwnTool = OwnTool {
    name: "execute_analysis",
    purpose: Purpose::Analysis,
    definition,
    handler: |request| Box::pin(call(request)),
};

fn definition() -> Value {
    json!({
        "name": "execute_analysis",
        "title": "Analyse rows",
        "description": "Analyse rows without reading them. Example: {\"analysis_type\": \
                        \"aggregate\", \"source\": \"sales.csv\", \"parameters\": {\"group_by\": \
                        \"region\", \"aggregations\": {\"amount\": \"sum\"}}}",
        "inputSchema": {
            "type": "object",
            "properties": {
                "analysis_type": {"enum": narrows_analysis::AnalysisType::ALL},
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

async fn call(request: ToolRequest) -> ClientResult {
    let ToolRequest { gateway, agent, arguments, bytes, client, stats } = request;
    let request = match agent.compute(bytes, || AnalysisRequest::read(arguments)).await {
        Ok(request) => request,
        Err(mistake) => return ClientResult::protect(failure(mistake), &agent).await,
    };
    let options = AnalyzeOptions { stats: Some(stats), ..AnalyzeOptions::default() };
    match gateway.engine.analyze(&agent, request, options, client).await {
        Ok(analyzed) => ClientResult::analyzed(analyzed),
        Err(refusal) => refusal.into(),
    }
}
