//! Isolation levels: what each allows, and who may ask for which.
#![cfg(unix)]

use serde_json::{Value, json};

use crate::support::{
    office::{AGENTS, ANALYST, INTERN, Office},
    real::{self, Site, says, text},
    state::{Client, Clients},
};

/// Ends by no means but a limit, and no reader sees that.
const ENDLESS: &str = "while len('x'): pass";

/// What a client is told of a program at a level.
fn at(client: &Client, level: &str, code: &str) -> Value {
    let answer = client.answer("execute_code", json!({"code": code, "isolation": level}));
    assert!(answer["structuredContent"].is_object(), "{answer:#}");
    answer["structuredContent"].clone()
}

#[track_caller]
fn notes(outcome: &Value) -> String {
    outcome["notes"].to_string()
}

// Limits.

const TIGHT: &str = r#"
[isolation.levels.tight]
memory_mb = 64
tool_calls = 2
output_kb = 2
result_kb = 1
tmp_mb = 1
"#;

#[test]
fn a_level_sets_every_limit() {
    let Some(office) = Office::new(TIGHT) else { return };
    let gateway = office.serve();
    let clients = Clients::start(&office.site);
    let client = clients.connect(&gateway.over_http());
    let calls = "from servers import crm\nn = 0\nwhile n < 3:\n    \
                 await crm.get_customer(id=n)\n    n += 1\nresult = n";
    for (code, limit, said) in [
        ("size = 150\nlen(bytes(size << 20))", "memory", "64 MB"),
        (calls, "tool_calls", "2 tool calls"),
        ("open('/tmp/x', 'w').write('x' * 2_000_000)", "tmp_bytes", "1 MB"),
    ] {
        let tight = at(&client, "tight", code);
        assert_eq!(tight["success"], false, "{code}: {tight:#}");
        assert_eq!(tight["error"]["limit"]["name"], limit, "{code}: {tight:#}");
        says(&tight["error"]["message"], &[said]);
        let usual = client.answer("execute_code", json!({"code": code}));
        assert_eq!(usual["structuredContent"]["success"], true, "{code}: {usual:#}");
    }
    let printed = at(&client, "tight", "print('x' * 5000)");
    // Its beginning and its end, with a line between them that says what is left out.
    let shown = printed["stdout"].as_str().unwrap().matches('x').count();
    assert!((1_000..=2_048).contains(&shown), "{printed:#}");
    let large = at(&client, "tight", "size = 3000\nresult = 'x' * size");
    assert!(large["result"].as_str().unwrap().matches('x').count() <= 1_024, "{large:#}");
    assert!(notes(&large).contains("all 3002 bytes of it are in /workspace/"), "{large:#}");
    assert_eq!(client.run("size = 3000\nresult = 'x' * size").as_str().unwrap().len(), 3000);
}

#[test]
fn a_level_sets_how_long_a_program_runs_and_what_a_caller_may_ask_for() {
    let Some(office) = Office::new(&format!("{TIGHT}timeout = 1\nlongest = 2\n")) else { return };
    let gateway = office.serve();
    let clients = Clients::start(&office.site);
    let client = clients.connect(&gateway.over_http());
    let ended = at(&client, "tight", ENDLESS);
    says(&ended["error"]["message"], &["limit of 1 s"]);
    let asked = json!({"code": ENDLESS, "isolation": "tight", "timeout": 60});
    let ended = client.answer("execute_code", asked)["structuredContent"].clone();
    says(&ended["error"]["message"], &["limit of 2 s"]);
    assert!(notes(&ended).contains("gives 2 s at most"), "{ended:#}");

    // The same on the command line.
    let ended = office.outcome(ENDLESS, &["--isolation", "tight"]);
    says(&ended["error"]["message"], &["limit of 1 s"]);
    let ended = office.outcome(ENDLESS, &["--isolation", "tight", "--timeout", "60"]);
    says(&ended["error"]["message"], &["limit of 2 s"]);
    office.configure("code", TIGHT);
    let memory = ["--isolation", "tight", "--memory", "1000"];
    says(&office.error("size = 150\nlen(bytes(size << 20))", &memory), &["64 MB"]);
}

// Modules and review.

const REVIEWS: &str = r#"
[isolation.levels.few]
modules = ["json", "urllib.parse"]
review = "block"
[isolation.levels.more]
inherits = "few"
more_modules = ["statistics"]
denied_modules = ["json"]
[isolation.levels.blocked]
review = "block"
[isolation.levels.silent]
inherits = "hardened"
review = "off"
"#;

