//! Finding tools, knowing what they return, and being told of mistakes before a program runs, with
//! real servers.

use serde_json::{Value, json};

use crate::support::real::{self, Site, Wire, git, says};

/// The text of one of our own tools' answers.
#[track_caller]
fn call(wire: &mut Wire, tool: &str, arguments: Value) -> String {
    let answer = wire.ask("tools/call", json!({"name": tool, "arguments": arguments}));
    let text = answer["result"]["content"][0]["text"].as_str();
    text.unwrap_or_else(|| panic!("{answer:#}")).to_owned()
}

const TIME: &str = "from servers.time import get_current_time\n\
                    now = await get_current_time(timezone='UTC')\n";

#[test]
fn the_three_ways_to_search_find_the_same() {
    let Some(site) = Site::with(&["time", "memory"]) else { return };
    let in_code = "from tool_discovery import search_tools\nsearch_tools('current time in Tokyo')";
    let found = site.run(in_code);
    assert_eq!(found[0]["name"], "get_current_time", "{found:#}");
    assert_eq!(found[0]["import"], "from servers.time import get_current_time");
    let by_command = site.json(&["tools", "search", "current time in Tokyo", "--json"]);
    assert_eq!(by_command["tools"], found);
    let mut wire = Wire::initialized(&site);
    let text = call(&mut wire, "search_tools", json!({"query": "current time in Tokyo"}));
    let first = text.lines().next().unwrap();
    assert!(first.starts_with("from servers.time import get_current_time # "), "{text}");
    assert_eq!(text.lines().count(), found.as_array().unwrap().len(), "{text}");
}

#[test]
fn a_search_tells_as_much_as_is_asked_for() {
    let Some(site) = Site::with(&["time", "memory"]) else { return };
    let mut wire = Wire::initialized(&site);
    let mut search = |arguments: Value| call(&mut wire, "search_tools", arguments);
    let overview = search(json!({}));
    assert!(
        overview.contains("time: 2 tools") && overview.contains("memory: 9 tools"),
        "{overview}"
    );
    let listed = search(json!({"query": "memory", "detail_level": "name_only"}));
    assert!(listed.starts_with("memory: create_entities, "), "{listed}");
    let few = search(json!({"query": "memory", "limit": 2, "detail_level": "name_only"}));
    assert_eq!(few.lines().next(), Some("memory: create_entities, create_relations"));
    assert!(few.contains("7 more"), "{few}");
    let full = search(
        json!({"query": "convert time between timezones", "detail_level": "full", "limit": 1}),
    );
    assert!(
        full.contains("async def convert_time(") && full.contains("source_timezone: str"),
        "{full}"
    );
    // Whatever the parameter is called.
    let asked = json!({"query": "convert time between timezones", "level": "full", "limit": 1});
    assert_eq!(search(asked), full);
    let nothing = search(json!({"query": "zxqv wvut"}));
    assert!(nothing.starts_with("nothing fits \"zxqv wvut\""), "{nothing}");
    let elsewhere = search(json!({"query": "read the graph", "server": "tmie"}));
    assert!(elsewhere.contains("there is no server \"tmie\"; did you mean time"), "{elsewhere}");
    let of_server =
        search(json!({"query": "current", "server": "memory", "detail_level": "name_only"}));
    assert!(!of_server.contains("time:"), "{of_server}");
}

