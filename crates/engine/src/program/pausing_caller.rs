//! The caller of a program, which pauses the program's clock while a person or a model is asked
//! something.

use std::sync::Arc;

use futures::future::BoxFuture;
use narrows_sandbox::PausedClock;
use narrows_upstream::{Caller, Progress};
use rmcp::{
    ErrorData,
    model::{
        ClientCapabilities, CreateMessageRequestParams, CreateMessageResult, ElicitRequestParams,
        ElicitResult, LoggingMessageNotificationParam,
    },
};

pub(super) struct PausingCaller {
    pub(super) caller: Arc<dyn Caller>,
    pub(super) patience: PausedClock,
}

impl PausingCaller {
    fn waiting<'a, T: 'a>(&self, answer: BoxFuture<'a, T>) -> BoxFuture<'a, T> {
        let waiting = self.patience.wait();
        Box::pin(async move {
            let _waiting = waiting;
            answer.await
        })
    }
}

impl Caller for PausingCaller {
    fn client(&self) -> u64 {
        self.caller.client()
    }

    fn capabilities(&self) -> ClientCapabilities {
        self.caller.capabilities()
    }

    fn session(&self) -> Option<&str> {
        self.caller.session()
    }

    fn is_program(&self) -> bool {
        true
    }

    fn is_gone(&self) -> bool {
        self.caller.is_gone()
    }

    fn progress(&self, server: &str, progress: Progress) {
        self.caller.progress(server, progress);
    }

    fn log(&self, server: &str, message: LoggingMessageNotificationParam) {
        self.caller.log(server, message);
    }

    fn elicit(
        &self,
        server: &str,
        question: ElicitRequestParams,
    ) -> BoxFuture<'_, Result<ElicitResult, ErrorData>> {
        self.waiting(self.caller.elicit(server, question))
    }

    fn sample(
        &self,
        server: &str,
        request: CreateMessageRequestParams,
    ) -> BoxFuture<'_, Result<CreateMessageResult, ErrorData>> {
        self.waiting(self.caller.sample(server, request))
    }
}

#[cfg(test)]
mod tests;
