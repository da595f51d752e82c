//! Agents with names of their own: what is theirs, what they share, and who did what.
#![cfg(unix)]

use std::{
    fs,
    time::{Duration, Instant},
};

use serde_json::{Value, json};

use crate::support::{
    PATIENCE,
    real::{self, HttpGateway, Running, Site, document, repository, says, text},
    state::{Client, Clients, each, program, text_of},
};

/// Ada may look into the library, Bob may change it, and Eve is in nothing.
const AGENTS: &str = r#"
[agents.ada]
key = "the-key-of-ada-alone"
may = { plan = "write", library = "read" }

[agents.bob]
key = "the-key-of-bob-alone"
home = "workshop"
may = { plan = "write", library = "write" }

[agents.eve]
key = "the-key-of-eve-alone"
"#;

/// A gateway with its agents, each by its own key.
struct Team {
    ada: Client,
    bob: Client,
    eve: Client,
    site: Site,
    _gateway: HttpGateway,
}

impl Team {
    fn start() -> Option<Self> {
        let site = Site::new()?;
        site.configure(AGENTS);
        let gateway = HttpGateway::start(&site);
        let clients = Clients::start(&site);
        let of = |name: &str| clients.with_key(&gateway, &format!("the-key-of-{name}-alone"));
        let (ada, bob, eve) = (of("ada"), of("bob"), of("eve"));
        Some(Self { ada, bob, eve, site, _gateway: gateway })
    }
}

fn double(times: u32) -> Value {
    json!({"name": "double", "code": format!("def double(n):\n    return n * {times}\n")})
}

// What is theirs, and what is not.

#[test]
fn each_agent_has_files_skills_boards_values_and_sessions_of_its_own() {
    let Some(team) = Team::start() else { return };
    for (agent, name, times) in [(&team.ada, "ada", 2), (&team.bob, "bob", 3)] {
        agent.call("write_workspace_file", json!({"path": "me.txt", "content": name}));
        agent.call("save_skill", double(times));
        agent.run(&format!("board('log').post({name:?})\nshared['me'] = {name:?}"));
        agent.go_on("s", &format!("me = {name:?}"));
    }
    let look = "from skills import double\n\
                log = [message['body'] for message in board('log').read()]\n\
                result = [read_file('me.txt'), double(1), log, shared['me']]";
    assert_eq!(team.ada.run(look), json!(["ada", 2, ["ada"], "ada"]));
    assert_eq!(team.bob.run(look), json!(["bob", 3, ["bob"], "bob"]));
    assert_eq!(
        (team.ada.go_on("s", "me"), team.bob.go_on("s", "me")),
        (json!("ada"), json!("bob"))
    );

    let eve = &team.eve;
    eve.refusal("read_workspace_file", json!({"path": "me.txt"}));
    says(&eve.error("from skills import double"), &["no skill 'double'"]);
    assert_eq!(
        eve.run("[board('log').read(), list(shared), list_files(), list_skills()]"),
        json!([[], [], [], []])
    );
    let found = eve.call("search_tools", json!({"query": "double"}));
    assert!(!text_of(&found).contains("double #"), "{found}");
    says(&eve.begin_in("s", "me").answer()["structuredContent"]["error"]["type"], &["CheckError"]);

    // The command line is somebody else, unless it says who.
    let list = |agent: &[&str]| {
        let listed = team.site.json(&[&["workspace", "ls", "--json"], agent].concat());
        each(&listed["files"], "path").len()
    };
    assert_eq!((list(&[]), list(&["--agent", "ada"]), list(&["--agent", "eve"])), (0, 1, 0));
    let unknown = team.site.says(&["workspace", "ls", "--agent", "bop"]);
    assert_eq!(unknown.status.code(), Some(1));
    says(&text(&unknown.stderr).into(), &["no agent \"bop\"", "did you mean bob?"]);
}