#[test]
fn what_is_no_parameter_of_a_tool_of_ours_is_told_with_the_right_name() {
    let Some(site) = Site::with(&["time"]) else { return };
    let mut wire = Wire::initialized(&site);
    for (tool, arguments, told) in [
        (
            "search_tools",
            json!({"query": "time", "limt": 1}),
            "note: \"limt\" is no parameter of search_tools, and was ignored; did you mean limit?",
        ),
        (
            "get_tool_definition",
            json!({"name": "get_current_time", "verbose": true}),
            "is no parameter of get_tool_definition, and was ignored; there are name, server",
        ),
        ("get_execution_stats", json!({"since": 1}), "was ignored; there are none"),
        ("execute_code", json!({"code": "1", "timeot": 5}), "ignored; did you mean timeout?"),
        ("load_skill", json!({"name": "x", "vesrion": 1}), "`version`"),
        ("list_skills", json!({"tags": []}), "`query`"),
        ("save_skill", json!({"name": "x", "code": "1", "lang": 1}), "`description`"),
        ("write_workspace_file", json!({"path": "a", "content": "", "mode": 1}), "`encoding`"),
        ("read_workspace_file", json!({"path": "a", "lines": 1}), "`offset`"),
        ("list_workspace_files", json!({"recursive": true}), "`pattern`"),
        ("sanitize_pii", json!({"text": "a", "kinds": []}), "`data`"),
        ("restore_pii", json!({"text": "a", "kinds": []}), "`data`"),
        (
            "execute_analysis",
            json!({"analysis_type": "describe", "data": [{"a": 1}], "rwos": 1}),
            "rwos",
        ),
    ] {
        let asked = json!({"name": tool, "arguments": arguments});
        let answer = wire.ask("tools/call", asked)["result"].clone();
        let blocks = answer["content"].as_array().unwrap().iter();
        let text: Vec<&str> = blocks.filter_map(|block| block["text"].as_str()).collect();
        assert!(text.join("\n").contains(told), "{tool}: {answer:#}");
        if answer["structuredContent"].is_object() {
            let shown = answer["structuredContent"]["notes"].to_string();
            assert!(shown.contains("was ignored"), "{tool}: {answer:#}");
        }
    }
    // In programs as well.
    let code = "full = search_tools('time', detail_level='full')\n\
                result = [search_tools('time', level='full') == full, 'definition' in full[0]]\n\
                search_tools('time', servr='time')";
    let answer =
        wire.ask("tools/call", json!({"name": "execute_code", "arguments": {"code": code}}));
    let answer = &answer["result"]["structuredContent"];
    assert_eq!(answer["result"], json!([true, true]), "{answer:#}");
    let told = "\"servr\" is no parameter of search_tools, and was ignored; did you mean server?";
    assert_eq!(answer["notes"], json!([told]), "{answer:#}");
}

#[test]
fn a_definition_has_types_an_example_and_forgives_names() {
    let Some(site) = Site::with(&["time"]) else { return };
    let mut wire = Wire::initialized(&site);
    let expected = "from servers.time import convert_time\n";
    let names = [
        "convert_time",
        "time.convert_time",
        "mcp__time__convert_time",
        "servers.time.convert_time",
    ];
    for name in names {
        let text = call(&mut wire, "get_tool_definition", json!({"name": name}));
        assert!(text.starts_with(expected), "{name}: {text}");
        assert!(text.contains("Example: await convert_time("), "{text}");
    }
    let raw = call(&mut wire, "get_tool_definition", json!({"name": "convert_time", "raw": true}));
    let raw: Value = serde_json::from_str(&raw).unwrap();
    assert_eq!(raw["inputSchema"]["type"], "object");
}

/// A site with the git server, whose tools declare no results, and a repository of two commits.
fn git_site() -> Option<(Site, String)> {
    let site = Site::with(&["git"])?;
    let repository = site.path("repository");
    std::fs::create_dir(&repository).unwrap();
    git(&repository, &["init", "--quiet"]);
    for message in ["first", "second"] {
        git(&repository, &["commit", "--quiet", "--allow-empty", "-m", message]);
    }
    let code = format!(
        "from servers.git import git_log\nlog = await git_log(repo_path={:?})\n",
        repository.to_str().unwrap()
    );
    Some((site, code))
}

