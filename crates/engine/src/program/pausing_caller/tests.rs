//! The program's clock while somebody is asked something.

use std::sync::Mutex;

use rmcp::model::ElicitationAction;
use serde_json::json;
use tokio::sync::Notify;

use super::*;

/// A client that takes its time for everything.
#[derive(Default)]
struct Slow {
    go_on: Notify,
    told: Mutex<Vec<String>>,
}

impl Slow {
    fn tell(&self, what: String) {
        self.told.lock().unwrap().push(what);
    }
}

impl Caller for Slow {
    fn client(&self) -> u64 {
        7
    }

    fn progress(&self, server: &str, progress: Progress) {
        self.tell(format!("{server} {progress}"));
    }

    fn log(&self, server: &str, message: LoggingMessageNotificationParam) {
        self.tell(format!("{server} {}", message.data));
    }

    fn elicit(
        &self,
        _server: &str,
        _question: ElicitRequestParams,
    ) -> BoxFuture<'_, Result<ElicitResult, ErrorData>> {
        Box::pin(async {
            self.go_on.notified().await;
            Ok(ElicitResult::new(ElicitationAction::Decline))
        })
    }
}

fn question() -> ElicitRequestParams {
    let schema = json!({"type": "object", "properties": {}});
    let question = json!({"mode": "form", "message": "Go on?", "requestedSchema": schema});
    serde_json::from_value(question).unwrap()
}

/// Returns how many questions are open. Only the sandbox itself can tell how long they took.
fn open_questions(patience: &PausedClock) -> Option<u32> {
    let shown = format!("{patience:?}");
    let (_, after) = shown.split_once("open: ")?;
    after.split(',').next()?.parse().ok()
}

#[tokio::test]
async fn the_programs_time_stands_still_until_the_last_answer() {
    let slow = Arc::new(Slow::default());
    let patient = PausingCaller { caller: slow.clone(), patience: PausedClock::default() };
    assert_eq!(open_questions(&patient.patience), Some(0));
    let mut first = patient.elicit("s", question());
    let second = patient.elicit("s", question());
    assert!(futures::poll!(&mut first).is_pending());
    assert_eq!(open_questions(&patient.patience), Some(2));
    slow.go_on.notify_one();
    assert_eq!(first.await.unwrap().action, ElicitationAction::Decline);
    assert_eq!(open_questions(&patient.patience), Some(1));
    // Whoever asked does not wait any longer.
    drop(second);
    assert_eq!(open_questions(&patient.patience), Some(0));
}

#[tokio::test]
async fn a_question_that_is_refused_costs_no_time() {
    let patient = PausingCaller {
        caller: Arc::new(narrows_upstream::NoCaller),
        patience: PausedClock::default(),
    };
    let refused = patient.elicit("s", question()).await.unwrap_err();
    assert!(refused.message.contains("does not support it"), "{refused:?}");
    assert_eq!(open_questions(&patient.patience), Some(0));
}

#[test]
fn everything_else_is_as_the_client_has_it() {
    let slow = Arc::new(Slow::default());
    let patient = PausingCaller { caller: slow.clone(), patience: PausedClock::default() };
    assert_eq!(patient.client(), 7);
    patient.progress("s", Progress { done: 1.0, total: Some(2.0), message: None });
    let log = json!({"level": "info", "data": "ready"});
    patient.log("s", serde_json::from_value(log).unwrap());
    assert_eq!(*slow.told.lock().unwrap(), ["s 1 of 2", r#"s "ready""#]);
    assert_eq!(open_questions(&patient.patience), Some(0));
}
