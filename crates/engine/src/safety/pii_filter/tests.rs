use super::*;
use crate::safety::SafetySettings;

fn pii_filter() -> PiiFilter {
    let safety = Safety::new(SafetySettings::default(), Arc::new(|| Ok([7; 32]))).unwrap();
    PiiFilter::new(safety, &Principal::new("ada", "home"))
}

#[test]
fn a_value_that_one_agent_sent_is_hidden_from_another_by_a_token_of_its_own() {
    let ada = pii_filter();
    let bob = PiiFilter::new(Arc::clone(&ada.safety), &Principal::new("bob", "home"));
    let sent = Echo { kind: "NAME".to_owned(), value: "Lovelace".to_owned(), form: Form::Text };
    ada.safety.returned_values.add("home", sent);
    let told = [&ada, &bob].map(|pii_filter| pii_filter.text("7Lovelace7").into_owned());
    assert!(told.iter().all(|text| text.starts_with("7[NAME_")), "{told:?}");
    assert_ne!(told[0], told[1]);
}