#[test]
fn what_a_tool_returned_is_known_to_the_next_program_and_after_a_restart() {
    let Some((site, log)) = git_site() else { return };
    let before = site.says(&["tools", "show", "git_log"]);
    assert!(!real::text(&before.stdout).contains("->"), "{}", real::text(&before.stdout));
    let mut wire = Wire::initialized(&site);
    for calls in 1..=2 {
        call(&mut wire, "execute_code", json!({"code": log}));
        let text = call(&mut wire, "get_tool_definition", json!({"name": "git_log"}));
        let plural = if calls == 1 { "call" } else { "calls" };
        assert!(text.contains(&format!("observed in {calls} {plural}")), "{text}");
        assert!(text.contains("-> list[") && text.contains("Message: str"), "{text}");
    }
    // A program sees it in the function's documentation.
    let code = "from servers.git import git_log\ngit_log.__doc__";
    let said = call(&mut wire, "execute_code", json!({"code": code}));
    assert!(said.contains("observed in 2 calls"), "{said}");
    wire.leave();
    wire.process.ends_within(real::PATIENCE);
    let after = real::text(&site.says(&["tools", "show", "git_log"]).stdout);
    assert!(after.contains("observed in 2 calls"), "{after}");
    // Values of the data are not kept.
    let kept = std::fs::read_to_string(site.path("data").join("learnt/observed/git.json")).unwrap();
    assert!(kept.contains("Message"), "{kept}");
    for value in ["second", "Tester", "tester@example.invalid"] {
        assert!(!kept.contains(value), "{kept}");
    }
}

#[test]
fn nothing_is_observed_when_that_is_switched_off() {
    let Some((site, log)) = git_site() else { return };
    let server = site.server("git");
    site.configure(&format!("[discovery]\nobserve = false\nlearn = false\n{server}"));
    site.run(&log);
    let text = real::text(&site.says(&["tools", "show", "git_log"]).stdout);
    assert!(text.contains("repo_path: str") && !text.contains("->"), "{text}");
    assert!(!site.path("data").join("learnt").exists());
}

#[test]
fn a_misspelt_field_of_what_was_observed_is_found_before_anything_runs() {
    let Some((site, log)) = git_site() else { return };
    let code = format!("print('it runs')\n{log}[commit['Mesage'] for commit in log]");
    let unknown = site.outcome(&code);
    assert_eq!(unknown["error"]["type"], "KeyError", "{unknown:#}");
    let known = site.outcome(&code);
    assert_eq!(known["error"]["type"], "CheckError", "{known:#}");
    assert_eq!((&known["error"]["line"], &known["stdout"]), (&json!(4), &json!("")));
    let message = known["error"]["message"].as_str().unwrap();
    assert!(
        message.contains("did you mean 'Message'") && message.contains("observed"),
        "{message}"
    );
}

#[test]
fn a_misspelt_field_is_found_before_anything_runs() {
    let Some(site) = Site::with(&["time", "memory"]) else { return };
    site.run(TIME);
    let code = format!(
        "from servers.memory import create_entities\n\
         await create_entities(entities=[{{'name': 'a', 'entityType': 'b', 'observations': []}}])\n\
         {TIME}print('it runs')\nresult = now['timezne']"
    );
    let outcome = site.outcome(&code);
    assert_eq!(outcome["success"], false, "{outcome:#}");
    assert_eq!(
        (&outcome["error"]["type"], &outcome["error"]["line"]),
        (&json!("CheckError"), &json!(6))
    );
    let message = outcome["error"]["message"].as_str().unwrap();
    assert!(
        message.contains("line 6: ") && message.contains("did you mean 'timezone'"),
        "{message}"
    );
    assert_eq!(outcome["stdout"], "");
    assert!(!site.path("memory.jsonl").exists(), "the entity was created");
    // The same program, spelt right, runs.
    let outcome = site.outcome(&code.replace("timezne", "timezone"));
    assert_eq!(outcome["result"], "UTC", "{outcome:#}");
    assert!(site.path("memory.jsonl").exists());
}

