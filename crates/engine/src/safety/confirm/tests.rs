//! The questions to a person, the possible answers, and the calls for which an answer holds.

use std::sync::{
    Mutex,
    atomic::{AtomicUsize, Ordering},
};

use futures::future::{BoxFuture, join_all};
use narrows_policy::{Action, FlowRule, PolicySettings, Rule};
use rmcp::{
    ErrorData,
    model::{
        CallToolResult, ClientCapabilities, ElicitRequestParams, ElicitResult, ElicitationAction,
        ElicitationCapability, UrlElicitationCapability,
    },
};

use super::*;
use crate::{
    broker::in_process::FakeServer,
    broker::tests::{TestRun, issues},
    safety::{RuleSource, Safety, SafetySettings, choices_of, chosen},
    state::Verdict,
};

/// A client with a person, who says the same to everything.
struct Client {
    answer: Result<ElicitResult, ErrorData>,
    can: ElicitationCapability,
    is_program: bool,
    session: Option<&'static str>,
    /// The questions that were asked, and the choices in them.
    questions: Mutex<Vec<(String, Vec<String>)>>,
}

impl Client {
    fn saying(word: &str) -> Self {
        Self {
            answer: Ok(chosen(word)),
            can: ElicitationCapability::default(),
            is_program: true,
            session: Some("s1"),
            questions: Mutex::default(),
        }
    }

    fn answering(answer: Result<ElicitResult, ErrorData>) -> Self {
        Self { answer, ..Self::saying("") }
    }

    fn asked(&self) -> usize {
        self.questions.lock().unwrap().len()
    }

    fn question(&self, number: usize) -> (String, Vec<String>) {
        self.questions.lock().unwrap()[number].clone()
    }
}

impl Caller for Client {
    fn capabilities(&self) -> ClientCapabilities {
        let mut capabilities = ClientCapabilities::default();
        capabilities.elicitation = Some(self.can.clone());
        capabilities
    }

    fn session(&self) -> Option<&str> {
        self.session
    }

    fn is_program(&self) -> bool {
        self.is_program
    }

    fn elicit(
        &self,
        _server: &str,
        question: ElicitRequestParams,
    ) -> BoxFuture<'_, Result<ElicitResult, ErrorData>> {
        let words = choices_of(&question);
        let ElicitRequestParams::FormElicitationParams { message, .. } = question else {
            panic!("{question:?} is not a form");
        };
        self.questions.lock().unwrap().push((message, words));
        Box::pin(std::future::ready(self.answer.clone()))
    }
}

/// Calls a destructive tool, which a person has to allow.
async fn purge(run: &TestRun, of: &str, client: &Arc<Client>) -> Result<CallToolResult, CallError> {
    run.call_for("issues.purge", json!({"of": of}), client.clone()).await
}

async fn test_run(server: &FakeServer) -> TestRun {
    TestRun::new(&[server], SafetySettings::default()).await
}

#[tokio::test]
async fn a_yes_is_for_one_call_for_the_run_or_for_the_session() {
    // How often a person is asked: for two calls of a run, two of the next, and one of another session.
    for (word, counts) in [("once", [2, 4, 5]), ("run", [1, 2, 3]), ("session", [1, 1, 2])] {
        let server = issues();
        let mut run = test_run(&server).await;
        let client = Arc::new(Client::saying(word));
        for (round, expected) in counts.into_iter().enumerate() {
            let other = Client { session: Some("s2"), ..Client::saying(word) };
            let caller = if round < 2 { Arc::clone(&client) } else { Arc::new(other) };
            let calls: &[&str] = if round < 2 { &["old", "all"] } else { &["old"] };
            for of in calls {
                purge(&run, of, &caller).await.unwrap();
            }
            let before = if round < 2 { 0 } else { client.asked() };
            assert_eq!(before + caller.asked(), expected, "{word}, round {round}");
            run.next_run();
        }
        assert_eq!(server.calls().len(), 5, "{word}");
    }
}

