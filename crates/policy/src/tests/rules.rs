use proptest::prelude::*;
use serde_json::json;

use super::*;

#[test]
fn what_no_rule_fits_is_allowed_unless_it_destroys() {
    let policy = policy(Vec::new());
    assert_eq!(decide(&policy, "a", "t", SILENT).action, Action::Allow);
    assert_eq!(decide(&policy, "a", "t", READS).action, Action::Allow);
    let asked = decide(&policy, "a", "t", DESTROYS);
    assert_eq!((asked.action, &asked.rule), (Action::Confirm, &None));
    assert_eq!(asked.reason(), Reason::Destructive);
    assert!(asked.why.contains("approve"), "{}", asked.why);
    let strict = PolicySettings { destructive: Action::Deny, ..PolicySettings::default() };
    let strict = Policy::new(strict).unwrap();
    assert_eq!(decide(&strict, "a", "t", DESTROYS).action, Action::Deny);
    assert!(strict.hides("agent", "a", "t", DESTROYS));
    assert!(!strict.hides("agent", "a", "t", SILENT));
}

#[test]
fn the_first_rule_that_fits_decides_and_says_so() {
    let mut rules = vec![
        Rule::new("drafts are fine", Action::Allow),
        Rule::new("no mail", Action::Deny),
        Rule::new("ask", Action::Confirm),
    ];
    rules[0].tools = texts(&["mail.draft_*"]);
    rules[1].tools = texts(&["mail"]);
    rules[1].why = Some("nobody wants it".to_owned());
    let policy = policy(rules);
    let of = |server, tool| decide(&policy, server, tool, SILENT);
    assert_eq!(of("mail", "draft_new").action, Action::Allow);
    assert!(of("mail", "draft_new").named && !of("web", "get").named);
    assert_eq!(of("web", "get").rule.as_deref(), Some("ask"));
    let denied = of("mail", "send");
    assert_eq!((denied.action, denied.rule.as_deref()), (Action::Deny, Some("no mail")));
    assert_eq!(
        denied.why,
        "mail.send was not called: the rule \"no mail\" denies it (nobody wants it); use another tool, or ask whoever runs the gateway"
    );
}

#[test]
fn patterns_of_tools_fit_every_spelling() {
    for (pattern, fits, others) in [
        ("mail", vec![("mail", "send"), ("Mail", "x")], vec![("mailer", "send"), ("web", "mail")]),
        ("mail.*", vec![("mail", "send"), ("mail", "a.b")], vec![("webmail", "send")]),
        ("*", vec![("a", "b")], vec![]),
        (
            "*.delete*",
            vec![("a", "delete_x"), ("b", "DELETE")],
            vec![("a", "undelete"), ("delete", "a")],
        ),
        ("*delete*", vec![("a", "delete_x"), ("deleter", "x")], vec![("a", "remove")]),
        (
            "git-hub.create-issue",
            vec![("git-hub", "create-issue"), ("git_hub", "create_issue")],
            vec![],
        ),
        (
            "git_hub.create_issue",
            vec![("git-hub", "create-issue"), ("git-hub", "create.issue")],
            vec![("github", "create_issue")],
        ),
        ("a.b.c", vec![("a", "b.c"), ("a.b", "c")], vec![("a", "b")]),
        ("a.b_c", vec![("a", "b.c"), ("a", "b/c")], vec![("a", "bc")]),
        ("a.?", vec![("a", "é"), ("a", "x")], vec![("a", "xy"), ("a", "")]),
        ("a.(x|y)+", vec![("a", "(x|y)+")], vec![("a", "x")]),
    ] {
        let mut rule = Rule::new("r", Action::Deny);
        rule.tools = texts(&[pattern]);
        let policy = policy(vec![rule]);
        for (server, tool) in fits {
            assert_eq!(
                decide(&policy, server, tool, SILENT).action,
                Action::Deny,
                "{pattern} {server}.{tool}"
            );
            assert!(policy.hides("agent", server, tool, SILENT));
        }
        for (server, tool) in others {
            assert_eq!(
                decide(&policy, server, tool, SILENT).action,
                Action::Allow,
                "{pattern} {server}.{tool}"
            );
        }
    }
}

