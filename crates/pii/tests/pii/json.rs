//! JSON of any nesting, with its keys as context.

use narrows_pii::{reveal_json, tokens_in};
use serde_json::{Value, json};

use crate::vault::{Vault, scanner};

/// Returns the kinds of the tokens in a protected value, in order.
fn kinds(value: Value) -> Vec<String> {
    let mut vault = Vault::new();
    let mut protected = value.clone();
    let changed = scanner().protect_json(&mut protected, &mut vault);
    assert_eq!(changed, protected != value);
    let text = protected.to_string();
    let kinds = tokens_in(&text).map(|token| token.kind.to_owned()).collect();
    reveal_json(&mut protected, &mut |token| vault.lookup(token));
    assert_eq!(protected.to_string(), value.to_string());
    kinds
}

#[test]
fn keys_give_context_through_arrays_and_objects() {
    assert_eq!(kinds(json!({"phones": ["2125550147", "2125550148"]})), ["PHONE", "PHONE"]);
    assert_eq!(kinds(json!({"phone": {"number": "2125550147"}})), ["PHONE"]);
    assert_eq!(kinds(json!({"type": "phone", "value": "2125550147"})), ["PHONE"]);
    assert_eq!(kinds(json!({"name": {"first": "Ada", "last": "Lovelace"}})), ["PERSON", "PERSON"]);
    assert_eq!(kinds(json!({"value": "2125550147", "order": "2125550147"})), Vec::<String>::new());
}

#[test]
fn a_name_is_that_of_a_person_among_personal_data() {
    assert_eq!(
        kinds(json!({"name": "Zorblax Quux", "email": "z@example.com"})),
        ["PERSON", "EMAIL"]
    );
    assert_eq!(kinds(json!({"name": "Zorblax Quux", "size": 3})), Vec::<String>::new());
    assert_eq!(kinds(json!({"name": "list_issues", "email": "z@example.com"})), ["EMAIL"]);
}

#[test]
fn numbers_become_tokens_and_come_back_as_numbers() {
    assert_eq!(kinds(json!({"card": 4111111111111111_u64})), ["CREDIT_CARD"]);
    assert_eq!(kinds(json!({"card": 4111111111111111.0})), ["CREDIT_CARD"]);
    assert_eq!(kinds(json!({"phone": 12125550147_u64})), ["PHONE"]);
    assert_eq!(kinds(json!({"ssn": 78051120})), Vec::<String>::new());
    assert_eq!(kinds(json!({"ssn": 123456789})), ["US_SSN"]);
    assert_eq!(
        kinds(json!({"id": 2125550147_u64, "price": 4111111111111111.5, "phone": 2125550147.5})),
        Vec::<String>::new()
    );
}

#[test]
fn a_number_and_the_same_digits_as_text_have_different_tokens() {
    let mut vault = Vault::new();
    let mut value = json!([{"card": 4111111111111111_u64}, {"card": "4111111111111111"}]);
    scanner().protect_json(&mut value, &mut vault);
    assert_ne!(value[0]["card"], value[1]["card"]);
    reveal_json(&mut value, &mut |token| vault.lookup(token));
    assert!(value[0]["card"].is_u64() && value[1]["card"].is_string());
}

#[test]
fn keys_are_protected_too_and_keep_their_order() {
    let value = json!({"b": 1, "ada@example.com": {"x": 1}, "a": 2});
    let mut protected = value.clone();
    assert!(scanner().protect_json(&mut protected, &mut Vault::new()));
    let keys: Vec<_> = protected.as_object().unwrap().keys().cloned().collect();
    assert_eq!((keys[0].as_str(), keys[2].as_str()), ("b", "a"));
    assert!(keys[1].starts_with("[EMAIL_"), "{}", keys[1]);
    assert_eq!(kinds(value), ["EMAIL"]);
}

#[test]
fn json_inside_of_text_is_read_as_such() {
    let inner = json!({"phone": "2125550147", "order_id": "2125550147"}).to_string();
    assert_eq!(kinds(json!({"content": [{"type": "text", "text": inner}]})), ["PHONE"]);
}

#[test]
fn a_tool_definition_is_not_personal() {
    let tool = json!({"name": "send_mail", "description": "Sends an email to a person.",
        "inputSchema": {"type": "object", "required": ["email", "phone"], "properties": {
            "email": {"type": "string", "description": "Email address"},
            "phone": {"type": "string", "pattern": "^[0-9]{10}$"},
            "password": {"type": "string", "default": ""},
            "first_name": {"type": "string"}}}});
    assert_eq!(kinds(tool), Vec::<String>::new());
}

#[test]
fn unknown_tokens_stay_as_they_are() {
    let mut value = json!({"[EMAIL_abcdefghijkl]": "x [PHONE_abcdefghijkl] y"});
    let before = value.clone();
    assert!(!reveal_json(&mut value, &mut |_| None));
    assert_eq!(value, before);
}
