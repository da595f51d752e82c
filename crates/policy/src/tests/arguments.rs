use std::time::Instant;

use proptest::prelude::*;
use serde_json::json;

use super::*;

/// Tells whether a rule with this matcher fits: first for a rule that denies, then for one that allows.
fn fits(path: &str, matcher: Value, arguments: Value) -> (bool, bool) {
    let arguments = object(arguments);
    let of = |action, other| {
        let mut rule = Rule::new("r", action);
        rule.arguments.insert(path.to_owned(), Matcher::read(&matcher).unwrap());
        let policy = policy(vec![rule, Rule::new("rest", other)]);
        let ask = Ask {
            principal: "agent",
            server: "a",
            tool: "t",
            hints: SILENT,
            arguments: &arguments,
        };
        policy.decide(&ask).rule.as_deref() == Some("r")
    };
    let denies = of(Action::Deny, Action::Allow);
    assert_eq!(denies, of(Action::Confirm, Action::Allow));
    (denies, of(Action::Allow, Action::Deny))
}

#[test]
fn arguments_are_matched_as_they_are_written() {
    const BOTH: (bool, bool) = (true, true);
    const NONE: (bool, bool) = (false, false);
    for (path, matcher, arguments, expected) in [
        ("to", json!("a"), json!({"to": "a"}), BOTH),
        ("to", json!("a"), json!({"to": "ab"}), NONE),
        ("to", json!("a"), json!({}), NONE),
        ("n", json!(5), json!({"n": 5.0}), BOTH),
        // Servers parse numbers in texts.
        ("n", json!(5), json!({"n": "5"}), (true, false)),
        ("to", json!("*@example.com"), json!({"to": "a@example.com"}), BOTH),
        ("to", json!("*@example.com"), json!({"to": "a@example.com.evil"}), NONE),
        ("to", json!("*@example.com"), json!({"to": "x\n@example.com"}), BOTH),
        ("to", json!("a?c"), json!({"to": "aéc"}), BOTH),
        ("to", json!("[a]*"), json!({"to": "[a]b"}), BOTH),
        ("id", json!("12*"), json!({"id": 123}), BOTH),
        ("to", json!({"equals": "*"}), json!({"to": "x"}), NONE),
        ("to", json!({"regex": "evil"}), json!({"to": "an evil one"}), BOTH),
        ("to", json!({"regex": "^evil$"}), json!({"to": "an evil one"}), NONE),
        ("to", json!(["a", "b*"]), json!({"to": "bc"}), BOTH),
        ("n", json!({"above": 5}), json!({"n": 6}), BOTH),
        ("n", json!({"above": 5}), json!({"n": 5}), NONE),
        ("n", json!({"above": 5}), json!({"n": "5000"}), BOTH),
        // A value that cannot be compared is denied, and not allowed.
        ("n", json!({"above": 5}), json!({"n": "many"}), (true, false)),
        ("n", json!({"above": 5, "below": 9}), json!({"n": 7}), BOTH),
        ("n", json!({"above": 5, "below": 9}), json!({"n": 10}), NONE),
        ("to", json!({"present": false}), json!({}), BOTH),
        ("to", json!({"present": false}), json!({"to": null}), BOTH),
        ("to", json!({"present": false}), json!({"to": ""}), NONE),
        ("to", json!({"present": true}), json!({"to": []}), BOTH),
        ("to", json!({"not": "a"}), json!({"to": "b"}), BOTH),
        ("to", json!({"not": "a"}), json!({"to": "a"}), NONE),
        ("to", json!({"not": "a"}), json!({}), NONE),
        ("to", json!({"not": {"present": true}}), json!({}), BOTH),
        ("filter.owner", json!("a"), json!({"filter": {"owner": "a"}}), BOTH),
        ("filter.owner", json!("a"), json!({"filter.owner": "a"}), BOTH),
        ("filter.owner", json!("a"), json!({"filter": {"other": "a"}}), NONE),
        ("items.*.id", json!(1), json!({"items": [{"id": 1}, {"id": 1}]}), BOTH),
        ("items.id", json!(1), json!({"items": [{"id": 1}]}), BOTH),
        ("*.id", json!(1), json!({"a": {"id": 1}}), BOTH),
        ("*", json!("x"), json!({"any": "x"}), BOTH),
        ("to", json!("a"), json!({"to": [["a"]]}), BOTH),
        ("to", json!({"equals": ["a", "b"]}), json!({"to": ["a", "b"]}), BOTH),
        ("to", json!({"equals": ["a", "b"]}), json!({"to": ["a"]}), NONE),
        ("to", json!("a"), json!({"to": []}), NONE),
        ("to", json!({"not": "a"}), json!({"to": []}), NONE),
    ] {
        assert_eq!(
            fits(path, matcher.clone(), arguments.clone()),
            expected,
            "{path} {matcher} {arguments}"
        );
    }
}

