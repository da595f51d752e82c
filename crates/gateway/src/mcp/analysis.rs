//! `execute_analysis`: an answer about rows that never pass through the model.

use std::{sync::Arc, time::Instant};

use narrows_engine::{
    ProgramHost,
    analysis::{AnalysisRequest, Origin},
    ledger::Tab,
    media::Media,
    state::Agent,
};
use rmcp::{ErrorData, model::CallToolResult};
use serde_json::{Map, Value, json};

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
    if let Some((_, Origin::Variable { session, variable })) = request.tables.first() {
        return in_session(gateway, agent, session, variable, arguments, client, tab).await;
    }
    let started = Instant::now();
    let prepared = agent.level(None).and_then(|level| Ok((agent.watch(level), agent.workspace()?)));
    let (watch, workspace) = match prepared {
        Ok(prepared) => prepared,
        Err(error) => return Ok(failed(error.to_string())),
    };
    let (workspace, _) = watch.workspace(Some(workspace));
    let media = Arc::new(Media::new(workspace));
    let guide = Arc::clone(&gateway.guide);
    let host = ProgramHost::new(guide, Arc::clone(&watch), client, media, |_, _| {}).counting(tab);
    let format = request.output.format;
    request.output.cost = true;
    let mut result = match host.analyze_for_client(request).await {
        Ok(answer) => {
            let mut text = answer.text(format);
            let mut structured = answer.structured();
            if let Some(name) = host.keep_result(&answer) {
                text.push_str(&format!("\nresult: {name}"));
                structured["result_id"] = name.into();
            }
            if let Some(cost) = answer.cost_line(&text) {
                text.push_str(&format!("\n{cost}"));
            }
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

/// An analysis of a variable: a program of its session asks for it.
async fn in_session(
    gateway: &Arc<Gateway>,
    agent: &Agent,
    session: &str,
    variable: &str,
    mut arguments: Map<String, Value>,
    client: Arc<Client>,
    tab: Arc<Tab>,
) -> Result<CallToolResult, ErrorData> {
    arguments.remove("source");
    let request = Value::String(Value::Object(arguments).to_string());
    let code = format!(
        "await __import__('_narrows.analysis', fromlist=['rendered'])\
         .rendered({variable}, __import__('json').loads({request}))"
    );
    let mut run = match CodeRequest::read(Map::from_iter([("code".to_owned(), code.into())])) {
        Ok(run) => run,
        Err(mistake) => return Ok(failed(mistake)),
    };
    run.session = Some(session.to_owned());
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
