//! A whole program.

use ruff_python_parser::parse_module;
use ruff_text_size::TextSize;

use super::{
    calls, collect,
    finding::{ReviewFinding, ReviewFindings, ReviewSettings, RuleHit, Severity},
    walk::ReviewWalker,
};
use crate::{check::is_too_deep, uses::Mentions};
use narrows_policy::{Denial, Level};

/// Looks at a program before it runs. `tools` is asked about each tool that it names, as
/// `server.tool` or as it is written.
///
/// A program that does not parse has no findings: Python says better what is wrong with it. What
/// becomes of findings is up to the level's [`ReviewMode`](narrows_policy::ReviewMode).
pub fn review(
    code: &str,
    level: &Level,
    settings: &ReviewSettings,
    tools: &dyn Fn(&str) -> Option<Denial>,
) -> Vec<ReviewFinding> {
    let code = code.strip_prefix('\u{feff}').unwrap_or(code);
    let mut findings = ReviewFindings::new(settings);
    if is_too_deep(code) {
        findings.add(TextSize::default(), too_deep());
        return findings.in_order(code);
    }
    let Ok(parsed) = parse_module(code) else { return Vec::new() };
    let body = parsed.suite();
    let mentions = Mentions::of(body);
    calls::denied(&mentions, level, tools, &mut findings);
    let scopes = collect::collect(body);
    ReviewWalker::new(&scopes, level, &mentions.calls, &mut findings).walk(body);
    if scopes.are_used_up() {
        findings.add(TextSize::default(), too_complex());
    }
    findings.in_order(code)
}

/// What was not looked at may be dangerous.
fn too_complex() -> RuleHit {
    RuleHit {
        rule: "too-complex",
        severity: Severity::Danger,
        subject: "too-complex".to_owned(),
        message: "the program is too complex to be looked at; make it shorter, and put data into a file of the workspace".to_owned(),
    }
}

fn too_deep() -> RuleHit {
    RuleHit {
        rule: "too-deep",
        severity: Severity::Danger,
        subject: "too-deep".to_owned(),
        message: "the program is nested too deeply to be looked at; split long expressions into statements".to_owned(),
    }
}
