//! What a model is really given: real clients with a model that follows a script. Clients differ in
//! what they hand on of an answer (docs/TOKENS.md says how); what matters has to reach every model.
#![cfg(unix)]

use std::{collections::BTreeMap, sync::OnceLock};

use serde_json::Value;

use crate::support::{
    office::{CARD, CUSTOMER, PHONE, token},
    real::{Site, repository, stdio},
    scripted::{Call, Conversation, Given, ModelClient, Script},
};

/// After a failure comes a success: Pydantic AI gives up when a tool fails twice in a row. What is looked
/// for in an answer is not in the program's own text, of which a traceback shows lines.
const SCRIPT: Script = &[
    ("search", Call::Search("echo a text")),
    (
        "fenced",
        Call::Program("```python\nprint('printed-once')\nresult = {'a': 'given-once'}\n```"),
    ),
    ("misspelt", Call::Program("from servers.good import ecko\nresult = await ecko(text='a')")),
    ("image", Call::Program(IMAGE)),
    ("failing", Call::Program(FAILING)),
    (
        "customer",
        Call::Program("from servers.crm import get_customer\nprint(await get_customer(id=7))"),
    ),
    ("failing_tool", Call::Program("from servers.good import fail\nresult = await fail()")),
    ("long_output", Call::Program(LONG_OUTPUT)),
    ("long_failure", Call::Program(LONG_FAILURE)),
    ("long_result", Call::Program("result = [f'row {n:07} ' + 'x' * 40 for n in range(100_000)]")),
    // More than clients hand on, and less than a result may have.
    ("large_result", Call::Program("result = [f'row {n:07} ' + 'x' * 40 for n in range(4_000)]")),
];
const IMAGE: &str =
    "from servers.good import image\ndisplay(await image())\nresult = 'shown-' + 'once'";
const FAILING: &str =
    "print('printed-once')\ndef inner():\n    raise ValueError('the ' + 'reason')\ninner()";
/// More than 5 MB, in more lines than any client hands on.
const LONG_OUTPUT: &str = "print('\\n'.join(f'row {n:07} ' + 'x' * 40 for n in range(100_000)))";
const LONG_FAILURE: &str = "print('\\n'.join(f'row {n:07} ' + 'x' * 40 for n in range(100_000)))\n\
                            raise ValueError('the ' + 'reason')";
const ROWS: usize = 100_000;
const LARGE_RESULT_ROWS: usize = 4_000;
const TRACEBACK: &str = "Traceback (most recent call last)";
/// What `tests/servers/misbehave.py` shows.
const PIXEL: &str =
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAIAAACQd1PeAAAADElEQVR4nGP4z8AAAAMBAQDJ/pLvAAAAAElFTkSuQmCC";

/// One for each client: a client takes seconds to start.
fn conversation(client: ModelClient) -> Option<&'static Conversation> {
    static CONVERSATIONS: [OnceLock<Option<Conversation>>; 5] = [const { OnceLock::new() }; 5];
    let hold = || {
        let site = Site::new()?;
        let server = |name: &str, script: &str, argument: &str| {
            let script = repository().join("tests/servers").join(script);
            stdio(name, "python3", &[script.to_str().unwrap(), argument])
        };
        let servers = [server("good", "misbehave.py", "good"), server("crm", "office.py", "crm")];
        site.configure(&servers.concat());
        // So that every gateway from now on knows the same of its servers.
        site.says(&["tools", "list"]);
        Some(Conversation::hold(client, &site, SCRIPT))
    };
    CONVERSATIONS[client as usize].get_or_init(hold).as_ref()
}

/// How a client gives an answer of `execute_code` to its model.
fn is_structure(given: &Given) -> bool {
    serde_json::from_str::<Value>(&given.text).is_ok_and(|value| value.get("success").is_some())
}

