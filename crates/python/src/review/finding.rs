//! The findings of the review.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
};

use ruff_text_size::TextSize;
use serde::Serialize;

use crate::syntax::Lines;

/// How many findings are reported. More than anyone reads; stops a program that is made to fill the
/// answer.
const MAX_FINDINGS: usize = 50;
/// How many findings are collected to choose the worst from. Stops a program that is made of findings
/// to fill the memory with their messages.
const MAX_COLLECTED: usize = 5_000;

/// The severity of a finding.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Severity {
    /// Only for the audit log. Callers do not see it.
    Note,
    /// The caller sees it, and the program runs.
    Warning,
    /// The program does not run at levels whose review blocks.
    Danger,
}

/// A finding in a program.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ReviewFinding {
    /// The name of the rule: `dynamic-code`.
    pub rule: &'static str,
    /// From 1.
    pub line: u32,
    /// In characters, from 1.
    pub column: u32,
    pub severity: Severity,
    /// A sentence that says what was found, and what to do instead.
    pub message: String,
}

impl fmt::Display for ReviewFinding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}: {} [{}]", self.line, self.message, self.rule)
    }
}

/// The operator's settings for findings.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ReviewSettings {
    /// Rules, modules, functions and attributes that are never reported: `many-calls`, `eval`.
    pub allow: BTreeSet<String>,
    /// Modules, functions and attributes that are always a danger: `pickle`, `os.system`,
    /// `__reduce__`. Takes precedence over `allow`.
    pub deny: BTreeSet<String>,
}

/// A match of a rule, before settings and limits are applied.
#[derive(Debug)]
pub(super) struct RuleHit {
    pub(super) rule: &'static str,
    pub(super) severity: Severity,
    /// The module, function or attribute that `allow` may name: `os.path`, `eval`, `__mro__`.
    pub(super) subject: String,
    pub(super) message: String,
}

/// The findings of one program, at most one of each rule at a place.
#[derive(Debug)]
pub(super) struct ReviewFindings<'s> {
    settings: &'s ReviewSettings,
    found: BTreeMap<(TextSize, &'static str), (Severity, String)>,
    dangers: usize,
}

impl<'s> ReviewFindings<'s> {
    pub(super) fn new(settings: &'s ReviewSettings) -> Self {
        Self { settings, found: BTreeMap::new(), dangers: 0 }
    }

    fn has_many_dangers(&self) -> bool {
        self.dangers >= MAX_COLLECTED
    }

    pub(super) fn denied(&self) -> &'s BTreeSet<String> {
        &self.settings.deny
    }

    pub(super) fn add(&mut self, at: TextSize, found: RuleHit) {
        let RuleHit { rule, severity, subject, message } = found;
        let allow = &self.settings.allow;
        let last = subject.rsplit('.').next().unwrap_or_default();
        let mut modules = subject.match_indices('.').map(|(dot, _)| &subject[..dot]);
        let is_allowed = rule != "denied-name"
            && (allow.contains(rule)
                || allow.contains(&subject)
                || allow.contains(last)
                || modules.any(|module| allow.contains(module)));
        if is_allowed {
            return;
        }
        // With so many dangers, those that came first are enough to block the program.
        let is_worst = severity == Severity::Danger && !self.has_many_dangers();
        if self.found.len() >= MAX_COLLECTED && !is_worst {
            return;
        }
        self.dangers += usize::from(severity == Severity::Danger);
        let known = self.found.entry((at, rule)).or_insert((severity, message.clone()));
        if known.0 < severity {
            *known = (severity, message);
        }
    }

    /// Returns the findings in the order of the program; only the worst ones if there are too many.
    pub(super) fn in_order(self, code: &str) -> Vec<ReviewFinding> {
        let mut found: Vec<_> = self.found.into_iter().collect();
        found.sort_by_key(|(_, (severity, _))| std::cmp::Reverse(*severity));
        found.truncate(MAX_FINDINGS);
        found.sort_by_key(|(place, _)| *place);
        let lines = Lines::of(code);
        let finding = |((at, rule), (severity, message)): ((TextSize, _), (_, _))| {
            let line = lines.line(at);
            let before = code.get(lines.start(line)..at.to_usize()).unwrap_or_default();
            let column = u32::try_from(before.chars().count() + 1).unwrap_or(u32::MAX);
            ReviewFinding { rule, line, column, severity, message }
        };
        found.into_iter().map(finding).collect()
    }
}