#[test]
fn a_tool_that_does_not_say_that_it_reads_counts_as_one_that_writes() {
    let of = |annotations| Hints::of(&json!({"name": "t", "annotations": annotations}));
    assert!(!of(json!({"readOnlyHint": true})).writes());
    for annotations in
        [json!(null), json!({}), json!({"readOnlyHint": false}), json!({"readOnlyHint": "true"})]
    {
        assert!(of(annotations.clone()).writes(), "{annotations}");
    }
    assert!(Hints::of(&json!({})).writes());
    let mut writes = Rule::new("no writes", Action::Deny);
    writes.read_only = Some(false);
    let mut destroys = Rule::new("harmless", Action::Allow);
    destroys.destructive = Some(false);
    let policy = policy(vec![writes, destroys]);
    assert_eq!(decide(&policy, "a", "t", SILENT).action, Action::Deny);
    assert_eq!(decide(&policy, "a", "t", READS).rule.as_deref(), Some("harmless"));
}

#[test]
fn principals_are_held_against_patterns_letter_by_letter() {
    let mut rule = Rule::new("r", Action::Deny);
    rule.principals = texts(&["team-*", "bob"]);
    let policy = policy(vec![rule]);
    let arguments = Map::new();
    let of = |principal| {
        let ask = Ask { principal, server: "a", tool: "t", hints: SILENT, arguments: &arguments };
        policy.decide(&ask).action
    };
    for principal in ["team-a", "team-", "bob"] {
        assert_eq!(of(principal), Action::Deny, "{principal}");
    }
    for principal in ["Bob", "team_a", "bobby", ""] {
        assert_eq!(of(principal), Action::Allow, "{principal}");
    }
}

#[test]
fn a_tool_is_hidden_only_if_no_arguments_would_let_it_be_called() {
    let rule = |name: &str, action, arguments: bool| {
        let mut rule = Rule::new(name, action);
        if arguments {
            rule.arguments.insert("to".into(), Matcher::read(&json!("a")).unwrap());
        }
        rule
    };
    use Action::{Allow, Confirm, Deny};
    for (rules, hidden) in [
        (vec![rule("1", Deny, false)], true),
        (vec![rule("1", Deny, true)], false),
        (vec![rule("1", Deny, true), rule("2", Deny, false)], true),
        (vec![rule("1", Allow, true), rule("2", Deny, false)], false),
        (vec![rule("1", Confirm, true), rule("2", Deny, false)], false),
        (vec![rule("1", Confirm, false)], false),
    ] {
        let names: Vec<_> = rules.iter().map(|rule| rule.action).collect();
        assert_eq!(policy(rules).hides("agent", "a", "t", SILENT), hidden, "{names:?}");
    }
}

#[test]
fn a_wrong_rule_is_named_with_what_is_wrong() {
    let wrong = |change: fn(&mut PolicySettings)| {
        let mut settings = PolicySettings {
            rules: vec![Rule::new("r", Action::Deny)],
            ..PolicySettings::default()
        };
        change(&mut settings);
        Policy::new(settings).unwrap_err().to_string()
    };
    for (said, change) in [
        (
            "\"r\"",
            (|settings| settings.rules[0].tools = texts(&["a.{b,c}"])) as fn(&mut PolicySettings),
        ),
        ("cannot be empty", |settings| settings.rules[0].tools = texts(&[""])),
        ("at most", |settings| settings.rules[0].tools = vec!["x".repeat(10_000)]),
        ("no path", |settings| {
            _ = settings.rules[0].arguments.insert("a..b".into(), Matcher::Present(true))
        }),
        ("no name", |settings| settings.rules[0].name = " ".to_owned()),
        ("two rules", |settings| settings.rules.push(Rule::new("r", Action::Allow))),
        ("denies or confirms", |settings| {
            settings
                .flows
                .push(FlowRule { action: Action::Allow, ..FlowRule::read("a -> b").unwrap() });
        }),
        ("from where", |settings| {
            settings.flows.push(FlowRule { to: Vec::new(), ..FlowRule::read("a -> b").unwrap() });
        }),
        ("reveal", |settings| {
            settings.reveal.push(RevealRule { tools: texts(&["[a]"]), kinds: vec![], allow: true });
        }),
        ("\"q\"", |settings| {
            let principals = texts(&[""]);
            settings.quotas.push(Quota { name: "q".into(), principals, ..Quota::default() });
        }),
    ] {
        let error = wrong(change);
        assert!(error.contains(said), "{said}: {error}");
    }
}