#[test]
fn only_the_modules_of_the_level_are_imported() {
    let Some(office) = Office::new(REVIEWS) else { return };
    let blocked = |level: &str, code: &str| {
        let outcome = office.outcome(code, &["--isolation", level]);
        if outcome["success"] == true {
            return false;
        }
        assert_eq!(outcome["error"]["type"], "ReviewError", "{outcome:#}");
        says(&outcome["error"]["message"], &["nothing was run", level, "[import-not-allowed]"]);
        true
    };
    for (code, few, more, hardened) in [
        ("import json", false, true, false),
        ("from urllib.parse import quote", false, false, false),
        ("import urllib.request", true, true, true),
        ("import statistics", true, false, false),
        ("if True:\n    import os as o", true, true, true),
        ("from json import *\nfrom os import path", true, true, true),
        // What is bound without an import is reviewed as one.
        ("result = string.digits", true, true, false),
        ("threading.Lock()", true, true, true),
    ] {
        let found = ["few", "more", "hardened"].map(|level| blocked(level, code));
        assert_eq!(found, [few, more, hardened], "{code}");
        assert_eq!(office.outcome(code, &[])["success"], true, "{code}");
    }
    // What makes it work is always there.
    let tools = "from servers import crm\nimport tool_discovery\n\
                 result = (await crm.get_customer(id=7))['id']";
    assert_eq!(office.run(tools, &["--isolation", "few"]), 7);
}

#[test]
fn review_warns_blocks_or_is_silent_by_level() {
    let lists = "[review]\nallow = [\"endless-loop\"]\ndeny = [\"pickle\", \"json.dumps\"]\n";
    let Some(site) = Site::new() else { return };
    site.configure(&format!("{REVIEWS}{lists}"));
    let gateway = real::HttpGateway::start(&site);
    let clients = Clients::start(&site);
    let client = clients.connect(&gateway.over_http());
    let dynamic = "x = 1\nresult = eval('x + 1')";
    let warned = at(&client, "production", dynamic);
    assert_eq!(warned["result"], 2);
    let note = notes(&warned);
    assert!(note.contains("review: line 2") && note.contains("[dynamic-code]"), "{note}");
    for level in ["blocked", "hardened"] {
        let blocked = at(&client, level, dynamic);
        let error = &blocked["error"];
        assert_eq!((&error["type"], &error["line"]), (&json!("ReviewError"), &json!(2)));
        says(&error["message"], &["nothing was run", "line 2", "[dynamic-code]"]);
    }
    for (code, rule) in [
        ("().__class__.__mro__[1].__subclasses__()", "attribute-trick"),
        ("__import__('json')", "dynamic-import"),
        ("x = [0] * 10**10", "huge-allocation"),
        ("import pickle", "denied-name"),
        ("import json\njson.dumps(1)", "denied-name"),
    ] {
        let blocked = at(&client, "blocked", code);
        says(&blocked["error"]["message"], &["nothing was run", &format!("[{rule}]")]);
    }
    // Allowed, and harmless.
    let allowed = at(&client, "blocked", "def never():\n    while True: pass\nresult = 1");
    assert_eq!((&allowed["result"], allowed.get("notes")), (&json!(1), None), "{allowed:#}");
    let plain = "import re\nresult = re.compile('a+').findall('baab')";
    assert_eq!(at(&client, "hardened", plain)["result"], json!(["aa"]));

    // Silence is looser than a warning: it has to be one's own level.
    let refusal = client.refusal("execute_code", json!({"code": "1", "isolation": "silent"}));
    says(&refusal, &["looser than yours", "review"]);
    site.configure(&format!("{REVIEWS}[isolation]\nlevel = \"silent\"\n"));
    let silent = site.outcome(dynamic);
    let notes = json!(["timeout: the isolation level \"silent\" gives 30 s at most"]);
    assert_eq!((&silent["result"], &silent["notes"]), (&json!(2), &notes), "{silent:#}");
}

// Workspace.

