use std::{fmt::Debug, sync::Arc};

use narrows_model::Principal;
use narrows_pii::Form;
use rmcp::model::{
    CompleteResult, CreateMessageRequestParams, ElicitRequestParams, GetPromptResult,
    InputRequiredResult, ReadResourceResult,
};
use serde_json::json;

use super::*;
use crate::safety::{Safety, SafetySettings, returned_values::Echo};

const VALUE: &str = "ada@example.com";

fn safety(mode: Mode) -> Arc<Safety> {
    let settings = SafetySettings { mode, ..SafetySettings::default() };
    Safety::new(settings, Arc::new(|| Ok([7; 32]))).unwrap()
}

fn pii_filter(mode: Mode) -> PiiFilter {
    PiiFilter::new(safety(mode), &Principal::new("ada", "home"))
}

fn encoded(text: &str) -> String {
    BASE64_STANDARD.encode(text)
}

/// Returns what a client gets of a message, with the texts of its bytes.
#[track_caller]
fn told<T: DeserializeOwned + Serialize + Debug>(
    message: Value,
    protect: impl FnOnce(T) -> T,
) -> String {
    let message: T = serde_json::from_value(message).unwrap();
    let mut value = serde_json::to_value(protect(message)).unwrap();
    let mut taken = Vec::new();
    take_bytes(&mut value, &mut Vec::new(), &mut taken);
    let bytes = taken.iter().map(|taken| decoded(&taken.data).unwrap_or_default());
    let bytes = bytes.map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
    value.to_string() + &bytes.collect::<String>()
}

/// Says it in every field of which a message has one, and looks for it where it arrives.
#[track_caller]
fn is_hidden<T: Clone + DeserializeOwned + Serialize + Debug>(places: usize, message: Value) {
    let off = pii_filter(Mode::Off);
    let seen = told::<T>(message.clone(), |message| off.whole(&message).unwrap());
    assert_eq!(seen.matches(VALUE).count(), places, "{seen}");
    for mode in [Mode::Boundary, Mode::Strict] {
        let pii_filter = pii_filter(mode);
        let seen = told::<T>(message.clone(), |message| pii_filter.whole(&message).unwrap());
        assert!(!seen.contains("ada@"), "{seen}");
        assert_eq!(seen.matches("[EMAIL_").count(), places, "{seen}");
    }
}

#[test]
fn nothing_of_a_result_is_forgotten() {
    is_hidden::<CallToolResult>(
        12,
        json!({
            "content": [
                {"type": "text", "text": VALUE, "_meta": {"by": VALUE}},
                {"type": "text", "text": json!({"inner": json!({"mail": VALUE}).to_string()}).to_string()},
                {"type": "image", "data": encoded(VALUE), "mimeType": format!("image/png; by={VALUE}")},
                {"type": "audio", "data": encoded("x"), "mimeType": "audio/wav", "_meta": {"by": VALUE}},
                {"type": "resource", "resource": {"uri": format!("file:///{VALUE}"),
                    "mimeType": format!("a/{VALUE}"), "blob": encoded(VALUE)}},
                {"type": "resource_link", "uri": "a:b", "name": VALUE},
            ],
            "structuredContent": {"data": VALUE},
            "_meta": {"blob": VALUE},
        }),
    );
}

#[test]
fn nothing_of_resources_prompts_completions_and_questions_is_forgotten() {
    is_hidden::<ReadResourceResult>(
        5,
        json!({
            "contents": [
                {"uri": format!("a:{VALUE}"), "mimeType": format!("text/plain; by={VALUE}"),
                    "text": VALUE, "_meta": {"by": VALUE}},
                {"uri": "a:c", "blob": encoded(VALUE)},
            ],
        }),
    );
    is_hidden::<GetPromptResult>(
        5,
        json!({
            "description": VALUE,
            "messages": [
                {"role": "user", "content": {"type": "text", "text": VALUE}},
                {"role": "user", "content": {"type": "image", "data": encoded(VALUE),
                    "mimeType": "image/png"}},
                {"role": "user", "content": {"type": "resource", "resource":
                    {"uri": "a:b", "blob": encoded(VALUE)}}},
            ],
            "_meta": {"by": VALUE},
        }),
    );
    is_hidden::<CompleteResult>(1, json!({"completion": {"values": [VALUE]}}));
    is_hidden::<CreateMessageRequestParams>(
        5,
        json!({
            "messages": [{"role": "user", "content": {"type": "text", "text": VALUE}}],
            "modelPreferences": {"hints": [{"name": VALUE}]},
            "systemPrompt": VALUE,
            "maxTokens": 5,
            "stopSequences": [VALUE],
            "metadata": {"by": VALUE},
        }),
    );
}