#[test]
fn wrong_tools_and_arguments_are_found_before_anything_runs() {
    let Some(site) = Site::with(&["time"]) else { return };
    site.run(TIME);
    for (code, expected) in [
        ("from servers.time import get_curent_time", "did you mean get_current_time"),
        ("from servers.tmie import get_current_time", "did you mean time"),
        ("import servers\nawait servers.time.convert(1)", "line 2: "),
        (
            "from servers.time import get_current_time\nawait get_current_time(timezon='UTC')",
            "line 2: get_current_time() has no parameter 'timezon'; did you mean 'timezone'?",
        ),
        (
            "from servers.time import convert_time\nawait convert_time(time='12:00')",
            "needs source_timezone, target_timezone",
        ),
    ] {
        let outcome = site.outcome(&format!("print('it runs')\n{code}"));
        let message = outcome["error"]["message"].as_str().unwrap_or_default();
        let expected = expected.replace("line 2", "line 3");
        assert!(message.contains(&expected), "{code}: {outcome:#}");
        assert_eq!(outcome["stdout"], "", "{code}");
    }
    // Who handles the error wants to see it, and who switched the check off, too.
    let handled = "print('it runs')\ntry:\n    from servers.time import nope\nexcept ImportError:\n    print('so what')";
    assert_eq!(site.outcome(handled)["stdout"], "it runs\nso what\n");
    let server = site.server("time");
    site.configure(&format!("[discovery]\ncheck = false\n{server}"));
    let outcome = site.outcome("print('it runs')\nfrom servers.time import nope");
    assert_eq!(
        (&outcome["stdout"], &outcome["error"]["type"]),
        (&json!("it runs\n"), &json!("ImportError"))
    );
}

#[test]
fn records_in_text_are_values_that_keep_their_text() {
    let Some((site, log)) = git_site() else { return };
    let seen =
        site.run(&format!("{log}result = [[c['Message'] for c in log], log.raw.splitlines()[0]]"));
    assert_eq!(seen, json!([["second", "first"], "Commit history:"]));
    // One is a list too, and whoever takes it for something else is told what it is.
    let one = log.replace(")\n", ", max_count=1)\n");
    assert_eq!(site.run(&format!("{one}result = [c['Message'] for c in log]")), json!(["second"]));
    for wrong in ["log['Message']", "log.splitlines()", "[c['When'] for c in log]"] {
        let error = site.outcome(&format!("{log}print(len(log))\n{wrong}"))["error"].take();
        says(&error["traceback"], &["read from the tool's text; the text itself is log.raw"]);
    }
    let content = site.outcome("text = {'content': 'a'}\ntext.splitlines()")["error"].take();
    says(&content["traceback"], &["the one key 'content'", "write text['content']"]);
    let server = site.server("git");
    site.configure(&format!("{server}recover = false\n"));
    assert_eq!(site.run(&format!("{log}type(log).__name__")), "str");
}

#[test]
fn what_was_used_after_a_search_comes_first_the_next_time() {
    let Some(site) = Site::with(&["memory"]) else { return };
    let query = json!({"query": "open nodes of the graph", "detail_level": "name_only"});
    let mut wire = Wire::initialized(&site);
    let before = call(&mut wire, "search_tools", query.clone());
    let names: Vec<&str> = before.trim_start_matches("memory: ").split(", ").collect();
    assert!(names.contains(&"read_graph") && names[0] != "read_graph", "{before}");
    for _ in 0..3 {
        call(&mut wire, "search_tools", query.clone());
        let code = "from servers.memory import read_graph\nawait read_graph()";
        call(&mut wire, "execute_code", json!({"code": code}));
    }
    let after = call(&mut wire, "search_tools", query.clone());
    assert!(after.starts_with("memory: read_graph"), "{after}");
    wire.leave();
    wire.process.ends_within(real::PATIENCE);
    // It stays, unless it is not wanted.
    let search = ["tools", "search", "open nodes of the graph", "--json"];
    assert_eq!(site.json(&search)["tools"][0]["name"], "read_graph");
    let server = site.server("memory");
    site.configure(&format!("[discovery]\nlearn = false\n{server}"));
    assert_ne!(site.json(&search)["tools"][0]["name"], "read_graph");
}