/// A foreign recipient is not allowed because of the others in the list.
#[test]
fn one_value_is_enough_to_deny_and_all_are_needed_to_allow() {
    let mixed = json!({"to": ["a@home", "b@evil"], "items": [{"id": 1}, {"id": 2}]});
    assert_eq!(fits("to", json!("*@home"), mixed.clone()), (true, false));
    assert_eq!(fits("to", json!("*@evil"), mixed.clone()), (true, false));
    assert_eq!(fits("to", json!({"not": "*@home"}), mixed.clone()), (true, false));
    assert_eq!(fits("to.*", json!({"not": "*@home"}), mixed.clone()), (true, false));
    assert_eq!(fits("items.*.id", json!(2), mixed.clone()), (true, false));
    assert_eq!(fits("to", json!(["*@home", "*@evil"]), mixed), (true, true));
}

#[test]
fn what_is_no_matcher_is_said_to_be_none() {
    let mut deep = json!("a");
    for _ in 0..100 {
        deep = json!({ "not": deep });
    }
    for (matcher, said) in [
        (json!({}), "empty"),
        (json!([]), "empty"),
        (json!({"regexp": "a"}), "regex"),
        (json!({"regex": "("}), "no regular expression"),
        (json!({"regex": 5}), "takes a text"),
        (json!({"regex": "(a{1000}){1000}"}), "size limit"),
        (json!({"above": "5"}), "takes a number"),
        (json!({"present": 1}), "true or false"),
        (json!(format!("*{}", "a".repeat(1000))), "at most"),
        (deep, "deep"),
    ] {
        let error = Matcher::read(&matcher).unwrap_err();
        assert!(error.contains(said), "{said}: {error}");
    }
}

#[test]
fn hostile_patterns_take_no_longer_than_others() {
    let text = "a".repeat(1 << 20);
    let start = Instant::now();
    for matcher in [
        json!("*a".repeat(200) + "b"),
        json!({"regex": "(a*)*b"}),
        json!({"regex": "(a|aa)+$b"}),
        json!({"regex": "^(a+)+!$"}),
    ] {
        assert_eq!(fits("to", matcher, json!({"to": text})), (false, false));
    }
    // A backtracking matcher takes years; even a busy machine needs only a part of this time.
    assert!(start.elapsed().as_secs() < 300, "{:?}", start.elapsed());
}

fn json_value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::Bool),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        "[a-c*?.]{0,4}".prop_map(Value::String),
        any::<String>().prop_map(Value::String),
    ];
    let key = prop_oneof![
        prop::sample::select(texts(&[
            "not", "equals", "regex", "glob", "above", "below", "present"
        ])),
        "[ab.*]{0,3}",
    ];
    leaf.prop_recursive(6, 40, 4, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::Array),
            prop::collection::vec((key.clone(), inner), 0..4)
                .prop_map(|members| Value::Object(members.into_iter().collect())),
        ]
    })
}

proptest! {
    #[test]
    fn anything_is_a_matcher_or_an_error(matcher in json_value(), arguments in json_value(), path in "[ab*]{1,2}(\\.[ab*]{1,2}){0,3}") {
        if let Ok(matcher) = Matcher::read(&matcher) {
            let mut rule = Rule::new("r", Action::Deny);
            rule.arguments.insert(path, matcher);
            let arguments = object(json!({ "a": arguments }));
            let ask = Ask { principal: "p", server: "s", tool: "t", hints: SILENT, arguments: &arguments };
            policy(vec![rule]).decide(&ask);
        }
    }

    /// For any value, exactly one of a matcher and its opposite fits.
    #[test]
    fn not_is_the_opposite_for_one_value(matcher in "[a-c*?]{1,3}", value in "[a-c]{0,3}") {
        let (fits_it, _) = fits("a", json!(matcher), json!({"a": value}));
        let (fits_not, _) = fits("a", json!({"not": matcher}), json!({"a": value}));
        prop_assert_ne!(fits_it, fits_not);
    }
}
