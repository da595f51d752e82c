//! Calls that are made, refused, asked about and cancelled, with servers inside this process.

use std::{
    path::Path,
    sync::{
        Mutex,
        atomic::{AtomicBool, Ordering},
    },
};

use futures::future::BoxFuture;
use narrows_model::Principal;
use narrows_policy::{Action, FlowRule, PolicySettings, Quota, RevealRule, Rule};
use narrows_upstream::{Caller, MAX_QUESTIONS, NoCaller, ProtocolGeneration};
use rmcp::{
    ErrorData,
    model::{
        CallToolRequestParams, CallToolResult, ClientCapabilities, ClientRequest,
        ElicitRequestParams, ElicitResult, ElicitationAction, ElicitationCapability,
        GetPromptRequest, GetPromptRequestParams, ServerResult,
    },
};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::sync::Notify;

use super::*;
use crate::{
    broker::in_process::{FakeReply, FakeServer, broker},
    catalog::tests::{named, spec},
    safety::{Mode, RunGuard, Safety, SafetySettings},
    state::{
        Agent, Scope, Verdict, now,
        tests::{state_under, state_with},
    },
    value,
};

/// Creates the local agent, with its state in a directory and under these rules.
pub(crate) fn agent(home: &Path, settings: SafetySettings) -> Agent {
    state_under(home, settings).agent(Arc::new(Principal::local()))
}

/// Returns settings with these rules and nothing else.
pub(crate) fn rules(rules: Vec<Rule>) -> SafetySettings {
    let policy = PolicySettings { rules, ..PolicySettings::default() };
    SafetySettings { policy, ..SafetySettings::default() }
}

/// Returns a rule `no` that denies these tools.
pub(crate) fn deny(tools: &str) -> Rule {
    Rule { tools: vec![tools.to_owned()], ..Rule::new("no", Action::Deny) }
}

/// A client whose person answers every question alike.
#[derive(Debug)]
struct Person {
    answer: ElicitResult,
    questions: Mutex<Vec<String>>,
    has_left: AtomicBool,
}

impl Person {
    fn new(action: ElicitationAction, content: Value) -> Arc<Self> {
        let answer = ElicitResult::new(action).with_content(content);
        Arc::new(Self { answer, questions: Mutex::default(), has_left: AtomicBool::new(false) })
    }
}

impl Caller for Person {
    fn capabilities(&self) -> ClientCapabilities {
        let mut capabilities = ClientCapabilities::default();
        capabilities.elicitation = Some(ElicitationCapability::default());
        capabilities
    }

    fn is_gone(&self) -> bool {
        self.has_left.load(Ordering::SeqCst)
    }

    fn elicit(
        &self,
        _server: &str,
        question: ElicitRequestParams,
    ) -> BoxFuture<'_, Result<ElicitResult, ErrorData>> {
        let ElicitRequestParams::FormElicitationParams { message, .. } = question else {
            panic!("{question:?} is not a form");
        };
        self.questions.lock().unwrap().push(message);
        Box::pin(std::future::ready(Ok(self.answer.clone())))
    }
}

/// A run with servers inside this process.
pub(crate) struct TestRun {
    pub(crate) broker: Broker,
    pub(crate) guard: Arc<RunGuard>,
    home: TempDir,
}

impl TestRun {
    pub(crate) async fn new(servers: &[&FakeServer], settings: SafetySettings) -> Self {
        let safety = Safety::new(settings, Arc::new(|| Ok([7; 32]))).unwrap();
        Self::under(servers, safety, Principal::local()).await
    }

    /// Creates such a run for another principal, with these safety settings.
    pub(crate) async fn under(
        servers: &[&FakeServer],
        safety: Arc<Safety>,
        principal: Principal,
    ) -> Self {
        let home = tempfile::tempdir().unwrap();
        let agent = state_with(home.path(), safety).agent(Arc::new(principal));
        let guard = agent.guard(agent.level(None).unwrap());
        Self { broker: broker(servers, &[]).await, guard, home }
    }

    async fn call(&self, name: &str, arguments: Value) -> Result<CallToolResult, CallError> {
        self.call_for(name, arguments, Arc::new(NoCaller)).await
    }

    /// Begins the next run of the same agent.
    pub(crate) fn next_run(&mut self) {
        let agent = self.guard.agent().clone();
        self.guard = agent.guard(agent.level(None).unwrap());
    }

