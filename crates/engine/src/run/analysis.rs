//! Analyses for callers, of files, tools, earlier answers and variables of a session.

use std::{mem, sync::Arc};

use narrows_analysis::Input;
use narrows_model::{Outcome, Program, nearest};
use narrows_policy::Level;
use serde_json::{Map, Value, json};

use super::{
    AnalyzeOptions, Analyzed, Audience, Engine, Refusal, RunClient, RunRequest,
    finished::RefusalReason,
    pipeline::{self, Run},
};
use crate::{
    analysis::{AnalysisRequest, TableSource},
    compute::ALWAYS_APART,
    media::Media,
    program::AnalyzeError,
    state::{Agent, StateError},
};

impl Engine {
    /// Does an analysis for a caller. If it is cancelled, this waits a moment until its files are
    /// removed.
    pub async fn analyze(
        &self,
        agent: &Agent,
        request: AnalysisRequest,
        options: AnalyzeOptions,
        client: Arc<dyn RunClient>,
    ) -> Result<Analyzed, Refusal> {
        let is_variable = |(_, origin): &(_, _)| matches!(origin, TableSource::Variable { .. });
        let analyzed = if request.tables.iter().any(is_variable) {
            self.analyze_variables(agent, request, options, client).await
        } else {
            self.analyze_tables(agent, request, options, client).await
        };
        agent.keep_tokens_or_warn().await;
        agent.note_files().await;
        analyzed
    }

    async fn analyze_tables(
        &self,
        agent: &Agent,
        mut request: AnalysisRequest,
        options: AnalyzeOptions,
        client: Arc<dyn RunClient>,
    ) -> Result<Analyzed, Refusal> {
        let AnalyzeOptions { workspace, audience, stats, cancel } = options;
        let refuse = |error: AnalyzeError| Refusal::new(&error, audience, &agent.pii_filter());
        let guard = agent.guard(agent.level(None).map_err(|error| refuse(error.into()))?);
        let workspace = workspace.open(agent).map_err(|error| refuse(error.into()))?;
        let media = Arc::new(Media::new(guard.workspace(workspace)));
        let host = pipeline::host(self, &guard, &client, &media, None, stats);
        let format = request.output.format;
        request.output.cost = audience == Audience::Model;
        let answer = host.analyze_for_client(request, &cancel).await.map_err(refuse)?;
        let pii_filter = guard.pii_filter();
        let protecting = || {
            let (mut text, mut structured) = match audience {
                Audience::Model => host.told(&answer, format),
                Audience::Person { protect: true } => {
                    let shown = answer.shown(|value| pii_filter.json(value));
                    (shown.text(format), shown.structured())
                }
                Audience::Person { protect: false } => {
                    let shown = answer.plain();
                    return (shown.text(format), shown.structured());
                }
            };
            pii_filter.printed(&mut text);
            pii_filter.value(&mut structured);
            (text, structured)
        };
        let (text, structured) = agent.compute(ALWAYS_APART, protecting).await;
        Ok(Analyzed::new(text, structured, Vec::new()))
    }

    /// Does an analysis of variables. The gateway runs a program of its own in their session, because
    /// variables exist nowhere else.
    async fn analyze_variables(
        &self,
        agent: &Agent,
        request: AnalysisRequest,
        options: AnalyzeOptions,
        client: Arc<dyn RunClient>,
    ) -> Result<Analyzed, Refusal> {
        let AnalyzeOptions { workspace, audience, stats, cancel } = options;
        let pii_filter = agent.pii_filter();
        let wrong = |message: String| {
            Refusal::of_message(message, RefusalReason::WrongUse, audience, &pii_filter)
        };
        let session = session_of(&request).map_err(wrong)?;
        // Running a program in a session that does not exist would create it.
        let known = agent.sessions().await;
        let known = known.map_err(|error| Refusal::new(&error, audience, &pii_filter))?;
        if !known.iter().any(|known| known.id == session) {
            let near = nearest(&session, known.iter().map(|known| known.id.as_str()));
            return Err(wrong(format!("there is no session {session:?}{near}")));
        }
        let (level, pii_filter) = (agent.level(None), &pii_filter);
        let level = level.map_err(|error| Refusal::new(&error, audience, pii_filter))?;
        let restored = restore_rows(agent, level, request).await;
        let request = restored.map_err(|error| Refusal::new(&error, audience, pii_filter))?;
        let run = RunRequest {
            program: program_of(request),
            session: Some(session),
            workspace,
            audience,
            stats,
            cancel,
            ..RunRequest::default()
        };
        let run = Run::admit(self, agent, run, client).await;
        let run = run.map_err(|error| Refusal::new(&error, audience, pii_filter))?;
        let outcome = run.finish_whole().await?;
        answer_of(outcome)
            .map_err(|why| Refusal::of_message(why, RefusalReason::Other, audience, pii_filter))
    }
}

