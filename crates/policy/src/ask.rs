//! What is asked before a call, and the answer.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// What a rule does with a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Action {
    Allow,
    Deny,
    /// A person decides, each time.
    Confirm,
}

impl Action {
    /// As the configuration writes them.
    pub const WORDS: [(&'static str, Self); 3] =
        [("allow", Self::Allow), ("deny", Self::Deny), ("confirm", Self::Confirm)];
}

/// What a tool says about itself. Its server wrote that, so a rule that must hold names the tool.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Hints {
    pub read_only: Option<bool>,
    pub destructive: Option<bool>,
}

impl Hints {
    /// The hints in the definition of a tool, as its server wrote it.
    pub fn of(tool: &Value) -> Self {
        let hint = |name| tool.get("annotations")?.get(name)?.as_bool();
        Self { read_only: hint("readOnlyHint"), destructive: hint("destructiveHint") }
    }

    /// Whether a call may change something. A tool that does not say counts as one that does.
    pub fn writes(self) -> bool {
        self.read_only != Some(true)
    }

    /// Whether it says of itself that it destroys.
    pub fn destroys(self) -> bool {
        self.destructive == Some(true)
    }
}

/// A call, before it is made.
#[derive(Clone, Copy, Debug)]
pub struct Ask<'a> {
    pub principal: &'a str,
    pub server: &'a str,
    pub tool: &'a str,
    pub hints: Hints,
    pub arguments: &'a Map<String, Value>,
}

/// What becomes of a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Decision {
    pub action: Action,
    /// The rule that decided; none if no rule fits.
    pub rule: Option<String>,
    /// That rule names tools, and this is one of them. A level that allows only tools that read
    /// takes this for an exception.
    pub named: bool,
    /// A sentence for the caller that says what to do, or for the person why they are asked. Empty if
    /// the call is allowed.
    pub why: String,
}

impl Decision {
    /// Why a person is asked, if one is.
    pub fn reason(&self) -> Reason {
        match &self.rule {
            Some(rule) => Reason::Rule(rule.clone()),
            None => Reason::Destructive,
        }
    }
}

/// Why a person is asked about a call. A yes for more than one call covers those that are asked about
/// for the same reasons.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Reason {
    /// A rule wants it.
    Rule(String),
    /// The tool says that it destroys, and no rule fits.
    Destructive,
    /// A flow rule wants it, because of what was read before.
    Flow(String),
    /// The model would read what tokens stand for.
    Restore,
}

/// Why a tool that a program names would be refused, whatever its arguments.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Denial {
    /// A sentence: what refuses it, and what to do.
    pub why: String,
}
