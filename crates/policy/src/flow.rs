//! Flow rules: where data that a run has read may not go.
//!
//! Data is not followed through the program, which can change it in any way. As soon as a run has read
//! it, the rule holds for everything that the run sends.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use super::{
    ask::Action,
    pattern::{Pattern, PatternError, Patterns, Spelled},
};

/// How many different tools a flow remembers. A run that reads from more counts as having read from
/// all tools, so that reading from thousands cannot make it forget one.
const MAX_TOOLS: usize = 1_000;
/// How many kinds of personal data a flow remembers, likewise.
const MAX_KINDS: usize = 200;

/// The origin of data in a flow rule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DataOrigin {
    /// Results of tools that fit a pattern. `*` alone means every server but the one that the data
    /// would go to.
    Tools(String),
    /// Personal data of a kind, by a pattern: `EMAIL`, `*`.
    Pii(String),
}

impl DataOrigin {
    /// Parses `mail.*` or `pii:EMAIL`.
    pub fn read(text: &str) -> Result<Self, PatternError> {
        let text = text.trim();
        let prefix = text.get(..4).filter(|prefix| prefix.eq_ignore_ascii_case("pii:"));
        let (pattern, origin) = match prefix {
            Some(_) => (text[4..].trim(), Self::Pii as fn(String) -> Self),
            None => (text, Self::Tools as fn(String) -> Self),
        };
        Pattern::name(pattern)?;
        Ok(origin(pattern.to_owned()))
    }
}

/// A rule that data from some origins may not go to some tools.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FlowRule {
    pub name: String,
    pub from: Vec<DataOrigin>,
    /// Patterns of the tools that the data may not go to.
    pub to: Vec<String>,
    /// To deny, or to ask a person.
    pub action: Action,
}

impl FlowRule {
    /// Parses a rule in one line: `mail.*, pii:EMAIL -> http.*, ftp.*`, with `: confirm` after it for
    /// one that asks. Its text is its name.
    pub fn read(text: &str) -> Result<Self, String> {
        let text = text.trim();
        let form = || format!("{text:?} is no flow rule: write mail.* -> http.*");
        let (from, to) = text.split_once("->").ok_or_else(form)?;
        let (to, action) = match to.split_once(": ") {
            None => (to, Action::Deny),
            Some((to, word)) => match word.trim() {
                "deny" => (to, Action::Deny),
                "confirm" => (to, Action::Confirm),
                word => return Err(format!("{text:?}: {word:?} is neither deny nor confirm")),
            },
        };
        let problem = |error: PatternError| format!("{text:?}: {error}");
        let from =
            from.split(',').map(DataOrigin::read).collect::<Result<_, _>>().map_err(problem)?;
        let to: Vec<String> = to.split(',').map(|to| to.trim().to_owned()).collect();
        Patterns::names(&to).map_err(problem)?;
        Ok(Self { name: text.to_owned(), from, to, action })
    }
}

/// A flow rule that a call would break.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FlowFinding {
    pub rule: String,
    /// The tool whose result was read, or the kind of personal data: `mail.search`, `pii:EMAIL`.
    pub from: String,
    pub action: Action,
    /// A sentence that tells the caller what to do, or the person why they are asked.
    pub why: String,
}

/// The tools and the kinds of personal data that one run has read, or all runs of a session together.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, from = "SavedFlow")]
pub struct Flow {
    /// Servers and tools.
    tools: BTreeSet<(String, String)>,
    kinds: BTreeSet<String>,
    /// Whether there was more than can be remembered; then everything counts as read.
    overflowed: bool,
}

/// A flow as it was saved. The file may have been changed, so its size is not trusted.
#[derive(Default, Deserialize)]
#[serde(default)]
struct SavedFlow {
    tools: BTreeSet<(String, String)>,
    kinds: BTreeSet<String>,
    overflowed: bool,
}

impl From<SavedFlow> for Flow {
    fn from(kept: SavedFlow) -> Self {
        let SavedFlow { tools, kinds, overflowed } = kept;
        let mut flow = Self { overflowed, ..Self::default() };
        tools.into_iter().for_each(|tool| flow.add_tool(tool));
        kinds.into_iter().for_each(|kind| flow.add_kind(kind));
        flow
    }
}

impl Flow {
    /// Records that a result of a tool was read, with these kinds of personal data in it.
    pub fn read(&mut self, server: &str, tool: &str, kinds: &BTreeSet<String>) {
        self.add_tool((server.to_owned(), tool.to_owned()));
        kinds.iter().for_each(|kind| self.add_kind(kind.clone()));
    }