#[test]
fn the_workspace_is_not_there_or_only_read_or_written() {
    let levels = "[isolation.levels.none]\nworkspace = \"none\"\n\
                  [isolation.levels.read]\nworkspace = \"read\"\n";
    let Some(site) = Site::new() else { return };
    site.configure(levels);
    let gateway = real::HttpGateway::start(&site);
    let clients = Clients::start(&site);
    let client = clients.connect(&gateway.over_http());
    client.call("write_workspace_file", json!({"path": "kept.txt", "content": "kept"}));
    let works = |level: &str, code: &str| at(&client, level, code)["success"] == true;
    for (code, write, read, none) in [
        ("assert open('/workspace/kept.txt').read() == 'kept'", true, true, false),
        ("assert read_file('kept.txt') == 'kept'", true, true, false),
        ("assert list_files()", true, true, false),
        ("write_file('new.txt', 'x')", true, false, false),
        ("open('/workspace/new2.txt', 'w').write('x')", true, false, false),
        (
            "import os\nos.rename('/workspace/kept.txt', '/workspace/k')\n\
          os.rename('/workspace/k', '/workspace/kept.txt')",
            true,
            false,
            false,
        ),
    ] {
        // The stricter ones first, so that nothing is there by the looser.
        let found = ["none", "read", "production"].map(|level| works(level, code));
        assert_eq!(found, [none, read, write], "{code}");
    }
    assert_eq!(at(&client, "read", "read_file('kept.txt')")["result"], "kept");
    assert_eq!(at(&client, "none", "open('/tmp/t', 'w').write('x')")["result"], 1);
}

/// What is too long for an answer, and the bytes that tools give, the gateway writes by itself.
#[test]
fn nothing_is_kept_in_a_workspace_that_is_only_read() {
    let levels = "[isolation.levels.write]\noutput_kb = 1\nresult_kb = 1\n\
                  [isolation.levels.read]\ninherits = \"write\"\nworkspace = \"read\"\n";
    let Some(site) = Site::new() else { return };
    let script = real::repository().join("tests/servers/misbehave.py");
    let server = real::stdio("good", "python3", &[script.to_str().unwrap(), "good"]);
    site.configure(&format!("{levels}{server}"));
    let gateway = real::HttpGateway::start(&site);
    let clients = Clients::start(&site);
    let client = clients.connect(&gateway.over_http());
    client.call("write_workspace_file", json!({"path": "kept.txt", "content": "kept"}));
    let names = || {
        let files = std::fs::read_dir(site.path("data/workspaces/default")).unwrap();
        let mut names: Vec<_> = files.map(|file| file.unwrap().file_name()).collect();
        names.sort();
        names
    };
    let print = "print('x' * 3000)";
    let large = "size = 3000\nresult = 'x' * size";
    let image = "from servers import good\nimage = await good.image()\ndisplay(image)\n\
                 display('kept.txt')\nresult = 'path' in image";
    // With the image in it, the answer has no structure.
    let shows = |level: &str| {
        let answer = client.answer("execute_code", json!({"code": image, "isolation": level}));
        answer["content"][0]["text"].as_str().unwrap().to_owned()
    };
    let printed = at(&client, "read", print);
    assert!(notes(&printed).contains("its 3001 bytes are not kept here"), "{printed:#}");
    assert_eq!(at(&client, "read", large)["error"]["limit"]["name"], "result");
    assert_eq!(shows("read"), "result: false");
    assert_eq!(names(), ["kept.txt"]);
    // Where it may be written, all of it is there.
    at(&client, "write", print);
    assert_eq!(at(&client, "write", large)["success"], true);
    assert_eq!(shows("write"), "result: true");
    assert_eq!(names(), ["image-1.png", "kept.txt", "result-1.json", "stdout-1.txt"]);
}

/// The tools for files are no way around the level of the agent.
#[test]
fn an_agents_level_holds_for_the_tools_for_files_too() {
    let levels = "[isolation.levels.none]\nworkspace = \"none\"\n\
                  [agents.analyst]\nkey = \"the-key-of-the-analyst\"\nisolation = \"hardened\"\n\
                  [agents.intern]\nkey = \"the-key-of-the-intern\"\nisolation = \"none\"\n";
    let Some(site) = Site::new() else { return };
    site.configure(levels);
    for agent in ["analyst", "intern"] {
        let dir = site.path(&format!("data/workspaces/{agent}"));
        std::fs::create_dir_all(&dir).unwrap();
        std::fs::write(dir.join("kept.txt"), "kept").unwrap();
    }
    let gateway = real::HttpGateway::start(&site);
    let clients = Clients::start(&site);
    let (analyst, intern) =
        (clients.with_key(&gateway, ANALYST), clients.with_key(&gateway, INTERN));
    let (kept, new) = (json!({"path": "kept.txt"}), json!({"path": "n.txt", "content": "x"}));
    analyst.call("read_workspace_file", kept.clone());
    says(&analyst.refusal("write_workspace_file", new.clone()), &["hardened"]);
    says(&intern.refusal("write_workspace_file", new), &["none"]);
    says(&intern.refusal("read_workspace_file", kept), &["none"]);
    assert!(!site.path("data/workspaces/analyst/n.txt").exists());
}