#[tokio::test]
async fn a_yes_for_a_session_is_for_the_tool_the_principal_and_the_reason_it_was_given_for() {
    let (server, mail) = (
        issues(),
        FakeServer::new("mail", crate::catalog::tests::named(&["read"]), |_| {
            crate::broker::in_process::FakeReply::text("a secret")
        }),
    );
    let flows = vec![FlowRule::read("mail.* -> issues.*: confirm").unwrap()];
    let policy = PolicySettings { flows, ..PolicySettings::default() };
    let run =
        TestRun::new(&[&server, &mail], SafetySettings { policy, ..Default::default() }).await;
    let client = Arc::new(Client::saying("session"));
    purge(&run, "old", &client).await.unwrap();
    run.call_for("mail.read", json!({}), client.clone()).await.unwrap();
    purge(&run, "old", &client).await.unwrap();
    assert_eq!(client.asked(), 2, "it is asked again because of what was read");
    let (question, _) = client.question(1);
    assert!(question.contains("mail.read was read before"), "{question}");
}

#[tokio::test]
async fn calls_at_the_same_time_are_one_question_that_lists_them_all() {
    let server = issues();
    let run = test_run(&server).await;
    let client = Arc::new(Client::saying("once"));
    let calls = join_all(["old", "new", "new"].map(|of| purge(&run, of, &client))).await;
    assert!(calls.iter().all(Result::is_ok), "{calls:?}");
    assert_eq!(client.asked(), 1);
    let (question, _) = client.question(0);
    for part in [
        "these 3 calls",
        "3 × issues.purge",
        r#""of": "old""#,
        ". issues.purge, 2 times\n{\n  \"of\": \"new\"",
    ] {
        assert!(question.contains(part), "{part}: {question}");
    }
    assert_eq!(server.calls().len(), 3);
    // The answer was for those.
    purge(&run, "old", &client).await.unwrap();
    assert_eq!(client.asked(), 2);
}

#[tokio::test]
async fn a_no_is_for_all_calls_that_were_listed() {
    let server = issues();
    let run = test_run(&server).await;
    let client = Arc::new(Client::saying("no"));
    let calls = join_all(["old", "new"].map(|of| purge(&run, of, &client))).await;
    for call in calls {
        let told = call.unwrap_err().to_string();
        assert_eq!(told, "issues.purge was not called: the person did not allow it");
    }
    assert_eq!((client.asked(), server.calls().len()), (1, 0));
}

#[tokio::test]
async fn many_calls_are_several_questions_that_say_how_many_wait() {
    for (word, questions) in [("once", 2), ("run", 1)] {
        let server = issues();
        let run = test_run(&server).await;
        let client = Arc::new(Client::saying(word));
        let names: Vec<String> = (0..25).map(|number| format!("of {number}")).collect();
        let calls = join_all(names.iter().map(|of| purge(&run, of, &client))).await;
        assert!(calls.iter().all(Result::is_ok), "{calls:?}");
        // A yes for the run covers those that wait.
        assert_eq!(client.asked(), questions, "{word}");
        let (question, _) = client.question(0);
        assert!(question.contains("these 20 calls"), "{question}");
        assert!(question.contains("5 more calls of this run wait"), "{question}");
        assert_eq!(server.calls().len(), 25);
    }
}

#[tokio::test]
async fn a_call_that_its_program_gave_up_is_not_asked_about() {
    let server = issues();
    let run = test_run(&server).await;
    let client = Arc::new(Client::saying("once"));
    let mut given_up = Box::pin(purge(&run, "given up", &client));
    // Until its question is open.
    while run.guard.questions().waiting() == 0 {
        assert!(futures::poll!(&mut given_up).is_pending());
        tokio::task::yield_now().await;
    }
    drop(given_up);
    purge(&run, "old", &client).await.unwrap();
    let (question, _) = client.question(0);
    assert!(question.contains("this call") && !question.contains("given up"), "{question}");
    assert_eq!(server.calls(), [json!({"of": "old"})]);
}