    /// Adds everything that another flow has read.
    pub fn merge(&mut self, other: &Self) {
        self.overflowed |= other.overflowed;
        other.tools.iter().for_each(|tool| self.add_tool(tool.clone()));
        other.kinds.iter().for_each(|kind| self.add_kind(kind.clone()));
    }

    pub fn is_empty(&self) -> bool {
        self.tools.is_empty() && self.kinds.is_empty() && !self.overflowed
    }

    fn add_tool(&mut self, tool: (String, String)) {
        match self.tools.len() < MAX_TOOLS || self.tools.contains(&tool) {
            true => _ = self.tools.insert(tool),
            false => self.overflowed = true,
        }
    }

    fn add_kind(&mut self, kind: String) {
        match self.kinds.len() < MAX_KINDS || self.kinds.contains(&kind) {
            true => _ = self.kinds.insert(kind),
            false => self.overflowed = true,
        }
    }
}

/// A compiled flow rule.
#[derive(Clone, Debug)]
pub(super) struct Barrier {
    rule: FlowRule,
    from: Vec<(OriginKind, Patterns)>,
    to: Patterns,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum OriginKind {
    OtherServers,
    Tools,
    Pii,
}

impl Barrier {
    pub(super) fn new(rule: FlowRule) -> Result<Self, String> {
        if rule.action == Action::Allow {
            return Err("a flow rule denies or confirms; what no rule names is allowed".to_owned());
        }
        if rule.from.is_empty() || rule.to.is_empty() {
            return Err("a flow rule says from where and to where: mail.* -> http.*".to_owned());
        }
        let from = rule.from.iter().map(|origin| {
            let (source, pattern) = match origin {
                DataOrigin::Tools(pattern) if pattern == "*" => (OriginKind::OtherServers, pattern),
                DataOrigin::Tools(pattern) => (OriginKind::Tools, pattern),
                DataOrigin::Pii(kind) => (OriginKind::Pii, kind),
            };
            Ok((source, Patterns::names(std::slice::from_ref(pattern))?))
        });
        let problem = |error: PatternError| error.to_string();
        let from = from.collect::<Result<_, _>>().map_err(problem)?;
        let to = Patterns::names(&rule.to).map_err(problem)?;
        Ok(Self { rule, from, to })
    }

    pub(super) fn action(&self) -> Action {
        self.rule.action
    }

    pub(super) fn looks_at_kinds(&self) -> bool {
        self.from.iter().any(|(source, _)| *source == OriginKind::Pii)
    }

    /// Tells whether the rule restricts where the results of a tool may go.
    pub(super) fn holds_for(&self, tool: &Spelled) -> bool {
        let mut from = self.from.iter().filter(|(source, _)| *source != OriginKind::Pii);
        from.any(|(_, patterns)| patterns.fit_tool(tool))
    }

    /// Returns the finding if something that was read, or that is sent, may not go to a tool.
    pub(super) fn stops(
        &self,
        flow: &Flow,
        server: &str,
        tool: &str,
        sent: &BTreeSet<String>,
    ) -> Option<FlowFinding> {
        if !self.to.fit_tool(&Spelled::new(server, tool)) {
            return None;
        }
        let from = self.from.iter().find_map(|(source, patterns)| {
            let read = match source {
                OriginKind::Pii => {
                    let mut kinds = flow.kinds.iter().chain(sent);
                    kinds.find(|kind| patterns.fit_kind(kind)).map(|kind| format!("pii:{kind}"))
                }
                OriginKind::Tools | OriginKind::OtherServers => {
                    let others = |of: &str| *source == OriginKind::Tools || of != server;
                    let mut tools = flow.tools.iter().filter(|(of, _)| others(of));
                    let found = tools.find(|(of, tool)| patterns.fit_tool(&Spelled::new(of, tool)));
                    found.map(|(of, tool)| format!("{of}.{tool}"))
                }
            };
            read.or_else(|| flow.overflowed.then(|| "more tools than can be remembered".to_owned()))
        })?;
        let rule = self.rule.name.clone();
        let reason = format!(
            "{from} was read before, and the flow rule {rule:?} keeps that from going there"
        );
        let why = match self.rule.action {
            Action::Confirm => format!("{reason}; a person has to approve it first"),
            _ => format!(
                "{server}.{tool} was not called: {reason}; send it in a run (and a session) that has not read that, or do without it"
            ),
        };
        Some(FlowFinding { rule, from, action: self.rule.action, why })
    }
}
