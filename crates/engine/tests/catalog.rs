//! The catalog with all tools of `tests/data` in it.
#![allow(clippy::unwrap_used)]

use std::collections::HashSet;

use narrows_engine::catalog::PythonNaming;
use narrows_model::{Connection, ServerSpec, StdioSpec};
use narrows_upstream::catalog::{Cache, Catalog, Listing, Unresolved, UpstreamInfo};
use serde_json::{Value, json};

fn spec(name: &str) -> ServerSpec {
    ServerSpec::new(
        name,
        Connection::Stdio(StdioSpec { command: name.into(), ..StdioSpec::default() }),
    )
}

fn filled(servers: &[(String, Vec<Value>)], cache: Option<Cache>) -> Catalog {
    let specs: Vec<ServerSpec> = servers.iter().map(|(name, _)| spec(name)).collect();
    let catalog = Catalog::new(&specs, cache, &PythonNaming);
    for (spec, (_, tools)) in specs.iter().zip(servers) {
        catalog.replace(spec, Listing { about: UpstreamInfo::default(), tools: tools.clone() });
    }
    catalog
}

fn named(tools: &[&str]) -> Vec<Value> {
    tools.iter().map(|name| json!({"name": name, "inputSchema": {"type": "object"}})).collect()
}

#[test]
fn every_tool_is_reachable_by_all_its_names_and_unchanged() {
    let servers = narrows_testkit::catalog();
    let catalog = filled(&servers, None);
    let mut python_names = HashSet::new();
    for (server, tools) in &servers {
        for raw in tools {
            let name = raw["name"].as_str().unwrap();
            let tool = catalog.resolve(&format!("mcp__{server}__{name}"), None).unwrap();
            assert_eq!(tool.raw.to_string(), raw.to_string(), "as the server wrote it");
            let dotted = format!("{}.{}", tool.module, tool.name.python);
            assert_eq!(catalog.resolve(&dotted, None).unwrap().id, tool.id, "{dotted}");
            assert_eq!(catalog.resolve(name, Some(server)).unwrap().id, tool.id);
            assert!(python_names.insert(dotted), "a Python name means one tool");
        }
    }
    let modules = catalog.modules();
    assert_ne!(modules["orbit-mail"], modules["orbit_mail"], "two servers, one name in Python");
}

#[test]
fn names_that_become_equal_stay_apart() {
    let servers = [("s".to_owned(), named(&["read-file", "read_file", "class"]))];
    let catalog = filled(&servers, None);
    let python = |name: &str| catalog.resolve(name, Some("s")).unwrap().name.python.clone();
    assert_eq!(python("read_file"), "read_file");
    assert_ne!(python("read-file"), "read_file");
    assert_ne!(python("class"), "class");
}

#[test]
fn a_name_that_means_nothing_or_too_much_is_explained() {
    let servers =
        [("a".to_owned(), named(&["search", "only_here"])), ("b".to_owned(), named(&["search"]))];
    let catalog = filled(&servers, None);
    assert!(catalog.resolve("only_here", None).is_ok());
    let ambiguous = catalog.resolve("search", None).unwrap_err();
    assert!(ambiguous.to_string().contains("a.search or b.search"), "{ambiguous}");
    let missing = catalog.resolve("a.serch", None).unwrap_err();
    assert!(missing.to_string().contains("did you mean search?"), "{missing}");
    let nowhere = catalog.resolve("mcp__c__search", None).unwrap_err();
    assert!(matches!(nowhere, Unresolved::NoServer { .. }));
}

#[test]
fn what_was_listed_is_known_at_the_next_start_unless_the_server_is_another() {
    let home = tempfile::tempdir().unwrap();
    let cache = || Some(Cache::new(home.path().to_owned()));
    filled(&[("s".to_owned(), named(&["one"]))], cache());
    let again = Catalog::new(&[spec("s")], cache(), &PythonNaming);
    assert!(again.resolve("s.one", None).is_ok() && !again.is_stale("s"));
    let mut other = spec("s");
    other.connection =
        Connection::Stdio(StdioSpec { command: "another".into(), ..StdioSpec::default() });
    let changed = Catalog::new(&[other], cache(), &PythonNaming);
    assert!(changed.listing("s").is_none() && changed.is_stale("s"));
    // A file that is broken is as good as none.
    std::fs::write(home.path().join("s.json"), "{").unwrap();
    assert!(Catalog::new(&[spec("s")], cache(), &PythonNaming).listing("s").is_none());
}

#[test]
fn readers_keep_their_snapshot_and_hear_of_changes_once() {
    let catalog = filled(&[("s".to_owned(), named(&["one"]))], None);
    let before = catalog.snapshot();
    let mut version = catalog.version();
    version.mark_unchanged();
    let two = Listing { about: UpstreamInfo::default(), tools: named(&["one", "two"]) };
    catalog.replace(&spec("s"), two.clone());
    assert!(version.has_changed().unwrap());
    version.mark_unchanged();
    catalog.replace(&spec("s"), two);
    assert!(!version.has_changed().unwrap(), "the same again is no change");
    assert_eq!((before.tools().count(), catalog.snapshot().tools().count()), (1, 2));
}