/// Returns the one session whose variables are analysed.
fn session_of(request: &AnalysisRequest) -> Result<String, String> {
    let mut sessions: Vec<&str> = Vec::new();
    for (_, origin) in &request.tables {
        if let TableSource::Variable { session, .. } = origin
            && !sessions.contains(&session.as_str())
        {
            sessions.push(session);
        }
    }
    match sessions.as_slice() {
        [session] => Ok((*session).to_owned()),
        _ => {
            let sessions = sessions.join(" and ");
            Err(format!("the variables are of {sessions}; name those of one session"))
        }
    }
}

/// Replaces tokens by their values in the rows that the caller gave.
async fn restore_rows(
    agent: &Agent,
    level: Arc<Level>,
    mut request: AnalysisRequest,
) -> Result<AnalysisRequest, StateError> {
    let guard = agent.guard(level);
    for (_, origin) in &mut request.tables {
        if let TableSource::Given(Input::Json(rows)) = origin {
            *rows = guard.known(mem::take(rows)).await?;
        }
    }
    Ok(request)
}

/// Writes the program that analyses variables of its session.
fn program_of(request: AnalysisRequest) -> Program {
    let (mut tables, mut variables) = (Map::new(), String::new());
    for (name, origin) in request.tables {
        if let TableSource::Variable { variable, field, .. } = &origin {
            let part = field.as_ref().map_or(String::new(), |field| format!("[{}]", json!(field)));
            variables.push_str(&format!("{}: {variable}{part}, ", json!(name)));
        }
        tables.insert(name, origin.into_json());
    }
    let asked = json!({
        "analysis_type": request.asked.0,
        "parameters": request.asked.1,
        "tables": tables,
        "output": {
            "rows": request.output.rows,
            "bytes": request.output.bytes,
            "format": request.output.format,
            "file": request.file,
        },
    });
    let asked = Value::String(asked.to_string());
    Program::new(format!(
        "await __import__('_narrows.analysis', fromlist=['rendered'])\
         .rendered({{{variables}}}, __import__('json').loads({asked}))"
    ))
}

/// Reads the answer out of the outcome of such a program, and adds the notes of the run that the
/// analysis does not have itself.
fn answer_of(mut outcome: Outcome) -> Result<Analyzed, String> {
    let structured = outcome.result["structured"].take();
    let said = structured["notes"].as_array().into_iter().flatten().filter_map(Value::as_str);
    let said: Vec<&str> = said.collect();
    let notes: Vec<String> =
        outcome.notes.iter().filter(|note| !said.contains(&note.as_str())).cloned().collect();
    let noted = |text: &str| {
        let notes = notes.iter().map(|note| format!("\nnote: {note}"));
        format!("{text}{}", notes.collect::<String>())
    };
    match (&outcome.result["text"], outcome.failure()) {
        (Value::String(text), _) => Ok(Analyzed::new(noted(text), structured.clone(), notes)),
        (_, Some(failure)) => Err(noted(&failure.message)),
        _ => Err(noted("the analysis gave no answer")),
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
        let (text, structured, notes) = answer_of(outcome).unwrap().into_parts();
        assert_eq!(text, "n: 3\nnote: two were null\nnote: the session moved");
        assert_eq!(structured, json!({"n": 3, "notes": ["two were null"]}));
        assert_eq!(notes, ["the session moved"]);
    }

    #[test]
    fn what_is_asked_of_variables_is_handed_on_as_it_was_written() {
        let arguments = json!({
            "analysis_type": "sql",
            "parameters": {"query": "select 1"},
            "tables": {
                "v": {"session": "s", "variable": "rows"},
                "f": {"file": "a.txt", "format": "jsonl", "path": "items"},
                "t": {"tool": "crm.list", "arguments": {"n": 1}, "path": "rows"},
                "r": {"result": "result-1"},
                "g": [{"a": 1}],
            },
            "output": {"rows": 5, "format": "csv"},
        });
        let request = AnalysisRequest::read(arguments.as_object().unwrap().clone()).unwrap();
        assert_eq!(session_of(&request).unwrap(), "s");
        let source = program_of(request).source;
        assert!(source.contains(r#".rendered({"v": rows, },"#), "{source}");
        let (_, asked) = source.split_once("loads(").unwrap();
        let asked: String = serde_json::from_str(asked.trim_end_matches("))")).unwrap();
        let asked: Value = serde_json::from_str(&asked).unwrap();
        let mut tables = arguments["tables"].clone();
        tables["v"] = Value::Null;
        assert_eq!(asked["tables"], tables);
        assert_eq!(
            (&asked["output"]["rows"], &asked["output"]["format"]),
            (&json!(5), &json!("csv"))
        );
    }
}
