//! The job of one analysis, run from its tables to its answer.

use std::sync::Arc;

use datafusion::common::TableReference;
use narrows_model::Permit;
use narrows_tables::Input;
use tokio::{runtime::Runtime, sync::RwLock, task::JoinHandle};
use tokio_util::sync::CancellationToken;

use super::{
    analysis::{MAX_RUNNING, Settings},
    budget::{Budget, BudgetShare},
    rows,
    session::QuerySession,
    spill::SpillTarget,
    suggested::suggested,
};
use crate::{
    answer::{self, Answer},
    error::{AnalysisError, Result, explain},
    kind::AnalysisType,
    load, ops,
    request::Request,
    work::{AnalysisContext, MAIN},
};

/// One analysis with all that it needs to run.
pub(super) struct Job {
    pub(super) settings: Settings,
    pub(super) budget: Arc<Budget>,
    pub(super) request: Request,
    pub(super) tables: Vec<(String, Input)>,
    pub(super) keep: Option<SpillTarget>,
    pub(super) stop: CancellationToken,
    pub(super) running: Arc<RwLock<()>>,
    /// Given back when the job ends and its memory is free, also if nobody waits for its answer any
    /// more.
    pub(super) _turn: Permit,
}

impl Job {
    /// Starts the job on the runtime. It is a function of its own, apart from [`Analysis::run`], because
    /// the code of an `async fn` is compiled by every crate that awaits it, which takes minutes for an
    /// analysis.
    pub(super) fn start(self, runtime: &Runtime) -> JoinHandle<Result<Answer>> {
        runtime.spawn(self.run())
    }

    async fn run(self) -> Result<Answer> {
        let _running = Arc::clone(&self.running).read_owned().await;
        let settings = self.settings.clone();
        let total = self.budget.total(MAX_RUNNING);
        let share = BudgetShare::new(&self.budget);
        self.answer(Arc::clone(&share)).await.map_err(|error| match error {
            AnalysisError::Memory(_) if share.was_refused() => AnalysisError::SharedMemory(total),
            AnalysisError::Memory(_) => AnalysisError::Memory(settings.memory_bytes),
            AnalysisError::Disk(_) => AnalysisError::Disk(settings.disk_bytes),
            other => other.shortened(),
        })
    }

    async fn answer(self, share: Arc<BudgetShare>) -> Result<Answer> {
        let session = QuerySession::new(&self.settings, share, self.stop)?;
        let work = Arc::new(load(&session, self.tables).await?);
        let Request { kind, parameters, output, refusal } = self.request;
        if let Some(refusal) = refusal {
            return Err(suggested(&work, kind, refusal).await);
        }
        let cost = match output.cost && !work.tables().is_empty() {
            true => answer::cost(work.main().await?, None).await,
            false => None,
        };
        let outcome = match ops::run(&work, kind, &parameters).await {
            Ok(outcome) => outcome,
            Err(error) => return Err(suggested(&work, kind, error).await),
        };
        let must_keep = self.keep.as_ref().is_some_and(|keep| keep.always);
        let not_kept = |reason: &str| AnalysisError::parameter("output.file", reason);
        let table = match outcome.frame {
            Some(frame) => {
                let reader = rows::Reader::new(output, self.keep, self.settings.disk_bytes);
                let (table, failed) = match (reader.read(frame).await, kind) {
                    (Ok(read), _) => read,
                    (Err(error), AnalysisType::Sql) => {
                        return Err(explain(&error, AnalysisError::Sql));
                    }
                    (Err(error), _) => return Err(work.explained(error).await),
                };
                match failed {
                    Some(reason) if must_keep => {
                        return Err(not_kept(&format!("it cannot be written: {reason}")));
                    }
                    Some(reason) => work.note(format!(
                        "not all rows are in the answer, and they could not be kept in a file: \
                         {reason}"
                    )),
                    None => {}
                }
                Some(table)
            }
            None if must_keep => {
                let reason = format!("{} gives no rows that a file could have", kind.name());
                return Err(not_kept(&reason));
            }
            None => None,
        };
        let mut facts = outcome.facts;
        facts.extend(outcome.later.map(|later| later()).unwrap_or_default());
        Ok(Answer { kind, facts, table, notes: work.into_notes(), cost })
    }
}

/// Loads the data as tables and registers them by their names.
async fn load(session: &QuerySession, tables: Vec<(String, Input)>) -> Result<AnalysisContext> {
    let context = session.context();
    let (mut names, mut notes) = (Vec::new(), Vec::new());
    for (name, input) in tables {
        if names.contains(&name) {
            return Err(AnalysisError::parameter(
                "data",
                format!("two tables are called {name:?}"),
            ));
        }
        let loaded = load::load(context, &name, input).await?;
        context.register_table(TableReference::bare(name.as_str()), loaded.provider)?;
        notes.extend(loaded.notes);
        names.push(name);
    }
    // The first table is the one that the analysis is about, whatever its name.
    if let Some(first) = names.first().filter(|_| !names.iter().any(|name| name == MAIN)) {
        let provider = context.table_provider(TableReference::bare(first.as_str())).await?;
        context.register_table(TableReference::bare(MAIN), provider)?;
    }
    Ok(AnalysisContext::new(context.clone(), names, notes))
}
