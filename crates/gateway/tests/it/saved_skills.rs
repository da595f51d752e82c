//! Skills: saved, versioned, imported, found, pinned to their tools, and tested.
#![cfg(unix)]

use std::fs;

use serde_json::{Value, json};

use crate::support::{
    real::{Site, document, repository, says, stdio, text, wait_for},
    state::{Client, each, text_of},
};

const DOUBLE: &str = r#"
def double(n: int) -> int:
    """Doubles a number."""
    return n * 2
"#;

const QUADRUPLE: &str = r#"
from skills import double

def quadruple(n):
    """Doubles a number, and doubles it again."""
    return double(double(n))
"#;

fn save(client: &Client, name: &str, code: &str) -> Value {
    let saved = client.call("save_skill", json!({"name": name, "code": code}));
    saved["structuredContent"].clone()
}

// Saving and importing.

#[test]
fn a_saved_skill_is_loaded_listed_and_imported() {
    let Some(site) = Site::new() else { return };
    let client = Client::alone(&site);
    let saved = client.call(
        "save_skill",
        json!({"name": "double", "code": DOUBLE, "tags": ["math"], "description": "Twice a number."}),
    );
    assert_eq!(saved["structuredContent"]["version"], 1);
    assert_eq!(saved["structuredContent"]["signature"], "double(n: int) -> int");
    says(&saved["content"][0]["text"], &["from skills import double"]);
    save(&client, "quadruple", QUADRUPLE);

    let loaded = client.call("load_skill", json!({"name": "double"}));
    assert_eq!(text_of(&loaded), DOUBLE);
    assert_eq!(loaded["_meta"]["narrows/skill"]["tags"], json!(["math"]));
    assert_eq!(loaded.get("structuredContent"), None, "the code is all that a model needs");
    let listed = client.call("list_skills", json!({}));
    let skills = &listed["structuredContent"]["skills"];
    assert_eq!(each(skills, "name"), ["double", "quadruple"]);
    assert_eq!(
        each(skills, "description"),
        ["Twice a number.", "Doubles a number, and doubles it again."]
    );
    says(&client.refusal("load_skill", json!({"name": "doubel"})), &["did you mean double?"]);

    let result = client.run(
        r#"
from skills import double, quadruple
import skills.double
import skills.quadruple as four_times
import skills
result = [double(1), quadruple(1), skills.double.double(2), four_times.quadruple(2),
          skills.double(3), load_skill("double"), [skill["name"] for skill in list_skills()]]
"#,
    );
    assert_eq!(result, json!([2, 4, 4, 8, 6, DOUBLE, ["double", "quadruple"]]));
    says(
        &client.error("from skills import doubel"),
        &["no skill 'doubel'", "did you mean double?"],
    );
    says(&client.error("import skills.doubel"), &["no such skill"]);
}

#[test]
fn a_program_saves_a_function_with_all_that_it_needs() {
    let Some(site) = Site::new() else { return };
    let client = Client::alone(&site);
    let saved = client.run(
        r#"
import math
RATE = 1.5

def rounded(n):
    return math.floor(n)

async def price(n: float) -> int:
    """The price of so many."""
    return rounded(n * RATE)

result = await save_skill(price, tags=["shop"])
"#,
    );
    assert_eq!((&saved["name"], &saved["version"]), (&json!("price"), &json!(1)));
    assert_eq!(saved["signature"], "async price(n: float) -> int");
    assert_eq!(client.run("from skills import price\nresult = await price(3)"), 4);
    let error =
        client.error("rows = open('/workspace/x', 'w')\ndef f(): return rows\nsave_skill(f)");
    says(&error, &["rows", "parameter"]);
    says(&client.error("from skills import f"), &["no skill 'f'"]);
}

#[test]
fn a_class_is_saved_as_it_was_written_among_others_of_its_name() {
    let Some(site) = Site::new() else { return };
    let client = Client::alone(&site);
    client.go_on("s", "class Row:\n    x = 1\nold = Row");
    let code = "await save_skill(Row)\nresult = load_skill('Row')";
    let newer = client.go_on("s", &format!("\nclass Row:\n    x = 2\n{code}"));
    says(&newer, &["x = 2"]);
    let older = client.go_on("s", &format!("Row = old\n{code}"));
    says(&older, &["x = 1"]);
}

