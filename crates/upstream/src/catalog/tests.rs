//! Names that collide, listings that change while they are used, and what is kept between two
//! starts.

use std::{
    fs::File,
    path::Path,
    sync::Arc,
    time::{Duration, SystemTime},
};

use narrows_model::{Connection, HttpSpec, ServerSpec, StdioSpec, Template};
use serde_json::{Map, Value, json};

use super::*;
use crate::fakes::{PlainNaming, listing, named, spec, tool};

fn filled(servers: &[(&str, &[&str])]) -> Catalog {
    let specs: Vec<ServerSpec> = servers.iter().map(|(name, _)| spec(name)).collect();
    let catalog = Catalog::new(&specs, None, &PlainNaming);
    for (spec, (_, tools)) in specs.iter().zip(servers) {
        catalog.replace(spec, listing(named(tools)));
    }
    catalog
}

fn arguments(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(arguments) => arguments,
        other => panic!("{other} is not an object"),
    }
}

#[test]
fn servers_whose_names_become_equal_are_both_reachable() {
    let catalog = filled(&[("my-server", &["go"]), ("my_server", &["go"])]);
    for (name, server) in [
        ("my_server.go", "my_server"),
        ("my-server.go", "my-server"),
        ("servers.my_server_2.go", "my-server"),
        ("mcp__my-server__go", "my-server"),
        ("mcp__my_server__go", "my_server"),
        ("mcp__my_server_2__go", "my-server"),
    ] {
        assert_eq!(catalog.resolve(name, None).unwrap().id.server, server, "{name}");
    }
}

#[test]
fn the_name_that_a_server_gives_goes_before_one_in_code() {
    let catalog = filled(&[("s", &["read file", "read_file", "read-file"])]);
    for (name, tool) in
        [("read_file", "read_file"), ("read_file_2", "read file"), ("read_file_3", "read-file")]
    {
        let found = catalog.resolve(&format!("servers.s.{name}"), None).unwrap();
        assert_eq!((found.id.tool.as_str(), found.name.python.as_str()), (tool, name));
    }
}

#[test]
fn servers_that_are_switched_off_are_told_by_the_modules_that_they_would_have() {
    let catalog = filled(&[("my_server", &["go"])]).with_disabled(["my-server", "other"]);
    let disabled: Vec<(&str, &str)> = catalog.disabled_modules().collect();
    assert_eq!(disabled, [("my_server_2", "my-server"), ("other", "other")]);
    let told = catalog.resolve("my_server_2.go", None).unwrap_err();
    assert_eq!(told, DisabledServer("my-server".into()).into());
    // The control: the module of the one that runs stays its own.
    assert_eq!(catalog.resolve("my_server.go", None).unwrap().id.server, "my_server");
}

#[test]
fn a_tool_is_found_by_every_form_that_models_write() {
    let catalog = filled(&[("files", &["read-file", "a__b", "dir/list"])]);
    for (name, tool) in [
        ("mcp__files__read-file", "read-file"),
        ("mcp__files__read_file", "read-file"),
        ("mcp__files__a__b", "a__b"),
        ("files.read_file", "read-file"),
        ("servers.files.read_file", "read-file"),
        ("files/read_file", "read-file"),
        ("files/dir/list", "dir/list"),
        ("files:read_file", "read-file"),
        ("files::read_file", "read-file"),
        ("  files.read_file\n", "read-file"),
        ("read_file", "read-file"),
        ("dir/list", "dir/list"),
    ] {
        let found = catalog.resolve(name, None);
        assert_eq!(found.map(|found| found.id.tool.clone()).as_deref(), Ok(tool), "{name}");
    }
}

#[test]
fn of_server_names_with_dots_the_longest_that_exists_counts() {
    let catalog = filled(&[("acme", &["us.list"]), ("acme.eu", &["list"])]);
    assert_eq!(catalog.split_name("acme.eu.list"), (Some("acme.eu"), "list"));
    assert_eq!(catalog.split_name("acme.us.list"), (Some("acme"), "us.list"));
    assert_eq!(catalog.split_name("acme_eu.list"), (Some("acme.eu"), "list"));
    assert_eq!(catalog.split_name("other.list"), (None, "other.list"));
}

#[test]
fn a_name_that_says_its_server_outweighs_the_server_beside_it() {
    let catalog = filled(&[("a", &["go"]), ("b", &["go"])]);
    assert_eq!(catalog.resolve("a.go", Some("b")).unwrap().id.server, "a");
    assert_eq!(catalog.resolve("go", Some("b")).unwrap().id.server, "b");
}