#[test]
fn without_the_right_nobody_reads_or_changes_a_namespace() {
    let Some(team) = Team::start() else { return };
    let Team { ada, bob, eve, site, .. } = &team;
    let file = json!({"path": "shelf.txt", "namespace": "library"});
    let written = json!({"path": "shelf.txt", "content": "a book", "namespace": "library"});
    let mut skill = double(2);
    skill["namespace"] = "library".into();
    let list = json!({"namespace": "library"});
    let read_in_code = "first = board('b', 'library').read()[0]\n\
                        code = load_skill('double', namespace='library')\n\
                        result = [first['body'], shared.of('library')['k'], code[:3]]";
    let changes = [
        "board('b', 'library').post(1)",
        "shared.of('library')['k'] = 1",
        "del shared.of('library')['k']",
        "shared.of('library').compare_and_set('k', 7, 8)",
        "save_skill('double', 'def double(n): return 0', namespace='library')",
    ];

    // Bob may do all of it.
    bob.call("write_workspace_file", written.clone());
    bob.call("save_skill", skill.clone());
    for change in &changes[..4] {
        bob.run(change);
    }
    bob.run("shared.of('library')['k'] = 7");
    assert_eq!(bob.run(read_in_code), json!([1, 7, "def"]));

    // Ada may look, and use what she sees.
    assert_eq!(text_of(&ada.call("read_workspace_file", file.clone())), "a book");
    assert_eq!(ada.run(read_in_code), json!([1, 7, "def"]));
    assert_eq!(ada.run("from skills import double\nresult = double(4)"), 8);
    says(
        &ada.call("search_tools", json!({"query": "double"}))["content"][0]["text"],
        &["from skills import double"],
    );
    let may_not = ["\"ada\" may not change the namespace \"library\""];
    says(&ada.refusal("write_workspace_file", written.clone()), &may_not);
    says(&ada.refusal("save_skill", skill.clone()), &may_not);
    for change in changes {
        says(&ada.error(change), &may_not);
    }

    // Eve may not even look.
    let may_not = ["\"eve\" may not read the namespace \"library\"", "eve"];
    says(&eve.refusal("read_workspace_file", file), &may_not);
    says(&eve.refusal("list_workspace_files", list.clone()), &may_not);
    says(&eve.refusal("list_skills", list), &may_not);
    says(&eve.refusal("load_skill", json!({"name": "double", "namespace": "library"})), &may_not);
    for look in [
        "board('b', 'library').read()",
        "await board('b', 'library').wait(timeout=1)",
        "boards('library')",
        "shared.of('library')['k']",
        "list(shared.of('library'))",
        "list_skills(namespace='library')",
    ] {
        says(&eve.error(look), &may_not);
    }
    for change in changes {
        says(&eve.error(change), &["\"eve\" may not", "the namespace \"library\""]);
    }
    for command in ["ls", "du"] {
        let said = site.says(&["workspace", command, "--agent", "eve", "--namespace", "library"]);
        assert_eq!(said.status.code(), Some(1));
        says(&text(&said.stderr).into(), &may_not);
    }
    let said = site.says(&["boards", "read", "b", "--agent", "eve", "--namespace", "library"]);
    assert_eq!(said.status.code(), Some(1));

    // Nothing of all that changed anything.
    assert_eq!(bob.run(read_in_code), json!([1, 7, "def"]));
    let skills = bob.call("list_skills", json!({}))["structuredContent"]["skills"].clone();
    assert_eq!((skills.as_array().unwrap().len(), &skills[0]["version"]), (1, &json!(1)));
}

#[test]
fn a_key_is_one_agents_alone() {
    let Some(site) = Site::new() else { return };
    let refused = |text_of_config: &str| {
        site.configure(text_of_config);
        let said = site.says(&["serve", "--http", "127.0.0.1:0"]);
        assert_eq!(said.status.code(), Some(1), "{said:?}");
        text(&said.stderr)
    };
    let twice = AGENTS.replace("the-key-of-eve", "the-key-of-ada");
    let said = refused(&twice);
    assert!(said.contains("agents.eve.key") && !said.contains("the-key-of"), "{said}");
    let short = AGENTS.replace("the-key-of-eve-alone", "short");
    assert!(refused(&short).contains("agents.eve.key"));
}

// Working together.

