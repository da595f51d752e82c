//! The engine: what all runs of a process share, and the entry points for every front end.

use std::sync::{Arc, Mutex, PoisonError};

use narrows_model::Principal;
use narrows_sandbox::SandboxConfig;
use narrows_store::Skill;
use narrows_system::apart;
use narrows_upstream::NoCaller;
use serde_json::{Map, Value};

use super::{
    Audience, ExecuteError, Executor, Finished, Refusal, RunClient, RunError, RunRequest,
    finished::RefusalReason,
    pipeline::{self, Run},
};
use crate::{
    discovery::Discovery,
    skills::{TrialMode, TrialReport, try_skill},
    state::{Agent, State},
};

/// The entry point of every front end: runs programs, analyses and single calls.
#[derive(Debug)]
pub struct Engine {
    discovery: Arc<Discovery>,
    state: Arc<State>,
    sandbox: SandboxConfig,
    executor: Mutex<Option<Arc<Executor>>>,
}

impl Engine {
    pub fn new(discovery: Arc<Discovery>, state: Arc<State>, sandbox: SandboxConfig) -> Arc<Self> {
        Arc::new(Self { discovery, state, sandbox, executor: Mutex::default() })
    }

    pub fn discovery(&self) -> &Arc<Discovery> {
        &self.discovery
    }

    pub fn state(&self) -> &Arc<State> {
        &self.state
    }

    /// Returns the access of a principal to the lasting state: files, skills, sessions, boards.
    pub fn agent(&self, principal: Arc<Principal>) -> Agent {
        self.state.agent(principal)
    }

    /// Creates the sandbox ahead of time, which takes a moment. Without this call it is created when it
    /// is first needed, so that a client is answered before.
    pub fn warm_up(&self) -> Result<(), ExecuteError> {
        self.executor().map(drop)
    }

    pub(super) fn executor(&self) -> Result<Arc<Executor>, ExecuteError> {
        if let Ok(executor) = self.executor.try_lock()
            && let Some(executor) = &*executor
        {
            return Ok(Arc::clone(executor));
        }
        // Somebody makes it, or nobody did yet.
        apart(|| self.make_executor())
    }

    fn make_executor(&self) -> Result<Arc<Executor>, ExecuteError> {
        let mut executor = self.executor.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(executor) = &*executor {
            return Ok(Arc::clone(executor));
        }
        let made = Executor::new(self.sandbox.clone())?;
        Ok(Arc::clone(executor.insert(Arc::new(made))))
    }

    /// Runs a program for a caller. A program that fails, or that the check or the review refuses,
    /// still has an outcome; a [`Refusal`] means that it could not begin.
    pub async fn execute(
        &self,
        agent: &Agent,
        request: RunRequest,
        client: Arc<dyn RunClient>,
    ) -> Result<Finished, Refusal> {
        let audience = request.audience;
        match Run::admit(self, agent, request, client).await {
            Ok(run) => run.finish().await,
            Err(error) => {
                let refusal = Refusal::new(&error, audience, &agent.pii_filter());
                agent.keep_tokens_or_warn().await;
                Err(refusal)
            }
        }
    }

    /// Calls one tool for a person, under the same rules as the calls of programs, and returns the
    /// value that a program would get.
    pub async fn call(
        &self,
        agent: &Agent,
        tool: &str,
        arguments: Map<String, Value>,
        audience: Audience,
        client: Arc<dyn RunClient>,
    ) -> Result<Value, Refusal> {
        let level = agent.level(None);
        let level = level.map_err(|error| Refusal::new(&error, audience, &agent.pii_filter()))?;
        let guard = agent.guard(level);
        let media = Arc::default();
        let host = pipeline::host(self, &guard, &client, &media, None, None);
        let mut called = host.call_for_client(tool, arguments).await.map_err(|failure| {
            let reason = RefusalReason::Other;
            Refusal::of_message(failure.message, reason, audience, guard.pii_filter())
        });
        if let (Ok(value), true) = (&mut called, audience.is_protected()) {
            guard.pii_filter().json(value);
        }
        agent.keep_tokens_or_warn().await;
        called
    }

    /// Runs the tests of a skill.
    pub async fn test_skill(
        &self,
        agent: &Agent,
        skill: &Skill,
        mode: TrialMode,
    ) -> Result<TrialReport, RunError> {
        let guard = agent.guard(agent.level(None)?);
        let client: Arc<dyn RunClient> = Arc::new(NoCaller);
        let media = Arc::default();
        let host = pipeline::host(self, &guard, &client, &media, None, None);
        Ok(try_skill(skill, mode, &*self.executor()?, &host).await?)
    }
}
