//! The calls and queries of programs, with servers inside this process.

use narrows_policy::{FlowRule, PolicySettings};
use narrows_sandbox::{Workspace, WorkspaceMount};
use narrows_upstream::NoCaller;
use tempfile::TempDir;

use super::*;
use crate::{
    background::Background,
    broker::in_process::{FakeReply, FakeServer, broker},
    broker::tests::{agent, deny, rules},
    catalog::tests::{named, spec},
    discovery::DiscoverySettings,
    safety::{Mode, SafetySettings},
};

/// A host with everything that it needs.
pub(in crate::program) struct RunningProgram {
    pub(in crate::program) host: ProgramHost,
    pub(in crate::program) workspace: Arc<Workspace>,
    printed: Arc<Mutex<String>>,
    _home: TempDir,
}

impl RunningProgram {
    /// Creates a program with these servers, and with `asleep`, which cannot be started.
    pub(in crate::program) async fn new(servers: &[&FakeServer], settings: SafetySettings) -> Self {
        let home = tempfile::tempdir().unwrap();
        let agent = agent(home.path(), settings);
        let broker = broker(servers, &[spec("asleep")]).await;
        let settings = DiscoverySettings { observe: true, ..DiscoverySettings::default() };
        let discovery = Arc::new(Discovery::new(broker, settings, Background::default()));
        let guard = agent.guard(agent.level(None).unwrap());
        let workspace = agent.workspace().unwrap();
        let media = Arc::new(Media::new(Some(WorkspaceMount::writable(Arc::clone(&workspace)))));
        let printed = Arc::new(Mutex::new(String::new()));
        let output = Arc::clone(&printed);
        let host =
            ProgramHost::new(discovery, guard, Arc::new(NoCaller), media, move |stream, text| {
                output.lock().unwrap().push_str(&format!("{stream}<{text}>"));
            });
        Self { host, workspace, printed, _home: home }
    }

    /// The next program of the same agent.
    pub(in crate::program) fn next_run(&mut self) {
        let agent = self.host.agent().clone();
        self.host.guard = agent.guard(agent.level(None).unwrap());
    }

    /// Calls a tool, as `await call(tool, arguments)` does.
    pub(in crate::program) async fn call(
        &self,
        tool: &str,
        arguments: Value,
    ) -> Result<Value, ToolFailure> {
        let arguments = raw(arguments).unwrap();
        let call = ToolCall { number: 1, tool: tool.to_owned(), arguments, data: Vec::new() };
        let answer = self.host.call(call).await?;
        Ok(serde_json::from_str(answer.value.get()).unwrap())
    }

    /// Makes a query, as `query(name, arguments)` does.
    pub(in crate::program) async fn query(
        &self,
        name: &str,
        arguments: Value,
    ) -> Result<Value, ToolFailure> {
        let query = Query { name: name.to_owned(), arguments: raw(arguments).unwrap() };
        let answer = self.host.query(query).await?;
        Ok(serde_json::from_str(answer.get()).unwrap())
    }
}

/// A server with the tool `go`, which answers so.
fn going(reply: FakeReply) -> FakeServer {
    FakeServer::new("s", named(&["go"]), move |_| reply.clone())
}

/// Two tools, the second of which has personal data in its description.
fn mail() -> FakeServer {
    let send = json!({"name": "send-mail", "description": "Sends a mail.", "inputSchema": {
        "type": "object", "properties": {"to": {"type": "string"}}, "required": ["to"]}});
    let help = json!({"name": "help", "description": "Asks ada@example.com for help.",
        "inputSchema": {"type": "object"}});
    FakeServer::new("mail", vec![send, help], |_| FakeReply::text("done"))
}

const TABLE: &str = "| id | name |\n|---|---|\n| 1 | Ada |\n| 2 | Bob |\n";

