use std::collections::BTreeSet;

use super::*;

fn policy(lines: &[&str]) -> Policy {
    let flows = lines.iter().map(|line| FlowRule::read(line).unwrap()).collect();
    Policy::new(PolicySettings { flows, ..PolicySettings::default() }).unwrap()
}

fn kinds(kinds: &[&str]) -> BTreeSet<String> {
    texts(kinds).into_iter().collect()
}

fn none() -> BTreeSet<String> {
    BTreeSet::new()
}

#[test]
fn what_was_read_does_not_go_where_a_rule_forbids_it() {
    let policy = policy(&["mail.* -> http.*"]);
    let mut flow = Flow::default();
    assert_eq!(policy.flow(&flow, "http", "post", &none()), None);
    flow.read("web", "search", &none());
    assert_eq!(policy.flow(&flow, "http", "post", &none()), None);
    flow.read("mail", "search", &none());
    let found = policy.flow(&flow, "http", "post", &none()).unwrap();
    assert_eq!(
        (found.rule.as_str(), found.from.as_str(), found.action),
        ("mail.* -> http.*", "mail.search", Action::Deny)
    );
    assert!(
        found.why.contains("http.post") && found.why.contains("mail.* -> http.*"),
        "{}",
        found.why
    );
    assert_eq!(policy.flow(&flow, "mail", "send", &none()), None);
    assert_eq!(policy.flow(&flow, "web", "http", &none()), None);
}

#[test]
fn personal_data_counts_when_read_and_when_sent() {
    let policy = policy(&["pii:email, PII:CARD* -> http"]);
    let mut flow = Flow::default();
    assert_eq!(policy.flow(&flow, "http", "post", &kinds(&["PHONE"])), None);
    let sent = policy.flow(&flow, "http", "post", &kinds(&["EMAIL"])).unwrap();
    assert_eq!(sent.from, "pii:EMAIL");
    flow.read("crm", "get", &kinds(&["CARD_NUMBER"]));
    assert_eq!(policy.flow(&flow, "http", "post", &none()).unwrap().from, "pii:CARD_NUMBER");
    assert!(policy.looks_at_kinds() && !super::flows::policy(&["a -> b"]).looks_at_kinds());
}

#[test]
fn a_star_is_every_other_server() {
    let policy = policy(&["* -> http.*"]);
    let mut flow = Flow::default();
    flow.read("http", "get", &none());
    assert_eq!(policy.flow(&flow, "http", "post", &none()), None);
    flow.read("mail", "get", &none());
    assert!(policy.flow(&flow, "http", "post", &none()).is_some());
    // A rule that names the server itself holds within it.
    let own = super::flows::policy(&["http.get -> http.post"]);
    assert!(own.flow(&flow, "http", "post", &none()).is_some());
}

#[test]
fn a_rule_that_denies_goes_before_one_that_asks() {
    let policy = policy(&["mail -> http: confirm", "pii:* -> http"]);
    let mut flow = Flow::default();
    flow.read("mail", "get", &none());
    assert_eq!(policy.flow(&flow, "http", "post", &none()).unwrap().action, Action::Confirm);
    flow.read("mail", "get", &kinds(&["EMAIL"]));
    assert_eq!(policy.flow(&flow, "http", "post", &none()).unwrap().action, Action::Deny);
}

#[test]
fn a_session_remembers_what_its_programs_read() {
    let mut first = Flow::default();
    first.read("mail", "get", &kinds(&["EMAIL"]));
    let kept = serde_json::to_string(&first).unwrap();
    let mut second: Flow = serde_json::from_str(&kept).unwrap();
    assert_eq!(second, first);
    second.read("web", "get", &none());
    let mut third = Flow::default();
    assert!(third.is_empty());
    third.merge(&second);
    assert_eq!(third, second);
    assert_eq!(serde_json::from_str::<Flow>("{}").unwrap(), Flow::default());
}

/// A run that reads from thousands of tools, so that one is forgotten, counts as having read all.
#[test]
fn a_flow_that_is_too_long_to_remember_is_never_forgotten() {
    let policy = policy(&["mail -> http", "pii:EMAIL -> ftp"]);
    let mut flow = Flow::default();
    for n in 0..1_000 {
        flow.read("many", &n.to_string(), &none());
    }
    assert_eq!(policy.flow(&flow, "http", "post", &none()), None);
    let full = flow.clone();
    flow.read("mail", "get", &none());
    let text = serde_json::to_string(&flow).unwrap();
    assert!(text.len() < 100_000, "{}", text.len());
    for flow in [flow, serde_json::from_str(&text).unwrap()] {
        assert!(policy.flow(&flow, "http", "post", &none()).is_some());
        assert!(policy.flow(&flow, "ftp", "put", &none()).is_some());
        let mut other = Flow::default();
        other.merge(&flow);
        assert!(policy.flow(&other, "http", "post", &none()).is_some());
    }
    // The limit also holds for a saved flow that was edited by hand.
    let mut more = serde_json::to_value(&full).unwrap();
    more["tools"].as_array_mut().unwrap().push(serde_json::json!(["z", "z"]));
    let more: Flow = serde_json::from_value(more).unwrap();
    assert!(policy.flow(&more, "http", "post", &none()).is_some());
}

#[test]
fn a_line_that_is_no_rule_is_said_to_be_none() {
    for line in ["mail", "mail ->", "-> http", "a -> b: allow", "a, -> b", "pii: -> b", "a{b} -> c"]
    {
        assert!(FlowRule::read(line).is_err(), "{line}");
    }
    let rule = FlowRule::read(" mail.* ,pii:EMAIL->http.*,ftp : confirm ").unwrap();
    assert_eq!(rule.from, [DataOrigin::Tools("mail.*".into()), DataOrigin::Pii("EMAIL".into())]);
    assert_eq!((rule.to, rule.action), (texts(&["http.*", "ftp"]), Action::Confirm));
}
