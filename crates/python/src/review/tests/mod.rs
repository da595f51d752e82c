#![allow(clippy::unwrap_used, clippy::expect_used, missing_docs)]

mod arbitrary;
mod corpus;
mod hopeless;
mod implied;
mod refused;

use std::collections::BTreeMap;

use super::{ImpliedImports, ReviewFinding, ReviewSettings, Severity};
use crate::{ParsedProgram, SourceTree};
use narrows_policy::{Denial, Level, Levels};

fn level(name: &str) -> Level {
    Levels::new(BTreeMap::new()).unwrap().get(name).unwrap().as_ref().clone()
}

fn review(
    code: &str,
    level: &Level,
    settings: &ReviewSettings,
    tools: &dyn Fn(&str) -> Option<Denial>,
) -> Vec<ReviewFinding> {
    let (tree, nothing) = (SourceTree::new(code), ImpliedImports::default());
    super::review(&ParsedProgram::new(&tree), &nothing, level, settings, tools)
}

fn nothing_denied(_: &str) -> Option<Denial> {
    None
}

/// Returns the findings in a program at the default level.
fn findings(code: &str) -> Vec<ReviewFinding> {
    review(code, &level(Levels::DEFAULT), &ReviewSettings::default(), &nothing_denied)
}

/// Returns rule, line and severity of each finding.
fn brief(code: &str) -> Vec<(&'static str, u32, Severity)> {
    findings(code).iter().map(|one| (one.rule, one.line, one.severity)).collect()
}

/// Checks the severity of the worst finding of a rule.
#[track_caller]
fn assert_found(code: &str, rule: &str, severity: Severity) {
    let found = findings(code);
    let worst = found.iter().filter(|one| one.rule == rule).map(|one| one.severity).max();
    assert_eq!(worst, Some(severity), "{rule} in\n{code}\n{found:#?}");
}

#[track_caller]
fn assert_clean(code: &str) {
    assert_eq!(findings(code), [], "{code}");
}