#[tokio::test]
async fn a_table_that_a_server_writes_is_rows_unless_the_server_is_to_be_left_alone() {
    let mut server = going(FakeReply::text(TABLE));
    let program = RunningProgram::new(&[&server], SafetySettings::default()).await;
    let rows = json!([{"id": 1, "name": "Ada"}, {"id": 2, "name": "Bob"}]);
    let given = program.call("mcp__s__go", json!({})).await.unwrap();
    assert_eq!(given, json!({"$recovered": rows, "raw": TABLE}));

    server.spec.recover = false;
    let program = RunningProgram::new(&[&server], SafetySettings::default()).await;
    assert_eq!(program.call("mcp__s__go", json!({})).await, Ok(json!(TABLE)));
}

/// A regression test: a note was written for each unknown argument, on an async thread.
#[tokio::test]
async fn many_unknown_arguments_are_counted_within_the_share_of_the_agent() {
    let program = RunningProgram::new(&[&mail()], SafetySettings::default()).await;
    let mut asked: Map<String, Value> =
        (0..5_000).map(|number| (format!("wrong{number}"), json!(1))).collect();
    asked.insert("query".to_owned(), json!("send a mail"));
    let places = program.host.agent().take_places();
    let mut waiting = Box::pin(program.query("search_tools", json!(asked)));
    assert!(futures::poll!(&mut waiting).is_pending());
    assert!(program.host.take_notes().is_empty());
    drop(places);
    assert!(waiting.await.unwrap().to_string().contains("send_mail"));
    let notes = program.host.take_notes();
    assert_eq!(notes.len(), 6, "{notes:?}");
    assert!(notes[5].starts_with("4995 more arguments are no parameters"), "{notes:?}");
}

#[tokio::test]
async fn an_image_of_a_tool_is_a_file_of_the_programs_workspace() {
    let image = json!({"type": "image", "mimeType": "image/png", "data": "AAEC"});
    let server = going(FakeReply::Result(json!({"content": [image]})));
    let program = RunningProgram::new(&[&server], SafetySettings::default()).await;
    let given = program.call("s.go", json!({})).await.unwrap();
    assert_eq!(given["path"], "/workspace/image-1.png");
    assert_eq!(program.workspace.read("image-1.png", 10).unwrap(), [0, 1, 2]);
}

