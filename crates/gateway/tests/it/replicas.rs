//! Two gateways on one PostgreSQL, each with a disk of its own, are one to their clients.
#![cfg(unix)]

use std::time::{Duration, Instant};

use narrows_testkit::Postgres;
use serde_json::{Value, json};

use crate::support::{
    real::{HttpGateway, Site, says, text, wait_for},
    state::{Client, Clients, each, program, text_of},
};

/// A client of each of two gateways.
struct Replicas {
    clients: [Client; 2],
    gateways: [Option<HttpGateway>; 2],
    sites: [Site; 2],
    process: Clients,
}

impl Replicas {
    fn start() -> Option<Self> {
        let sites = [Site::new()?, Site::new()?];
        let store = Postgres::shared()?.database();
        let process = Clients::start(&sites[0]);
        let gateways = sites.each_ref().map(|site| {
            site.configure(&format!("[store]\nurl = {}\n", json!(store)));
            HttpGateway::start(site)
        });
        let clients = gateways.each_ref().map(|gateway| process.connect(&gateway.over_http()));
        Some(Self { clients, gateways: gateways.map(Some), sites, process })
    }
}

#[test]
fn a_skill_saved_on_one_is_imported_and_found_on_the_other_at_once() {
    let Some(replicas) = Replicas::start() else { return };
    let [one, other] = &replicas.clients;
    // Both have looked already, and know that there is nothing.
    for client in [one, other] {
        client.error("from skills import double");
        client.call("search_tools", json!({"query": "double a number"}));
    }
    for version in 1..=5 {
        let code = format!(
            "def double(n):\n    \"\"\"Doubles a number.\"\"\"\n    return n * 2 + {version}\n"
        );
        one.call("save_skill", json!({"name": "double", "code": code}));
        assert_eq!(other.run("from skills import double\nresult = double(0)"), version);
        let found = other.call("search_tools", json!({"query": "double a number"}));
        says(&found["content"][0]["text"], &["from skills import double # skill"]);
        let listed = other.call("list_skills", json!({"query": "doubles"}));
        assert_eq!(listed["structuredContent"]["skills"][0]["version"], version);
    }
    let needs = "from skills import double\n\ndef needs(n):\n    return double(n)\n";
    other.call("save_skill", json!({"name": "needs", "code": needs}));
    assert_eq!(one.run("from skills import needs\nresult = needs(1)"), 7);
    assert!(replicas.sites[1].says(&["skills", "rm", "double"]).status.success());
    says(&one.error("from skills import double"), &["no skill 'double'"]);
    let found = one.call("search_tools", json!({"query": "double a number"}));
    assert!(!text_of(&found).contains("import double #"), "{found}");
}

#[test]
fn boards_and_values_are_the_same_on_both() {
    let Some(replicas) = Replicas::start() else { return };
    let [one, other] = &replicas.clients;
    let wait = r#"
talk = board("talk")
talk.post("here")
messages = await talk.wait(timeout=120)
result = [m["body"] for m in messages]
"#;
    // Its time is shorter than the wait: if it heard of messages only at the end, it would fail.
    let waiting = other.begin("execute_code", json!({"code": wait, "timeout": 60}));
    let answer = r#"
async for message in board("talk"):
    break
result = board("talk").post(message["body"] + " too")["seq"]
"#;
    assert_eq!(one.run(answer), 2);
    assert_eq!(waiting.result(), json!(["here too"]));

    let step = "for _ in range(40): shared.update_with('n', lambda n: n + 1, 0)";
    let pending =
        [one, other, one, other].map(|client| client.begin("execute_code", program(step)));
    pending.into_iter().for_each(|one| drop(one.result()));
    assert_eq!((one.run("shared['n']"), other.run("shared['n']")), (json!(160), json!(160)));
    let verified = replicas.sites[0].says(&["audit", "verify"]);
    assert!(verified.status.success(), "{verified:?}");
}

#[test]
fn a_session_begun_on_one_goes_on_on_the_other() {
    let Some(replicas) = Replicas::start() else { return };
    let clients = &replicas.clients;
    clients[0].go_on(
        "s",
        r#"
from collections import deque
seen = deque()

class Step:
    def __init__(self, number):
        self.number = number

def step(number):
    seen.append(Step(number))
    return [one.number for one in seen]
"#,
    );
    for number in 0..10_usize {
        let result = clients[(number + 1) % 2].go_on("s", &format!("step({number})"));
        assert_eq!(result, json!((0..=number).collect::<Vec<_>>()));
    }
    // What is in the memory of one is not on the other, and that is said.
    clients[0].go_on("s", "stream = (n for n in seen)");
    let moved = clients[1].begin_in("s", "len(seen)").answer();
    assert_eq!(moved["structuredContent"]["result"], 10);
    says(&moved["structuredContent"]["notes"][0], &["stream (a generator"]);
    let listed = replicas.sites[1].json(&["sessions", "list", "--json"]);
    assert_eq!(each(&listed["sessions"], "id"), ["s"]);
}

