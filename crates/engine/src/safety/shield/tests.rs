use rmcp::model::ElicitRequestParams;
use serde_json::json;

use super::*;
use crate::safety::SafetySettings;

fn shield() -> Shield {
    let safety = Safety::new(SafetySettings::default(), Arc::new(|| Ok([7; 32]))).unwrap();
    Shield::new(safety, &Principal::new("ada", "home"))
}

fn question(property: &Value) -> ElicitRequestParams {
    let question = json!({
        "mode": "form",
        "message": "Write to ada@example.com?",
        "requestedSchema": { "type": "object", "properties": { "card": property } },
    });
    serde_json::from_value(question).unwrap()
}

#[test]
fn what_has_no_place_for_a_token_is_withheld() {
    let shield = shield();
    let number = json!({ "type": "integer", "default": 4_111_111_111_111_111_u64 });
    shield.whole(&question(&number)).unwrap_err();
    let small = json!({ "type": "integer", "default": 4 });
    let told = serde_json::to_string(&shield.whole(&question(&small)).unwrap()).unwrap();
    assert!(told.contains("Write to [EMAIL_") && !told.contains("ada@"), "{told}");
}

#[test]
fn an_answer_with_no_place_for_a_token_is_withheld() {
    let shield = shield();
    let echo = |value: &str| Echo {
        kind: "NAME".to_owned(),
        value: value.to_owned(),
        form: Form::Text,
    };
    shield.safety.echoes.add("home", echo("assistant"));
    shield.safety.echoes.add("home", echo("Lovelace"));
    let answer = json!({ "content": [{
        "type": "text",
        "text": "LOVELACE",
        "annotations": { "audience": ["assistant"] },
    }] });
    let mut answer: CallToolResult = serde_json::from_value(answer).unwrap();
    shield.answer(&mut answer);
    let told = serde_json::to_string(&answer).unwrap();
    assert!(told.contains("withheld") && !told.contains("LOVELACE"), "{told}");
}

#[test]
fn a_value_that_one_agent_sent_is_hidden_from_another_by_a_token_of_its_own() {
    let ada = shield();
    let bob = Shield::new(Arc::clone(&ada.safety), &Principal::new("bob", "home"));
    let sent = Echo { kind: "NAME".to_owned(), value: "Lovelace".to_owned(), form: Form::Text };
    ada.safety.echoes.add("home", sent);
    let told = [&ada, &bob].map(|shield| shield.text("7Lovelace7").into_owned());
    assert!(told.iter().all(|text| text.starts_with("7[NAME_")), "{told:?}");
    assert_ne!(told[0], told[1]);
}
