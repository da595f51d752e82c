//! A program on its way through the gateway, one stage after another.

use std::{mem, sync::Arc};

use narrows_model::{EventAction, EventOutcome, Failure, Limits, Outcome, OutputStream, Program};
use narrows_python::{ParsedProgram, SourceTree, review::ImpliedImports};
use narrows_sandbox::{Session, Workspace, WorkspaceMount};
use narrows_upstream::Caller;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use super::{
    Audience, Engine, ExecuteError, ExecuteRequest, Finished, OutputUse, Refusal, RunClient,
    RunError, RunRequest, RunWorkspace, check_source, excerpt,
};
use crate::{
    compute::{json_bytes, without_place},
    discovery::EarlierNames,
    media::{Media, Shown},
    program::{ProgramHost, restore_literals},
    safety::{AuditSpan, Mode, Reviewed, RunGuard, Streams},
    skills::sha256,
    state::{Agent, StateError},
    token_stats::RequestStats,
};

/// One program with its caller, its limits and the guard that says what it may do.
pub(super) struct Run<'e> {
    engine: &'e Engine,
    agent: Agent,
    guard: Arc<RunGuard>,
    client: Arc<dyn RunClient>,
    host: ProgramHost,
    media: Arc<Media>,
    /// Replaces personal data in the output; `None` if the audience may read values.
    streams: Option<Arc<Streams>>,
    program: Program,
    limits: Limits,
    session: Option<String>,
    workspace: Option<WorkspaceMount>,
    output: OutputUse,
    audience: Audience,
    /// Notes about the request for the program's author, such as corrections and limits.
    notes: Vec<String>,
    cancel: CancellationToken,
}

/// The outcome of a program, and whether it ran: the check or the review may have refused it.
struct ProgramEnd {
    outcome: Outcome,
    was_run: bool,
}

impl<'e> Run<'e> {
    /// Begins the pipeline: settles the isolation level, the limits and the workspace, and creates the
    /// host.
    pub(super) async fn admit(
        engine: &'e Engine,
        agent: &Agent,
        request: RunRequest,
        client: Arc<dyn RunClient>,
    ) -> Result<Self, RunError> {
        let RunRequest { mut program, timeout, memory_bytes, session, isolation, .. } = request;
        let RunRequest { workspace, output, audience, mut notes, stats, cancel, .. } = request;
        check_source(&program.source)?;
        let guard = agent.guard(agent.level(isolation.as_deref())?);
        ExecuteError::check_time(timeout)?;
        let (mut limits, note) = guard.limits(timeout);
        notes.extend(note);
        if let Some(bytes) = memory_bytes {
            // A caller that asks for a level means its limits too.
            limits.memory_bytes = match isolation {
                Some(_) => bytes.min(limits.memory_bytes),
                None => bytes,
            };
        }
        let workspace = guard.workspace(workspace.open(agent)?);
        let media = Arc::new(Media::new(workspace.clone()));
        let streams = audience.is_protected().then(|| Arc::new(guard.pii_filter().streams()));
        let host = host(engine, &guard, &client, &media, streams.clone(), stats);
        protect_context(agent, &guard, &mut program).await;
        Ok(Self {
            engine,
            agent: agent.clone(),
            guard,
            client,
            host,
            media,
            streams,
            program,
            limits,
            session,
            workspace,
            output,
            audience,
            notes,
            cancel,
        })
    }

    /// Runs all other stages. A program that was not run has an outcome if its author can mend it, and
    /// a [`Refusal`] if it could not begin.
    pub(super) async fn finish(mut self) -> Result<Finished, Refusal> {
        let (mut outcome, whole, shown) = self.run_protected().await?;
        self.keep(&mut outcome, whole.as_ref()).await;
        let pii_filter = self.streams.is_some().then(|| self.guard.pii_filter().clone());
        Ok(Finished::new(outcome, shown, pii_filter))
    }

