//! Analyses: reads tables from files, tools and programs, and writes the answers for programs and
//! clients.

use std::{
    io::{self, Read, Write},
    sync::Arc,
    time::SystemTime,
};

use narrows_analysis::{
    AnalysisError, Answer, FileFormat, FileSink, Format, Input, Request, ResultTable, SpillTarget,
};
use narrows_model::{EventAction, EventOutcome};
use narrows_sandbox::{
    ToolAnswer, ToolCall, ToolFailure, UnfinishedFile, Workspace, WorkspaceFile,
};
use serde_json::{Map, Value, json, value::RawValue};
use thiserror::Error;
use tokio_util::sync::CancellationToken;

use super::host::{ProgramHost, parse};
use crate::{
    analysis::{AnalysisRequest, TableSource, restored, rows_of},
    analysis_service::EarlierResult,
    safety::AuditSpan,
    spill_file,
    state::StateError,
};

/// The name of the call by which programs ask for analyses; see `_narrows/analysis.py`.
pub(crate) const ANALYZE: &str = "narrows:analyze";

/// The most rows and bytes that a program is given in memory; all rows are in a file then.
const PROGRAM_ROWS: usize = 1_000_000;
const PROGRAM_BYTES: usize = 48 << 20;

/// The largest JSON file of which a part can be taken, because that needs all of it in memory.
const MAX_PARSED: u64 = 64 << 20;