/// These texts, each of them exactly once, in this order.
#[track_caller]
fn says_once(given: &Given, texts: &[&str]) {
    let mut last = 0;
    for text in texts {
        let places: Vec<usize> = given.text.match_indices(text).map(|(place, _)| place).collect();
        let shown: String = given.text.chars().take(4_000).collect();
        assert_eq!(places.len(), 1, "{text:?} is there {} times in: {shown}", places.len());
        assert!(places[0] >= last, "{text:?} comes too early in: {shown}");
        last = places[0];
    }
}

/// The names of the files of the workspace that a text names, each once.
fn files_named(text: &str) -> Vec<&str> {
    let is_name = |character: char| character.is_ascii_alphanumeric() || "-_.".contains(character);
    let mut names = Vec::new();
    for rest in text.split("/workspace/").skip(1) {
        let name = rest.split(|character| !is_name(character)).next().unwrap_or_default();
        let name = name.trim_end_matches('.');
        if !names.contains(&name) {
            names.push(name);
        }
    }
    names
}

/// What is in the files that the model was told of; the note must come before what was printed.
#[track_caller]
fn rest_of(given: &Given, files: &BTreeMap<String, String>) -> Vec<String> {
    let note = given.text.find("/workspace/");
    let shown: String = given.text.chars().take(4_000).collect();
    let note = note.unwrap_or_else(|| panic!("no file is named in: {shown}"));
    let printed = given.text.find("row 0").unwrap_or(usize::MAX);
    assert!(note < printed, "the note comes after what was printed: {shown}");
    let names = files_named(&given.text);
    names
        .iter()
        .map(|name| files.get(*name).unwrap_or_else(|| panic!("{name}: {shown}")).clone())
        .collect()
}

fn rows(count: usize) -> Vec<String> {
    (0..count).map(|row| format!("row {row:07} {}", "x".repeat(40))).collect()
}

/// All that was printed is in the files that the model was told of.
#[track_caller]
fn nothing_is_lost(given: &Given, files: &BTreeMap<String, String>) {
    let mut parts = rest_of(given, files);
    let printed = rows(ROWS).join("\n") + "\n";
    let in_order = parts.concat() == printed;
    parts.reverse();
    let sizes: Vec<usize> = parts.iter().map(String::len).collect();
    assert!(in_order || parts.concat() == printed, "{sizes:?} of {} bytes", printed.len());
}

fn the_model_is_given_tools_that_it_can_call(conversation: &Conversation) {
    let tools = conversation.tools();
    for (name, parameter) in
        [("execute_code", "code"), ("search_tools", "query"), ("get_tool_definition", "name")]
    {
        let prefix = match conversation.client {
            ModelClient::ClaudeCode => "mcp__narrows__",
            ModelClient::OpenCode => "narrows_",
            _ => "",
        };
        let tool = tools.get(&format!("{prefix}{name}"));
        let tool = tool.unwrap_or_else(|| panic!("no {prefix}{name} in {:?}", tools.keys()));
        assert!(tool["schema"]["properties"][parameter].is_object(), "{tool:#}");
        assert!(!tool["description"].as_str().unwrap().is_empty(), "{tool:#}");
    }
    let found = conversation.given("search");
    assert!(found.text.contains("from servers.good import echo"), "{found:?}");
}

fn the_instructions_reach_the_model(conversation: &Conversation) {
    let told = conversation.told();
    assert_eq!(told.matches(&conversation.instructions).count(), 1, "{told}");
}

/// It has no place for them: what a model has to know must be in the descriptions of the tools.
fn the_instructions_stay_with_the_client(conversation: &Conversation) {
    let told = conversation.told();
    assert!(
        !told.contains(&conversation.instructions),
        "they are handed on now: say so in docs/TOKENS.md"
    );
}

fn an_answer_is_given_once(conversation: &Conversation) {
    let given = conversation.given("fenced");
    assert!(!given.is_error && given.images.is_empty(), "{given:?}");
    for text in ["taken out of its fence", "printed-once", "given-once"] {
        says_once(&given, &[text]);
    }
    // What docs/TOKENS.md says of the clients.
    let is_text = matches!(conversation.client, ModelClient::OpenCode | ModelClient::LangChain);
    assert_eq!(is_structure(&given), !is_text, "{}", given.text);
    if !is_text {
        says_once(&given, &["taken out of its fence", "given-once", "printed-once"]);
    }
}

