//! `denied-tool` and `many-calls`: the tools that a program names, and how often it calls them.

use std::collections::HashMap;

use ruff_text_size::TextSize;

use super::finding::{ReviewFindings, RuleHit, Severity};
use crate::uses::Mentions;
use narrows_policy::{Denial, Level, ToolAccess};

/// Reports the tools that would be refused.
pub(super) fn denied(
    mentions: &Mentions,
    level: &Level,
    tools: &dyn Fn(&str) -> Option<Denial>,
    findings: &mut ReviewFindings<'_>,
) {
    for (at, tool) in mentions.tools.iter().filter(|(_, tool)| !tool.ends_with('*')) {
        let message = match level.tools {
            ToolAccess::None => {
                let level = &level.name;
                Some(format!(
                    "{tool} cannot be called: the isolation level {level} allows no tools"
                ))
            }
            ToolAccess::ReadOnly | ToolAccess::All => tools(tool).map(|denial| denial.why),
        };
        if let Some(message) = message {
            let (rule, severity, subject) = ("denied-tool", Severity::Danger, tool.clone());
            findings.add(*at, RuleHit { rule, severity, subject, message });
        }
    }
}

/// The target of a call.
#[derive(Clone, Copy, Debug)]
enum CalledFunction<'a> {
    Tool,
    /// A function of the program, by its name.
    Function(&'a str),
}

#[derive(Debug)]
struct CallSite<'a> {
    callee: CalledFunction<'a>,
    times: Times,
    at: TextSize,
}

/// How often a place is executed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Times {
    pub(super) count: f64,
    /// Whether nothing can skip it.
    pub(super) surely: bool,
}

impl Times {
    pub(super) const ONCE: Self = Self { count: 1.0, surely: true };

    pub(super) fn maybe(self) -> Self {
        Self { surely: false, ..self }
    }

    /// Returns the count within a loop of so many turns. An unknown number counts as one uncertain turn.
    pub(super) fn looped(self, turns: Option<f64>) -> Self {
        match turns {
            Some(turns) => Self { count: self.count * turns, ..self },
            None => self.maybe(),
        }
    }
}

/// The calls of a program, by the function around them.
#[derive(Debug, Default)]
pub(super) struct CallGraph<'a> {
    /// The calls of each function; the first is the program itself.
    functions: Vec<Vec<CallSite<'a>>>,
    /// The ids of functions by name; none for a name that several functions have.
    by_name: HashMap<&'a str, Option<usize>>,
}

/// A sum of calls, and how many of them are certain.
#[derive(Clone, Copy, Debug, Default)]
struct Total {
    all: f64,
    sure: f64,
}

impl<'a> CallGraph<'a> {
    pub(super) fn add_function(&mut self, name: Option<&'a str>) -> usize {
        let id = self.functions.len();
        self.functions.push(Vec::new());
        if let Some(name) = name {
            self.by_name.entry(name).and_modify(|known| *known = None).or_insert(Some(id));
        }
        id
    }

    pub(super) fn tool(&mut self, within: usize, at: TextSize, times: Times) {
        self.functions[within].push(CallSite { callee: CalledFunction::Tool, times, at });
    }

    pub(super) fn function(&mut self, within: usize, name: &'a str, at: TextSize, times: Times) {
        self.functions[within].push(CallSite { callee: CalledFunction::Function(name), times, at });
    }

    /// Reports if there are more calls than a level allows.
    pub(super) fn report(&self, level: &Level, findings: &mut ReviewFindings<'_>) {
        let limit = f64::from(level.limits.tool_calls);
        let mut totals = vec![None; self.functions.len()];
        let mut largest: Option<(f64, TextSize)> = None;
        let mut sum = Total::default();
        for call in self.functions.first().into_iter().flatten() {
            let total = self.of_call(call, &mut totals, 0);
            (sum.all, sum.sure) = (sum.all + total.all, sum.sure + total.sure);
            if largest.is_none_or(|(max, _)| max < total.all) {
                largest = Some((total.all, call.at));
            }
        }
        let Some((_, at)) = largest.filter(|_| sum.all > limit) else { return };
        let is_sure = sum.sure > limit;
        let severity = if is_sure { Severity::Danger } else { Severity::Warning };
        let message = format!(
            "the program makes about {:.0} calls of tools, and a run may make {limit}; make fewer, or split the work into several runs",
            sum.all
        );
        let subject = "many-calls".to_owned();
        findings.add(at, RuleHit { rule: "many-calls", severity, subject, message });
    }

    fn of_call(&self, call: &CallSite<'_>, totals: &mut [Option<Total>], depth: usize) -> Total {
        let of_callee = match call.callee {
            CalledFunction::Tool => Total { all: 1.0, sure: 1.0 },
            CalledFunction::Function(name) => match self.by_name.get(name).copied().flatten() {
                Some(function) => self.of_function(function, totals, depth + 1),
                None => Total::default(),
            },
        };
        let Times { count, surely } = call.times;
        let sure = if surely { of_callee.sure * count } else { 0.0 };
        Total { all: of_callee.all * count, sure }
    }

    /// Adds up the calls of a function. Recursive calls add nothing, and neither do functions that are
    /// reached through more than `MAX_DEPTH` others.
    fn of_function(&self, id: usize, totals: &mut [Option<Total>], depth: usize) -> Total {
        const MAX_DEPTH: usize = 32;
        if let Some(known) = totals[id] {
            return known;
        }
        totals[id] = Some(Total::default());
        if depth > MAX_DEPTH {
            return Total::default();
        }
        let mut sum = Total::default();
        for call in &self.functions[id] {
            let total = self.of_call(call, totals, depth);
            (sum.all, sum.sure) = (sum.all + total.all, sum.sure + total.sure);
        }
        totals[id] = Some(sum);
        sum
    }
}