#[test]
fn misspelt_names_are_told_with_the_nearest() {
    let catalog = filled(&[("github", &["create_issue", "list_issues"]), ("notes", &["add_note"])]);
    let told = |name: &str, server| catalog.resolve(name, server).unwrap_err().to_string();
    let no_tool = r#"the server "github" has no tool "craete_issue"; did you mean create_issue?"#;
    assert_eq!(told("github.craete_issue", None), no_tool);
    assert_eq!(told("craete_issue", Some("github")), no_tool);
    // Without its server, a tool is suggested together with it.
    assert_eq!(
        told("craete_issue", None),
        r#"there is no tool "craete_issue"; did you mean github.create_issue?"#
    );
    // The name of the server is the name of its module too, and is said once.
    let no_server = r#"there is no server "githib"; did you mean github?"#;
    assert_eq!(told("mcp__githib__create_issue", None), no_server);
    assert_eq!(told("create_issue", Some("githib")), no_server);
    assert_eq!(
        told("weather", None),
        r#"there is no tool "weather"; the servers are github, notes"#
    );
    assert_eq!(
        told("weather.today", Some("zxqv")),
        r#"there is no server "zxqv"; there are github, notes"#
    );
}

/// Tools with descriptions and annotations.
fn described(tools: &[(&str, &str, Value)]) -> Catalog {
    let spec = spec("tracker");
    let catalog = Catalog::new(std::slice::from_ref(&spec), None, &PlainNaming);
    let tools = tools.iter().map(|(name, description, annotations)| {
        json!({"name": name, "description": description, "annotations": annotations})
    });
    catalog.replace(&spec, listing(tools.collect()));
    catalog
}

#[test]
fn a_tool_that_means_the_same_is_suggested_whatever_its_name() {
    let read = json!({"readOnlyHint": true});
    let catalog = described(&[
        ("issues_query", "Find issues and tickets that match a search.", read.clone()),
        ("send_message", "Send a message to a channel.", json!({})),
        ("weather_forecast", "Forecast for a city.", read),
    ]);
    let told = |name: &str| catalog.resolve(name, Some("tracker")).unwrap_err().to_string();
    assert!(
        told("find_tickets").ends_with("; did you mean issues_query?"),
        "{}",
        told("find_tickets")
    );
    assert!(
        told("getForecast").contains("did you mean weather_forecast"),
        "{}",
        told("getForecast")
    );
    // Nothing fits: what there is.
    assert_eq!(
        told("zxqv"),
        r#"the server "tracker" has no tool "zxqv"; there are issues_query, send_message, weather_forecast"#
    );
}

#[test]
fn a_name_that_reads_is_never_answered_with_a_tool_that_writes() {
    let (read, write) = (json!({"readOnlyHint": true}), json!({"readOnlyHint": false}));
    let catalog = described(&[
        ("delete_issue", "Deletes an issue.", json!({})),
        ("set_issue", "Changes an issue.", json!({})),
        ("issue_toggle", "Gets an issue going.", json!({"destructiveHint": true})),
        ("find_issue_and_close", "Finds an issue.", write),
        ("update_all", "Issue: reads one.", read),
    ]);
    let told = |name: &str| catalog.resolve(name, Some("tracker")).unwrap_err().to_string();
    let hint = told("get_issue");
    assert!(hint.ends_with("; did you mean update_all?"), "{hint}");
    // Nor is a tool that destroys offered to who wants to write.
    assert!(!told("update_issue").contains("delete_issue"), "{}", told("update_issue"));
    assert!(
        told("delte_issue").ends_with("; did you mean delete_issue?"),
        "{}",
        told("delte_issue")
    );
    // The control: by spelling alone they are near.
    assert_eq!(narrows_model::nearest("get_issue", ["set_issue", "delete_issue"]).0.len(), 2);
}