fn a_hint_is_given_once(conversation: &Conversation) {
    says_once(&conversation.given("misspelt"), &["did you mean"]);
}

fn a_traceback_is_given_once(conversation: &Conversation) {
    let given = conversation.given("failing");
    for text in [TRACEBACK, "in inner", "printed-once", "the reason"] {
        says_once(&given, &[text]);
    }
    // The other API does not say whether a tool failed.
    let is_openai =
        matches!(conversation.client, ModelClient::OpenCode | ModelClient::PydanticAiOpenAi);
    assert_eq!(given.is_error, !is_openai, "{given:?}");
}

fn the_error_of_a_tool_reaches_the_model(conversation: &Conversation) {
    let given = conversation.given("failing_tool");
    for text in [TRACEBACK, "this tool always fails"] {
        says_once(&given, &[text]);
    }
}

fn an_image_reaches_the_model_beside_the_result(conversation: &Conversation) {
    let given = conversation.given("image");
    assert_eq!(given.images, [("image/png".to_owned(), PIXEL.to_owned())]);
    says_once(&given, &["shown-once"]);
}

fn personal_data_reaches_the_model_as_tokens(conversation: &Conversation) {
    let given = conversation.given("customer");
    for kind in ["EMAIL", "PHONE", "CREDIT_CARD"] {
        token(&given.text, kind);
    }
    for request in &conversation.requests {
        let request = request.to_string();
        assert!([CUSTOMER, PHONE, CARD].iter().all(|value| !request.contains(value)));
    }
}

fn nothing_of_a_long_output_is_lost(conversation: &Conversation) {
    let given = conversation.given("long_output");
    nothing_is_lost(&given, &conversation.files);
    assert!(!given.is_error, "{given:?}");
}

fn nothing_of_a_long_output_is_lost_when_the_program_fails(conversation: &Conversation) {
    let given = conversation.given("long_failure");
    nothing_is_lost(&given, &conversation.files);
    for text in [TRACEBACK, "the reason"] {
        says_once(&given, &[text]);
    }
}

fn nothing_of_a_long_result_is_lost(conversation: &Conversation) {
    for (name, count) in [("long_result", ROWS), ("large_result", LARGE_RESULT_ROWS)] {
        let given = conversation.given(name);
        let [file] = &rest_of(&given, &conversation.files)[..] else { panic!("{name}") };
        assert_eq!(serde_json::from_str::<Vec<String>>(file).unwrap(), rows(count));
    }
}

/// A test for each promise, with this client.
macro_rules! promises_hold {
    ($module:ident, $client:ident, $instructions:ident) => {
        promises_hold!(
            $module,
            $client:
            $instructions,
            the_model_is_given_tools_that_it_can_call,
            an_answer_is_given_once,
            a_hint_is_given_once,
            a_traceback_is_given_once,
            the_error_of_a_tool_reaches_the_model,
            an_image_reaches_the_model_beside_the_result,
            personal_data_reaches_the_model_as_tokens,
            nothing_of_a_long_output_is_lost,
            nothing_of_a_long_output_is_lost_when_the_program_fails,
            nothing_of_a_long_result_is_lost
        );
    };
    ($module:ident, $client:ident: $($promise:ident),*) => {
        mod $module {
            $(
                #[test]
                fn $promise() {
                    let Some(conversation) = super::conversation(super::ModelClient::$client) else { return };
                    super::$promise(conversation);
                }
            )*
        }
    };
}

promises_hold!(claude_code, ClaudeCode, the_instructions_reach_the_model);
promises_hold!(opencode, OpenCode, the_instructions_reach_the_model);
promises_hold!(pydantic_ai, PydanticAi, the_instructions_reach_the_model);
promises_hold!(pydantic_ai_with_openai, PydanticAiOpenAi, the_instructions_reach_the_model);
promises_hold!(langchain, LangChain, the_instructions_stay_with_the_client);