#[test]
fn each_change_is_a_version_and_all_of_them_stay() {
    let Some(site) = Site::new() else { return };
    let client = Client::alone(&site);
    let triple = DOUBLE.replace("n * 2", "n * 3");
    assert_eq!(save(&client, "double", DOUBLE)["version"], 1);
    let again = save(&client, "double", DOUBLE);
    assert_eq!((&again["version"], &again["is_new"]), (&json!(1), &json!(false)));
    assert_eq!(save(&client, "double", &triple)["version"], 2);
    assert_eq!(client.run("from skills import double\nresult = double(1)"), 3);
    let first = client.call("load_skill", json!({"name": "double", "version": 1}));
    assert_eq!(text_of(&first), DOUBLE);
    assert_eq!(client.run("load_skill('double', version=1)"), DOUBLE);
    let refusal = client.refusal("load_skill", json!({"name": "double", "version": 9}));
    says(&refusal, &["no version 9", "1, 2"]);

    // The command line is another process on the same store.
    let history = site.json(&["skills", "history", "double", "--json"]);
    assert_eq!(history["versions"].as_array().unwrap().len(), 2);
    assert!(site.says(&["skills", "rm", "double"]).status.success());
    says(&client.error("from skills import double"), &["no skill 'double'"]);
    assert_eq!(site.says(&["skills", "rm", "double"]).status.code(), Some(1));
    let shown = site.says(&["skills", "show", "double", "--version", "1"]);
    assert_eq!(text(&shown.stdout).trim(), DOUBLE.trim(), "{shown:?}");
    assert_eq!(save(&client, "double", DOUBLE)["version"], 3, "it goes on counting");
}

#[test]
fn what_is_no_skill_is_refused_and_changes_nothing() {
    let Some(site) = Site::new() else { return };
    let client = Client::alone(&site);
    save(&client, "double", DOUBLE);
    save(&client, "quadruple", QUADRUPLE);
    let before = site.json(&["skills", "list", "--json"]);
    let entries = site.json(&["audit", "search", "--action", "skill", "--json"]);
    let long = "x".repeat(65);
    let circle = "from skills import quadruple\n\ndef double(n):\n    return quadruple(n) / 2\n";
    let itself = "import skills.double\n\ndef double(n):\n    return n\n";
    for (name, code, said) in [
        ("2x", "def x(): pass", vec!["2x", "identifier"]),
        ("a-b", "def a_b(): pass", vec!["a-b", "a_b"]),
        ("class", "x = 1", vec!["class"]),
        ("../up", "def up(): pass", vec!["../up"]),
        ("", "def x(): pass", vec!["identifier"]),
        (long.as_str(), "def x(): pass", vec!["64"]),
        ("double", "def double(n:\n    return n", vec!["double", "does not parse", "line 2"]),
        ("double", "x = 1\ndef double(n):\nreturn n", vec!["does not parse", "line 3"]),
        ("double", "def doubled(n): pass", vec!["define double", "doubled"]),
        ("double", "", vec!["define double"]),
        ("double", circle, vec!["circle", "double -> quadruple -> double", "nothing was saved"]),
        ("double", itself, vec!["circle", "double -> double"]),
    ] {
        let refusal = client.refusal("save_skill", json!({"name": name, "code": code}));
        says(&refusal, &said);
        let error = client.error(&format!("save_skill({}, {})", json!(name), json!(code)));
        assert_eq!(error, refusal);
        let file = site.path("bad.py");
        fs::write(&file, code).unwrap();
        let said = site.says(&["skills", "save", "bad.py", &format!("--name={name}")]);
        assert_eq!(said.status.code(), Some(1), "{name}: {said:?}");
        says(&refusal, &[text(&said.stderr).trim().trim_start_matches("error: ")]);
    }
    assert_eq!(site.json(&["skills", "list", "--json"]), before);
    assert_eq!(site.json(&["audit", "search", "--action", "skill", "--json"]), entries);
    assert_eq!(client.run("from skills import quadruple\nresult = quadruple(1)"), 4);

    // The same ways save what is right.
    assert_eq!(client.run(&format!("save_skill('double', {})", json!(DOUBLE)))["is_new"], false);
    fs::write(site.path("triple.py"), "def triple(n):\n    return n * 3\n").unwrap();
    let saved = site.json(&["skills", "save", "triple.py", "--tags", "a,b", "--json"]);
    assert_eq!((&saved["name"], &saved["is_new"]), (&json!("triple"), &json!(true)));
    assert_eq!(client.run("from skills import triple\nresult = triple(1)"), 3);
}