#[test]
fn a_logger_is_no_place_to_hide_a_value() {
    let message = json!({"level": "info", "logger": VALUE, "data": {"data": VALUE}});
    let pii_filter = pii_filter(Mode::Boundary);
    let seen = told::<LoggingMessageNotificationParam>(message, |message| pii_filter.log(message));
    assert!(!seen.contains("ada@") && seen.matches("[EMAIL_").count() == 2, "{seen}");
}

#[test]
fn what_goes_back_to_a_server_as_it_is_stays_so_and_the_rest_is_protected() {
    let asks = json!({"resultType": "input_required", "requestState": VALUE, "inputRequests": {
        "q": {"method": "elicitation/create", "params": {"mode": "form", "message": VALUE,
            "requestedSchema": {"type": "object", "properties": {}}}}}});
    let asks: InputRequiredResult = serde_json::from_value(asks).unwrap();
    let result = pii_filter(Mode::Boundary).server_result(ServerResult::InputRequiredResult(asks));
    let Ok(ServerResult::InputRequiredResult(asks)) = result else { panic!("{result:?}") };
    assert_eq!(asks.request_state.as_deref(), Some(VALUE));
    let questions = json!(asks.input_requests).to_string();
    assert!(questions.contains("[EMAIL_") && !questions.contains(VALUE), "{questions}");
}

#[test]
fn a_result_that_nobody_knows_is_looked_at_too() {
    let unknown = ServerResult::CustomResult(CustomResult(json!({"new": {VALUE: [VALUE]}})));
    let told = json!(pii_filter(Mode::Boundary).server_result(unknown).unwrap()).to_string();
    assert!(told.matches("[EMAIL_").count() == 2 && !told.contains(VALUE), "{told}");
}

#[test]
fn text_is_found_in_bytes_however_their_base64_is_written() {
    let text = format!("{} {VALUE} ???>>>", "x".repeat(60));
    let standard = encoded(&text);
    let (start, end) = standard.split_at(76);
    let url = standard.replace('+', "-").replace('/', "_");
    let unpadded = standard.trim_end_matches('=').to_owned();
    assert_ne!(url, standard);
    for data in [standard.clone(), format!("{start}\r\n{end}\n"), url, unpadded] {
        for message in [
            json!({"content": [{"type": "image", "data": data, "mimeType": "image/png"}]}),
            json!({"content": [{"type": "resource", "resource": {"uri": "a:b", "blob": data}}]}),
        ] {
            is_hidden::<CallToolResult>(1, message);
        }
    }
}

/// Text stays text, in whatever encoding it is, even if its MIME type says that it is an image.
#[test]
fn text_that_is_called_an_image_is_withheld_or_protected() {
    let text = format!("write to {VALUE} today");
    let wide: Vec<u8> = text.encode_utf16().flat_map(u16::to_le_bytes).collect();
    let marked = [&b"\xff\xfe"[..], &wide].concat();
    let big: Vec<u8> = text.encode_utf16().flat_map(u16::to_be_bytes).collect();
    let zero = format!("{text}\0").into_bytes();
    for bytes in [wide, marked, big, zero] {
        for (kind, mime_type) in [("image", "image/png"), ("audio", "audio/wav")] {
            let block = json!({"type": kind, "data": BASE64_STANDARD.encode(&bytes), "mimeType": mime_type});
            let answer = |mode| {
                let message = json!({"content": [block]});
                let mut result: CallToolResult = serde_json::from_value(message).unwrap();
                pii_filter(mode).answer(&mut result);
                let data = json!(result)["content"][0]["data"].as_str().unwrap().to_owned();
                decoded(&data).unwrap()
            };
            assert_eq!(answer(Mode::Strict), b"withheld: pii mode is strict");
            let narrow: Vec<u8> =
                answer(Mode::Boundary).into_iter().filter(|byte| *byte != 0).collect();
            let narrow = String::from_utf8_lossy(&narrow).into_owned();
            assert!(narrow.contains("[EMAIL_") && !narrow.contains("ada@"), "{narrow}");
            assert_eq!(answer(Mode::Off), bytes);
        }
    }
}