    /// Runs all other stages, as [`Self::finish`] does, but cuts nothing: for a program that the
    /// gateway wrote itself, whose result fits into an answer.
    pub(super) async fn finish_whole(mut self) -> Result<Outcome, Refusal> {
        self.run_protected().await.map(|(outcome, ..)| outcome)
    }

    async fn run_protected(&mut self) -> Result<(Outcome, Option<Outcome>, Vec<Shown>), Refusal> {
        let mut record = self.begin_record().await;
        let token_note = self.restore_literals(&mut record).await;
        let ProgramEnd { mut outcome, was_run } = match self.check_and_run(&record).await {
            Ok(ended) => ended,
            Err(error) => {
                record.end(error.outcome());
                return Err(Refusal::new(&error, self.audience, self.guard.pii_filter()));
            }
        };
        outcome.notes.extend(token_note);
        outcome.notes.extend(self.guard.take_left_note());
        self.record(record, &mut outcome, was_run).await;
        let (whole, shown) = self.protect(&mut outcome).await;
        Ok((outcome, whole, shown))
    }

    /// Begins the run's entry in the audit.
    async fn begin_record(&self) -> AuditSpan {
        let describing = || {
            let details = json!({
                "level": self.guard.level().name,
                // The audit must not hold personal data either.
                "code": self.agent.pii_filter().sanitized(&self.program.source),
                "context": self.program.context.keys().collect::<Vec<_>>(),
                "session": self.session,
            });
            let hash = sha256(self.program.source.as_bytes());
            AuditSpan::new(&self.guard, EventAction::Run, hash, details)
        };
        self.agent.compute(self.program.source.len(), describing).await
    }

    /// Replaces tokens by their values in the program's literals and context. Returns a note about
    /// tokens that stayed.
    async fn restore_literals(&mut self, record: &mut AuditSpan) -> Option<String> {
        let restored = restore_literals(&self.guard, &mut self.program).await;
        if !restored.kinds.is_empty() {
            record.note("revealed", json!(restored.kinds));
        }
        restored.note
    }

    async fn check_and_run(&mut self, record: &AuditSpan) -> Result<ProgramEnd, RunError> {
        let Some(id) = self.session.clone() else {
            return self.check_and_run_in(None, record).await;
        };
        // Opened before the check, which must know the variables that earlier programs have bound by
        // now.
        let mut session = self.agent.open_session(&id, &self.guard).await?;
        let running = self.check_and_run_in(Some(&mut session.isolate), record);
        let ended = session.lease.keep_during(running).await;
        let was_run = ended.as_ref().is_ok_and(|ended| ended.was_run);
        let note = session.save(&self.guard, was_run).await;
        let mut ended = ended?;
        ended.outcome.notes.extend(note);
        Ok(ended)
    }

    async fn check_and_run_in(
        &mut self,
        session: Option<&mut Session>,
        record: &AuditSpan,
    ) -> Result<ProgramEnd, RunError> {
        let earlier = EarlierNames::from(session.as_deref());
        let Reviewed { refusal, notes } = self.inspect(earlier, record).await?;
        if let Some(outcome) = refusal {
            return Ok(ProgramEnd { outcome, was_run: false });
        }
        let mut outcome = self.run_in_sandbox(session).await?;
        outcome.notes.extend(notes);
        Ok(ProgramEnd { outcome, was_run: true })
    }

    /// Checks and reviews the program before it runs. Both use the same syntax tree, which the first
    /// one parses.
    async fn inspect(
        &mut self,
        earlier: EarlierNames,
        record: &AuditSpan,
    ) -> Result<Reviewed, StateError> {
        let bytes = self.program.source.len();
        let tree = SourceTree::new(&self.program.source);
        let parsed = ParsedProgram::new(&tree);
        let inspected = self.check_and_review(&parsed, earlier, record).await;
        // To free a large tree takes time too.
        without_place(bytes, || drop(parsed));
        without_place(bytes, || drop(tree));
        inspected
    }