// Finding.

#[test]
fn the_search_for_tools_finds_skills_and_marks_them() {
    let Some(site) = Site::with(&["time"]) else { return };
    // From now on its tools are known, however long it takes to start.
    assert!(site.says(&["tools", "list"]).status.success());
    let client = Client::alone(&site);
    let code = r#"
from servers.time import convert_time

async def noon_elsewhere(zone: str) -> str:
    """Convert noon in UTC to the local time of another zone."""
    there = await convert_time(source_timezone="UTC", time="12:00", target_timezone=zone)
    return there["target"]["datetime"][11:16]
"#;
    let saved = client.call(
        "save_skill",
        json!({"name": "noon_elsewhere", "code": code, "tags": ["chronometry"]}),
    );
    assert_eq!(saved["structuredContent"]["tools"], json!(["time.convert_time"]));
    let query = json!({"query": "convert time to another zone"});
    let found = text_of(&client.call("search_tools", query)).to_owned();
    let line = found.lines().find(|line| line.contains("noon_elsewhere")).unwrap_or_default();
    assert!(line.starts_with("from skills import noon_elsewhere # skill: Convert noon"), "{found}");
    let tool = found.lines().find(|line| line.contains("servers.time import convert_time"));
    assert!(tool.is_some_and(|line| !line.contains("skill")), "{found}");
    let in_code = client.run(
        "from tool_discovery import search_tools\n\
         found = search_tools('chronometry')\n\
         result = [[one.get('kind'), one['server'], one['name']] for one in found]",
    );
    assert_eq!(in_code, json!([["skill", "skills", "noon_elsewhere"]]));
    let listed = client.call("list_skills", json!({"query": "noon"}));
    assert_eq!(each(&listed["structuredContent"]["skills"], "name"), ["noon_elsewhere"]);
    let nothing = client.call("list_skills", json!({"query": "zebra"}));
    says(&nothing["content"][0]["text"], &["no skill fits \"zebra\""]);

    assert_eq!(
        client
            .run("from skills import noon_elsewhere\nresult = await noon_elsewhere('Asia/Tokyo')"),
        "21:00"
    );
    assert!(site.says(&["skills", "rm", "noon_elsewhere"]).status.success());
    let found = client.call("search_tools", json!({"query": "chronometry"}));
    assert!(!text_of(&found).contains("noon_elsewhere"), "{found}");
}

// Pins.

/// A server whose tool `add_tool` puts another tool in the place of one.
fn changing(site: &Site) {
    let script = repository().join("tests/servers/misbehave.py");
    site.configure(&stdio("odd", "python3", &[script.to_str().unwrap(), "changing"]));
}