#[tokio::test]
async fn a_tool_that_fails_says_which_it_is() {
    let failed = json!({"content": [{"type": "text", "text": "no such mail"}], "isError": true});
    for (reply, message) in [
        (FakeReply::Result(failed), "no such mail"),
        (FakeReply::Error("unknown box"), r#"the server "s" refused: unknown box"#),
    ] {
        let program = RunningProgram::new(&[&going(reply)], SafetySettings::default()).await;
        let failure = program.call("s.go", json!({})).await.unwrap_err();
        let details = json!({"message": message, "server": "s", "tool": "go"});
        assert_eq!(serde_json::to_value(&failure).unwrap(), details);
    }
}

#[tokio::test]
async fn a_call_that_cannot_work_is_told_and_not_sent() {
    let server = mail();
    let program = RunningProgram::new(&[&server], rules(vec![deny("mail.help")])).await;
    for (tool, arguments, told) in [
        (
            "mail.sendmail",
            json!({}),
            r#"the server "mail" has no tool "sendmail"; did you mean send_mail?"#,
        ),
        ("mial.send_mail", json!({}), "did you mean mail.send_mail?"),
        ("asleep.go", json!({}), r#"the server "asleep" is not available: "#),
        ("mail.send_mail", json!({}), r#"mail.send_mail: "to" is missing"#),
        ("mail.send_mail", json!({"to": ["a"]}), r#""to" is ["a"], expected string"#),
        ("mail.send_mail", json!(["a"]), "the arguments do not fit: "),
        ("mail.send_mail", json!("a"), "the arguments do not fit: "),
        ("mail.help", json!({}), r#"the rule "no" denies it"#),
        ("narrows:nothing", json!({}), r#""nothing" is not available here"#),
    ] {
        let failure = program.call(tool, arguments).await.unwrap_err();
        assert!(failure.message.contains(told), "{tool}: {failure:?}");
    }
    assert!(server.calls().is_empty());
}

#[tokio::test]
async fn what_a_tool_gave_is_what_its_signature_says_from_then_on() {
    let server = going(FakeReply::text(r#"{"number": 7}"#));
    let program = RunningProgram::new(&[&server], SafetySettings::default()).await;
    let wanted = json!({"name": "s.go"});
    let before = program.query("get_tool_definition", wanted.clone()).await.unwrap();
    program.call("s.go", json!({})).await.unwrap();
    let after = program.query("get_tool_definition", wanted).await.unwrap();
    assert!(!before.as_str().unwrap().contains("number"), "{before}");
    assert!(after.as_str().unwrap().contains("number"), "{after}");
}

#[tokio::test]
async fn in_strict_mode_a_program_sees_tokens_and_servers_get_values() {
    let server = FakeServer::new("s", named(&["go"]), |params| {
        FakeReply::text(&format!(
            "mail to {}",
            params["arguments"]["to"].as_str().unwrap_or("ada@example.com")
        ))
    });
    let strict = SafetySettings { mode: Mode::Strict, ..SafetySettings::default() };
    let program = RunningProgram::new(&[&server], strict).await;
    let seen = program.call("s.go", json!({})).await.unwrap();
    let token = seen.as_str().unwrap().strip_prefix("mail to ").unwrap();
    assert!(token.starts_with("[EMAIL_"), "{token}");
    // It comes back as the token that the program knows.
    assert_eq!(program.call("s.go", json!({"to": token})).await.as_ref(), Ok(&seen));
    assert_eq!(server.calls()[1], json!({"to": "ada@example.com"}));
}

#[tokio::test]
async fn definitions_of_tools_are_told_as_they_are_in_strict_mode_too() {
    let server = mail();
    let strict = SafetySettings { mode: Mode::Strict, ..SafetySettings::default() };
    let program = RunningProgram::new(&[&server], strict).await;
    for arguments in [json!({"name": "mail.help"}), json!({"name": "mail.help", "raw": true})] {
        let told = program.query("get_tool_definition", arguments).await.unwrap().to_string();
        assert!(told.contains("Asks ada@example.com"), "{told}");
    }
    // What is said about a name that does not exist repeats it.
    let failure = program.query("get_tool_definition", json!({"name": "bob@example.com"})).await;
    let failure = failure.unwrap_err();
    assert!(!failure.message.contains("bob@"), "{failure:?}");
}

#[tokio::test]
async fn the_function_of_a_tool_calls_it_by_its_full_name() {
    let server = mail();
    let program = RunningProgram::new(&[&server], SafetySettings::default()).await;
    let wanted = json!({"server": "mail", "name": "send_mail"});
    let wrapper = program.query("wrapper", wanted).await.unwrap();
    assert_eq!(wrapper["name"], "send_mail");
    let source = wrapper["source"].as_str().unwrap();
    assert!(source.contains("\"mcp__mail__send-mail\""), "{source}");
    assert!(source.contains("async def send_mail("), "{source}");

    let misspelt = json!({"server": "mail", "name": "send_mial"});
    let failure = program.query("wrapper", misspelt).await.unwrap_err();
    assert!(failure.message.ends_with("did you mean send_mail?"), "{failure:?}");
}

#[tokio::test]
async fn a_program_can_look_at_what_there_is() {
    let server = mail();
    let program = RunningProgram::new(&[&server], SafetySettings::default()).await;
    let names = program.query("tool_names", json!({"server": "mail"})).await;
    assert_eq!(names, Ok(json!(["send_mail", "help"])));
    let failure = program.query("tool_names", json!({"server": "asleep"})).await.unwrap_err();
    assert!(failure.message.starts_with(r#"the server "asleep" is not available"#), "{failure:?}");

    let raw = json!({"name": "mcp__mail__send-mail", "raw": true});
    let definition = program.query("get_tool_definition", raw).await.unwrap();
    assert_eq!(definition["inputSchema"]["required"], json!(["to"]));

    let found = json!({"query": "send mail", "detail_level": "name_only", "limit": 1});
    let found = program.query("search_tools", found).await;
    assert_eq!(found, Ok(json!([{"server": "mail", "name": "send_mail"}])));

    let servers = program.query("list_servers", json!({})).await.unwrap();
    let states: Vec<[&Value; 3]> = servers
        .as_array()
        .unwrap()
        .iter()
        .map(|server| [&server["module"], &server["tools"], &server["state"]])
        .collect();
    assert_eq!(json!(states), json!([["asleep", null, "failed"], ["mail", 2, "ready"]]));
}

#[tokio::test]
async fn questions_that_make_no_sense_are_refused() {
    let program = RunningProgram::new(&[], SafetySettings::default()).await;
    for (name, arguments, told) in [
        ("no_such_question", json!({}), r#""no_such_question" is not available here"#),
        ("wrapper", json!({"server": "s"}), "the arguments do not fit: missing field `name`"),
        ("tool_names", json!([]), "the arguments do not fit: "),
        ("search_tools", json!({"limit": 0}), "limit is 0, expected a number from 1 on"),
        ("display", json!({}), "display() takes what a tool gave"),
        ("get_tool_definition", json!({"name": "weather"}), r#"there is no tool "weather""#),
    ] {
        let failure = program.query(name, arguments).await.unwrap_err();
        assert!(failure.message.contains(told), "{name}: {failure:?}");
    }
}

#[tokio::test]
async fn what_a_program_shows_and_prints_reaches_its_caller() {
    let program = RunningProgram::new(&[], SafetySettings::default()).await;
    program.workspace.write("chart.png", &[1, 2, 3]).unwrap();
    let told = program.query("display", json!({"path": "chart.png"})).await;
    assert_eq!(told, Ok(json!({"mime_type": "image/png", "bytes": 3})));
    assert_eq!(program.host.media().take_shown().len(), 1);
    program.host.output(OutputStream::Stdout, "a");
    program.host.output(OutputStream::Stderr, "b");
    assert_eq!(*program.printed.lock().unwrap(), "stdout<a>stderr<b>");
}

#[tokio::test]
async fn a_module_is_there_if_its_server_or_skill_is() {
    let server = mail();
    let program = RunningProgram::new(&[&server], SafetySettings::default()).await;
    let module = |name: &str| program.host.module(name.to_owned());
    assert!(module("servers").await.is_some_and(|module| module.is_package));
    assert!(module("servers.mail").await.is_some());
    assert_eq!(module("servers.nobody").await, None);
    assert_eq!(module("skills.nothing").await, None);
}

#[tokio::test]
async fn notes_are_told_once_and_are_no_flood() {
    let program = RunningProgram::new(&[], SafetySettings::default()).await;
    let notes: Vec<String> = (0..MAX_NOTES + 5).map(|number| format!("note {number}")).collect();
    program.host.note(&notes[..2]);
    program.host.note(&notes[..2]);
    program.host.note(&notes);
    assert_eq!(program.host.take_notes(), notes[..MAX_NOTES]);
    assert_eq!(program.host.take_notes(), [""; 0]);
}

/// A rule that keeps what comes from the server `mail` from the server `web`.
pub(in crate::program) fn mail_not_to_web() -> SafetySettings {
    let flows = vec![FlowRule::read("mail.*, asleep.* -> web.*").unwrap()];
    let policy = PolicySettings { flows, ..PolicySettings::default() };
    SafetySettings { policy, ..SafetySettings::default() }
}

#[tokio::test]
async fn what_a_server_says_of_itself_was_read_from_it() {
    let web = FakeServer::new("web", named(&["post"]), |_| FakeReply::text("done"));
    let mut program = RunningProgram::new(&[&mail(), &web], mail_not_to_web()).await;
    // So that there is an error to be told.
    program.call("asleep.go", json!({})).await.unwrap_err();
    for (name, arguments, stopped) in [
        ("get_tool_definition", json!({"name": "mail.help"}), true),
        ("get_tool_definition", json!({"name": "mail.help", "raw": true}), true),
        ("search_tools", json!({"query": "send a mail"}), true),
        ("list_servers", json!({}), true),
        ("tool_names", json!({"server": "asleep"}), true),
        // The positive control: who names a tool has not read what is said of it.
        ("get_tool_definition", json!({"name": "web.post"}), false),
        ("tool_names", json!({"server": "mail"}), false),
        ("wrapper", json!({"server": "mail", "name": "help"}), false),
    ] {
        program.next_run();
        program.call("web.post", json!({})).await.unwrap();
        let answer = program.query(name, arguments.clone()).await;
        let posted = program.call("web.post", json!({})).await;
        let is_stopped = posted
            .as_ref()
            .is_err_and(|failure| failure.message.contains("mail.*, asleep.* -> web.*"));
        assert_eq!(is_stopped, stopped, "{name} {arguments}: {answer:?} {posted:?}");
    }
}

#[tokio::test]
async fn a_function_has_no_description_where_a_flow_rule_would_count_it_as_read() {
    let wanted = json!({"server": "mail", "name": "help"});
    for (settings, is_told) in [(SafetySettings::default(), true), (mail_not_to_web(), false)] {
        let program = RunningProgram::new(&[&mail()], settings).await;
        let wrapper = program.query("wrapper", wanted.clone()).await.unwrap();
        let source = wrapper["source"].as_str().unwrap();
        assert!(source.contains("async def help("), "{source}");
        assert_eq!(source.contains("Asks ada@example.com"), is_told, "{source}");
    }
}

#[tokio::test]
async fn what_a_definition_says_is_shown_as_it_is_to_the_program_that_was_given_it() {
    let properties = json!({"phone": {"type": "string", "examples": ["+1 212 555 0187"]},
        "card": {"type": "integer", "default": 4_111_111_111_111_111_u64}});
    let tool = json!({"name": "go", "description": "Writes to desk@example.com",
        "inputSchema": {"type": "object", "properties": properties}});
    let server = FakeServer::new("s", vec![tool], |_| FakeReply::text("done"));
    let mut program = RunningProgram::new(&[&server], SafetySettings::default()).await;
    let texts =
        ["desk@example.com", "{'phone': '+1 212 555 0187'}", "card number 4111111111111111"];
    let shown = |program: &RunningProgram| {
        let pii_filter = program.host.guard.pii_filter();
        texts.map(|text| pii_filter.text(text) == text)
    };
    // A tool was given the value lately, so that it is looked for by itself too.
    let token = program.host.guard.pii_filter().sanitized("desk@example.com").into_owned();
    program.call("s.go", json!({"body": token})).await.unwrap();
    assert_eq!(shown(&program), [false; 3]);
    for (name, asked) in [
        ("get_tool_definition", json!({"name": "s.go", "raw": true})),
        ("search_tools", json!({"query": "s", "detail_level": "full"})),
    ] {
        program.next_run();
        assert_eq!(shown(&program), [false; 3], "another program");
        program.query(name, asked).await.unwrap();
        assert_eq!(shown(&program), [true; 3], "{name}");
        let other = program.host.guard.pii_filter().text("ada@example.com").into_owned();
        assert!(other.starts_with("[EMAIL_"), "{other}");
    }
}

#[tokio::test]
async fn parameters_of_a_search_have_other_names_and_what_is_none_is_told() {
    let server = going(FakeReply::Nothing);
    let program = RunningProgram::new(&[&server], SafetySettings::default()).await;
    // As the guest sends it for `search_tools("go", level="full", servr="s")`.
    let asked =
        json!({"query": "go", "detail_level": "with_description", "level": "full", "servr": "s"});
    let found = program.query("search_tools", asked).await.unwrap();
    assert!(found[0]["definition"].is_string(), "{found}");
    let told = "\"servr\" is no parameter of search_tools, and was ignored; did you mean server?";
    assert_eq!(program.host.take_notes(), [told]);
}