    async fn check_and_review(
        &mut self,
        parsed: &ParsedProgram<'_>,
        earlier: EarlierNames,
        record: &AuditSpan,
    ) -> Result<Reviewed, StateError> {
        // The check comes before the quota, so that a program that cannot work does not count.
        let discovery = self.engine.discovery();
        let checked = discovery.look(&self.program, parsed, earlier, &self.agent).await;
        if checked.refusal.is_some() {
            return Ok(Reviewed { refusal: checked.refusal, notes: Vec::new() });
        }
        checked.give_implied(&mut self.program);
        self.guard.begin()?;
        self.hold_audit(record).await?;
        let mut reviewed = self.review(parsed, &checked.implied).await;
        reviewed.notes.splice(0..0, checked.note);
        Ok(reviewed)
    }

    /// Waits until the beginning of the run is in the audit, at levels that do nothing without an audit
    /// entry.
    async fn hold_audit(&self, record: &AuditSpan) -> Result<(), StateError> {
        if !self.guard.level().audit_must_hold {
            return Ok(());
        }
        record.begin();
        self.agent.written(self.guard.audit_trail()).await.map_err(StateError::AuditDown)
    }

    /// Looks in the program for what the isolation level does not allow.
    async fn review(&self, parsed: &ParsedProgram<'_>, implied: &ImpliedImports) -> Reviewed {
        let catalog = self.engine.discovery().broker().catalog();
        let reviewing = || self.guard.review(parsed, implied, &self.limits, catalog);
        self.agent.compute(parsed.text().len(), reviewing).await
    }

    async fn run_in_sandbox(&mut self, session: Option<&mut Session>) -> Result<Outcome, RunError> {
        let executor = self.engine.executor()?;
        let request = ExecuteRequest {
            program: mem::take(&mut self.program),
            limits: self.limits.clone(),
            output: self.output,
            workspace: self.workspace.clone(),
            pii_filter: self.streams.is_some().then(|| self.guard.pii_filter().clone()),
            caller: Arc::clone(self.agent.fair_caller()),
        };
        Ok(executor.execute(session, request, &self.host, self.cancel.clone()).await?)
    }

    /// Ends the run's entry in the audit. At levels with `audit_must_hold`, an entry that cannot be
    /// written replaces the outcome by an error.
    async fn record(&self, mut record: AuditSpan, outcome: &mut Outcome, was_run: bool) {
        record.took(outcome.wall_time);
        record.note("tool_calls", outcome.tool_calls);
        record.note("output_bytes", outcome.stdout.len() + outcome.stderr.len());
        record.note("error", outcome.failure().map(|failure| failure.kind.clone()));
        record.end(match was_run {
            true => EventOutcome::from(&outcome.ending),
            false => EventOutcome::Refused,
        });
        if !self.guard.level().audit_must_hold {
            // The entry is written in the background; entries that were lost are reported with the next
            // answer.
            outcome.notes.extend(self.agent.take_lost_audit());
            return;
        }
        let lost = match self.agent.written(self.guard.audit_trail()).await {
            Err(why) => why,
            Ok(()) if self.guard.is_closed() => "a call is not in it".to_owned(),
            Ok(()) => return,
        };
        // The caller must learn nothing of a run that is not in the audit.
        drop((self.media.take_shown(), self.host.take_notes()));
        *outcome = Outcome::not_run(Failure {
            kind: "AuditError".into(),
            message: format!(
                "the audit cannot be written ({lost}); at the isolation level {:?} such a run \
                 gives nothing back",
                self.guard.level().name
            ),
            line: None,
            traceback: String::new(),
        });
    }