/// The reason why an analysis has no answer.
#[derive(Debug, Error)]
pub enum AnalyzeError {
    /// A table could not be read.
    #[error("{0}")]
    Table(String),
    #[error(transparent)]
    Analysis(#[from] AnalysisError),
    #[error(transparent)]
    State(#[from] StateError),
}

impl AnalyzeError {
    pub fn is_limit(&self) -> bool {
        matches!(self, Self::Analysis(error) if error.is_limit())
    }

    /// Returns the outcome that the audit records for the analysis.
    fn outcome(&self) -> EventOutcome {
        match self {
            Self::Analysis(AnalysisError::Cancelled) => EventOutcome::Cancelled,
            Self::Analysis(AnalysisError::Busy { .. } | AnalysisError::TablesWaiting) => {
                EventOutcome::Busy
            }
            _ if self.is_limit() => EventOutcome::Limit,
            Self::State(error) => error.outcome(),
            Self::Table(_) | Self::Analysis(_) => EventOutcome::Failed,
        }
    }
}

impl ProgramHost {
    /// Does an analysis for a client, and records it in the audit. If it is cancelled, this waits a
    /// moment until its files are removed.
    pub async fn analyze_for_client(
        &self,
        request: AnalysisRequest,
        cancel: &CancellationToken,
    ) -> Result<Answer, AnalyzeError> {
        let guard = self.guard();
        let request = self.restored(request).await?;
        let kind = request.kind.name();
        let names: Vec<&str> = request.tables.iter().map(|(name, _)| name.as_str()).collect();
        let details = json!({ "level": guard.level().name, "tables": names });
        let mut span = AuditSpan::new(guard, EventAction::Analysis, kind, details);
        if let Err(refused) = guard.begin() {
            span.end(refused.outcome());
            return Err(refused.into());
        }
        let mut answered = self.analyze(request, cancel).await;
        if let Ok(answer) = &mut answered {
            answer.notes.extend(guard.take_left_note());
        }
        let outcome = match &answered {
            Ok(answer) => {
                span.note("rows", json!(answer.table.as_ref().map(|table| table.total_rows)));
                EventOutcome::Ok
            }
            Err(error) => error.outcome(),
        };
        span.end(outcome);
        if guard.level().audit_must_hold {
            self.agent().written(guard.audit_trail()).await.map_err(StateError::AuditDown)?;
        }
        answered
    }

    /// Does an analysis. Rows that do not fit into the answer go to a file of the workspace.
    async fn analyze(
        &self,
        request: AnalysisRequest,
        cancel: &CancellationToken,
    ) -> Result<Answer, AnalyzeError> {
        let AnalysisRequest {
            kind, parameters, tables, output, file, keep, notes, refusal, ..
        } = request;
        let mut inputs = Vec::with_capacity(tables.len());
        for (name, origin) in tables {
            let input = tokio::select! {
                input = self.input(origin) => input,
                () = cancel.cancelled() => return Err(AnalysisError::Cancelled.into()),
            };
            let input = input.map_err(|why| AnalyzeError::Table(format!("{name}: {why}")))?;
            inputs.push((name, input));
        }
        let keep = match keep {
            Some(keep) => Some(keep),
            None => self.keep(file)?,
        };
        let engine = self.agent().analysis_service().engine().map_err(AnalyzeError::Table)?;
        let request = Request { kind, parameters, output, refusal };
        let caller = self.agent().fair_caller();
        let mut answer = engine.run_for(caller, request, inputs, keep, cancel.clone()).await?;
        answer.notes.splice(0..0, notes);
        Ok(answer)
    }

    /// Replaces tokens in the parameters and in given rows, for a caller that was shown tokens.
    async fn restored(&self, mut request: AnalysisRequest) -> Result<AnalysisRequest, StateError> {
        self.restore_parameters(&mut request).await?;
        for (_, origin) in &mut request.tables {
            if let TableSource::Given(Input::Json(rows)) = origin {
                *rows = self.guard().known(std::mem::take(rows)).await?;
            }
        }
        Ok(request)
    }

    async fn restore_parameters(&self, request: &mut AnalysisRequest) -> Result<(), StateError> {
        let parameters = Value::Object(std::mem::take(&mut request.parameters));
        if let Value::Object(parameters) = restored(self.guard(), parameters).await? {
            request.parameters = parameters;
        }
        Ok(())
    }

    /// Returns an answer as text for a model and as data, both protected. Keeps its table, so that
    /// later requests can name it.
    pub fn told(&self, answer: &Answer, format: Option<Format>) -> (String, Value) {
        let shown = answer.shown(|value| self.guard().pii_filter().json(value));
        let mut text = shown.text(format);
        let path = answer.table.as_ref().and_then(|table| Some(table.kept.as_ref()?.path.as_str()));
        let written = path.and_then(|path| self.written(path));
        let flow = self.guard().flow();
        let name =
            self.agent().analysis_service().keep(self.agent().principal(), answer, written, flow);
        if let Some(name) = &name {
            text.push_str(&format!("\nresult: {name}"));
        }
        if let Some(cost) = shown.cost_line(&text) {
            text.push_str(&format!("\n{cost}"));
        }
        let mut structured = shown.structured();
        if let Some(name) = name {
            structured["result_id"] = name.into();
        }
        (text, structured)
    }

    /// Returns the time at which a file of the workspace was written.
    fn written(&self, path: &str) -> Option<SystemTime> {
        let file = self.workspace()?.open_to_read(path).ok()?;
        file.metadata().ok()?.modified().ok()
    }

    /// Answers a program's request for an analysis.
    pub(super) async fn answer_analysis(&self, call: ToolCall) -> Result<ToolAnswer, ToolFailure> {
        let mut arguments: Map<String, Value> = parse(&call.arguments)?;
        let is_rendered = arguments.remove("rendered").is_some_and(|rendered| rendered == true);
        let has_output = arguments.get("output").is_some_and(|output| !output.is_null());
        let mut request =
            AnalysisRequest::of_program(arguments, &call.data).map_err(ToolFailure::new)?;
        let is_for_all = !is_rendered && !has_output;
        if is_for_all {
            request.output.rows = PROGRAM_ROWS;
            request.output.bytes = PROGRAM_BYTES;
        }
        let failed = |error: StateError| ToolFailure::new(error.to_string());
        if is_rendered {
            request.output.cost = true;
            request = self.restored(request).await.map_err(failed)?;
        } else {
            self.restore_parameters(&mut request).await.map_err(failed)?;
        }
        let format = request.output.format;
        let mut answer = self
            .analyze(request, &CancellationToken::new())
            .await
            .map_err(|error| ToolFailure::new(error.to_string()))?;
        if let Some(table) = answer.table.as_ref().filter(|_| is_for_all) {
            answer.notes.extend(cut(table)?);
        }
        self.note(&answer.notes);
        if is_rendered {
            let (text, structured) = self.told(&answer, format);
            return Ok(raw(&json!({ "text": text, "structured": structured }))?.into());
        }
        let mut told = json!({ "analysis_type": answer.kind, "notes": answer.notes });
        if let Some(told) = told.as_object_mut() {
            told.extend(answer.facts);
        }
        let data = answer.table.map(|table| {
            let path = table.kept.as_ref().map(|kept| kept.path.clone());
            told["table"] = json!({ "total_rows": table.total_rows, "path": path });
            table.marshal().into()
        });
        Ok(ToolAnswer { value: raw(&told)?, data })
    }

    /// Answers an analysis as [`Self::answer_analysis`] does, for tests of skills, which may not reach
    /// files and tools.
    pub(crate) async fn analyze_given(&self, call: ToolCall) -> Result<ToolAnswer, ToolFailure> {
        let arguments: Value = parse(&call.arguments)?;
        let tables = arguments["tables"].as_array().into_iter().flatten();
        if tables.clone().any(|table| table.get("source").is_some()) {
            let message = "files and tools are not available to tests; give rows to analyses";
            return Err(ToolFailure::new(message));
        }
        self.answer_analysis(call).await
    }

    async fn input(&self, origin: TableSource) -> Result<Input, String> {
        match origin {
            TableSource::Given(input) => Ok(input),
            TableSource::File { file, format, path: None } => self.file(&file, format),
            TableSource::File { file, format, path: Some(path) } => {
                part_of(&file, self.file(&file, format)?, &path)
            }
            TableSource::Tool { tool, arguments, path } => {
                let given =
                    self.tool_value(&tool, arguments).await.map_err(|failed| failed.message)?;
                Ok(Input::Json(rows_of(given.value, path.as_deref())?))
            }
            TableSource::Result(name) => {
                let principal = self.agent().principal();
                let earlier = self.agent().analysis_service().results().get(principal, &name)?;
                self.guard().has_read(&earlier.flow);
                let EarlierResult { table, written, .. } = earlier;
                match &table.kept {
                    // Only some of its rows are in memory; the file has all of them.
                    Some(kept) if table.shown_rows() < table.total_rows => {
                        if self.written(&kept.path) != written {
                            let path = &kept.path;
                            return Err(format!(
                                "the rows of {name} were in {path}, which was changed since then \
                                 or is gone; do the analysis again"
                            ));
                        }
                        self.file(&kept.path, None)
                    }
                    _ => Ok(Input::from(table)),
                }
            }
            TableSource::Variable { .. } => {
                Err("variables of sessions cannot be reached from here; in a program, give the \
                     variable itself"
                    .into())
            }
        }
    }

    /// Opens a file of the workspace that the program sees.
    fn file(&self, path: &str, format: Option<FileFormat>) -> Result<Input, String> {
        let format = format.or_else(|| FileFormat::of(path)).ok_or_else(|| {
            format!(
                "{path}: its name does not end with json, jsonl, csv, tsv or parquet; say which \
                     with {{\"file\": …, \"format\": …}}"
            )
        })?;
        let Some(workspace) = self.workspace() else {
            return Err(format!("{path}: there is no workspace here"));
        };
        let file = workspace.open_to_read(path).map_err(|error| {
            let files = workspace.walk().unwrap_or_default();
            let near = match error.kind() {
                io::ErrorKind::NotFound => {
                    narrows_model::nearest(path, files.iter().map(|file| file.path.as_str()))
                }
                _ => narrows_model::Nearest::default(),
            };
            format!("{path}: {error}{near}")
        })?;
        Ok(Input::File { file, format })
    }

    fn workspace(&self) -> Option<&Arc<Workspace>> {
        self.media().workspace()
    }

    /// Returns the target for rows that do not fit into an answer, or for all rows if the caller names
    /// a file.
    fn keep(&self, file: Option<String>) -> Result<Option<SpillTarget>, AnalyzeError> {
        let Some(workspace) = self.media().workspace_to_write().cloned() else {
            return match file {
                Some(file) => Err(AnalyzeError::Table(format!(
                    "output.file: {file} cannot be written; there is no workspace to write to here"
                ))),
                None => Ok(None),
            };
        };
        Ok(Some(match file {
            None => SpillTarget {
                format: FileFormat::Parquet,
                always: false,
                make: Box::new(move || {
                    let (name, file) = spill_file::create(&workspace, "analysis", "parquet")?;
                    let path = format!("/workspace/{name}");
                    let made = Made { workspace, name, file, is_whole: false };
                    Ok((path, Box::new(made) as _))
                }),
            },
            Some(path) => SpillTarget {
                format: FileFormat::of(&path).unwrap_or(FileFormat::Parquet),
                always: true,
                make: Box::new(move || {
                    let path = workspace.resolve(&path)?;
                    let file = workspace.begin(&path)?;
                    Ok((format!("/workspace/{path}"), Box::new(NamedFile(file)) as _))
                }),
            },
        }))
    }
}

/// Reads the value at a path of a JSON file.
fn part_of(name: &str, input: Input, path: &str) -> Result<Input, String> {
    let Input::File { file, format: FileFormat::Json } = input else {
        return Err(format!("{name}: only a JSON file has a part called {path:?}"));
    };
    let mut text = String::new();
    let read = file.take(MAX_PARSED + 1).read_to_string(&mut text);
    read.map_err(|error| format!("{name}: {error}"))?;
    if text.len() as u64 > MAX_PARSED {
        let max = MAX_PARSED >> 20;
        return Err(format!("{name}: a part can be taken of files of at most {max} MB"));
    }
    let value = serde_json::from_str(&text).map_err(|error| format!("{name}: {error}"))?;
    Ok(Input::Json(rows_of(value, Some(path))?))
}

/// Returns a note for a program that asked for all rows and gets only the first. Without a file that
/// has the others this is an error, because the program would go on as if there were no more.
fn cut(table: &ResultTable) -> Result<Option<String>, ToolFailure> {
    let (given, total) = (table.shown_rows(), table.total_rows);
    if given == total {
        return Ok(None);
    }
    match &table.kept {
        Some(kept) => Ok(Some(format!(
            "these are the first {given} of {total} rows; all are in {}",
            kept.path
        ))),
        None => Err(ToolFailure::new(format!(
            "the result has {total} rows, of which {given} fit into a program, and there is no \
             workspace to keep the others in; ask for fewer rows or columns, or say how many you \
             want with output={{\"rows\": …}}"
        ))),
    }
}

/// A file whose name the gateway chose. It is removed unless it is finished.
struct Made {
    workspace: Arc<Workspace>,
    name: String,
    file: WorkspaceFile,
    is_whole: bool,
}

impl Write for Made {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.file.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

impl FileSink for Made {
    fn finish(mut self: Box<Self>) -> io::Result<()> {
        self.is_whole = true;
        Ok(())
    }
}

impl Drop for Made {
    fn drop(&mut self) {
        if !self.is_whole {
            let _ = self.workspace.remove(&self.name);
        }
    }
}

/// A file that the caller named. An existing file is replaced only when this one is finished.
struct NamedFile(UnfinishedFile);

impl Write for NamedFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

impl FileSink for NamedFile {
    fn finish(self: Box<Self>) -> io::Result<()> {
        self.0.finish()
    }
}

fn raw(value: &Value) -> Result<Box<RawValue>, ToolFailure> {
    serde_json::value::to_raw_value(value).map_err(|error| ToolFailure::new(error.to_string()))
}

#[cfg(test)]
mod tests;
