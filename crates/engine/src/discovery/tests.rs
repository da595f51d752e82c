//! Discovery: the tools that a caller is shown, and the programs that are not run.

use futures::FutureExt as _;
use narrows_policy::PolicySettings;
use narrows_python::SourceTree;
use serde_json::json;

use super::*;
use crate::{
    broker::in_process::{FakeReply, FakeServer, broker},
    broker::tests::{agent, deny, rules},
    catalog::tests::{listing, named, spec},
    safety::SafetySettings,
    search::{Detail, SearchHit},
};

/// A tool that takes a title.
fn titled(name: &str, description: &str) -> Value {
    json!({"name": name, "description": description, "inputSchema": {
        "type": "object",
        "properties": {"title": {"type": "string", "description": "What it is about"}},
        "required": ["title"],
        "additionalProperties": false,
    }})
}

fn issues() -> Vec<Value> {
    vec![
        titled("create_issue", "Creates an issue."),
        titled("delete_issue", "Deletes an issue for ever."),
        titled("list_issues", "Lists the issues that are open."),
    ]
}

/// Creates a discovery of servers that listed these tools once and do not run now.
async fn discovery(servers: &[(&str, Vec<Value>)], settings: DiscoverySettings) -> Discovery {
    let specs: Vec<_> = servers.iter().map(|(name, _)| spec(name)).collect();
    let broker = broker(&[], &specs).await;
    for (spec, (_, tools)) in specs.iter().zip(servers) {
        broker.catalog().replace(spec, listing(tools.clone()));
    }
    Discovery::new(broker, settings, Background::default())
}

fn query(query: &str) -> SearchRequest {
    SearchRequest { query: query.to_owned(), ..SearchRequest::default() }
}

fn names(answer: &SearchAnswer) -> Vec<String> {
    answer.tools().iter().map(|found| format!("{}.{}", found.server, found.name)).collect()
}

fn checking() -> DiscoverySettings {
    DiscoverySettings { check: true, ..DiscoverySettings::default() }
}

async fn look(
    discovery: &Discovery,
    program: &Program,
    session: Option<&Session>,
    agent: &Agent,
) -> CheckedProgram {
    let tree = SourceTree::new(&program.source);
    discovery.look(program, &ParsedProgram::new(&tree), session.into(), agent).await
}

async fn refusal(discovery: &Discovery, program: &str) -> Option<Failure> {
    let home = tempfile::tempdir().unwrap();
    let agent = agent(home.path(), SafetySettings::default());
    let outcome = look(discovery, &Program::new(program), None, &agent).await.refusal?;
    outcome.failure().cloned()
}

#[tokio::test]
async fn what_a_rule_hides_is_not_found_and_takes_no_place() {
    let homes = [tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap()];
    let discovery = discovery(&[("github", issues())], DiscoverySettings::default()).await;
    let request = SearchRequest { limit: Some(1), ..query("delete an issue for ever") };
    let all = agent(homes[0].path(), SafetySettings::default());
    assert_eq!(names(&discovery.search(&request, &all).await), ["github.delete_issue"]);

    let some = agent(homes[1].path(), rules(vec![deny("github.delete_*")]));
    let found = names(&discovery.search(&request, &some).await);
    assert!(found.len() == 1 && found != ["github.delete_issue"], "{found:?}");
    // Neither does a list name it, nor the overview count it.
    let listed = discovery.search(&query("github"), &some).await;
    assert_eq!(names(&listed), ["github.create_issue", "github.list_issues"]);
    let SearchAnswer::Overview(servers) = discovery.search(&query(""), &some).await else {
        panic!("no query gives the servers");
    };
    assert_eq!(servers[0].tools, Some(2));
}