#[tokio::test]
async fn who_could_not_be_asked_leaves_an_approval_and_who_declines_does_not() {
    let cancel = || Ok(ElicitResult::new(ElicitationAction::Cancel));
    let decline = || Ok(ElicitResult::new(ElicitationAction::Decline));
    let broken = || Err(ErrorData::internal_error("no screen", None));
    let empty = || Ok(ElicitResult::new(ElicitationAction::Accept).with_content(json!({})));
    let bare = || Ok(ElicitResult::new(ElicitationAction::Accept));
    let by_url = ElicitationCapability::new().with_url(UrlElicitationCapability::default());
    for (what, client, is_left) in [
        ("cancel", Client::answering(cancel()), true),
        ("error", Client::answering(broken()), true),
        ("url only", Client { can: by_url, ..Client::saying("once") }, true),
        ("accept without an answer", Client::answering(empty()), true),
        ("accept without content", Client::answering(bare()), true),
        ("decline", Client::answering(decline()), false),
    ] {
        let server = issues();
        let run = test_run(&server).await;
        let told = purge(&run, "old", &Arc::new(client)).await.unwrap_err().to_string();
        let store = run.guard.agent().store().await.unwrap();
        let pending = store.approvals().list(None, 10, now()).await.unwrap();
        assert_eq!(pending.len(), usize::from(is_left), "{what}");
        match pending.first() {
            Some(approval) => {
                let command = format!("`narrows approvals allow {}`", approval.id);
                assert!(told.contains(&command), "{what}: {told}");
                assert_eq!(approval.session.as_deref(), Some("s1"));
                assert_eq!(approval.run.as_deref(), Some(run.guard.run()));
                assert_eq!(approval.reasons, r#"["destructive"]"#);
            }
            None => assert!(told.ends_with("the person did not allow it"), "{what}: {told}"),
        }
        assert!(server.calls().is_empty(), "{what}");
    }
}

/// Clients without a person: one cannot ask, the other cancels every question.
fn headless() -> [Arc<Client>; 2] {
    let by_url = ElicitationCapability::new().with_url(UrlElicitationCapability::default());
    let cancels = Client::answering(Ok(ElicitResult::new(ElicitationAction::Cancel)));
    [Client { can: by_url, ..Client::saying("once") }, cancels].map(Arc::new)
}

/// Calls `purge` for each, like a program that ends with its first failure: the other calls are
/// cancelled.
async fn purge_all(run: &TestRun, of: &[String], client: &Arc<Client>) -> Result<(), String> {
    let calls = of.iter().map(|of| purge(run, of, client));
    futures::future::try_join_all(calls).await.map(|_| ()).map_err(|error| error.to_string())
}

/// Allows the approvals that a refusal names, as the command line does.
async fn allow_named(run: &TestRun, told: &str) -> usize {
    let (_, ids) = told.split_once("`narrows approvals allow ").expect(told);
    let ids: Vec<&str> = ids.split('`').next().unwrap().split(' ').collect();
    let store = run.guard.agent().store().await.unwrap();
    for id in &ids {
        let once = Verdict::Allow(Scope::Once);
        store.approvals().decide(id, once, "somebody", now()).await.unwrap();
    }
    ids.len()
}

#[tokio::test]
async fn calls_that_nobody_could_be_asked_about_are_left_together_and_made_once() {
    for count in [3, 25] {
        for client in headless() {
            let server = issues();
            let mut run = test_run(&server).await;
            let of: Vec<String> = (0..count).map(|number| format!("of {number}")).collect();
            let told = purge_all(&run, &of, &client).await.unwrap_err();
            let others = format!("it and {} other calls made with it need", count - 1);
            assert!(told.contains(&others) && told.contains("session_id"), "{told}");
            assert_eq!(allow_named(&run, &told).await, count);
            run.next_run();
            purge_all(&run, &of, &client).await.unwrap();
            assert_eq!(server.calls().len(), count, "each is made, and once");
            // Each yes was for one call.
            run.next_run();
            purge_all(&run, &of, &client).await.unwrap_err();
            assert_eq!(server.calls().len(), count);
        }
    }
}

#[tokio::test]
async fn an_allowed_call_is_held_until_those_that_are_made_with_it_are_decided() {
    for client in headless() {
        let server = issues();
        let run = test_run(&server).await;
        let told = purge(&run, "old", &client).await.unwrap_err().to_string();
        assert_eq!(allow_named(&run, &told).await, 1);
        let both = ["old", "new"].map(str::to_owned);
        let calls = join_all(both.iter().map(|of| purge(&run, of, &client))).await;
        let told: Vec<String> =
            calls.into_iter().map(|call| call.unwrap_err().to_string()).collect();
        assert!(
            told[0].contains("1 other call made with it needs a person's approval"),
            "{told:?}"
        );
        assert!(told[1].contains("it needs a person's approval"), "{told:?}");
        assert!(server.calls().is_empty(), "the yes would be used up");
        // Both name the one that waits.
        assert_eq!(allow_named(&run, &told[0]).await, 1);
        purge_all(&run, &both, &client).await.unwrap();
        assert_eq!(server.calls().len(), 2);
    }
    // Whoever can be asked is asked about the other, and both are made.
    let server = issues();
    let run = test_run(&server).await;
    let [url_only, _] = headless();
    let told = purge(&run, "old", &url_only).await.unwrap_err().to_string();
    allow_named(&run, &told).await;
    let client = Arc::new(Client::saying("once"));
    purge_all(&run, &["old", "new"].map(str::to_owned), &client).await.unwrap();
    assert_eq!((client.asked(), server.calls().len()), (1, 2));
    assert!(!client.question(0).0.contains("old"), "{:?}", client.question(0));
}

#[tokio::test]
async fn what_a_person_can_choose_is_what_makes_a_difference() {
    for (is_program, session, expected) in [
        (true, Some("s1"), &["once", "run", "session", "no"][..]),
        (true, None, &["once", "run", "no"]),
        (false, Some("s1"), &["once", "session", "no"]),
        (false, None, &["once", "no"]),
    ] {
        let server = issues();
        let run = test_run(&server).await;
        let client = Arc::new(Client { is_program, session, ..Client::saying("once") });
        purge(&run, "old", &client).await.unwrap();
        assert_eq!(client.question(0).1, expected);
    }
}

#[tokio::test]
async fn a_person_sees_every_argument_and_nothing_hidden_in_it() {
    let server = issues();
    let run = test_run(&server).await;
    let client = Arc::new(Client::answering(Ok(ElicitResult::new(ElicitationAction::Cancel))));
    let arguments = json!({
        "to": "ada@example.com",
        "name": "\u{202e}evil",
        "body": "b".repeat(100_000),
        "last": true,
    });
    let called = run.call_for("issues.purge", arguments, client.clone()).await;
    called.unwrap_err();
    let store = run.guard.agent().store().await.unwrap();
    let [left] = store.approvals().list(None, 10, now()).await.unwrap().try_into().unwrap();
    for text in [client.question(0).0, left.shown] {
        for part in ["[EMAIL_", "\\u202eevil", "100,000 characters in all, hash", r#""last": true"#]
        {
            assert!(text.contains(part), "{part}: {text}");
        }
        assert!(!text.contains("ada@") && !text.contains('\u{202e}') && text.len() < 4_000);
    }
}

/// Padding must not hide what matters, and an approval holds only for the call that was shown.
#[tokio::test]
async fn an_approval_of_a_folded_text_is_none_for_another_with_the_same_ends() {
    let server = issues();
    let run = test_run(&server).await;
    let of = |middle: &str| {
        let padding = "x".repeat(50_000);
        format!("{padding}{middle}{padding}")
    };
    let client = Arc::new(Client::answering(Ok(ElicitResult::new(ElicitationAction::Cancel))));
    purge(&run, &of("bob"), &client).await.unwrap_err();
    purge(&run, &of("eve"), &client).await.unwrap_err();
    let store = run.guard.agent().store().await.unwrap();
    let pending = store.approvals().list(None, 10, now()).await.unwrap();
    assert_eq!(pending.len(), 2);
    assert_ne!(pending[0].shown, pending[1].shown, "their hashes are shown");
    let once = Verdict::Allow(Scope::Once);
    // Whichever it is that was asked about first.
    for approval in &pending {
        store.approvals().decide(&approval.id, once, "somebody", now()).await.unwrap();
        let calls = server.calls().len();
        let mut made = 0;
        for middle in ["bob", "eve"] {
            made += usize::from(purge(&run, &of(middle), &client).await.is_ok());
        }
        assert_eq!((made, server.calls().len()), (1, calls + 1));
    }
}

#[tokio::test]
async fn a_call_with_more_arguments_than_can_be_shown_is_not_asked_about() {
    let server = issues();
    let run = test_run(&server).await;
    let client = Arc::new(Client::saying("once"));
    let members = |count: usize| {
        let members = (0..count).map(|n| (format!("a{n}"), Value::from(n)));
        Value::Object(members.collect())
    };
    for (arguments, is_asked) in [
        (members(100), true),
        (members(101), false),
        // What is within an argument is counted too.
        (json!({"of": members(99)}), true),
        (json!({"of": members(100)}), false),
        (json!({"of": [members(98)]}), true),
        (json!({"of": [members(99)]}), false),
        (json!({"of": vec![1; 99]}), true),
        (json!({"of": vec![1; 100]}), false),
    ] {
        let called = run.call_for("issues.purge", arguments, client.clone()).await;
        assert_eq!(called.is_ok(), is_asked, "{called:?}");
    }
    assert_eq!((client.asked(), server.calls().len()), (4, 4));
}

/// Rules that can be written, in memory.
#[derive(Debug, Default)]
struct Rules {
    rules: Mutex<Vec<Rule>>,
    written: AtomicUsize,
    read: AtomicUsize,
}

impl RuleSource for Rules {
    fn changed(&self) -> Option<Result<PolicySettings, String>> {
        let written = self.written.load(Ordering::SeqCst);
        if self.read.swap(written, Ordering::SeqCst) == written {
            return None;
        }
        let rules = self.rules.lock().unwrap().clone();
        Some(Ok(PolicySettings { rules, ..PolicySettings::default() }))
    }

    fn preview(&self, always: &AlwaysRule) -> Option<String> {
        Some(format!("the text of {}", always.rule.name))
    }

    fn name(&self) -> String {
        "the rules".to_owned()
    }

    fn add(&self, always: &AlwaysRule) -> Result<(), String> {
        let mut rules = self.rules.lock().unwrap();
        let before = always.before.as_ref();
        let place = before.and_then(|name| rules.iter().position(|rule| rule.name == *name));
        let place = place.unwrap_or(rules.len());
        rules.insert(place, always.rule.clone());
        self.written.fetch_add(1, Ordering::SeqCst);
        Ok(())
    }
}

fn safety(rules: &Arc<Rules>) -> Arc<Safety> {
    let policy =
        PolicySettings { rules: rules.rules.lock().unwrap().clone(), ..PolicySettings::default() };
    let settings = SafetySettings { policy, ..SafetySettings::default() };
    Safety::with_rules_from(rules.clone(), settings, Arc::new(|| Ok([7; 32]))).unwrap()
}

#[tokio::test]
async fn always_writes_the_rule_that_was_shown_and_holds_from_then_on() {
    let rules = Arc::new(Rules::default());
    let ask = Rule { tools: vec!["issues.*".into()], ..Rule::new("ask", Action::Confirm) };
    rules.rules.lock().unwrap().push(ask);
    let server = issues();
    let mut run = TestRun::under(&[&server], safety(&rules), Principal::local()).await;
    let client = Arc::new(Client::saying("always"));
    purge(&run, "old", &client).await.unwrap();
    let (question, words) = client.question(0);
    assert_eq!(words, ["once", "run", "session", "always", "no"]);
    let shown = "by adding this to the rules:\nthe text of always-local-issues.purge";
    assert!(question.contains(shown), "{question}");
    let names: Vec<String> =
        rules.rules.lock().unwrap().iter().map(|rule| rule.name.clone()).collect();
    assert_eq!(names, ["always-local-issues.purge", "ask"]);
    // From the next call on, in all runs and sessions, and for this tool only.
    run.next_run();
    let other = Arc::new(Client { session: None, ..Client::saying("no") });
    purge(&run, "all", &other).await.unwrap();
    assert_eq!(other.asked(), 0);
    run.call_for("issues.list", json!({}), other.clone()).await.unwrap_err();
    assert_eq!(other.asked(), 1);
    run.guard.agent().written(run.guard.audit_trail()).await.unwrap();
    let audit = run.guard.agent().store().await.unwrap().audit();
    let entries = audit.export(&narrows_store::Filter::default(), 0, 10).await.unwrap();
    let allowed = entries.iter().find(|entry| entry.action == "approval.allow").unwrap();
    assert_eq!(allowed.details["rule"], "always-local-issues.purge");
}

#[tokio::test]
async fn an_agent_that_is_not_whoever_owns_the_rules_writes_none() {
    let rules = Arc::new(Rules::default());
    let server = issues();
    let intern = Principal::new("intern", "intern");
    let run = TestRun::under(&[&server], safety(&rules), intern).await;
    let client = Arc::new(Client::saying("always"));
    purge(&run, "old", &client).await.unwrap_err();
    assert_eq!(client.question(0).1, ["once", "run", "session", "no"]);
    assert!(rules.rules.lock().unwrap().is_empty());
}

#[tokio::test]
async fn rules_that_are_written_by_others_hold_from_the_next_call_on() {
    let rules = Arc::new(Rules::default());
    let server = issues();
    let run = TestRun::under(&[&server], safety(&rules), Principal::local()).await;
    let client = Arc::new(Client::saying("no"));
    purge(&run, "old", &client).await.unwrap_err();
    let always =
        AlwaysRule::new("local", "issues.purge", &[Reason::Destructive], std::iter::empty());
    rules.add(&always.unwrap()).unwrap();
    purge(&run, "old", &client).await.unwrap();
    assert_eq!((client.asked(), server.calls().len()), (1, 1));
}