/// The positive control: images stay images, and bytes without personal data are not changed.
#[test]
fn what_has_nothing_personal_in_it_stays_as_it_was_written() {
    let image = BASE64_STANDARD.encode([0x89, b'P', b'N', b'G', 0, 1, 2, 0xff]);
    let message = json!({
        "content": [
            {"type": "text", "text": "{ \"a\":  1.50 }"},
            {"type": "image", "data": image, "mimeType": "image/png"},
            {"type": "resource", "resource": {"uri": "a:b", "blob": "aGVs\nbG8="}},
        ],
        "structuredContent": {"type": "image", "number": 4.5},
        "isError": false,
    });
    for mode in [Mode::Boundary, Mode::Strict] {
        let mut result: CallToolResult = serde_json::from_value(message.clone()).unwrap();
        pii_filter(mode).result(&mut result);
        assert_eq!(serde_json::to_value(&result).unwrap(), message);
    }
}

#[test]
fn a_value_that_is_called_an_image_is_none() {
    let key = "AKIAIOSFODNN7EXAMPLE";
    let message = json!({"content": [{"type": "image", "data": key, "mimeType": "image/png"}],
        "structuredContent": {"type": "image", "data": VALUE}});
    let mut result: CallToolResult = serde_json::from_value(message).unwrap();
    pii_filter(Mode::Boundary).result(&mut result);
    let told = json!(result).to_string();
    assert!(!told.contains(key) && !told.contains(VALUE), "{told}");
}

fn echo(value: &str) -> Echo {
    Echo { kind: "NAME".to_owned(), value: value.to_owned(), form: Form::Text }
}

/// Only the bytes of images and blobs are not text; other fields with the same name are.
#[test]
fn a_field_called_data_is_looked_at_for_what_tools_were_given() {
    let safety = safety(Mode::Strict);
    safety.returned_values.add("home", echo("Lovelace"));
    let pii_filter = PiiFilter::new(safety, &Principal::new("ada", "home"));
    let message = json!({"content": [{"type": "text", "text": "x"}],
        "structuredContent": {"data": "7LOVELACE7", "blob": "ecalevoL"}});
    let mut result: CallToolResult = serde_json::from_value(message).unwrap();
    pii_filter.answer(&mut result);
    let structure = result.structured_content.unwrap();
    assert!(structure["data"].as_str().unwrap().starts_with("7[NAME_"), "{structure}");
    assert!(structure["blob"].as_str().unwrap().starts_with("[NAME_"), "{structure}");
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
    let pii_filter = pii_filter(Mode::Boundary);
    let number = json!({ "type": "integer", "default": 4_111_111_111_111_111_u64 });
    pii_filter.whole(&question(&number)).unwrap_err();
    let small = json!({ "type": "integer", "default": 4 });
    let told = serde_json::to_string(&pii_filter.whole(&question(&small)).unwrap()).unwrap();
    assert!(told.contains("Write to [EMAIL_") && !told.contains("ada@"), "{told}");
}

#[test]
fn an_answer_with_no_place_for_a_token_is_withheld() {
    let safety = safety(Mode::Boundary);
    safety.returned_values.add("home", echo("assistant"));
    safety.returned_values.add("home", echo("Lovelace"));
    let pii_filter = PiiFilter::new(safety, &Principal::new("ada", "home"));
    let answer = json!({ "content": [{
        "type": "text",
        "text": "LOVELACE",
        "annotations": { "audience": ["assistant"] },
    }] });
    let mut answer: CallToolResult = serde_json::from_value(answer).unwrap();
    pii_filter.answer(&mut answer);
    let told = serde_json::to_string(&answer).unwrap();
    assert!(told.contains("withheld") && !told.contains("LOVELACE"), "{told}");
}