    pub(crate) async fn call_for(
        &self,
        name: &str,
        arguments: Value,
        caller: Arc<dyn Caller>,
    ) -> Result<CallToolResult, CallError> {
        let tool = self.broker.find(name, None).await?;
        let Value::Object(arguments) = arguments else { panic!("{arguments} is not an object") };
        self.broker.call(&self.guard, &tool, arguments, caller).await.map(|called| called.result)
    }

    /// Makes a call without arguments, and returns the reason why it was refused.
    async fn refusal(&self, name: &str) -> String {
        self.call(name, json!({})).await.unwrap_err().to_string()
    }
}

/// Creates a server that answers every call with `done`.
pub(crate) fn issues() -> FakeServer {
    let create = json!({"name": "create-issue", "inputSchema": {
        "type": "object",
        "properties": {"title": {"type": "string"}, "count": {"type": "integer"}},
        "required": ["title"],
        "additionalProperties": false,
    }});
    let list = json!({"name": "list", "annotations": {"readOnlyHint": true}, "inputSchema": {}});
    let purge = json!({"name": "purge", "annotations": {"destructiveHint": true},
        "inputSchema": {"type": "object"}});
    FakeServer::new("issues", vec![create, list, purge], |_| FakeReply::text("done"))
}

/// Creates a server with the tool `go`, which gives this answer.
fn going(reply: FakeReply) -> FakeServer {
    FakeServer::new("s", named(&["go"]), move |_| reply.clone())
}

#[tokio::test]
async fn a_call_reaches_the_server_by_the_servers_own_name_and_without_what_is_none() {
    let server = issues();
    let run = TestRun::new(&[&server], SafetySettings::default()).await;
    let given = json!({"title": "t", "count": null});
    let result = run.call("issues.create_issue", given).await.unwrap();
    assert_eq!(value::text(&result), "done");
    let [sent] = server.received("tools/call").try_into().unwrap();
    assert_eq!(
        (&sent["name"], &sent["arguments"]),
        (&json!("create-issue"), &json!({"title": "t"}))
    );
}