#[tokio::test]
async fn the_name_of_a_server_lists_it_as_far_as_the_limit() {
    let discovery =
        discovery(&[("github", issues()), ("notes", named(&["add"]))], checking()).await;
    for name in ["github", "GitHub", "github tools"] {
        let SearchAnswer::Tools(found) = discovery.search_known(&query(name)) else {
            panic!("{name}")
        };
        assert_eq!((found.tools.len(), found.total, found.hint), (3, Some(3), None), "{name}");
    }
    let request = SearchRequest { limit: Some(2), ..query("github") };
    let answer = discovery.search_known(&request);
    assert_eq!(names(&answer), ["github.create_issue", "github.delete_issue"]);
    assert!(answer.text().ends_with("1 more; add what to do to the query, or raise limit"));
}

#[tokio::test]
async fn a_search_stays_at_the_server_it_is_about() {
    let servers = [("github", issues()), ("notes", vec![titled("create_note", "Creates a note.")])];
    let discovery = discovery(&servers, DiscoverySettings::default()).await;
    let of = |server: &str| SearchRequest { server: Some(server.to_owned()), ..query("create") };
    let found = names(&discovery.search_known(&of("notes")));
    assert_eq!(found, ["notes.create_note"]);
    let answer = discovery.search_known(&of("githb"));
    assert!(answer.tools().is_empty());
    assert_eq!(answer.text(), r#"there is no server "githb"; did you mean github?"#);
}

#[tokio::test]
async fn as_much_is_told_of_a_tool_as_is_asked_for() {
    let discovery = discovery(&[("github", issues())], DiscoverySettings::default()).await;
    let text = |detail_level| {
        let request = SearchRequest { detail_level, limit: Some(1), ..query("create issue") };
        discovery.search_known(&request).text()
    };
    assert_eq!(text(Detail::NameOnly), "github: create_issue");
    assert_eq!(
        text(Detail::WithDescription),
        "from servers.github import create_issue # Creates an issue."
    );
    let full = text(Detail::Full);
    assert!(full.starts_with("# servers.github\n"), "{full}");
    assert!(full.contains("async def create_issue(") && full.contains("title: str"), "{full}");
}

#[tokio::test]
async fn what_takes_time_waits_for_a_place_of_its_agent_and_what_is_small_does_not() {
    let home = tempfile::tempdir().unwrap();
    let agent = agent(home.path(), SafetySettings::default());
    let discovery = discovery(&[("github", issues())], checking()).await;
    assert_eq!(names(&discovery.search_known(&query("create issue"))).len(), 3, "it is indexed");
    let small = Program::new("1 + 1");
    let large = Program::new("x = 1\n".repeat(1_000));
    let full = SearchRequest { detail_level: Detail::Full, ..query("create issue") };
    let wrong = DefinitionRequest {
        name: "github.craete_issue".to_owned(),
        server: None,
        category: None,
        raw: false,
    };

    let places = agent.take_places();
    assert!(look(&discovery, &small, None, &agent).now_or_never().is_some());
    let mut waiting = [
        async { drop(look(&discovery, &large, None, &agent).await) }.boxed_local(),
        async { drop(discovery.search(&full, &agent).await) }.boxed_local(),
        async { drop(discovery.define(&wrong, &agent).await) }.boxed_local(),
    ];
    for work in &mut waiting {
        assert!(tokio::time::timeout(Duration::from_millis(20), work).await.is_err());
    }
    // A search does not wait for what it takes no time to find.
    drop(discovery.search(&query("create issue"), &agent).await);
    drop(places);
    futures::future::join_all(waiting).await;
}

#[tokio::test]
async fn tools_are_found_without_the_store_that_has_the_skills() {
    let home = tempfile::tempdir().unwrap();
    // A directory in its place: the store cannot be opened.
    std::fs::create_dir(home.path().join("narrows.db")).unwrap();
    let agent = agent(home.path(), SafetySettings::default());
    let discovery = discovery(&[("github", issues())], DiscoverySettings::default()).await;
    let found = names(&discovery.search(&query("create issue"), &agent).await);
    assert_eq!(found.first().map(String::as_str), Some("github.create_issue"));
    let skills = discovery.search(&query("skills"), &agent).await;
    assert_eq!(skills.text(), "no skill fits; save one with save_skill");
}

#[tokio::test]
async fn a_search_waits_for_no_server_that_cannot_be_started() {
    let home = tempfile::tempdir().unwrap();
    let agent = agent(home.path(), SafetySettings::default());
    let server = FakeServer::new("github", issues(), |_| FakeReply::Nothing);
    let broker = broker(&[&server], &[spec("asleep")]).await;
    let discovery = Discovery::new(broker, DiscoverySettings::default(), Background::default());
    let answer = discovery.search(&query(""), &agent).await;
    assert!(answer.text().starts_with("asleep: not known yet\ngithub: 3 tools"), "{answer:?}");
}

#[tokio::test]
async fn a_definition_is_all_that_a_call_needs() {
    let discovery = discovery(&[("my-hub", issues())], DiscoverySettings::default()).await;
    let tool = discovery.broker().catalog().resolve("create_issue", None).unwrap();
    let definition = discovery.definition(&tool);
    assert!(definition.starts_with("from servers.my_hub import create_issue\n"), "{definition}");
    assert!(definition.contains("async def create_issue("), "{definition}");
    assert!(definition.contains("Creates an issue."), "{definition}");
    assert!(definition.ends_with("Example: await create_issue(title=\"title\")\n"), "{definition}");
}

#[tokio::test]
async fn what_a_tool_returns_is_learnt_from_its_results() {
    let settings = DiscoverySettings { observe: true, ..DiscoverySettings::default() };
    let discovery = discovery(&[("github", issues())], settings).await;
    let tool = discovery.broker().catalog().resolve("create_issue", None).unwrap();
    assert!(!discovery.signature(&tool).contains("->"), "{}", discovery.signature(&tool));
    discovery.used(&tool, &json!({"number": 7, "url": "u"}));
    let learnt = discovery.signature(&tool);
    assert!(learnt.contains("number: int") && learnt.contains("observed in 1 call"), "{learnt}");
    let policy = Policy::new(PolicySettings::default()).unwrap();
    assert!(discovery.wrapper(&tool, &policy).source.contains("number"));
    // Other tools, and the same one with another definition, are not known by that.
    let other = discovery.broker().catalog().resolve("delete_issue", None).unwrap();
    assert_eq!(discovery.observed(&other), None);
    let changed = titled("create_issue", "Creates an issue, and tells its number.");
    discovery.broker().catalog().replace(&spec("github"), listing(vec![changed]));
    let tool = discovery.broker().catalog().resolve("create_issue", None).unwrap();
    assert_eq!(discovery.observed(&tool), None);
}

#[tokio::test]
async fn what_a_tool_declares_is_not_changed_by_its_results() {
    let settings = DiscoverySettings { observe: true, ..DiscoverySettings::default() };
    let mut declared = titled("create_issue", "Creates an issue.");
    declared["outputSchema"] =
        json!({"type": "object", "properties": {"id": {"type": "string"}}, "required": ["id"]});
    let discovery = discovery(&[("github", vec![declared])], settings).await;
    let tool = discovery.broker().catalog().resolve("create_issue", None).unwrap();
    let before = discovery.signature(&tool);
    assert!(before.contains("id: str"), "{before}");
    discovery.used(&tool, &json!({"number": 7}));
    assert_eq!(discovery.signature(&tool), before);
}

#[tokio::test]
async fn what_was_learnt_is_known_at_the_next_start() {
    let home = tempfile::tempdir().unwrap();
    let settings = || DiscoverySettings {
        observe: true,
        dir: Some(home.path().to_owned()),
        ..DiscoverySettings::default()
    };
    let first = discovery(&[("github", issues())], settings()).await;
    let tool = first.broker().catalog().resolve("create_issue", None).unwrap();
    first.used(&tool, &json!({"number": 7}));
    first.flush(Duration::from_secs(300));
    let second = discovery(&[("github", issues())], settings()).await;
    let tool = second.broker().catalog().resolve("create_issue", None).unwrap();
    assert_eq!(second.observed(&tool), first.observed(&tool));
    assert!(second.observed(&tool).is_some_and(|(_, calls)| calls == 1));
}

#[tokio::test]
async fn of_tools_that_fit_alike_the_one_that_was_used_comes_first() {
    let settings = DiscoverySettings { learn: true, ..DiscoverySettings::default() };
    let servers = [("hub", issues()), ("lab", issues())];
    let discovery = discovery(&servers, settings).await;
    let best = || names(&discovery.search_known(&query("create issue")))[0].clone();
    let first = best();
    let other = if first == "hub.create_issue" { "lab.create_issue" } else { "hub.create_issue" };
    let tool = discovery.broker().catalog().resolve(other, None).unwrap();
    for _ in 0..5 {
        best();
        discovery.used(&tool, &Value::Null);
    }
    assert_eq!(best(), other, "and not {first}");
}

#[tokio::test]
async fn a_program_that_names_no_such_tool_is_not_run_and_told_the_nearest() {
    let discovery = discovery(&[("github", issues())], checking()).await;
    let program = "import json\nfrom servers.github import creat_issue\n";
    let refused = refusal(&discovery, program).await.unwrap();
    assert_eq!((refused.kind.as_str(), refused.line), ("CheckError", Some(2)));
    assert_eq!(
        refused.message,
        "nothing was run: line 2: github has no tool 'creat_issue'; did you mean create_issue?"
    );
}

#[tokio::test]
async fn every_mistake_of_a_program_is_told_with_its_line() {
    let discovery = discovery(&[("github", issues())], checking()).await;
    let program = "from servers import github\nawait github.create_issue(titel='t')\n\
                   await github.create_issue(title=5)\n";
    let refused = refusal(&discovery, program).await.unwrap();
    assert_eq!(refused.line, Some(2));
    let lines: Vec<&str> = refused.message.lines().collect();
    assert!(lines[0].starts_with("nothing was run: line 2: "), "{lines:?}");
    assert!(lines[0].contains("titel"), "{lines:?}");
    assert!(lines.iter().any(|line| line.starts_with("line 3: ")), "{lines:?}");
}

#[tokio::test]
async fn programs_that_may_work_are_run() {
    let right = "from servers.github import create_issue\nawait create_issue(title='t')\n";
    let wrong = "from servers.github import creat_issue\n";
    let checked = discovery(&[("github", issues())], checking()).await;
    assert_eq!(refusal(&checked, right).await, None);
    // Nobody asked for the check.
    let unchecked = discovery(&[("github", issues())], DiscoverySettings::default()).await;
    assert_eq!(refusal(&unchecked, wrong).await, None);
    // The server has not said what it has.
    let broker = broker(&[], &[spec("github")]).await;
    let unknown = Discovery::new(broker, checking(), Background::default());
    assert_eq!(refusal(&unknown, wrong).await, None);
}

#[tokio::test]
async fn before_a_program_is_refused_its_servers_are_asked_what_they_have_now() {
    let server = FakeServer::new("github", issues(), |_| FakeReply::Nothing);
    let other = FakeServer::new("notes", named(&["add"]), |_| FakeReply::Nothing);
    let broker = broker(&[&server, &other], &[]).await;
    let discovery = Discovery::new(broker, checking(), Background::default());
    let program = "from servers.github import close_issue\nawait close_issue(title='t')\n";
    server.set_tools(vec![titled("close_issue", "Closes an issue.")]);
    assert_eq!(refusal(&discovery, program).await, None);
    let listed = |server: &FakeServer| server.received("tools/list").len();
    assert_eq!((listed(&server), listed(&other)), (2, 1), "only those that it names are asked");
}

#[tokio::test]
async fn what_every_program_can_do_is_found_behind_the_tools_that_fit_better() {
    let home = tempfile::tempdir().unwrap();
    let agent = agent(home.path(), SafetySettings::default());
    let tools = vec![
        titled("write_file", "Write a file to the disk: save a file, store a file."),
        titled("create_issue", "Creates an issue."),
    ];
    let discovery = discovery(&[("disk", tools)], DiscoverySettings::default()).await;
    let found = discovery.search(&query("save a file"), &agent).await;
    assert_eq!(names(&found)[0], "disk.write_file");
    assert!(names(&found).contains(&"built in.write_file".to_owned()), "{found:?}");
    // The same without an agent, for the command line, and whatever is told of each.
    assert_eq!(discovery.search_known(&query("save a file")), found);
    for detail_level in [Detail::NameOnly, Detail::WithDescription, Detail::Full] {
        let request = SearchRequest { detail_level, ..query("analyse a CSV with SQL") };
        let text = discovery.search(&request, &agent).await.text();
        assert!(text.contains("sql") && text.contains("analyze"), "{text}");
        assert!(text.contains("await sql(") || detail_level == Detail::NameOnly, "{text}");
        assert!(!text.contains("nothing fits"), "{text}");
    }
    // A search at one server, a list of it, and one for something else find no such thing.
    for request in [
        SearchRequest { server: Some("disk".into()), ..query("save a file") },
        query("disk"),
        query("create an issue"),
    ] {
        let found = discovery.search(&request, &agent).await;
        assert!(found.tools().iter().all(SearchHit::is_tool), "{found:?}");
    }
    let wanted = |name: &str| DefinitionRequest {
        name: name.to_owned(),
        server: None,
        category: None,
        raw: false,
    };
    let defined = discovery.define(&wanted("sql"), &agent).await.unwrap();
    assert!(defined.as_str().unwrap().contains("await sql("), "{defined}");
    // A tool of that name goes before.
    let defined = discovery.define(&wanted("write_file"), &agent).await.unwrap();
    assert!(defined.as_str().unwrap().starts_with("from servers.disk import"), "{defined}");
}

#[tokio::test]
async fn what_is_deprecated_says_so_and_comes_last() {
    let mut flagged = titled("issue_search", "Search issues by their title, find issues.");
    flagged["annotations"] = json!({"deprecated": true});
    let tools = vec![
        flagged,
        titled("find_issues", "Search issues. DEPRECATED: use query_all instead."),
        titled("query_all", "Search everything, issues too."),
        titled("list_deprecated", "Lists deprecated issues to search."),
    ];
    let discovery = discovery(&[("github", tools)], DiscoverySettings::default()).await;
    for request in [query("search issues"), query("github")] {
        let found = discovery.search_known(&request);
        let found = names(&found);
        assert_eq!(found.len(), 4, "{found:?}");
        assert!(found[2..].contains(&"github.issue_search".to_owned()), "{found:?}");
        assert!(found[2..].contains(&"github.find_issues".to_owned()), "{found:?}");
    }
    // They take no place from others.
    let two = SearchRequest { limit: Some(2), ..query("search issues") };
    let found = discovery.search_known(&two);
    assert!(found.tools().iter().all(|tool| !tool.deprecated), "{found:?}");
    let text = discovery.search_known(&query("search issues")).text();
    assert!(
        text.contains("find_issues # deprecated: use query_all instead; Search issues."),
        "{text}"
    );
    let name_only = SearchRequest { detail_level: Detail::NameOnly, ..query("search issues") };
    let text = discovery.search_known(&name_only).text();
    assert!(text.contains("issue_search (deprecated)"), "{text}");
    assert!(!text.contains("list_deprecated (deprecated)"), "{text}");
    let tool = discovery.broker().catalog().resolve("find_issues", None).unwrap();
    let definition = discovery.definition(&tool);
    assert!(definition.contains("deprecated: use query_all instead"), "{definition}");
}

#[tokio::test]
async fn a_program_that_reads_is_not_told_a_tool_that_writes() {
    let discovery = discovery(&[("github", issues())], checking()).await;
    let refused = refusal(&discovery, "from servers.github import get_issue\n").await.unwrap();
    assert_eq!(
        refused.message,
        "nothing was run: line 1: github has no tool 'get_issue'; did you mean list_issues?"
    );
    let refused = refusal(&discovery, "from servers.github import zxqv\n").await.unwrap();
    assert!(
        refused.message.ends_with("there are create_issue, delete_issue, list_issues"),
        "{refused:?}"
    );
}

#[tokio::test]
async fn a_tool_that_is_called_without_an_import_is_given_with_a_note_and_reviewed() {
    let discovery = discovery(&[("github", issues())], checking()).await;
    let mut program = Program::new("await list_issues(title='x')\nprint(json.dumps(1))");
    // What a client says by this name is not handed on.
    program.context.insert("<tools>".into(), json!({"x": "elsewhere"}));
    let home = tempfile::tempdir().unwrap();
    let agent = agent(home.path(), SafetySettings::default());
    let looked = look(&discovery, &program, None, &agent).await;
    assert_eq!(
        looked.note.as_deref(),
        Some(
            "json and list_issues were not imported; add `import json` and `from servers.github \
             import list_issues`"
        )
    );
    looked.give_implied(&mut program);
    assert_eq!(program.context["<tools>"], json!({"list_issues": "github"}));
    assert_eq!(looked.implied.tools, BTreeMap::from([("list_issues".into(), "github".into())]));
    assert!(looked.implied.library.is_empty());
    let looked = look(&discovery, &Program::new("1 + 1"), None, &agent).await;
    looked.give_implied(&mut program);
    assert_eq!(program.context.get("<tools>"), None);
}

#[tokio::test]
async fn a_module_that_is_used_without_an_import_is_given_with_a_note_and_reviewed() {
    let discovery = discovery(&[], checking()).await;
    let mut program = Program::new("print(string.digits, math.pi, threading.Lock())");
    program.context.insert("<modules>".into(), json!(["os"]));
    let home = tempfile::tempdir().unwrap();
    let agent = agent(home.path(), SafetySettings::default());
    let looked = look(&discovery, &program, None, &agent).await;
    let note =
        "math and string and threading were not imported; add `import math, string, threading`";
    assert_eq!(looked.note.as_deref(), Some(note));
    looked.give_implied(&mut program);
    assert_eq!(program.context["<modules>"], json!(["string", "threading"]));
    assert_eq!(looked.implied.library, BTreeSet::from(["string", "threading"]));
    let looked = look(&discovery, &Program::new("1 + 1"), None, &agent).await;
    looked.give_implied(&mut program);
    assert_eq!(program.context.get("<modules>"), None, "what a client says is not handed on");
}

/// Creates a session whose programs have bound these names, as the guest writes it.
fn session(names: &[&str]) -> Session {
    let names = serde_json::to_vec(names).unwrap();
    let length = (names.len() as u64).to_be_bytes();
    Session::from_state(Some([&names[..], &length[..], b"\nnames of variables\n"].concat()))
}

#[tokio::test]
async fn a_program_of_a_session_may_use_what_programs_before_have_bound_and_nothing_else() {
    let discovery = discovery(&[("github", issues())], checking()).await;
    let home = tempfile::tempdir().unwrap();
    let agent = agent(home.path(), SafetySettings::default());
    let look = async |program: &str, session: &Session| {
        look(&discovery, &Program::new(program), Some(session), &agent).await
    };
    let message = |looked: CheckedProgram| Some(looked.refusal?.failure()?.message.clone());
    let earlier = session(&["rows", "json"]);
    let program = "await list_issues(title='x')\nprint(rows, total)";
    let refused = message(look(program, &earlier).await).unwrap();
    assert_eq!(refused, "nothing was run: line 2: `total` is not defined");
    assert!(message(look("rows; json", &earlier).await).is_none());
    // A new one has no variables, and one of another version those that nobody knows.
    let fresh = Session::default();
    let refused = message(look("pd.DataFrame(rows)", &fresh).await).unwrap();
    assert!(refused.contains("there is no pandas here"), "{refused}");
    let old = Session::from_state(Some(b"narrows session 1\n".to_vec()));
    assert!(message(look("rows", &old).await).is_none());
    // So what is not imported is found, too.
    let program = "await list_issues(title='x')\nmath.pi\njson.dumps(rows)";
    let looked = look(program, &earlier).await;
    assert_eq!(
        looked.note.as_deref(),
        Some(
            "math and list_issues were not imported; add `import math` and `from servers.github \
             import list_issues`"
        )
    );
}