// Output.

#[test]
fn a_level_sets_how_much_of_the_output_is_shown() {
    let levels = "[isolation.levels.quiet]\nshown_kb = 1\n\
                  [isolation.levels.mute]\ninherits = \"quiet\"\nworkspace = \"none\"\n";
    let Some(site) = Site::new() else { return };
    site.configure(levels);
    let gateway = real::HttpGateway::start(&site);
    let clients = Clients::start(&site);
    let client = clients.connect(&gateway.over_http());
    let prints = "import sys\nprint('x' * 5000)\nprint('y' * 5000, file=sys.stderr)";
    let length = |outcome: &Value, stream: &str| outcome[stream].as_str().unwrap().len();
    let usual = at(&client, "production", prints);
    assert_eq!((length(&usual, "stdout"), usual.get("notes")), (5001, None));
    for level in ["quiet", "mute"] {
        let shown = at(&client, level, prints);
        let all = length(&shown, "stdout") + length(&shown, "stderr");
        assert!((512..=1024).contains(&all), "{level}: {all}");
        assert!(notes(&shown).contains("5001 bytes"), "{shown:#}");
        // Where there is no workspace, the rest is not put into it.
        assert_eq!(notes(&shown).contains("/workspace/"), level == "quiet", "{shown:#}");
    }
}

// Tools.

const TOOLS: &str = r#"
[isolation.levels.none]
tools = "none"
[isolation.levels.reads]
tools = "read_only"
[isolation.levels.some]
only_tools = ["crm.get_*", "crm.update_customer"]
[[policy.rules]]
name = "interns-may-mail"
tools = ["mail.send"]
action = "allow"
"#;

#[test]
fn a_level_says_which_tools_are_called() {
    let Some(office) = Office::new(TOOLS) else { return };
    let gateway = office.serve();
    let clients = Clients::start(&office.site);
    let client = clients.connect(&gateway.over_http());
    // The name is not in the program: the review cannot see it, and the call is refused.
    let call = |server: &str, tool: &str, arguments: &str| {
        format!(
            "import servers\nfrom servers import crm, http, mail\n\
             tool = getattr({server}, '{}' + {:?})\nresult = await tool({arguments})",
            &tool[..1],
            &tool[1..]
        )
    };
    let levels = ["production", "none", "reads", "some", "hardened"];
    for (server, tool, arguments, allowed) in [
        ("crm", "get_customer", "id=1", [true, false, true, true, true]),
        ("crm", "export", "bytes=1", [true, false, true, false, true]),
        // It says nothing, so it counts as one that writes.
        ("crm", "update_customer", "id=1, email='a'", [true, false, false, true, false]),
        // A rule names it.
        ("mail", "send", "to='a', body='b'", [true, false, true, false, true]),
    ] {
        let code = call(server, tool, arguments);
        let found = levels.map(|level| {
            let outcome = at(&client, level, &code);
            if outcome["success"] != true {
                let message = &outcome["error"]["message"];
                says(message, &[&format!("{server}.{tool} was not called"), level]);
            }
            outcome["success"] == true
        });
        assert_eq!(found, allowed, "{tool}");
        let calls = office.received(&format!("{server}.{tool}")).len();
        assert_eq!(calls, allowed.iter().filter(|allowed| **allowed).count(), "{tool}");
    }
    // Where the review sees it, nothing at all is run.
    let plain = "from servers import crm\nfound = await crm.get_customer(id=1)\n\
                 result = await crm.pay(to='a', amount=1)";
    let before = office.received("crm.get_customer").len();
    let refused = at(&client, "hardened", plain);
    says(&refused["error"]["message"], &["nothing was run", "line 3", "crm.pay", "[denied-tool]"]);
    assert_eq!(office.received("crm.get_customer").len(), before);
}

