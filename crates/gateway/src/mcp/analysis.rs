//! `execute_analysis`: an answer about rows that never pass through the model.

use std::{sync::Arc, time::Instant};

use narrows_analysis::Input;
use narrows_engine::{
    ProgramHost,
    analysis::{AnalysisRequest, Origin},
    ledger::Tab,
    media::Media,
    state::Agent,
};
use narrows_model::nearest;
use rmcp::{ErrorData, model::CallToolResult};
use serde_json::{Map, Value, json};
use tokio_util::sync::CancellationToken;

use super::{
    answers::{failed, told},
    client::Client,
    code::{self, CodeRequest},
    gateway::Gateway,
};

pub(super) async fn execute(
    gateway: &Arc<Gateway>,
    agent: &Agent,
    arguments: Map<String, Value>,
    client: Arc<Client>,
    tab: Arc<Tab>,
) -> Result<CallToolResult, ErrorData> {
    let mut request = match AnalysisRequest::read(arguments.clone()) {
        Ok(request) => request,
        Err(mistake) => return Ok(failed(mistake)),
    };
    let is_variable = |(_, origin): &(_, Origin)| matches!(origin, Origin::Variable { .. });
    if request.tables.iter().any(is_variable) {
        return in_session(gateway, agent, request, &arguments, client, tab).await;
    }
    let started = Instant::now();
    let prepared = agent.level(None).and_then(|level| Ok((agent.watch(level), agent.workspace()?)));
    let (watch, workspace) = match prepared {
        Ok(prepared) => prepared,
        Err(error) => return Ok(failed(error.to_string())),
    };
    let (workspace, read_only) = watch.workspace(Some(workspace));
    let media = Arc::new(Media::new(workspace, read_only));
    let guide = Arc::clone(&gateway.guide);
    let host = ProgramHost::new(guide, Arc::clone(&watch), client, media, |_, _| {}).counting(tab);
    let format = request.output.format;
    request.output.cost = true;
    let mut result = match host.analyze_for_client(request, &CancellationToken::new()).await {
        Ok(answer) => {
            let (text, structured) = host.told(&answer, format);
            let milliseconds = started.elapsed().as_millis() as u64;
            let structured =
                json!({"success": true, "result": structured, "execution_time_ms": milliseconds});
            told(text, structured)
        }
        Err(error) => failed(error.to_string()),
    };
    watch.shield().result(&mut result);
    agent.note_files().await;
    Ok(result)
}

/// An analysis of variables: a program of their session asks for it.
async fn in_session(
    gateway: &Arc<Gateway>,
    agent: &Agent,
    request: AnalysisRequest,
    arguments: &Map<String, Value>,
    client: Arc<Client>,
    tab: Arc<Tab>,
) -> Result<CallToolResult, ErrorData> {
    let watch = match agent.level(None) {
        Ok(level) => agent.watch(level),
        Err(error) => return Ok(failed(error.to_string())),
    };
    let mut sessions = Vec::new();
    let (mut tables, mut variables) = (Map::new(), String::new());
    for (name, origin) in request.tables {
        let table = match origin {
            Origin::Variable { session, variable, field } => {
                let part = field.map_or(String::new(), |field| format!("[{}]", json!(field)));
                variables.push_str(&format!("{}: {variable}{part}, ", json!(name)));
                if !sessions.contains(&session) {
                    sessions.push(session);
                }
                Value::Null
            }
            Origin::Given(Input::Json(rows)) => match watch.known(rows).await {
                Ok(rows) => rows,
                Err(error) => return Ok(failed(error.to_string())),
            },
            _ => {
                let written = arguments.get("tables").and_then(|tables| tables.get(&name));
                written.or(arguments.get("source")).cloned().unwrap_or_default()
            }
        };
        tables.insert(name, table);
    }
    let [session] = sessions.as_slice() else {
        let sessions = sessions.join(" and ");
        return Ok(failed(format!("the variables are of {sessions}; name those of one session")));
    };
    // A program of a session that is not there would begin one.
    match agent.sessions().await {
        Ok(known) if known.iter().any(|known| known.id == *session) => {}
        Ok(known) => {
            let near = nearest(session, known.iter().map(|known| known.id.as_str()));
            return Ok(failed(format!("there is no session {session:?}{near}")));
        }
        Err(error) => return Ok(failed(error.to_string())),
    }
    let asked = json!({
        "analysis_type": request.kind.name(),
        "parameters": request.parameters,
        "tables": tables,
        "output": arguments.get("output"),
    });
    let asked = Value::String(asked.to_string());
    let code = format!(
        "await __import__('_narrows.analysis', fromlist=['rendered'])\
         .rendered({{{variables}}}, __import__('json').loads({asked}))"
    );
    let mut run = match CodeRequest::read(Map::from_iter([("code".to_owned(), code.into())])) {
        Ok(run) => run,
        Err(mistake) => return Ok(failed(mistake)),
    };
    run.session = Some(session.clone());
    let ran = code::execute(Arc::clone(gateway), agent.clone(), run, client, tab).await?;
    let outcome = ran.structured_content.as_ref().unwrap_or(&Value::Null);
    let rendered = &outcome["result"];
    Ok(match (&rendered["text"], outcome["error"]["message"].as_str()) {
        (Value::String(text), _) => {
            told(text.clone(), json!({"success": true, "result": rendered["structured"]}))
        }
        (_, Some(message)) => failed(message),
        _ => ran,
    })
}