#[test]
fn a_skill_whose_tools_changed_says_what_changed() {
    let Some(site) = Site::new() else { return };
    changing(&site);
    let client = Client::alone(&site);
    let shout = "from servers.odd import echo\n\nasync def shout(word):\n    \
                 return (await echo(text=word)).upper()\n";
    save(&client, "shout", shout);
    let total =
        "from servers import odd\n\nasync def total(a, b):\n    return await odd.add(a, b)\n";
    save(&client, "total", total);
    let list = || client.call("list_skills", json!({}))["structuredContent"]["skills"].clone();
    assert!(list().as_array().unwrap().iter().all(|skill| skill.get("changed").is_none()));
    assert_eq!(client.run("from skills import shout\nresult = await shout('a')"), "A");

    client.run("from servers.odd import add_tool\nresult = await add_tool(name='echo')");
    let skills =
        wait_for("the change", || Some(list()).filter(|all| all[0].get("changed").is_some()));
    says(&skills[0]["changed"][0], &["odd.echo", "text"]);
    assert_eq!(skills[1].get("changed"), None, "the other's tool is as it was: {skills}");
    let listed = client.call("list_skills", json!({"query": "shout"}));
    says(&listed["content"][0]["text"], &["tools changed: odd.echo"]);
    let found = client.call("search_tools", json!({"query": "shout"}));
    says(&found["content"][0]["text"], &["shout", "tools changed: odd.echo"]);
    let imported = client.answer("execute_code", json!({"code": "from skills import shout"}));
    says(&imported["structuredContent"]["stderr"], &["shout", "have changed", "odd.echo"]);

    // Saved anew for the tool as it is now, it is no longer flagged.
    save(
        &client,
        "shout",
        "from servers.odd import echo\n\nasync def shout(word):\n    return await echo()\n",
    );
    assert_eq!(list()[0].get("changed"), None);
}

#[test]
fn a_skill_whose_tool_is_gone_says_so() {
    let Some(site) = Site::new() else { return };
    changing(&site);
    fs::write(
        site.path("total.py"),
        "from servers.odd import add\n\nasync def total(a, b):\n    return await add(a=a, b=b)\n",
    )
    .unwrap();
    let saved = site.json(&["skills", "save", "total.py", "--json"]);
    assert_eq!(saved["tools"], json!(["odd.add"]));
    let script = repository().join("tests/servers/misbehave.py");
    site.configure(&stdio("odd", "python3", &[script.to_str().unwrap(), "many", "2"]));
    assert!(site.says(&["servers", "status"]).status.success());
    let listed = site.json(&["skills", "list", "--json"]);
    assert_eq!(listed["skills"][0]["changed"], json!(["odd.add: the tool is gone"]));
}

// Tests of skills.

const NOON: &str = r#"
from servers.time import convert_time

async def noon(zone: str) -> str:
    there = await convert_time(source_timezone="UTC", time="12:00", target_timezone=zone)
    return there["target"]["datetime"][11:16]

async def test_noon_in_tokyo():
    assert await noon("Asia/Tokyo") == "21:00"

async def test_noon_nowhere():
    try:
        await noon("Nowhere")
    except ToolError as error:
        assert "Nowhere" in str(error)
    else:
        raise AssertionError("there is no such zone")
"#;

#[test]
fn recorded_tests_run_without_their_servers() {
    let Some(site) = Site::with(&["time"]) else { return };
    fs::write(site.path("noon.py"), NOON).unwrap();
    assert!(site.says(&["skills", "save", "noon.py"]).status.success());
    let unrecorded = site.says(&["skills", "test", "noon"]);
    assert_eq!(unrecorded.status.code(), Some(1));
    says(
        &text(&unrecorded.stdout).into(),
        &["FAIL  noon: test_noon_in_tokyo", "time.convert_time"],
    );

    let recorded = site.says(&["skills", "test", "noon", "--record"]);
    assert!(recorded.status.success(), "{recorded:?}");
    site.configure("");
    let report = site.json(&["skills", "test", "--json"]);
    let tests = &report["skills"][0]["tests"];
    assert_eq!(each(tests, "name"), ["test_noon_in_tokyo", "test_noon_nowhere"]);
    assert!(tests.as_array().unwrap().iter().all(|test| test["passed"] == true), "{report:#}");

    // What the tests saw then, and nothing else.
    let other = NOON.replace("Asia/Tokyo", "Asia/Kolkata").replace("21:00", "17:30");
    fs::write(site.path("noon.py"), other).unwrap();
    assert!(site.says(&["skills", "save", "noon.py"]).status.success());
    assert_eq!(site.says(&["skills", "test", "noon"]).status.code(), Some(1));
}

const HALF: &str = r#"
def half(n):
    """Half of it.

    >>> half(4)
    2.0
    """
    return n / 2

def test_half():
    assert half(2) == 1
"#;