#[tokio::test]
async fn arguments_of_wrong_types_are_told_by_field_and_not_sent() {
    let server = issues();
    let run = TestRun::new(&[&server], SafetySettings::default()).await;
    for (arguments, mistake) in [
        (json!({}), r#""title" is missing"#),
        (json!({"title": 5}), r#""title" is 5, expected string"#),
        (json!({"title": null}), r#""title" is null, expected string"#),
        (json!({"title": "t", "count": "2"}), r#""count" is "2", expected integer"#),
        (
            json!({"title": "t", "cuont": 2}),
            r#""cuont" is not known; did you mean count? (it takes title, count)"#,
        ),
    ] {
        let told = run.call("issues.create_issue", arguments).await.unwrap_err().to_string();
        assert_eq!(told, format!("issues.create_issue: {mistake}"));
    }
    assert!(server.calls().is_empty());
}

/// Clients that see the server directly are under the same rules as programs.
#[tokio::test]
async fn what_a_client_sends_to_a_tool_is_checked_as_what_a_program_sends() {
    let server = issues();
    let run = TestRun::new(&[&server], SafetySettings::default()).await;
    let tool = run.broker.find("issues.create_issue", None).await.unwrap();
    let origin = RequestOrigin::Client(ProtocolGeneration::Initialize);
    let forward = async |arguments: Value| {
        let arguments = arguments.as_object().cloned().unwrap();
        let params = CallToolRequestParams::new("shown_name").with_arguments(arguments);
        let call = ForwardRequest::call(Arc::clone(&tool), params, origin);
        run.broker.forward(&run.guard, call, Arc::new(NoCaller)).await
    };
    let told = forward(json!({"title": 5})).await.unwrap_err().to_string();
    assert_eq!(told, r#"issues.create-issue: "title" is 5, expected string"#);
    assert!(server.calls().is_empty());
    // The control.
    let answer = forward(json!({"title": "t", "count": null})).await.unwrap();
    let ServerResult::CallToolResult(result) = answer.result else { panic!("{answer:?}") };
    assert_eq!(value::text(&result), "done");
    let [sent] = server.received("tools/call").try_into().unwrap();
    assert_eq!(
        (&sent["name"], &sent["arguments"]),
        (&json!("create-issue"), &json!({"title": "t"}))
    );
}

#[tokio::test]
async fn what_a_server_has_beside_tools_is_asked_for_under_the_rules_for_its_kind() {
    for (denied, is_asked) in [("issues.prompt", false), ("issues.resource", true)] {
        let server = issues();
        let run = TestRun::new(&[&server], rules(vec![deny(denied)])).await;
        let prompt = GetPromptRequest::new(GetPromptRequestParams::new("greet"));
        let request = ForwardRequest::item(
            "issues".to_owned(),
            "prompt",
            ClientRequest::GetPromptRequest(prompt),
            RequestOrigin::Client(ProtocolGeneration::Initialize),
        );
        // This server has no prompts: whether it was asked is what counts.
        let forwarded = run.broker.forward(&run.guard, request, Arc::new(NoCaller)).await;
        let refused = matches!(&forwarded, Err(CallError::Refused(why)) if why.contains("denies"));
        assert_eq!(refused, !is_asked, "{forwarded:?}");
        assert_eq!(server.received("prompts/get").len(), usize::from(is_asked));
    }
}

/// A regression test: the check ran on a spawned thread, outside of the agent's share, and went on
/// after the call was cancelled.
#[tokio::test]
async fn mistakes_of_a_direct_call_are_told_without_the_values_of_its_tokens() {
    let server = issues();
    let run = TestRun::new(&[&server], SafetySettings::default()).await;
    let password = "k7!x";
    let text = json!({"password": password}).to_string();
    let text = run.guard.pii_filter().sanitized(&text).into_owned();
    let token = text.split('"').nth(3).unwrap();
    assert!(token.starts_with('['), "{text}");
    let tool = run.broker.find("issues.create_issue", None).await.unwrap();
    let arguments = json!({"title": "t", "count": token}).as_object().unwrap().clone();
    let params = CallToolRequestParams::new("create-issue").with_arguments(arguments);
    let origin = RequestOrigin::Client(ProtocolGeneration::Initialize);
    let request = ForwardRequest::call(tool, params, origin);
    let told = run.broker.forward(&run.guard, request, Arc::new(NoCaller)).await;
    let told = told.unwrap_err().to_string();
    assert!(told.contains(token) && !told.contains(password), "{told}");
    // The control: where it fits, the server gets the value.
    run.call("issues.create_issue", json!({"title": token})).await.unwrap();
    assert_eq!(server.calls(), [json!({"title": password})]);
}

#[tokio::test]
async fn wrong_arguments_are_looked_at_within_the_share_of_their_agent() {
    let server = issues();
    let run = TestRun::new(&[&server], SafetySettings::default()).await;
    // The first call has the schema compiled, which is shared too.
    run.call("issues.create_issue", json!({"title": "t"})).await.unwrap();
    let places = run.guard.agent().take_places();
    let mut wrong = std::pin::pin!(run.call("issues.create_issue", json!({"title": 5})));
    for _ in 0..100 {
        assert!(futures::poll!(&mut wrong).is_pending());
        tokio::task::yield_now().await;
    }
    // The control: what is right needs no place.
    run.call("issues.create_issue", json!({"title": "t"})).await.unwrap();
    assert!(futures::poll!(&mut wrong).is_pending());
    drop(places);
    let told = wrong.await.unwrap_err().to_string();
    assert!(told.ends_with(r#""title" is 5, expected string"#), "{told}");
    assert_eq!(server.calls().len(), 2);
}

#[tokio::test]
async fn a_tool_that_is_newer_than_what_is_known_is_found() {
    let server = going(FakeReply::text("done"));
    let run = TestRun::new(&[&server], SafetySettings::default()).await;
    server.set_tools(named(&["go", "stop"]));
    assert_eq!(run.broker.find("s.stop", None).await.unwrap().id.tool, "stop");
    assert_eq!(server.received("tools/list").len(), 2);
}

#[tokio::test]
async fn a_misspelt_tool_is_looked_up_once_more_and_told_with_the_nearest() {
    let server = issues();
    let run = TestRun::new(&[&server], SafetySettings::default()).await;
    let told = run.broker.find("issues.craete_issue", None).await.unwrap_err().to_string();
    let expected = r#"the server "issues" has no tool "craete_issue"; did you mean create_issue?"#;
    assert_eq!(told, expected);
    assert_eq!(server.received("tools/list").len(), 2);
}

/// A program that does not know the tools of a server may try thousands of names.
#[tokio::test]
async fn wrong_names_have_a_server_list_its_tools_once_and_not_each_time() {
    let server = issues();
    let run = TestRun::new(&[&server], SafetySettings::default()).await;
    let names: Vec<String> = (0..20).map(|number| format!("issues.wrong_{number}")).collect();
    let at_once = names.iter().map(|name| run.broker.find(name, None));
    for found in futures::future::join_all(at_once).await {
        found.unwrap_err();
    }
    for name in &names {
        run.broker.find(name, None).await.unwrap_err();
    }
    assert_eq!(server.received("tools/list").len(), 2);
}

/// A server that announces changes of its tools is not asked again before it announces one.
#[tokio::test]
async fn a_server_that_tells_its_changes_lists_its_tools_when_it_told_one() {
    let server = going(FakeReply::text("done")).telling();
    let run = TestRun::new(&[&server], SafetySettings::default()).await;
    run.broker.find("s.stop", None).await.unwrap_err();
    assert_eq!(server.received("tools/list").len(), 1);
    server.set_tools(named(&["go", "stop"]));
    run.call("s.go", json!({})).await.unwrap();
    let hearing = async {
        // The task that is told of it may be later than the answer.
        while run.broker.find("s.stop", None).await.is_err() {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(std::time::Duration::from_secs(60), hearing).await.unwrap();
    assert_eq!(server.received("tools/list").len(), 2);
}

#[tokio::test]
async fn a_server_that_does_not_start_fails_its_own_tools_alone() {
    let server = going(FakeReply::text("done"));
    let broker = broker(&[&server], &[spec("asleep")]).await;
    let failed = broker.find("asleep.go", None).await.unwrap_err();
    assert!(matches!(&failed, CallError::Upstream(_)), "{failed:?}");
    assert!(failed.to_string().starts_with(r#"the server "asleep" is not available: "#));
    assert_eq!(broker.find("go", None).await.unwrap().id.server, "s");
    // Who asks for a tool of nobody is told so, and not that a server failed.
    let nowhere = broker.find("weather", None).await.unwrap_err().to_string();
    assert_eq!(nowhere, r#"there is no tool "weather"; the servers are s"#);
}

#[tokio::test]
async fn answers_of_forms_that_the_protocol_layer_does_not_know_are_kept() {
    let unknown = json!({"content": [{"type": "hologram", "x": 1}, {"type": "text", "text": "b"}]});
    for (answer, expected) in [
        (json!({}), json!({"content": [], "isError": false})),
        (
            unknown,
            json!({"content": [
                {"type": "text", "text": r#"{"type":"hologram","x":1}"#},
                {"type": "text", "text": "b"},
            ]}),
        ),
        (json!({"answer": 42}), json!({"content": [], "structuredContent": {"answer": 42}})),
    ] {
        let server = going(FakeReply::Result(answer.clone()));
        let run = TestRun::new(&[&server], SafetySettings::default()).await;
        let mut result = serde_json::to_value(run.call("s.go", json!({})).await.unwrap()).unwrap();
        result.as_object_mut().unwrap().shift_remove("resultType");
        assert_eq!(result, expected, "{answer}");
    }
}

#[tokio::test]
async fn what_is_unknown_and_failed_stays_a_failure() {
    let failed = json!({"content": [{"type": "hologram"}], "isError": true});
    let server = going(FakeReply::Result(failed));
    let run = TestRun::new(&[&server], SafetySettings::default()).await;
    assert_eq!(run.call("s.go", json!({})).await.unwrap().is_error, Some(true));
}

#[tokio::test]
async fn failures_of_a_server_name_it_and_say_why() {
    for (reply, told) in [
        (FakeReply::Error("no such issue"), r#"the server "s" refused: no such issue"#),
        (
            FakeReply::Result(json!({"tools": []})),
            r#"the server "s" answered with something that is not an answer to tools/call go"#,
        ),
        (FakeReply::HangUp, r#"the connection to the server "s" ended during the call"#),
    ] {
        let server = going(reply);
        let run = TestRun::new(&[&server], SafetySettings::default()).await;
        let failed = run.refusal("s.go").await;
        assert!(failed.starts_with(told), "{failed}");
    }
}

#[tokio::test]
async fn a_server_that_does_not_answer_in_its_time_is_given_up_and_told() {
    let mut server = going(FakeReply::Nothing);
    server.spec.call_timeout = Duration::from_millis(20);
    let run = TestRun::new(&[&server], SafetySettings::default()).await;
    let told = run.refusal("s.go").await;
    assert!(told.starts_with(r#"the server "s" did not answer within 0.02 s"#), "{told}");
    server.receives("notifications/cancelled").await;
}

#[tokio::test]
async fn a_call_that_is_given_up_is_cancelled_at_the_server_and_written_down() {
    let server = going(FakeReply::Nothing);
    let run = TestRun::new(&[&server], SafetySettings::default()).await;
    tokio::select! {
        result = run.call("s.go", json!({})) => panic!("{result:?}"),
        () = server.receives("tools/call") => {}
    }
    server.receives("notifications/cancelled").await;
    let agent = run.guard.agent();
    agent.written(run.guard.audit_trail()).await.unwrap();
    let entry = agent.store().await.unwrap().audit().get(1).await.unwrap().unwrap();
    assert_eq!((entry.target.as_str(), entry.outcome.as_str()), ("s.go", "cancelled"));
}

/// The tools `read` and `write`, whose calls are answered when the second says so.
fn waiting() -> (FakeServer, Arc<Notify>) {
    let read = json!({"name": "read", "annotations": {"readOnlyHint": true},
        "inputSchema": {"type": "object"}});
    let write = json!({"name": "write", "inputSchema": {"type": "object"}});
    let go_on = Arc::new(Notify::new());
    let said = Arc::clone(&go_on);
    let server = FakeServer::new("s", vec![read, write], move |_| {
        FakeReply::When(Arc::clone(&said), Box::new(FakeReply::text("done")))
    });
    (server, go_on)
}

/// Waits for the first call in the audit, and returns its outcome.
async fn first_outcome(run: &TestRun) -> String {
    let agent = run.guard.agent();
    agent.written(run.guard.audit_trail()).await.unwrap();
    agent.store().await.unwrap().audit().get(1).await.unwrap().unwrap().outcome
}

/// A client that leaves when its call has reached the server.
async fn leaves_during(run: &TestRun, server: &FakeServer, tool: &str) {
    let client = Person::new(ElicitationAction::Cancel, json!({}));
    let mut call = Box::pin(run.call_for(tool, json!({}), client.clone()));
    tokio::select! {
        result = &mut call => panic!("{result:?}"),
        () = server.receives("tools/call") => {}
    }
    client.has_left.store(true, Ordering::SeqCst);
}

#[tokio::test]
async fn a_write_comes_to_its_end_when_its_client_leaves_and_is_written_down_as_it_ended() {
    let (server, go_on) = waiting();
    let run = TestRun::new(&[&server], SafetySettings::default()).await;
    leaves_during(&run, &server, "s.write").await;
    assert_eq!(run.broker.writes_in_flight(), 1);
    go_on.notify_one();
    run.broker.finish_writes().await;
    assert_eq!(first_outcome(&run).await, "ok");
    // What is told the server comes in order, and this is after all of it.
    go_on.notify_one();
    run.call("s.read", json!({})).await.unwrap();
    assert_eq!(server.received("notifications/cancelled"), [Value::Null; 0]);
}

#[tokio::test]
async fn a_read_is_cancelled_when_its_client_leaves() {
    let (server, go_on) = waiting();
    let run = TestRun::new(&[&server], SafetySettings::default()).await;
    leaves_during(&run, &server, "s.read").await;
    assert_eq!((run.broker.writes_in_flight(), first_outcome(&run).await), (0, "cancelled".into()));
    go_on.notify_one();
    server.receives("notifications/cancelled").await;
}

#[tokio::test]
async fn a_write_that_does_not_end_is_given_up_in_time() {
    let server = going(FakeReply::Nothing);
    let mut run = TestRun::new(&[&server], SafetySettings::default()).await;
    run.broker.writes.max_time = Duration::from_millis(20);
    leaves_during(&run, &server, "s.go").await;
    server.receives("notifications/cancelled").await;
    run.broker.finish_writes().await;
    assert_eq!(first_outcome(&run).await, "cancelled");
}

#[tokio::test]
async fn nothing_is_called_for_a_client_that_has_left() {
    let server = issues();
    let run = TestRun::new(&[&server], SafetySettings::default()).await;
    let client = Person::new(ElicitationAction::Cancel, json!({}));
    client.has_left.store(true, Ordering::SeqCst);
    for tool in ["issues.list", "issues.purge", "issues.create_issue"] {
        let told = run.call_for(tool, json!({"title": "t"}), client.clone()).await.unwrap_err();
        assert!(told.to_string().ends_with("was not called: the client has left"), "{told}");
    }
    assert!(server.calls().is_empty() && client.questions.lock().unwrap().is_empty());
}

#[tokio::test]
async fn the_audit_has_every_call_and_none_of_its_contents() {
    let server = issues();
    let run = TestRun::new(&[&server], SafetySettings::default()).await;
    run.call("issues.create_issue", json!({"title": "s3cret"})).await.unwrap();
    run.call("issues.create_issue", json!({"title": 5})).await.unwrap_err();
    let agent = run.guard.agent();
    agent.written(run.guard.audit_trail()).await.unwrap();
    let audit = agent.store().await.unwrap().audit();
    for (seq, outcome) in [(1, "ok"), (2, "refused")] {
        let entry = audit.get(seq).await.unwrap().unwrap();
        assert_eq!((entry.action.as_str(), entry.outcome.as_str()), ("call", outcome));
        assert_eq!(entry.target, "issues.create-issue");
        assert_eq!(entry.details["run"], run.guard.run());
        assert!(entry.details["arguments"]["hash"].is_string());
        let details = entry.details.to_string();
        assert!(!details.contains("s3cret") && !details.contains("done"), "{details}");
    }
    assert_eq!(audit.get(3).await.unwrap(), None);
}

/// Asks for one thing, and answers with what it was told.
fn asking() -> FakeServer {
    FakeServer::new("s", named(&["go"]), |params| match params.get("inputResponses") {
        Some(responses) => FakeReply::text(&format!("{responses} {}", params["requestState"])),
        None => FakeReply::Result(json!({
            "resultType": "input_required",
            "requestState": "step-1",
            "inputRequests": {
                "where": {"method": "elicitation/create", "params": {
                    "mode": "form",
                    "message": "Where to?",
                    "requestedSchema": {"type": "object", "properties": {}},
                }},
                "roots": {"method": "roots/list"},
            },
        })),
    })
}

#[tokio::test]
async fn what_a_server_asks_is_put_to_the_caller_and_its_state_is_sent_back() {
    let server = asking();
    let run = TestRun::new(&[&server], SafetySettings::default()).await;
    let person = Person::new(ElicitationAction::Accept, json!({"city": "Rome"}));
    let result = run.call_for("s.go", json!({"speed": 3}), person.clone()).await.unwrap();
    assert_eq!(
        value::text(&result),
        r#"{"roots":{"roots":[]},"where":{"action":"accept","content":{"city":"Rome"}}} "step-1""#
    );
    assert_eq!(*person.questions.lock().unwrap(), ["Where to?"]);
    // The arguments are the same each time.
    assert_eq!(server.calls(), [json!({"speed": 3}), json!({"speed": 3})]);
}

#[tokio::test]
async fn a_question_that_nobody_can_answer_ends_the_call() {
    let server = asking();
    let run = TestRun::new(&[&server], SafetySettings::default()).await;
    let told = run.refusal("s.go").await;
    assert!(told.contains("elicitation") && told.contains("does not support it"), "{told}");
    assert_eq!(server.calls().len(), 1);
}

#[tokio::test]
async fn a_server_that_never_stops_asking_is_given_up() {
    let server =
        going(FakeReply::Result(json!({"resultType": "input_required", "requestState": "s"})));
    let run = TestRun::new(&[&server], SafetySettings::default()).await;
    let told = run.refusal("s.go").await;
    assert!(told.ends_with("something that is not an answer to tools/call"), "{told}");
    assert_eq!(server.calls().len(), MAX_QUESTIONS);
}

#[tokio::test]
async fn a_tool_that_a_rule_denies_is_not_called_and_the_others_are() {
    let server = issues();
    let run = TestRun::new(&[&server], rules(vec![deny("issues.list")])).await;
    let told = run.refusal("issues.list").await;
    assert!(told.starts_with(r#"issues.list was not called: the rule "no" denies it"#), "{told}");
    assert!(server.calls().is_empty());
    run.call("issues.create_issue", json!({"title": "t"})).await.unwrap();
    assert_eq!(server.calls().len(), 1);
}

fn quota(quota: Quota) -> SafetySettings {
    let quotas = vec![Quota { name: "few".to_owned(), ..quota }];
    let policy = PolicySettings { quotas, ..PolicySettings::default() };
    SafetySettings { policy, ..SafetySettings::default() }
}

#[tokio::test]
async fn a_run_may_make_so_many_calls_and_the_next_run_as_many() {
    let server = going(FakeReply::text("done"));
    let settings = quota(Quota { calls_per_run: Some(2), ..Quota::default() });
    let mut run = TestRun::new(&[&server], settings).await;
    for _ in 0..2 {
        run.call("s.go", json!({})).await.unwrap();
    }
    let told = run.refusal("s.go").await;
    assert_eq!(told, "a run may make 2 calls, and this is one more");
    let agent = run.guard.agent().clone();
    run.guard = agent.guard(agent.level(None).unwrap());
    run.call("s.go", json!({})).await.unwrap();
    assert_eq!(server.calls().len(), 3);
}

#[tokio::test]
async fn calls_per_minute_are_counted_over_all_runs() {
    let server = going(FakeReply::text("done"));
    let calls_per_minute = [("s.*".to_owned(), 1)].into();
    let mut run =
        TestRun::new(&[&server], quota(Quota { calls_per_minute, ..Quota::default() })).await;
    run.call("s.go", json!({})).await.unwrap();
    let agent = run.guard.agent().clone();
    run.guard = agent.guard(agent.level(None).unwrap());
    let told = run.refusal("s.go").await;
    assert!(
        told.starts_with(r#"the quota "few" is used up (1 calls of s.* per minute)"#),
        "{told}"
    );
    assert_eq!(server.calls().len(), 1);
}

#[tokio::test]
async fn what_destroys_is_called_only_if_the_person_allows_it() {
    for (action, content, is_called) in [
        (ElicitationAction::Accept, json!({"allow": "once"}), true),
        (ElicitationAction::Accept, json!({"allow": "no"}), false),
        (ElicitationAction::Accept, json!({"allow": true}), false),
        (ElicitationAction::Accept, json!({"allow": "true"}), false),
        // Nobody offered it: there is no program, and no session.
        (ElicitationAction::Accept, json!({"allow": "run"}), false),
        (ElicitationAction::Accept, json!({"allow": "session"}), false),
        (ElicitationAction::Accept, json!({}), false),
        (ElicitationAction::Decline, json!({"allow": "once"}), false),
        (ElicitationAction::Cancel, json!({"allow": "once"}), false),
    ] {
        let server = issues();
        let run = TestRun::new(&[&server], SafetySettings::default()).await;
        let person = Person::new(action.clone(), content.clone());
        let called = run.call_for("issues.purge", json!({"of": "all"}), person.clone()).await;
        assert_eq!(called.is_ok(), is_called, "{action:?} {content}");
        assert_eq!(server.calls().len(), usize::from(is_called), "{action:?} {content}");
        let [question] = std::mem::take(&mut *person.questions.lock().unwrap()).try_into().unwrap();
        for part in ["issues.purge", r#""of": "all""#, "destroys"] {
            assert!(question.contains(part), "{question}");
        }
    }
}

#[tokio::test]
async fn without_a_person_an_approval_is_for_one_call_with_the_same_arguments() {
    let server = issues();
    let run = TestRun::new(&[&server], SafetySettings::default()).await;
    let call = |of: &str| run.call("issues.purge", json!({"of": of}));
    let told = call("old").await.unwrap_err().to_string();
    let store = run.guard.agent().store().await.unwrap();
    let [pending] = store.approvals().list(None, 10, now()).await.unwrap().try_into().unwrap();
    assert!(told.contains(&format!("`narrows approvals allow {}`", pending.id)), "{told}");
    // Asking again is the same question.
    call("old").await.unwrap_err();
    assert_eq!(store.approvals().list(None, 10, now()).await.unwrap().len(), 1);

    let once = Verdict::Allow(Scope::Once);
    store.approvals().decide(&pending.id, once, "somebody", now()).await.unwrap();
    call("all").await.unwrap_err();
    assert!(server.calls().is_empty(), "other arguments were not approved");
    call("old").await.unwrap();
    call("old").await.unwrap_err();
    assert_eq!(server.calls(), [json!({"of": "old"})]);
}

#[tokio::test]
async fn a_server_gets_what_tokens_stand_for_unless_a_rule_keeps_it_from_it() {
    for is_trusted in [true, false] {
        let server = issues();
        let tools = vec!["issues.*".to_owned()];
        let reveal = RevealRule { tools, kinds: vec!["EMAIL".to_owned()], allow: is_trusted };
        let policy = PolicySettings { reveal: vec![reveal], ..PolicySettings::default() };
        let settings = SafetySettings { policy, ..SafetySettings::default() };
        let run = TestRun::new(&[&server], settings).await;
        let token = run.guard.pii_filter().sanitized("ada@example.com").into_owned();
        assert!(token.starts_with("[EMAIL_"), "{token}");
        run.call("issues.create_issue", json!({"title": token})).await.unwrap();
        let expected = if is_trusted { "ada@example.com" } else { &token };
        assert_eq!(server.calls(), [json!({"title": expected})]);
    }
}

#[tokio::test]
async fn in_strict_mode_neither_answers_nor_errors_have_personal_data() {
    let settings = || SafetySettings { mode: Mode::Strict, ..SafetySettings::default() };
    let server = going(FakeReply::text("ask ada@example.com"));
    let run = TestRun::new(&[&server], settings()).await;
    let result = run.call("s.go", json!({})).await.unwrap();
    let told = value::text(&result);
    assert!(told.starts_with("ask [EMAIL_") && !told.contains("ada@"), "{told}");

    let server = going(FakeReply::Error("no account of ada@example.com"));
    let run = TestRun::new(&[&server], settings()).await;
    let told = run.refusal("s.go").await;
    assert!(told.contains("no account of [EMAIL_") && !told.contains("ada@"), "{told}");
}

#[tokio::test]
async fn what_was_read_from_one_server_may_not_go_to_another_that_a_flow_rule_names() {
    let mail = FakeServer::new("mail", named(&["read"]), |_| FakeReply::text("a secret"));
    let web = FakeServer::new("web", named(&["post"]), |_| FakeReply::text("done"));
    let flows = vec![FlowRule::read("mail.* -> web.*").unwrap()];
    let policy = PolicySettings { flows, ..PolicySettings::default() };
    let settings = SafetySettings { policy, ..SafetySettings::default() };
    let run = TestRun::new(&[&mail, &web], settings).await;
    run.call("web.post", json!({})).await.unwrap();
    run.call("mail.read", json!({})).await.unwrap();
    let told = run.refusal("web.post").await;
    assert!(told.contains("mail.* -> web.*"), "{told}");
    assert_eq!(web.calls().len(), 1);
}

/// Refusals of a server and schemas of its tools are data from the server too.
#[tokio::test]
async fn what_a_server_says_in_an_error_was_read_from_it() {
    let read = json!({"name": "read", "inputSchema": {"type": "object",
        "properties": {"box": {"enum": ["a secret"]}}, "required": ["box"]}});
    let mail = FakeServer::new("mail", vec![read], |_| FakeReply::Error("a secret"));
    let web = FakeServer::new("web", named(&["post"]), |_| FakeReply::text("done"));
    let flows = vec![FlowRule::read("mail.* -> web.*").unwrap()];
    let policy = PolicySettings { flows, ..PolicySettings::default() };
    let settings = SafetySettings { policy, ..SafetySettings::default() };
    let mut run = TestRun::new(&[&mail, &web], settings).await;
    for arguments in [json!({"box": "a secret"}), json!({"box": 1})] {
        run.next_run();
        // The positive control: nothing was read yet.
        run.call("web.post", json!({})).await.unwrap();
        let told = run.call("mail.read", arguments.clone()).await.unwrap_err();
        assert!(told.to_string().contains("a secret"), "{told}");
        let told = run.refusal("web.post").await;
        assert!(told.contains("mail.* -> web.*"), "{arguments}: {told}");
    }
    assert_eq!((mail.calls().len(), web.calls().len()), (1, 2));
}

#[tokio::test]
async fn a_tool_is_not_given_what_the_token_of_another_agent_stands_for() {
    let server = issues();
    let safety = Safety::new(SafetySettings::default(), Arc::new(|| Ok([7; 32]))).unwrap();
    let mut run = TestRun::under(&[&server], Arc::clone(&safety), Principal::local()).await;
    let token = run.guard.pii_filter().sanitized("ada@example.com").into_owned();
    // The positive control: its own agent's.
    run.call("issues.create_issue", json!({"title": token})).await.unwrap();
    let principal = Principal::new("other", Principal::DEFAULT_HOME);
    let other = state_with(run.home.path(), safety).agent(Arc::new(principal));
    run.guard = other.guard(other.level(None).unwrap());
    run.call("issues.create_issue", json!({"title": token})).await.unwrap();
    assert_eq!(server.calls(), [json!({"title": "ada@example.com"}), json!({"title": token})]);
}

#[tokio::test]
async fn a_level_for_reading_calls_only_tools_that_say_they_read() {
    let server = issues();
    let mut run = TestRun::new(&[&server], SafetySettings::default()).await;
    let agent = run.guard.agent().clone();
    run.guard = agent.guard(agent.level(Some("hardened")).unwrap());
    run.call("issues.list", json!({})).await.unwrap();
    let told = run.call("issues.create_issue", json!({"title": "t"})).await.unwrap_err();
    assert!(told.to_string().contains("isolation level hardened"), "{told}");
    assert_eq!(server.calls().len(), 1);
}

#[tokio::test]
async fn a_level_that_needs_the_audit_calls_nothing_without_it() {
    let server = issues();
    let mut run = TestRun::new(&[&server], SafetySettings::default()).await;
    // A directory in its place: the store cannot be opened.
    std::fs::create_dir(run.home.path().join("narrows.db")).unwrap();
    let agent = run.guard.agent().clone();
    run.guard = agent.guard(agent.level(Some("hardened")).unwrap());
    for _ in 0..2 {
        let told = run.refusal("issues.list").await;
        assert!(told.starts_with("the audit cannot be written"), "{told}");
    }
    assert!(server.calls().is_empty());
}