#[test]
fn calls_at_once_on_both_in_one_session_wait_for_each_other() {
    let Some(replicas) = Replicas::start() else { return };
    let clients = &replicas.clients;
    clients[0].go_on("s", "import asyncio\ncount = 0");
    let step = "seen = count\nawait asyncio.sleep(0.1)\ncount = seen + 1\nresult = count";
    let pending: Vec<_> = (0..8).map(|number| clients[number % 2].begin_in("s", step)).collect();
    let mut results: Vec<u64> =
        pending.into_iter().map(|one| one.result().as_u64().unwrap()).collect();
    results.sort_unstable();
    assert_eq!(results, [1, 2, 3, 4, 5, 6, 7, 8]);
    for client in clients {
        assert_eq!(client.go_on("s", "count"), 8);
    }
}

#[test]
fn a_gateway_that_is_killed_leaves_everything_to_the_other() {
    let Some(mut replicas) = Replicas::start() else { return };
    let [one, other] = &replicas.clients;
    one.call("save_skill", json!({"name": "f", "code": "def f(): return 1\n"}));
    one.go_on("s", "x = 1\nboard('b').post('kept')\nshared['k'] = 'kept'");
    // By SIGKILL.
    replicas.gateways[0] = None;
    let left = "from skills import f\nresult = [f(), board('b').read()[0]['body'], shared['k']]";
    assert_eq!(other.run(left), json!([1, "kept", "kept"]));
    assert_eq!(other.go_on("s", "x += 1\nx"), 2);
    let again = HttpGateway::start(&replicas.sites[0]);
    let one = replicas.process.connect(&again.over_http());
    assert_eq!(one.go_on("s", "x"), 2);
}

/// Files are on the disk of the gateway that wrote them, and the others know of them.
#[test]
fn files_that_are_on_another_disk_are_listed_with_their_place() {
    let Some(replicas) = Replicas::start() else { return };
    let [one, other] = &replicas.clients;
    one.call("write_workspace_file", json!({"path": "here.txt", "content": "on one"}));
    other.call("write_workspace_file", json!({"path": "there.txt", "content": "on the other"}));
    let files = |client: &Client| -> Vec<(Value, Value, bool)> {
        let listed = client.call("list_workspace_files", json!({}));
        let files = listed["structuredContent"]["files"].as_array().unwrap().clone();
        let shown = |file: Value| {
            (file["path"].clone(), file["bytes"].clone(), file["elsewhere"].is_string())
        };
        files.into_iter().map(shown).collect()
    };
    let listed = |is_other: bool| {
        vec![(json!("here.txt"), json!(6), is_other), (json!("there.txt"), json!(12), !is_other)]
    };
    assert_eq!((files(one), files(other)), (listed(false), listed(true)));
    assert_eq!(text_of(&one.call("read_workspace_file", json!({"path": "here.txt"}))), "on one");
    other.refusal("read_workspace_file", json!({"path": "here.txt"}));
    // What each changes of its own does not take away the other's.
    one.run("delete_file('here.txt')");
    wait_for("the removal", || (files(other).len() == 1).then_some(()));
    assert_eq!(files(one), [(json!("there.txt"), json!(12), true)]);
}

#[test]
fn a_store_that_cannot_be_reached_is_told_without_its_password() {
    let Some(site) = Site::new() else { return };
    site.configure("[store]\nurl = \"postgres://narrows:s3cret-word@127.0.0.1:1/narrows\"\n");
    let said = site.says(&["skills", "list"]);
    assert_eq!(said.status.code(), Some(1));
    let said = text(&said.stderr);
    assert!(said.contains("127.0.0.1") && !said.contains("s3cret"), "{said}");
    // Programs that need nothing of it run all the same.
    let client = Client::alone(&site);
    assert_eq!(client.run("6 * 7"), 42);
    let refusal = client.refusal("list_skills", json!({}));
    assert!(!refusal.to_string().contains("s3cret"), "{refusal}");
}

#[test]
fn a_store_that_does_not_answer_stops_no_program() {
    let Some(site) = Site::new() else { return };
    // It lets everybody in, and says nothing.
    let silent = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let place = format!("ada:hunter2-hunter2@{}", silent.local_addr().unwrap());
    site.configure(&format!("[store]\nurl = \"postgres://{place}/narrows\"\n"));
    let client = Client::alone(&site);
    assert_eq!(client.run("result = write_file('a.txt', 'x')['bytes']"), 1);
    // The first one waited for a moment; those after it do not. Whoever waits does so for five
    // seconds, which no program takes each time, however busy the machine is.
    wait_for("a program that does not wait for the store", || {
        let start = Instant::now();
        assert_eq!(client.run("result = 6 * 7"), 42);
        (start.elapsed() < Duration::from_secs(5)).then_some(())
    });
    let refused = client.refusal("save_skill", json!({"name": "x", "code": "def x(): pass"}));
    let said = refused.to_string();
    assert!(said.contains("store") && said.contains("127.0.0.1"), "{said}");
    assert!(!said.contains("hunter2"), "{said}");
}