#[test]
fn who_waits_at_a_board_hears_of_a_message_when_it_is_posted() {
    let Some(team) = Team::start() else { return };
    let Team { ada, bob, .. } = &team;
    ada.run("board('talk', 'plan').post('before')");
    let ask = r#"
talk = board("talk", "plan")
asked = talk.post("a question")
result = [(m["author"], m["body"]) for m in await talk.wait(timeout=120)]
"#;
    let answer = r#"
talk = board("talk", "plan")
async for message in talk:
    if message["body"] == "a question":
        break
result = talk.post({"re": message["seq"], "from": message["author"]})["seq"]
"#;
    let waiting = bob.begin("execute_code", program(answer));
    // Its time is shorter than the wait: if it heard of messages only at the end, it would fail.
    let asking = ada.begin("execute_code", json!({"code": ask, "timeout": 60}));
    assert_eq!(asking.result(), json!([["bob", {"re": 2, "from": "ada"}]]));
    assert_eq!(waiting.result(), 3);

    // The command line posts, reads and waits as well.
    let board = ["--agent", "ada", "--namespace", "plan"];
    let posted = team.site.says(&[&["boards", "post", "talk", "{\"n\": 4}"], &board[..]].concat());
    assert!(posted.status.success(), "{posted:?}");
    let read = ["boards", "read", "talk", "--since", "2", "--wait", "1", "--json"];
    let read = team.site.json(&[&read[..], &board].concat());
    assert_eq!(each(&read["messages"], "author"), ["bob", "ada"]);
    assert_eq!(read["messages"][1]["body"], json!({"n": 4}));
    // Nothing comes: it takes as long as it was told, and is no failure.
    let start = Instant::now();
    assert_eq!(ada.run("await board('silent', 'plan').wait(timeout=0.5)"), json!([]));
    assert!(start.elapsed() >= Duration::from_millis(500));
}

#[test]
fn compare_and_set_loses_nothing_when_all_write_at_once() {
    let Some(team) = Team::start() else { return };
    let step = r#"
values = shared.of("plan")
tries = 0
for _ in range(40):
    values.update_with("updated", lambda n: n + 1, 0)
    while True:
        tries += 1
        seen = values.get("compared")
        expected = shared.ABSENT if seen is None else seen
        if values.compare_and_set("compared", expected, (seen or 0) + 1):
            break
won = values.compare_and_set("once", shared.ABSENT, True)
result = [won, tries]
"#;
    let pending: Vec<_> = [&team.ada, &team.bob, &team.ada, &team.bob]
        .map(|agent| agent.begin("execute_code", program(step)))
        .into();
    let results: Vec<Value> = pending.into_iter().map(|one| one.result()).collect();
    let won = results.iter().filter(|result| result[0] == true).count();
    assert_eq!(won, 1, "{results:?}");
    let values = team.ada.run("dict(shared.of('plan').items())");
    assert_eq!(values, json!({"compared": 160, "once": true, "updated": 160}));
}

#[test]
fn the_example_divides_its_job_among_three_agents() {
    let Some(site) = Site::new() else { return };
    let example = repository().join("examples/three-agents");
    fs::copy(example.join("narrows.toml"), site.path("narrows.toml")).unwrap();
    let start = |agent: &str, program: &str| {
        let mut command = site.narrows();
        command.args(["run", "--json", "--timeout", "120", "--agent", agent]);
        command.args(["--context", "{\"job\": \"primes\"}"]);
        Running(command.arg(example.join(program)).spawn().unwrap())
    };
    let outcome = |mut process: Running| {
        process.ends_within(PATIENCE);
        let mut output = String::new();
        std::io::Read::read_to_string(&mut process.0.stdout.take().unwrap(), &mut output).unwrap();
        real::succeeded(serde_json::from_str(&output).unwrap())
    };
    let workers = ["worker-1", "worker-2"].map(|name| start(name, "worker.py"));
    let planned = outcome(start("planner", "planner.py"));
    assert_eq!(planned["primes"], 6057, "{planned}");
    let [first, second] = workers.map(|worker| outcome(worker).as_u64().unwrap());
    assert_eq!(first + second, 12, "each task was done once");
    for (name, done) in [("worker-1", first), ("worker-2", second)] {
        assert_eq!(planned["tasks"].get(name).and_then(Value::as_u64).unwrap_or(0), done);
    }
}

// Who did what.

