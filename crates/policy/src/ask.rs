//! The question that the broker asks before a call, and the answer.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// The effect of a rule on a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Action {
    Allow,
    Deny,
    /// A person decides about each call.
    Confirm,
}

impl Action {
    /// The actions by their words in the configuration.
    pub const WORDS: [(&'static str, Self); 3] =
        [("allow", Self::Allow), ("deny", Self::Deny), ("confirm", Self::Confirm)];
}

/// The claims of a tool about itself. Its server wrote them, so a rule that must hold has to name the
/// tool instead.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Hints {
    pub read_only: Option<bool>,
    pub destructive: Option<bool>,
}

impl Hints {
    /// Reads the hints in the definition of a tool, as its server wrote it.
    pub fn of(tool: &Value) -> Self {
        let hint = |name| tool.get("annotations")?.get(name)?.as_bool();
        Self { read_only: hint("readOnlyHint"), destructive: hint("destructiveHint") }
    }

    /// Tells whether a call may change something. A tool without the hint counts as one that does.
    pub fn writes(self) -> bool {
        self.read_only != Some(true)
    }

    /// Tells whether the tool says of itself that it destroys.
    pub fn destroys(self) -> bool {
        self.destructive == Some(true)
    }
}

/// A call that is about to be made, as far as rules look at it.
#[derive(Clone, Copy, Debug)]
pub struct Ask<'a> {
    pub principal: &'a str,
    pub server: &'a str,
    pub tool: &'a str,
    pub hints: Hints,
    pub arguments: &'a Map<String, Value>,
}

/// The decision on a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Decision {
    pub action: Action,
    /// The name of the rule that decided; none if no rule fits.
    pub rule: Option<String>,
    /// Whether the rule names tools, this one among them. A level that allows only tools that read makes
    /// an exception for a tool that is allowed by name.
    pub named: bool,
    /// A sentence that tells the caller what to do, or the person why they are asked. Empty if the call
    /// is allowed.
    pub why: String,
}

impl Decision {
    /// Returns the reason for which a person is asked, if this decision asks one.
    pub fn reason(&self) -> Reason {
        match &self.rule {
            Some(rule) => Reason::Rule(rule.clone()),
            None => Reason::Destructive,
        }
    }
}

/// The reason for which a person is asked about a call. An approval for more than one call covers the
/// calls with the same reasons.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Reason {
    /// A rule with the action `confirm`, by its name.
    Rule(String),
    /// The tool says that it destroys, and no rule fits.
    Destructive,
    /// A flow rule, by its name, because of data that was read before.
    Flow(String),
    /// The model would read the personal data that tokens stand for.
    Restore,
}

/// The refusal of a tool that a program names, whatever its arguments.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Denial {
    /// A sentence that says what refuses the tool, and what to do.
    pub why: String,
}