#[test]
fn a_name_that_reads_is_answered_only_with_tools_that_surely_read() {
    for (asked, there) in [
        ("get_thread", "resolve_thread"),
        ("get_notifications", "mark_notifications_read"),
        ("get_notifications_read", "mark_notifications_read"),
        ("get_repository", "fork_repository"),
        ("find_charge", "refund_charge"),
        ("list_tickets", "close_ticket"),
        ("find_account", "fund_account"),
        ("repository_get", "repository_fork"),
    ] {
        let told = |annotations: Value| {
            let catalog = described(&[(there, "", annotations)]);
            catalog.resolve(asked, Some("tracker")).unwrap_err().to_string()
        };
        let hint = told(json!({}));
        assert!(hint.ends_with(&format!("; there are {there}")), "{hint}");
        // The control: annotations win over names.
        let hint = told(json!({"readOnlyHint": true}));
        assert!(hint.ends_with(&format!("; did you mean {there}?")), "{hint}");
    }
    // Nor are tools kept back that begin with what they read, or that were only misspelt.
    let catalog = described(&[
        ("get_issue", "", json!({})),
        ("page_list", "", json!({})),
        ("mark_notifications_read", "", json!({})),
    ]);
    for (asked, meant) in [
        ("read_issue", "get_issue"),
        ("get_isue", "get_issue"),
        ("pages_list", "page_list"),
        ("mark_notification_read", "mark_notifications_read"),
    ] {
        let told = catalog.resolve(asked, Some("tracker")).unwrap_err().to_string();
        assert!(told.contains(&format!("; did you mean {meant}")), "{told}");
    }
}

#[test]
fn a_deprecated_tool_is_suggested_last_and_says_so() {
    let catalog = described(&[
        ("list_old_rows", "DEPRECATED: use list_rows. Lists rows.", json!({})),
        ("list_rows", "Lists rows.", json!({})),
    ]);
    for server in [None, Some("tracker")] {
        let told = catalog.resolve("get_old_rows", server).unwrap_err().to_string();
        let (first, second) = told.split_once("list_rows").unwrap();
        assert!(first.contains("did you mean") && !first.contains("old_rows?"), "{told}");
        assert!(second.contains("list_old_rows (deprecated)"), "{told}");
    }
}

#[test]
fn a_huge_name_is_not_compared_and_not_repeated() {
    let catalog = filled(&[("github", &["create_issue"])]);
    let huge = "create_issue".repeat(200_000);
    for (name, server) in [(huge.as_str(), None), (&huge, Some("github")), ("x", Some(&*huge))] {
        let told = catalog.resolve(name, server).unwrap_err().to_string();
        assert!(told.len() < 400 && told.contains('…'), "{}", told.len());
        assert!(!told.contains("did you mean"), "{told}");
        assert!(told.ends_with("bytes, and names have at most 1024"), "{told}");
    }
    // Each dot may end the name of a server.
    let dots = ".".repeat(2_000_000);
    assert!(matches!(
        catalog.resolve(&dots, None),
        Err(Unresolved::TooLong { bytes: 2_000_000, .. })
    ));
    let longest = format!("github.{}", "x".repeat(1_000));
    assert!(matches!(catalog.resolve(&longest, None), Err(Unresolved::NoTool { .. })));
}

#[test]
fn of_a_server_with_many_tools_the_first_are_told() {
    let names: Vec<String> = (0..40).map(|n| format!("tool_{n}x")).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let catalog = filled(&[("many", &names)]);
    let told = catalog.resolve("zxqv", Some("many")).unwrap_err().to_string();
    assert!(told.ends_with("tool_9x and 30 more"), "{told}");
}

#[test]
fn a_server_that_has_said_nothing_is_told_apart_from_one_that_has_no_such_tool() {
    let known = spec("known");
    let catalog = Catalog::new(&[known.clone(), spec("silent")], None, &PlainNaming);
    catalog.replace(&known, listing(Vec::new()));
    let failed = |name: &str| catalog.resolve(name, None).unwrap_err();
    assert_eq!(failed("silent.go"), Unresolved::NotListed("silent".into()));
    assert!(matches!(failed("known.go"), Unresolved::NoTool { .. }));
    assert!(matches!(failed("go"), Unresolved::NoToolAnywhere { .. }));
}

#[test]
fn of_many_servers_with_one_tool_five_are_named() {
    const TOOLS: &[&str] = &["search"];
    let names = ["a", "b", "c", "d", "e", "f", "g"];
    let servers: Vec<(&str, &[&str])> = names.iter().map(|name| (*name, TOOLS)).collect();
    let catalog = filled(&servers);
    let Err(Unresolved::Ambiguous { choices, .. }) = catalog.resolve("search", None) else {
        panic!("it is ambiguous");
    };
    assert_eq!(choices, ["a.search", "b.search", "c.search", "d.search", "e.search"]);
    assert_eq!(catalog.resolve("search", Some("g")).unwrap().id.server, "g");
}

