//! Results of our own tools: text and data for a model, and a type that proves that they were protected.

use narrows_engine::{Analyzed, Finished, Refusal, compute::json_bytes, state::Agent};
use narrows_model::cut;
use narrows_policy::WorkspaceAccess;
use rmcp::model::{CallToolResult, ContentBlock, MetaObject};
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};

use super::outcome::{self, Form};

/// How much is said of arguments that do not fit.
const MAX_MISFIT_BYTES: usize = 2_000;

/// The result of one of our own tools. It can only be made from a result that was protected, from a
/// refusal, or with an [`Exemption`].
#[derive(Debug)]
pub(super) struct ClientResult(CallToolResult);

/// The reason why a result is sent without protection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Exemption {
    /// Definitions of tools are public, and discovery has protected what it says of skills.
    Definitions,
    /// The tool has just protected it, whatever the mode is.
    Sanitized,
    /// The tool was asked for the values of tokens, by somebody who may see them.
    Restored,
}

impl ClientResult {
    /// Makes the result of a program, which the engine has protected.
    pub(super) fn finished(finished: Finished, form: Form) -> Self {
        let output = (form == Form::Joined).then(|| finished.joined_output());
        let (outcome, shown) = finished.into_parts();
        Self(outcome::answer(outcome, shown, output))
    }

    pub(super) fn analyzed(analyzed: Analyzed) -> Self {
        let (text, structured, notes) = analyzed.into_parts();
        let mut data = json!({"success": true, "result": structured});
        if !notes.is_empty() {
            data["notes"] = json!(notes);
        }
        Self(success_with_data(text, data))
    }

    /// Puts tokens in the place of personal data.
    pub(super) async fn protect(mut result: CallToolResult, agent: &Agent) -> Self {
        let bytes = json_bytes(&result);
        agent.compute(bytes, || agent.pii_filter().result(&mut result)).await;
        Self(result)
    }

    /// Exempts definitions, which are public, but protects a failure to find them.
    pub(super) async fn definitions(result: CallToolResult, agent: &Agent) -> Self {
        match result.is_error {
            Some(true) => Self::protect(result, agent).await,
            _ => Self::exempt(result, Exemption::Definitions),
        }
    }

    pub(super) fn exempt(result: CallToolResult, _because: Exemption) -> Self {
        Self(result)
    }

    pub(super) fn into_inner(self) -> CallToolResult {
        self.0
    }
}

impl From<Refusal> for ClientResult {
    fn from(refusal: Refusal) -> Self {
        Self(failure(refusal.to_string()))
    }
}

/// Parses the arguments of a tool.
pub(super) fn parse<T: DeserializeOwned>(arguments: Map<String, Value>) -> Result<T, String> {
    serde_json::from_value(Value::Object(arguments)).map_err(|error| misfit(&error))
}

/// Writes why arguments do not fit, cut to a limit because an unknown name can have megabytes.
fn misfit(error: &serde_json::Error) -> String {
    let why = error.to_string();
    let end = if why.len() > MAX_MISFIT_BYTES { "…" } else { "" };
    format!("the arguments do not fit: {}{end}", cut::head(&why, MAX_MISFIT_BYTES))
}

/// Makes a result of text for a model and the same as data. Some clients hand the data to their model in
/// the place of the text, so the data has to say all that the text says.
pub(super) fn success_with_data(text: String, data: Value) -> CallToolResult {
    let mut result = success(text);
    result.structured_content = Some(data);
    result
}

pub(super) fn success(text: String) -> CallToolResult {
    CallToolResult::success(vec![ContentBlock::text(text)])
}

pub(in crate::mcp) fn failure(message: impl Into<String>) -> CallToolResult {
    CallToolResult::error(vec![ContentBlock::text(message)])
}

/// Appends notes to an answer: in a block of their own, because the text may be a definition, and in the
/// structure, which some clients hand to their model in the place of the text.
pub(super) fn add_notes(result: &mut CallToolResult, notes: Vec<String>) {
    if notes.is_empty() {
        return;
    }
    let lines: Vec<String> = notes.iter().map(|note| format!("note: {note}")).collect();
    result.content.push(ContentBlock::text(lines.join("\n")));
    if let Some(Value::Object(structured)) = &mut result.structured_content {
        structured.insert("notes".to_owned(), json!(notes));
    }
}

/// Makes a `_meta` object with one entry: data that a program may want beside a text or an image. Some
/// clients would hand structured content to their model in the place of the text or the image.
pub(super) fn meta(key: &str, about: Value) -> Option<MetaObject> {
    Some(MetaObject(Map::from_iter([(key.to_owned(), about)])))
}

/// Checks that an agent's isolation level allows this access to its files.
pub(super) fn check_workspace(agent: &Agent, wanted: WorkspaceAccess) -> Result<(), String> {
    let level = agent.level(None).map_err(|error| error.to_string())?;
    match level.workspace >= wanted {
        true => Ok(()),
        false => Err(format!("the isolation level {:?} does not allow that", level.name)),
    }
}

/// Unwraps a result, or returns its error as a failed result that the model can react to.
macro_rules! or_failed {
    ($result:expr) => {
        match $result {
            Ok(value) => value,
            Err(error) => return $crate::mcp::tools::result::failure(error.to_string()),
        }
    };
}

pub(super) use or_failed;
