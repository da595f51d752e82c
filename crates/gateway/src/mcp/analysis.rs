//! `execute_analysis`: an answer about rows that never pass through the model.

use std::sync::Arc;

use narrows_analysis::Input;
use narrows_engine::{
    ProgramHost,
    analysis::{AnalysisRequest, Origin},
    compute::{ALWAYS_APART, json_bytes},
    ledger::Tab,
    media::Media,
    state::Agent,
};
use narrows_model::{Outcome, nearest};
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
    let reading = || AnalysisRequest::read(arguments.clone());
    let mut request = match agent.compute(json_bytes(&arguments), reading).await {
        Ok(request) => request,
        Err(mistake) => return Ok(failed(mistake)),
    };
    let is_variable = |(_, origin): &(_, Origin)| matches!(origin, Origin::Variable { .. });
    if request.tables.iter().any(is_variable) {
        return in_session(gateway, agent, request, &arguments, client, tab).await;
    }
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
            let telling = || host.told(&answer, format);
            let (text, structured) = agent.compute(ALWAYS_APART, telling).await;
            told(text, json!({"success": true, "result": structured}))
        }
        Err(error) => failed(error.to_string()),
    };
    let bytes = json_bytes(&result);
    agent.compute(bytes, || watch.shield().result(&mut result)).await;
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
        "analysis_type": request.asked.0,
        "parameters": request.asked.1,
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
    let ran = match code::run(gateway, agent, run, client, tab).await? {
        Ok(ran) => ran,
        Err(refused) => return Ok(refused),
    };
    let mut result = answer(&ran.outcome);
    ran.watch.shield().result(&mut result);
    agent.note_files().await;
    Ok(result)
}

/// The answer of a program that did an analysis.
fn answer(outcome: &Outcome) -> CallToolResult {
    let (text, structured) = (&outcome.result["text"], &outcome.result["structured"]);
    // What was noted of the data is in the answer of the analysis too.
    let said: Vec<&str> =
        structured["notes"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    let notes: Vec<&String> =
        outcome.notes.iter().filter(|note| !said.contains(&note.as_str())).collect();
    let noted = |text: &str| {
        let notes = notes.iter().map(|note| format!("\nnote: {note}"));
        format!("{text}{}", notes.collect::<String>())
    };
    match (text, outcome.failure()) {
        (Value::String(text), _) => {
            let mut data = json!({"success": true, "result": structured});
            if !notes.is_empty() {
                data["notes"] = json!(notes);
            }
            told(noted(text), data)
        }
        (_, Some(failure)) => failed(noted(&failure.message)),
        _ => failed(noted("the analysis gave no answer")),
    }
}

#[cfg(test)]
mod tests {
    use narrows_model::{Ending, Failure};

    use super::*;

    #[test]
    fn notes_of_the_run_are_told_once_beside_those_of_the_analysis() {
        let mut outcome = Outcome::not_run(Failure::default());
        outcome.ending = Ending::Success;
        outcome.result = json!({"text": "n: 3\nnote: two were null",
            "structured": {"n": 3, "notes": ["two were null"]}});
        outcome.notes = vec!["two were null".into(), "the session moved".into()];
        let result = serde_json::to_value(answer(&outcome)).unwrap();
        let text = "n: 3\nnote: two were null\nnote: the session moved";
        assert_eq!(result["content"][0]["text"], text);
        let data = json!({"success": true, "result": {"n": 3, "notes": ["two were null"]},
            "notes": ["the session moved"]});
        assert_eq!(result["structuredContent"], data);
    }
}