#[test]
fn a_failing_test_fails_the_command() {
    let Some(site) = Site::new() else { return };
    fs::write(site.path("half.py"), HALF).unwrap();
    fs::write(site.path("plain.py"), "def plain(): pass\n").unwrap();
    for file in ["half.py", "plain.py"] {
        assert!(site.says(&["skills", "save", file]).status.success());
    }
    let passed = site.says(&["skills", "test"]);
    assert!(passed.status.success(), "{passed:?}");
    let said = text(&passed.stdout);
    says(&said.into(), &["ok    half: test_half", "example of", "none  plain"]);

    fs::write(site.path("half.py"), HALF.replace("== 1", "== 3")).unwrap();
    assert!(site.says(&["skills", "save", "half.py"]).status.success());
    let failed = site.says(&["skills", "test", "half"]);
    assert_eq!(failed.status.code(), Some(1), "{failed:?}");
    says(
        &text(&failed.stdout).into(),
        &["FAIL  half: test_half", "assert half(2) == 3", "ok    half: example"],
    );
    let report = site.json(&["skills", "test", "--json"]);
    assert_eq!(report["skills"][0]["tests"][0]["passed"], false, "{report:#}");
}

#[test]
fn a_test_that_ends_the_program_has_failed() {
    let Some(site) = Site::new() else { return };
    let tests = |name: &str, code: &str| {
        let code = format!("{code}\n\ndef {name}():\n    pass\n");
        let file = format!("{name}.py");
        fs::write(site.path(&file), code).unwrap();
        let saved = site.says(&["skills", "save", &file]);
        assert!(saved.status.success(), "{saved:?}");
        let tested = site.says(&["skills", "test", name, "--json"]);
        assert_eq!(tested.status.code(), Some(1), "{tested:?}");
        document(&tested)["skills"][0]["tests"].take()
    };
    // It keeps no other from running.
    let leaves = "def test_a():\n    raise SystemExit(0)\n\ndef test_b():\n    assert False\n\n\
                  def test_c():\n    pass";
    let left = tests("leaves", leaves);
    assert_eq!(each(&left, "name"), ["test_a", "test_b", "test_c"]);
    let passed: Vec<&Value> = left.as_array().unwrap().iter().map(|test| &test["passed"]).collect();
    assert_eq!(passed, [false, false, true], "{left:#}");
    // Nor does a task of its own that leaves let it pass.
    let task = "import asyncio\n\nasync def leave():\n    raise SystemExit(0)\n\n\
                async def test_a():\n    asyncio.create_task(leave())\n    await asyncio.sleep(0)";
    assert_eq!(each(&tests("task", task), "name"), ["test_a"]);
    let exits = tests("exits", "import os\n\ndef test_a():\n    os._exit(0)");
    assert_eq!(each(&exits, "name"), ["tests"], "the import was all right");
    says(&exits[0]["message"], &["os._exit"]);
    // One that cannot be imported says so.
    assert_eq!(each(&tests("broken", "raise SystemExit(0)"), "name"), ["import"]);
}

/// A test must not change what lasts.
#[test]
fn tests_of_skills_change_nothing() {
    let Some(site) = Site::new() else { return };
    let meddler = r#"
def meddler():
    pass

def test_skill():
    save_skill("other", "def other(): pass")

def test_board():
    board("b").post(1)

def test_shared():
    shared["k"] = 1

def test_control():
    assert list_skills()[0]["name"] == "meddler"
"#;
    fs::write(site.path("meddler.py"), meddler).unwrap();
    assert!(site.says(&["skills", "save", "meddler.py"]).status.success());
    let report = site.json(&["skills", "test", "--json"]);
    let tests = report["skills"][0]["tests"].as_array().unwrap();
    let passed: Vec<bool> = tests.iter().map(|test| test["passed"] == true).collect();
    assert_eq!(passed, [false, false, false, true], "{report:#}");
    assert_eq!(site.json(&["boards", "list", "--json"])["boards"], json!([]));
    let listed = site.json(&["skills", "list", "--json"]);
    assert_eq!(each(&listed["skills"], "name"), ["meddler"]);
}
