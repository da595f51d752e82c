//! Searching the catalog with all tools of `tests/data` in it.
#![allow(clippy::unwrap_used)]

use std::collections::BTreeMap;

use narrows_engine::{
    catalog::PythonNaming,
    search::{Detail, SearchAnswer, SearchRequest, ToolSearch, category_of},
};
use narrows_model::{Connection, ServerSpec, StdioSpec};
use narrows_upstream::catalog::{Catalog, Listing, UpstreamInfo};
use serde_json::{Value, json};

fn spec(name: &str) -> ServerSpec {
    ServerSpec::new(name, Connection::Stdio(StdioSpec::default()))
}

fn filled(servers: &[(String, Vec<Value>)]) -> Catalog {
    let specs: Vec<ServerSpec> = servers.iter().map(|(name, _)| spec(name)).collect();
    let catalog = Catalog::new(&specs, None, &PythonNaming);
    for (spec, (_, tools)) in specs.iter().zip(servers) {
        catalog.replace(spec, Listing { about: UpstreamInfo::default(), tools: tools.clone() });
    }
    catalog
}

fn request(query: &str) -> SearchRequest {
    SearchRequest {
        query: query.into(),
        detail_level: Detail::NameOnly,
        ..SearchRequest::default()
    }
}

struct Searcher {
    catalog: Catalog,
    finder: ToolSearch,
}

impl Searcher {
    fn new(servers: &[(String, Vec<Value>)]) -> Self {
        Self { catalog: filled(servers), finder: ToolSearch::new(BTreeMap::new(), None) }
    }

    fn answer(&self, request: &SearchRequest) -> SearchAnswer {
        self.finder.search(&self.catalog, request, &|_| true, |_| String::new())
    }

    fn find(&self, query: &str) -> Vec<String> {
        let answer = self.answer(&request(query));
        answer.tools().iter().map(|found| format!("{}.{}", found.server, found.name)).collect()
    }
}

#[test]
fn the_right_tool_is_found_and_nothing_for_nonsense() {
    let searcher = Searcher::new(&narrows_testkit::catalog());
    for (query, expected) in [
        ("history of commits", "ledgerline.ll_history"),
        ("create an issue in a repository", "quayside.create_issue"),
        ("open a new ticket in a project", "gridiron.create_ticket"),
        ("take a screenshot of the web page", "lantern_browser.page_screenshot"),
        ("list storage buckets and send a message to a channel", "pelican_chat.post_message"),
        ("current time in Tokyo", "sundial.time_now"),
    ] {
        let found = searcher.find(query);
        assert!(found.iter().take(3).any(|name| name == expected), "{query}: {found:?}");
    }
    for nonsense in ["xyzzyplugh", "asdf qwerty", "blorp frindle"] {
        let answer = searcher.answer(&request(nonsense));
        assert!(answer.tools().is_empty(), "{nonsense}: {answer:?}");
        assert!(answer.text().starts_with("nothing fits"), "{}", answer.text());
    }
}

#[test]
fn a_query_for_several_things_finds_the_tools_of_each() {
    let found = Searcher::new(&narrows_testkit::catalog())
        .find("read the rows of a spreadsheet and create a new contact in the crm");
    assert!(found.iter().any(|name| name.starts_with("abacus_sheets.")), "{found:?}");
    assert!(found.iter().any(|name| name.starts_with("brightleaf_crm.")), "{found:?}");
}

#[test]
fn servers_and_categories_are_listed_by_their_names() {
    let servers = narrows_testkit::catalog();
    let searcher = Searcher::new(&servers);
    let tools = |name: &str| servers.iter().find(|(server, _)| server == name).unwrap().1.len();
    for query in ["quayside", "QuaySide", "quayside tools"] {
        let SearchAnswer::Tools(found) = searcher.answer(&request(query)) else {
            panic!("{query}")
        };
        assert!(found.tools.iter().all(|found| found.server == "quayside"), "{query}");
        assert_eq!(found.total, Some(tools("quayside")), "{query}");
    }
    let SearchAnswer::Tools(found) = searcher.answer(&request("database")) else { panic!() };
    assert!(found.total.unwrap() > 50 && found.tools.len() == 50);
    assert!(found.hint.unwrap().contains("more"));
    let limited = SearchRequest { category: Some("database".into()), ..request("run a query") };
    let answer = searcher.answer(&limited);
    assert!(!answer.tools().is_empty());
    let databases = ["basalt_sql", "cairn", "fathom_warehouse", "pebble_cache"];
    assert!(answer.tools().iter().all(|found| databases.contains(&found.server.as_str())));
    let unknown = SearchRequest { category: Some("databse".into()), ..request("run a query") };
    assert!(searcher.answer(&unknown).text().contains("there is no category \"databse\""));
    let SearchAnswer::Overview(overview) = searcher.answer(&request("  ")) else { panic!() };
    assert_eq!(overview.len(), servers.len());
    assert!(
        overview.iter().any(|one| one.server == "quayside" && one.tools == Some(tools("quayside")))
    );
}

#[test]
fn servers_have_the_category_that_a_person_would_give() {
    let catalog = filled(&narrows_testkit::catalog());
    let snapshot = catalog.snapshot();
    for (server, expected) in [
        ("quayside", "code"),
        ("ledgerline", "code"),
        ("lantern-browser", "browser"),
        ("pantry", "files"),
        ("pelican-chat", "communication"),
        ("brightleaf-crm", "sales"),
        ("beacon", "monitoring"),
        ("magpie", "knowledge"),
        ("sketchbook", "design"),
        ("tallyhouse", "finance"),
        ("basalt-sql", "database"),
        ("trellis", "cloud"),
        ("wayfarer", "maps"),
        ("almanac", "time"),
    ] {
        assert_eq!(category_of(snapshot.server(server).unwrap()), Some(expected), "{server}");
    }
}

#[test]
fn the_index_follows_the_catalog() {
    let tool = |name: &str| json!({"name": name, "inputSchema": {"type": "object"}});
    let servers =
        [("a".to_owned(), vec![tool("send_parcel")]), ("b".to_owned(), vec![tool("pay")])];
    let searcher = Searcher::new(&servers);
    assert_eq!(searcher.find("send parcel"), ["a.send_parcel"]);
    assert!(searcher.find("measure temperature").is_empty());
    let listing =
        Listing { about: UpstreamInfo::default(), tools: vec![tool("measure_temperature")] };
    searcher.catalog.replace(&spec("b"), listing);
    assert_eq!(searcher.find("measure temperature")[0], "b.measure_temperature");
    assert_eq!(searcher.find("send parcel")[0], "a.send_parcel");
    assert!(!searcher.find("pay").contains(&"b.pay".to_owned()));
}
