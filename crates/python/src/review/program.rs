//! The review of a whole program.

use ruff_text_size::TextSize;

use super::{
    calls,
    finding::{ReviewFinding, ReviewFindings, ReviewSettings, RuleHit, Severity},
    resolver::{ImpliedImports, Resolver},
    walk::ReviewWalker,
};
use crate::{ParsedProgram, syntax::SyntaxFault, uses::Mentions};
use narrows_policy::{Denial, Level};

/// Reviews a program before it runs, with the names that it gets without an import. `tools` is called
/// with each tool that it names, as `server.tool` or as it is written, and returns why it is refused.
///
/// A program that does not parse has no findings, because Python explains syntax errors better. The
/// level's [`ReviewMode`](narrows_policy::ReviewMode) decides what follows from findings.
pub fn review(
    program: &ParsedProgram<'_>,
    implied: &ImpliedImports,
    level: &Level,
    settings: &ReviewSettings,
    tools: &dyn Fn(&str) -> Option<Denial>,
) -> Vec<ReviewFinding> {
    let code = program.text();
    let mut findings = ReviewFindings::new(settings);
    let body = match program.body() {
        Ok(body) => body,
        Err(SyntaxFault::TooDeep) => {
            findings.add(TextSize::default(), too_deep());
            return findings.in_order(code);
        }
        Err(SyntaxFault::Invalid { .. }) => return Vec::new(),
    };
    let mentions = Mentions::new(program, &implied.tool_paths());
    calls::denied(&mentions, level, tools, &mut findings);
    let resolver = Resolver::new(program.scopes(), implied);
    ReviewWalker::new(&resolver, level, &mentions.calls, &mut findings).walk(body);
    if resolver.is_used_up() {
        findings.add(TextSize::default(), too_complex());
    }
    findings.in_order(code)
}

/// Returns the finding for a program with parts that were not reviewed, since they may be dangerous.
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
