//! The form in which a person is asked about calls, and their answer.

use std::{collections::BTreeMap, sync::Arc};

use narrows_policy::AlwaysRule;
use narrows_store::Scope;
use rmcp::model::{
    ElicitRequestParams, ElicitResult, ElicitationAction, ElicitationSchema, EnumSchema,
    PrimitiveSchemaDefinition,
};
use serde_json::Value;

use super::{
    confirm::AskedCall,
    shown::{self, Digest, visible},
};

/// The field of the form, and the choice in it that declines.
const FIELD: &str = "allow";
const NO: &str = "no";

/// The bytes that are shown of one call, and the least of each call if there are many.
const CALL_BYTES: usize = 4_000;
const MIN_CALL_BYTES: usize = 400;
/// The bytes that are shown of many calls together.
const CALLS_BYTES: usize = 12_000;

/// The answer to a question.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum ApprovalAnswer {
    Allowed(Scope),
    /// A person said no.
    Declined,
    /// Nobody was asked: the client cannot, or has cancelled by itself.
    NotAsked,
}

/// The choices of the person, apart from "no".
#[derive(Clone, Debug, Default)]
pub(super) struct Choices {
    pub(super) scopes: Vec<Scope>,
    /// The rules that "always" writes for the tools that are asked about.
    pub(super) rules: Vec<AlwaysRule>,
    /// The text of the rules, and the name of the file that they are written to.
    pub(super) rule_text: String,
    pub(super) rule_place: String,
}

/// Identical calls.
struct CallGroup<'a> {
    call: &'a AskedCall,
    count: usize,
}

/// Creates the form about these calls. `waiting` more calls of the same run are asked about later.
pub(super) fn question(
    calls: &[Arc<AskedCall>],
    waiting: usize,
    choices: &Choices,
    digest: Digest<'_>,
) -> ElicitRequestParams {
    let mut message = match calls {
        [call] => one(call, digest),
        calls => several(calls, digest),
    };
    if waiting > 0 {
        message += &format!("\n{waiting} more calls of this run wait; they are asked about next.");
    }
    message += &format!("\n{}", choices.explained(calls));
    let mut words: Vec<String> = choices.scopes.iter().map(|scope| scope.name().into()).collect();
    words.push(NO.to_owned());
    let schema = EnumSchema::builder(words).title("Allow").build();
    let schema = ElicitationSchema::builder()
        .required_property(FIELD, PrimitiveSchemaDefinition::Enum(schema))
        .build_unchecked();
    ElicitRequestParams::FormElicitationParams { meta: None, message, requested_schema: schema }
}

fn one(call: &AskedCall, digest: Digest<'_>) -> String {
    let AskedCall { name, why, .. } = call;
    let shown = call.shown(CALL_BYTES, digest);
    format!("Allow this call of {}?\n{shown}\nReason for asking: {}", visible(name), visible(why))
}

/// Lists the calls and counts them; identical ones are listed once.
fn several(calls: &[Arc<AskedCall>], digest: Digest<'_>) -> String {
    let mut groups: Vec<CallGroup<'_>> = Vec::new();
    let mut by_tool: BTreeMap<&str, usize> = BTreeMap::new();
    for call in calls {
        *by_tool.entry(&call.name).or_default() += 1;
        // The hash is of the name too.
        match groups.iter().position(|group| group.call.hash == call.hash) {
            Some(same) => groups[same].count += 1,
            None => groups.push(CallGroup { call, count: 1 }),
        }
    }
    let counts = by_tool.iter().map(|(tool, count)| format!("{} × {}", count, visible(tool)));
    let counts: Vec<String> = counts.collect();
    let mut text = format!("Allow these {} calls? {}", calls.len(), counts.join(", "));
    let share = (CALLS_BYTES / groups.len()).clamp(MIN_CALL_BYTES, CALL_BYTES);
    for (number, CallGroup { call, count }) in groups.iter().enumerate() {
        let times = if *count > 1 { format!(", {count} times") } else { String::new() };
        text += &format!("\n{}. {}{times}\n", number + 1, visible(&call.name));
        text += &call.shown(share, digest);
    }
    let mut reasons: Vec<String> = Vec::new();
    for CallGroup { call, .. } in &groups {
        let reason = format!("{}: {}", visible(&call.name), visible(&call.why));
        if !reasons.contains(&reason) {
            reasons.push(reason);
        }
    }
    text + "\nReasons for asking:\n" + &reasons.join("\n")
}

impl Choices {
    /// Returns the explanation of each choice.
    fn explained(&self, calls: &[Arc<AskedCall>]) -> String {
        let (these, tools) = match calls {
            [_] => ("this call", "this tool"),
            _ => ("these calls", "these tools"),
        };
        let lines = self.scopes.iter().map(|scope| match scope {
            Scope::Once => format!("once: {these}, one time"),
            Scope::Run => format!("run: every call of {tools} in this run"),
            Scope::Session => format!("session: every call of {tools} in this session"),
            Scope::Always => format!(
                "always: from now on, by adding this to {}:\n{}",
                self.rule_place,
                self.rule_text.trim_end()
            ),
        });
        lines.collect::<Vec<_>>().join("\n")
    }

    /// Reads the person's answer. A client that cancels, or that accepts without a choice, counts as
    /// one that has asked nobody.
    pub(super) fn read(&self, answer: &ElicitResult) -> ApprovalAnswer {
        let field = answer.content.as_ref().and_then(|content| content.get(FIELD));
        match answer.action {
            ElicitationAction::Accept if field.is_none_or(Value::is_null) => {
                ApprovalAnswer::NotAsked
            }
            ElicitationAction::Accept => {
                let scope = field.and_then(Value::as_str).and_then(Scope::named);
                let scope = scope.filter(|scope| self.scopes.contains(scope));
                scope.map_or(ApprovalAnswer::Declined, ApprovalAnswer::Allowed)
            }
            ElicitationAction::Decline => ApprovalAnswer::Declined,
            _ => ApprovalAnswer::NotAsked,
        }
    }
}

/// Returns the choices in a form that the gateway made; the last is "no".
pub fn choices_of(question: &ElicitRequestParams) -> Vec<String> {
    let question = serde_json::to_value(question).unwrap_or_default();
    let words = &question["requestedSchema"]["properties"][FIELD]["enum"];
    let words = words.as_array().into_iter().flatten();
    words.filter_map(Value::as_str).map(str::to_owned).collect()
}

/// Creates the answer of a person who made this choice.
pub fn chosen(word: &str) -> ElicitResult {
    let content = serde_json::json!({ FIELD: word });
    ElicitResult::new(ElicitationAction::Accept).with_content(content)
}

impl AskedCall {
    /// Writes the arguments for a person, in about `max_bytes`.
    pub(super) fn shown(&self, max_bytes: usize, digest: Digest<'_>) -> String {
        shown::arguments(&self.arguments, &self.protected, max_bytes, digest)
    }
}
