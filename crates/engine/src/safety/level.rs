//! The isolation level of a run, and the review of a program before it runs.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use narrows_model::{EventAction, EventOutcome, Failure, Limits, Outcome};
use narrows_policy::{Action, Ask, Denial, Hints, Level, ReviewMode, WorkspaceAccess};
use narrows_python::{
    ParsedProgram,
    review::{ImpliedImports, Severity, review},
};
use narrows_sandbox::{Workspace, WorkspaceMount};
use narrows_upstream::catalog::{Catalog, Tool};

use super::{CallTarget, RunGuard};
use crate::state::{Agent, AuditTrail, StateError};

/// The most findings that a message lists.
const MAX_LISTED: usize = 10;

/// The result of the check and the review of a program.
#[derive(Debug, Default)]
pub(crate) struct Reviewed {
    /// The outcome of a program that is refused, with the reason.
    pub(crate) refusal: Option<Outcome>,
    pub(crate) notes: Vec<String>,
}

impl Agent {
    /// Returns the level to run at: the principal's own, or the one that it asks for if that is not
    /// looser in any respect.
    pub fn level(&self, asked: Option<&str>) -> Result<Arc<Level>, StateError> {
        let own = self.safety().level_of(self.name()).map_err(StateError::level)?;
        let Some(asked) = asked.filter(|asked| *asked != own.name) else { return Ok(own) };
        let level = self.safety().levels().get(asked).map_err(StateError::level)?;
        let looser = level.looser_than(&own);
        if looser.is_empty() {
            return Ok(level);
        }
        let details = serde_json::json!({ "asked": asked, "own": own.name });
        let event = self.event(EventAction::Run, "", EventOutcome::Refused, details);
        self.record(&AuditTrail::default(), event);
        Err(StateError::Level(format!(
            "the isolation level {asked:?} is looser than yours, {:?}, in: {}; ask for a stricter \
             one, or have the configuration changed",
            own.name,
            looser.join(", ")
        )))
    }

    /// Tells whether a tool or another part of a server is hidden from this principal, because a call
    /// would be denied in any case.
    pub fn hides<'a>(&self, target: impl Into<CallTarget<'a>>) -> bool {
        let CallTarget { server, name, hints } = target.into();
        self.safety().policy().hides(self.name(), server, name, hints)
    }

    /// Creates the guard of a run at a level.
    pub fn guard(&self, level: Arc<Level>) -> Arc<RunGuard> {
        RunGuard::new(self.clone(), level)
    }
}

impl RunGuard {
    /// Returns the limits of a run for which a caller asks for `time`, and a note if it gets less.
    pub fn limits(&self, time: Option<Duration>) -> (Limits, Option<String>) {
        let level = self.level();
        let limits = level.limits.clone();
        let Some(wanted) = time else { return (limits, None) };
        let wall_time = wanted.min(level.longest);
        let note = (wall_time < wanted).then(|| {
            format!(
                "timeout: the isolation level {:?} gives {} s at most",
                level.name,
                wall_time.as_secs_f64()
            )
        });
        (Limits { wall_time, cpu_time: wall_time, ..limits }, note)
    }

    /// Returns the workspace as programs of this level may use it.
    pub fn workspace(&self, workspace: Option<Arc<Workspace>>) -> Option<WorkspaceMount> {
        match self.level().workspace {
            WorkspaceAccess::None => None,
            WorkspaceAccess::Read => workspace.map(WorkspaceMount::read_only),
            WorkspaceAccess::Write => workspace.map(WorkspaceMount::writable),
        }
    }

    /// Counts a run against the principal's quota; fails if none is left.
    pub(crate) fn begin(&self) -> Result<(), StateError> {
        let meter = &self.safety().meter;
        let within = meter.run(&self.safety().policy(), self.agent().name(), Instant::now());
        within.map_err(|exceeded| StateError::Exceeded(exceeded.to_string()))
    }

    /// Reviews a program, and the modules and tools that it gets without an import, before it runs.
    pub(crate) fn review(
        &self,
        program: &ParsedProgram<'_>,
        implied: &ImpliedImports,
        limits: &Limits,
        catalog: &Catalog,
    ) -> Reviewed {
        let level = &Level { limits: limits.clone(), ..(**self.level()).clone() };
        if level.review == ReviewMode::Off {
            return Reviewed::default();
        }
        let denied = |name: &str| {
            let tool = catalog.find(name, None).ok()?;
            let why = self.would_refuse(&tool)?;
            Some(Denial { why })
        };
        let found = review(program, implied, level, &self.safety().review, &denied);
        if level.review == ReviewMode::Block {
            let dangers: Vec<_> =
                found.iter().filter(|found| found.severity == Severity::Danger).collect();
            if let Some(first) = dangers.first() {
                let said: Vec<String> =
                    dangers.iter().take(MAX_LISTED).map(ToString::to_string).collect();
                let refusal = Outcome::not_run(Failure {
                    kind: "ReviewError".into(),
                    message: format!(
                        "nothing was run; the isolation level {:?} does not allow this program:\n{}",
                        level.name,
                        said.join("\n")
                    ),
                    line: Some(first.line),
                    traceback: String::new(),
                });
                return Reviewed { refusal: Some(refusal), notes: Vec::new() };
            }
        }
        let notes = found
            .iter()
            .filter(|found| found.severity >= Severity::Warning)
            .take(MAX_LISTED)
            .map(|found| format!("review: {found}"));
        Reviewed { refusal: None, notes: notes.collect() }
    }

    /// Returns the reason why a call of a tool would be refused, whatever its arguments are.
    pub(crate) fn would_refuse(&self, tool: &Tool) -> Option<String> {
        let (server, name) = (tool.id.server.as_str(), tool.id.tool.as_str());
        let hints = Hints::of(&tool.raw);
        let policy = self.safety().policy();
        let arguments = serde_json::Map::new();
        let principal = self.agent().name();
        let decision =
            policy.decide(&Ask { principal, server, tool: name, hints, arguments: &arguments });
        if decision.action == Action::Deny && self.agent().hides(tool) {
            return Some(decision.why);
        }
        let of_level = self.apply_level(decision, hints, server, name);
        (of_level.action == Action::Deny).then_some(of_level.why)
    }
}

#[cfg(test)]
mod tests;