#[test]
fn the_audit_shows_who_did_what_and_that_it_is_whole() {
    let Some(team) = Team::start() else { return };
    let Team { ada, bob, site, .. } = &team;
    let mut skill = double(2);
    skill["namespace"] = "library".into();
    bob.call("save_skill", skill);
    ada.run("board('talk', 'plan').post(1)");
    ada.go_on("s", "x = 1");
    bob.run("shared.of('plan')['k'] = 1");
    bob.error("1 / 0");
    let search = |arguments: &[&str]| {
        let all = [&["audit", "search", "--json"], arguments].concat();
        site.json(&all)["entries"].as_array().unwrap().clone()
    };
    let of = |entry: &Value| {
        ["principal", "namespace", "action", "target", "outcome"]
            .map(|field| entry[field].as_str().unwrap().to_owned())
    };
    // Runs are written beside their answers.
    real::wait_for("all entries", || (search(&[]).len() >= 7).then_some(()));
    let [saved] = &search(&["--action", "skill."])[..] else { panic!() };
    assert_eq!(of(saved), ["bob", "library", "skill.save", "double", "ok"]);
    let [posted] = &search(&["--agent", "ada", "--action", "board"])[..] else { panic!() };
    assert_eq!(of(posted), ["ada", "plan", "board.post", "talk", "ok"]);
    let [set] = &search(&["--namespace", "plan", "--target", "k"])[..] else { panic!() };
    assert_eq!(of(set), ["bob", "plan", "shared.set", "k", "ok"]);
    let runs = search(&["--action", "run", "--agent", "bob"]);
    assert_eq!(runs.iter().map(|run| of(run)[4].clone()).collect::<Vec<_>>(), ["failed", "ok"]);
    let runs = search(&["--action", "run", "--agent", "ada"]);
    assert_eq!(runs[0]["details"]["session"], "s");
    assert_eq!(search(&["--agent", "eve"]), Vec::<Value>::new());
    let shown = site.json(&["audit", "show", &posted["seq"].to_string()]);
    assert_eq!(shown, *posted);

    let verified = site.says(&["audit", "verify"]);
    assert!(verified.status.success(), "{verified:?}");
    says(&text(&verified.stdout).into(), &["7 entries"]);
}

#[test]
fn the_audit_shows_who_changed_files() {
    let Some(team) = Team::start() else { return };
    let path = json!({"path": "plan.md", "content": "1", "namespace": "plan"});
    team.ada.call("write_workspace_file", path);
    let rm = ["workspace", "rm", "plan.md", "--agent", "bob", "--namespace", "plan"];
    assert!(team.site.says(&rm).status.success());
    let found = team.site.json(&["audit", "search", "--target", "plan.md", "--json"]);
    assert_eq!(each(&found["entries"], "principal"), ["bob", "ada"], "{found}");
}

/// Changes rows behind the gateway's back, and tells how many.
const EDIT: &str = r#"
import sqlite3, sys
database = sqlite3.connect(sys.argv[1])
database.execute("PRAGMA wal_checkpoint(TRUNCATE)")
changed = database.execute(sys.argv[2]).rowcount
database.commit()
print(changed)
"#;

#[test]
fn a_row_that_was_changed_removed_or_added_is_found() {
    let Some(site) = Site::new() else { return };
    site.configure(AGENTS);
    for number in 1..=5 {
        let posted = ["boards", "post", "talk", &number.to_string(), "--agent", "ada"];
        assert!(site.says(&posted).status.success());
    }
    let store = site.text("data/narrows.db");
    let pristine = site.path("pristine.db");
    let edit = |sql: &str| {
        let mut python = site.command("python3");
        let said = python.args(["-c", EDIT, &store, sql]).output().unwrap();
        assert!(said.status.success(), "{said:?}");
        document(&said)
    };
    let verify = || site.says(&["audit", "verify"]);
    edit("SELECT 1");
    fs::copy(&store, &pristine).unwrap();
    says(&text(&verify().stdout).into(), &["5 entries"]);
    for (sql, row) in [
        ("UPDATE audit SET principal = 'bob' WHERE seq = 3", 3),
        ("UPDATE audit SET details = '{}' WHERE seq = 1", 1),
        ("UPDATE audit SET at = at - 1 WHERE seq = 5", 5),
        ("DELETE FROM audit WHERE seq = 2", 2),
        ("DELETE FROM audit WHERE seq = 5", 5),
        (
            "INSERT INTO audit SELECT 6, at, 'bob', namespace, action, target, outcome, hash, \
             hash, details FROM audit WHERE seq = 5",
            6,
        ),
    ] {
        assert_eq!(edit(sql), 1, "{sql}");
        let broken = verify();
        assert_eq!(broken.status.code(), Some(1), "{sql}: {broken:?}");
        says(&text(&broken.stderr).into(), &[&format!("entry {row}:")]);
        for suffix in ["-wal", "-shm"] {
            let _ = fs::remove_file(format!("{store}{suffix}"));
        }
        fs::copy(&pristine, &store).unwrap();
        assert!(verify().status.success(), "{sql}");
    }
}