#[test]
fn what_is_listed_twice_or_without_a_name_does_not_hide_the_rest() {
    let spec = spec("s");
    let catalog = Catalog::new(std::slice::from_ref(&spec), None, &PlainNaming);
    let tools = vec![
        json!({"name": "go", "description": "first"}),
        json!({"title": "nameless"}),
        json!({"name": 5}),
        json!({"name": "go", "description": "second"}),
        json!({"name": "stop"}),
    ];
    catalog.replace(&spec, listing(tools));
    let known = catalog.listing("s").unwrap();
    let names: Vec<&str> = known.tools.iter().map(|tool| tool.id.tool.as_str()).collect();
    assert_eq!(names, ["go", "stop"]);
    assert_eq!(known.tool("go").unwrap().description(), "first");
    assert_eq!(known.tool("stop").unwrap().id.tool, "stop");
}

#[test]
fn a_listing_that_is_replaced_stays_whole_for_those_who_use_it() {
    let spec = spec("s");
    let catalog = Catalog::new(std::slice::from_ref(&spec), None, &PlainNaming);
    let count = |kind: &str| {
        json!({"name": "count", "inputSchema": {
            "type": "object", "properties": {"n": {"type": kind}}, "required": ["n"]}})
    };
    catalog.replace(&spec, listing(vec![count("integer"), json!({"name": "gone"})]));
    let (before, gone) =
        (catalog.resolve("s.count", None).unwrap(), catalog.resolve("s.gone", None).unwrap());
    let snapshot = catalog.snapshot();
    catalog.replace(&spec, listing(vec![count("string")]));

    let number = || arguments(json!({"n": 1}));
    assert_eq!(before.check(&mut number()), Ok(()));
    let after = catalog.resolve("s.count", None).unwrap();
    assert_eq!(after.check(&mut number()), Err(r#""n" is 1, expected string"#.to_owned()));
    assert_ne!(before.version(), after.version());
    // Who has the tool that is gone still knows what it was.
    assert!(catalog.resolve("s.gone", None).is_err());
    assert!(Arc::ptr_eq(snapshot.server("s").unwrap().tool("gone").unwrap(), &gone));
}

#[test]
fn one_server_changes_and_the_others_stay_the_same() {
    let catalog = filled(&[("a", &["go"]), ("b", &["go"])]);
    let (a, b) = (catalog.listing("a").unwrap(), catalog.listing("b").unwrap());
    catalog.replace(&spec("a"), listing(named(&["go", "stop"])));
    assert!(!Arc::ptr_eq(&catalog.listing("a").unwrap(), &a));
    assert!(Arc::ptr_eq(&catalog.listing("b").unwrap(), &b));
}

#[test]
fn what_a_server_says_of_itself_is_a_change_too() {
    let catalog = filled(&[("s", &["go"])]);
    let mut version = catalog.version();
    version.mark_unchanged();
    let about = UpstreamInfo { instructions: Some("be gentle".into()), ..UpstreamInfo::default() };
    catalog.replace(&spec("s"), Listing { about, tools: named(&["go"]) });
    assert!(version.has_changed().unwrap());
    let instructions = catalog.listing("s").unwrap().about.instructions.clone();
    assert_eq!(instructions.as_deref(), Some("be gentle"));
}

#[test]
fn a_tool_is_another_one_when_its_definition_is() {
    let definition = json!({"name": "go", "description": "Goes.", "inputSchema": {}});
    let mut other = definition.clone();
    other["inputSchema"]["type"] = "object".into();
    assert_eq!(tool(definition.clone()).version(), tool(definition.clone()).version());
    assert_ne!(tool(definition).version(), tool(other).version());
}

#[test]
fn a_tool_without_a_description_has_its_title() {
    assert_eq!(tool(json!({"name": "a", "description": "d", "title": "t"})).description(), "d");
    assert_eq!(tool(json!({"name": "a", "title": "t"})).description(), "t");
    assert_eq!(tool(json!({"name": "a"})).description(), "");
}

/// Makes a file look as if it had been written so many hours ago.
fn age(file: &Path, hours: u64) -> SystemTime {
    let time = SystemTime::now() - Duration::from_secs(hours * 3600);
    File::options().write(true).open(file).unwrap().set_modified(time).unwrap();
    std::fs::metadata(file).unwrap().modified().unwrap()
}

#[test]
fn an_old_listing_is_used_and_counts_as_stale_until_it_is_confirmed() {
    let home = tempfile::tempdir().unwrap();
    let start =
        || Catalog::new(&[spec("s")], Some(Cache::new(home.path().to_owned())), &PlainNaming);
    start().replace(&spec("s"), listing(named(&["go"])));
    age(&home.path().join("s.json"), 25);

    let catalog = start();
    assert!(catalog.resolve("s.go", None).is_ok() && catalog.is_stale("s"));
    // The same list again is no change, and is written down as recent.
    catalog.replace(&spec("s"), listing(named(&["go"])));
    assert!(!catalog.is_stale("s"));
    assert!(!start().is_stale("s"));
}

#[test]
fn a_recent_listing_is_not_written_again() {
    let home = tempfile::tempdir().unwrap();
    let start =
        || Catalog::new(&[spec("s")], Some(Cache::new(home.path().to_owned())), &PlainNaming);
    start().replace(&spec("s"), listing(named(&["go"])));
    let file = home.path().join("s.json");
    let written = age(&file, 1);
    start().replace(&spec("s"), listing(named(&["go"])));
    assert_eq!(std::fs::metadata(&file).unwrap().modified().unwrap(), written);
    start().replace(&spec("s"), listing(named(&["go", "stop"])));
    assert_ne!(std::fs::metadata(&file).unwrap().modified().unwrap(), written);
}

#[test]
fn a_cache_of_another_version_is_ignored() {
    let home = tempfile::tempdir().unwrap();
    let start =
        || Catalog::new(&[spec("s")], Some(Cache::new(home.path().to_owned())), &PlainNaming);
    start().replace(&spec("s"), listing(named(&["go"])));
    let file = home.path().join("s.json");
    let mut entry: Value = serde_json::from_slice(&std::fs::read(&file).unwrap()).unwrap();
    entry["version"] = 0.into();
    std::fs::write(&file, entry.to_string()).unwrap();
    assert!(start().listing("s").is_none() && start().is_stale("s"));
}

#[test]
fn another_secret_is_the_same_server_and_another_address_is_not() {
    let home = tempfile::tempdir().unwrap();
    let cache = || Some(Cache::new(home.path().to_owned()));
    let knows =
        |spec: ServerSpec| Catalog::new(&[spec], cache(), &PlainNaming).listing("s").is_some();

    let stdio = |env: &[(&str, &str)]| {
        let env =
            env.iter().map(|(name, value)| ((*name).to_owned(), Template::from(*value))).collect();
        let stdio = StdioSpec { command: "server".into(), env, ..StdioSpec::default() };
        ServerSpec::new("s", Connection::Stdio(stdio))
    };
    let first = stdio(&[("TOKEN", "s3cret-one")]);
    Catalog::new(std::slice::from_ref(&first), cache(), &PlainNaming)
        .replace(&first, listing(named(&["go"])));
    assert!(knows(stdio(&[("TOKEN", "s3cret-two")])));
    assert!(!knows(stdio(&[("TOKEN", "s3cret-one"), ("REGION", "eu")])));
    let kept = std::fs::read_to_string(home.path().join("s.json")).unwrap();
    assert!(!kept.contains("s3cret"), "{kept}");

    let http = |url: &str, key: &str| {
        let headers = [("X-Key".to_owned(), Template::from(key))].into();
        let http = HttpSpec { url: url.into(), headers, ..HttpSpec::default() };
        ServerSpec::new("s", Connection::Http(http))
    };
    let first = http("https://one.example/mcp", "s3cret-one");
    assert!(!knows(first.clone()), "it was a command");
    Catalog::new(std::slice::from_ref(&first), cache(), &PlainNaming)
        .replace(&first, listing(named(&["go"])));
    assert!(knows(http("https://one.example/mcp", "s3cret-two")));
    assert!(!knows(http("https://two.example/mcp", "s3cret-one")));
}

#[test]
fn a_cache_that_cannot_be_written_costs_nothing_but_the_next_start() {
    let home = tempfile::tempdir().unwrap();
    let not_a_directory = home.path().join("file");
    std::fs::write(&not_a_directory, "").unwrap();
    let catalog = Catalog::new(&[spec("s")], Some(Cache::new(not_a_directory)), &PlainNaming);
    catalog.replace(&spec("s"), listing(named(&["go"])));
    assert!(catalog.resolve("s.go", None).is_ok());
}