#[test]
fn an_agents_level_holds_for_direct_tools_too() {
    let config = "[isolation]\nlevel = \"hardened\"\n";
    let Some(office) = Office::exposing("direct", config) else { return };
    let gateway = office.serve();
    let clients = Clients::start(&office.site);
    let client = clients.connect(&gateway.over_http());
    client.call("get_customer", json!({"id": 1}));
    let refusal = client.refusal("pay", json!({"to": "a", "amount": 1}));
    says(&refusal, &["crm.pay was not called", "hardened"]);
    assert_eq!(office.received("crm.get_customer").len(), 1);
    assert_eq!(office.received("crm.pay"), [Value::Null; 0]);
}

// Who may ask for which.

const ASKS: &str = r#"
[isolation.levels.mine]
inherits = "hardened"
timeout = 5
modules = ["json"]
[isolation.levels.odd]
inherits = "hardened"
tool_calls = 101
"#;

#[test]
fn a_caller_may_ask_for_a_stricter_level_and_never_for_a_looser_one() {
    let agents = AGENTS.replace("[agents.intern]\n", "[agents.intern]\nisolation = \"hardened\"\n");
    let Some(site) = Site::new() else { return };
    site.configure(&format!("{ASKS}{agents}"));
    let gateway = real::HttpGateway::start(&site);
    let clients = Clients::start(&site);
    let (analyst, intern) =
        (clients.with_key(&gateway, ANALYST), clients.with_key(&gateway, INTERN));
    let statistics = "import statistics\nresult = statistics.mean([1, 3])";
    let works = |client: &Client, level: &str, agent: &str| {
        let asked = json!({"code": "result = 1", "isolation": level});
        let by_tool = client.answer("execute_code", asked);
        let options = ["run", "-c", "result = 1", "--agent", agent, "--isolation", level];
        let by_command = site.says(&options);
        let works = by_tool["isError"] != true;
        assert_eq!(by_command.status.success(), works, "{level}: {by_tool:#} {by_command:?}");
        if !works {
            assert_eq!(by_command.status.code(), Some(2));
            for said in [&by_tool["content"][0]["text"], &text(&by_command.stderr).into()] {
                says(said, &[level, "looser than yours"]);
            }
        }
        works
    };
    for (level, by_analyst, by_intern) in [
        ("development", false, false),
        ("production", true, false),
        ("hardened", true, true),
        ("mine", true, true),
        // Looser in one respect only.
        ("odd", true, false),
    ] {
        assert_eq!(works(&analyst, level, "analyst"), by_analyst, "{level}");
        assert_eq!(works(&intern, level, "intern"), by_intern, "{level}");
    }
    let refusal = intern.refusal("execute_code", json!({"code": "1", "isolation": "odd"}));
    says(&refusal, &["\"odd\" is looser than yours, \"hardened\", in: tool calls;"]);

    // What is asked for holds: own, stricter, stricter than that.
    assert_eq!(analyst.run("import os\nresult = 1"), 1);
    assert_eq!(at(&analyst, "hardened", statistics)["result"], 2);
    assert_eq!(at(&analyst, "mine", statistics)["error"]["type"], "ReviewError");
    assert_eq!(intern.run(statistics), 2);
    says(&intern.error("import os"), &["hardened", "[import-not-allowed]"]);

    let wrong = intern.refusal("execute_code", json!({"code": "1", "isolation": "hardend"}));
    says(&wrong, &["no isolation level \"hardend\"", "did you mean hardened?"]);
}

#[test]
fn a_level_that_cannot_be_is_told_at_the_start() {
    let Some(site) = Site::new() else { return };
    for (config, said) in [
        ("[isolation]\nlevel = \"produktion\"\n", &["produktion", "did you mean production?"][..]),
        ("[agents.a]\nkey = \"a-key-that-is-long\"\nisolation = \"nope\"\n", &["nope"]),
        (
            "[isolation.levels.a]\ninherits = \"b\"\n[isolation.levels.b]\ninherits = \"a\"\n",
            &["inherit from one another"],
        ),
        ("[isolation.levels.a]\ninherits = \"hardend\"\n", &["hardend", "did you mean hardened?"]),
        ("[isolation.levels.a]\nworkspace = \"some\"\n", &["workspace"]),
        ("[isolation.levels.a]\ntimeoutt = 3\n", &["timeoutt", "timeout"]),
    ] {
        site.configure(config);
        let output = site.says(&["run", "-c", "1"]);
        assert_ne!(output.status.code(), Some(0), "{config}");
        says(&text(&output.stderr).into(), said);
    }
}