#[test]
fn tools_get_only_the_kinds_that_they_may_have() {
    let reveal = |tools: &[&str], kinds: &[&str], allow| RevealRule {
        tools: texts(tools),
        kinds: texts(kinds),
        allow,
    };
    let policy = Policy::new(PolicySettings {
        reveal: vec![
            reveal(&["mail.*"], &["EMAIL"], true),
            reveal(&["mail.*", "http"], &[], false),
            reveal(&[], &["card*"], false),
        ],
        ..PolicySettings::default()
    })
    .unwrap();
    for (server, kind, may) in [
        ("mail", "EMAIL", true),
        ("mail", "PHONE", false),
        ("http", "EMAIL", false),
        ("crm", "EMAIL", true),
        ("crm", "CARD_NUMBER", false),
    ] {
        assert_eq!(policy.may_have(server, "t", kind), may, "{server} {kind}");
    }
}

fn action() -> impl Strategy<Value = Action> {
    prop::sample::select(vec![Action::Allow, Action::Deny, Action::Confirm])
}

fn hints() -> impl Strategy<Value = Hints> {
    (any::<Option<bool>>(), any::<Option<bool>>())
        .prop_map(|(read_only, destructive)| Hints { read_only, destructive })
}

fn rule() -> impl Strategy<Value = Rule> {
    let globs = prop::collection::vec("[ab*?.]{1,4}", 0..3);
    let arguments = prop::collection::btree_map("[xy]", "[ab*]{0,2}", 0..2);
    (globs.clone(), globs, any::<Option<bool>>(), any::<Option<bool>>(), arguments, action())
        .prop_map(|(principals, tools, read_only, destructive, arguments, action)| Rule {
            principals,
            tools,
            read_only,
            destructive,
            arguments: arguments
                .into_iter()
                .map(|(path, text)| (path, Matcher::read(&json!(text)).unwrap()))
                .collect(),
            ..Rule::new("", action)
        })
}

proptest! {
    /// The same decision found in another way: of the rules that fit alone, the first one.
    #[test]
    fn random_rules_decide_as_they_are_written(
        mut rules in prop::collection::vec(rule(), 0..6),
        hints in hints(),
        (principal, server, tool) in ("[ab]{1,2}", "[ab]{1,2}", "[ab]{1,2}"),
        arguments in prop::collection::btree_map("[xy]", "[ab]{0,2}", 0..3),
    ) {
        rules.iter_mut().enumerate().for_each(|(n, rule)| rule.name = n.to_string());
        let arguments: Map<String, Value> =
            arguments.into_iter().map(|(name, text)| (name, Value::String(text))).collect();
        let decided = |rules: &[Rule]| {
            let ask = Ask { principal: &principal, server: &server, tool: &tool, hints, arguments: &arguments };
            policy(rules.to_vec()).decide(&ask)
        };
        let alone = |rule: &Rule| decided(std::slice::from_ref(rule)).rule.is_some();
        let expected = rules.iter().find(|rule| alone(rule));
        let all = decided(&rules);
        prop_assert_eq!(all.rule.as_ref(), expected.map(|rule| &rule.name));
        let by_default = if hints.destroys() { Action::Confirm } else { Action::Allow };
        prop_assert_eq!(all.action, expected.map_or(by_default, |rule| rule.action));
        // A hidden tool cannot be called with any arguments.
        if policy(rules).hides(&principal, &server, &tool, hints) {
            prop_assert_eq!(all.action, Action::Deny);
        }
        prop_assert_eq!(all.why.is_empty(), all.action == Action::Allow);
    }

    #[test]
    fn any_text_is_a_pattern_or_an_error(text in any::<String>(), name in any::<String>()) {
        let mut rule = Rule::new("r", Action::Deny);
        rule.tools = vec![text.clone()];
        rule.principals = vec![text.clone()];
        let settings = PolicySettings { rules: vec![rule], ..PolicySettings::default() };
        if let Ok(policy) = Policy::new(settings) {
            decide(&policy, &name, &text, SILENT);
        }
        // A pattern without wildcards fits itself.
        if let Ok(pattern) = Pattern::glob(&text) {
            prop_assert!(pattern.fits(&text));
        }
    }
}