#[test]
fn tokens_are_counted_both_ways() {
    let Some(site) = Site::with(&["memory"]) else { return };
    assert!(real::text(&site.says(&["stats"]).stdout).contains("nothing was counted yet"));
    let mut wire = Wire::initialized(&site);
    let code = "from servers.memory import create_entities, read_graph\n\
                await create_entities(entities=[{'name': f'n{i}', 'entityType': 't', 'observations': ['some words about it']} for i in range(200)])\n\
                len((await read_graph())['entities'])";
    call(&mut wire, "execute_code", json!({"code": code}));
    wire.leave();
    wire.process.ends_within(real::PATIENCE);
    let stats = site.json(&["stats", "--json"]);
    let totals = &stats["totals"];
    assert_eq!(
        (&totals["sessions"], &totals["runs"], &totals["tool_calls"]),
        (&json!(1), &json!(1), &json!(2))
    );
    let side = |side: &str, part: &str| totals[side][part].as_u64().unwrap();
    // Two hundred entities are read twice, and written once.
    assert!(side("tokens_direct", "results") > 200 * 20, "{stats:#}");
    assert!(side("tokens_direct", "requests") > 200 * 10, "{stats:#}");
    assert!(side("tokens_direct", "definitions") > 500, "{stats:#}");
    assert!(side("tokens_seen", "total") < 1_000, "{stats:#}");
    assert!(totals["saved_percent"].as_f64().unwrap() > 80.0);
    assert_eq!(stats["runs"][0]["calls"], 2);
    let kept = std::fs::read_to_string(site.path("data").join("stats/runs.jsonl")).unwrap();
    assert!(!kept.contains("entities"), "{kept}");
    let shown = real::text(&site.says(&["stats"]).stdout);
    assert!(shown.contains("saved") && shown.contains("once per session"), "{shown}");
    for part in ["1 session of clients, 1 program run (", "since 20", "tokens (estimates)"] {
        assert!(shown.contains(part), "{part}: {shown}");
    }
    let heads = shown.lines().find(|line| line.starts_with("TIME")).unwrap();
    assert!(heads.contains("MS") && heads.contains("TOKENS DIRECTLY"), "{shown}");
    let mut wire = Wire::initialized(&site);
    let said = call(&mut wire, "get_execution_stats", json!({}));
    assert!(
        said.contains("this gateway: 0 sessions") && said.contains("all: 1 session of"),
        "{said}"
    );
}

#[test]
fn a_program_is_in_the_figures_as_soon_as_it_is_answered() {
    let Some(site) = Site::new() else { return };
    let mut wire = Wire::initialized(&site);
    // Counting takes longer than the next question.
    let code = "print('some words ' * 20_000)";
    for runs in 1..=5 {
        call(&mut wire, "execute_code", json!({"code": code}));
        let said = call(&mut wire, "get_execution_stats", json!({}));
        assert_eq!(said.matches(&format!(", {runs} program")).count(), 2, "{said}");
    }
}

// What the benchmarks show, without their times.

#[test]
fn answers_and_definitions_keep_to_their_token_budgets() {
    let Some(site) = Site::new() else { return };
    let catalog = narrows_testkit::catalog_directory();
    let catalog = catalog.to_str().unwrap();
    let report = site.json(&["bench", "tokens", "--check", "--json", "--catalog", catalog]);
    let budgets = report["budgets"].as_array().unwrap();
    assert!(budgets.len() >= 5 && report["tools"].as_u64().unwrap() >= 400, "{report:#}");
    for budget in budgets {
        assert_eq!(budget["holds"], true, "{budget:#}");
    }
}

#[test]
fn the_full_engine_finds_more_than_words_alone() {
    let Some(site) = Site::new() else { return };
    let file = narrows_testkit::labelled_queries_file();
    let report = site.json(&["bench", "search", "--json", "--tools", file.to_str().unwrap()]);
    let figure = |value: &Value, measure: &str| value[measure].as_f64().unwrap();
    let full = &report["full"];
    assert!(figure(&full["mean"], "hit_at_1") >= 0.80, "{report:#}");
    assert!(figure(&full["mean"], "recall_at_5") >= 0.85, "{report:#}");
    assert!(figure(&report["gain"], "hit_at_1") >= 0.03, "{report:#}");
    // Words alone always find something. The engine says of some queries that nothing fits, and is
    // wrong about a few of them.
    assert!(figure(&report["gain"], "recall_at_5") >= -0.01, "{report:#}");
    for (set, quality) in full["sets"].as_object().unwrap() {
        let alone = figure(&report["bm25"]["sets"][set], "hit_at_1");
        assert!(figure(quality, "hit_at_1") >= alone - 0.01, "{set}: {report:#}");
    }
}