    /// Replaces personal data by tokens in everything that the caller is given, before anything is cut,
    /// so that no half of a value is left. Returns the outcome as the program left it, if it may be cut
    /// later, and the images and files that the program displayed.
    async fn protect(&mut self, outcome: &mut Outcome) -> (Option<Outcome>, Vec<Shown>) {
        outcome.notes.splice(0..0, mem::take(&mut self.notes));
        outcome.notes.extend(self.host.take_notes());
        let mut shown = self.media.take_shown();
        let mut whole = None;
        if let Some(streams) = &self.streams {
            for stream in [OutputStream::Stdout, OutputStream::Stderr] {
                self.client.output(stream, streams.finish(stream));
            }
            let shown_bytes: usize = shown.iter().map(|shown| shown.data.len()).sum();
            let bytes = outcome_bytes(outcome) + shown_bytes;
            let protecting = || {
                let whole = (self.audience == Audience::Model).then(|| outcome.clone());
                self.guard.pii_filter().outcome(outcome);
                shown.iter_mut().for_each(|shown| self.guard.pii_filter().media(shown));
                whole
            };
            whole = self.agent.compute(bytes, protecting).await;
        }
        // Not only when output is protected: the program may have made tokens itself.
        if let Err(error) = self.agent.keep_tokens().await {
            outcome.notes.push(format!("pii: {error}"));
        }
        (whole, shown)
    }

    /// Cuts what is too long for a model, and writes the whole of it into the workspace.
    async fn keep(&self, outcome: &mut Outcome, whole: Option<&Outcome>) {
        if let Some(whole) = whole {
            let level = self.guard.level();
            // If programs may not write to the workspace, their output is not written there either.
            let workspace = self.workspace.as_ref().and_then(WorkspaceMount::to_write);
            let bytes = outcome_bytes(outcome);
            let fitting = || excerpt::fit(outcome, whole, workspace, level.shown_bytes);
            self.agent.compute(bytes, fitting).await;
        }
        self.agent.note_files().await;
    }
}

impl RunWorkspace {
    pub(super) fn open(self, agent: &Agent) -> Result<Option<Arc<Workspace>>, StateError> {
        Ok(match self {
            Self::Own => Some(agent.workspace()?),
            Self::Given(workspace) => Some(workspace),
            Self::None => None,
        })
    }
}

/// Creates the host that answers a program's calls, and that passes its output on to the caller.
pub(super) fn host(
    engine: &Engine,
    guard: &Arc<RunGuard>,
    client: &Arc<dyn RunClient>,
    media: &Arc<Media>,
    streams: Option<Arc<Streams>>,
    stats: Option<Arc<RequestStats>>,
) -> ProgramHost {
    let hearer = Arc::clone(client);
    let output = move |stream, text: &str| {
        let text = match &streams {
            Some(streams) => without_place(text.len(), || streams.push(stream, text)),
            None => text.to_owned(),
        };
        hearer.output(stream, text);
    };
    let (discovery, guard) = (Arc::clone(engine.discovery()), Arc::clone(guard));
    let audit_trail = guard.audit_trail().clone();
    let caller: Arc<dyn Caller> = Arc::clone(client) as _;
    let host = ProgramHost::new(discovery, guard, caller, Arc::clone(media), output);
    match stats {
        Some(request_stats) => {
            audit_trail.count_in(&request_stats);
            host.counting(request_stats)
        }
        None => host,
    }
}

/// Replaces personal data by tokens in the variables that the caller passes, if the mode is strict.
async fn protect_context(agent: &Agent, guard: &RunGuard, program: &mut Program) {
    if guard.pii_filter().mode() != Mode::Strict {
        return;
    }
    let mut context = Value::Object(mem::take(&mut program.context));
    let bytes = json_bytes(&context);
    agent.compute(bytes, || guard.pii_filter().json(&mut context)).await;
    if let Value::Object(context) = context {
        program.context = context;
    }
}

/// Returns the size of everything in an outcome that has to be read and protected.
fn outcome_bytes(outcome: &Outcome) -> usize {
    let tails = outcome.excerpts.iter().map(|excerpt| excerpt.tail.len()).sum::<usize>();
    let failure = outcome.failure().map_or(0, |failure| failure.traceback.len());
    let printed = outcome.stdout.len() + outcome.stderr.len();
    json_bytes(&outcome.result) + printed + tails + failure
}

#[cfg(test)]
mod tests;
