use super::*;
use crate::safety::SafetySettings;

fn shield() -> Shield {
    let safety = Safety::new(SafetySettings::default(), Arc::new(|| Ok([7; 32]))).unwrap();
    Shield::new(safety, &Principal::new("ada", "home"))
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
