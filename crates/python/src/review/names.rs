//! `dynamic-code` and `denied-name`: names that a program must not use at all.

use std::collections::BTreeSet;

use super::{
    finding::{RuleHit, Severity},
    meaning::ResolvedPath,
};

/// Functions that make code from text, or from parts of code.
const MAKES_CODE: [&str; 11] = [
    "builtins.eval",
    "builtins.exec",
    "builtins.compile",
    "code.InteractiveConsole",
    "code.InteractiveInterpreter",
    "codeop.compile_command",
    "runpy.run_module",
    "runpy.run_path",
    "types.CodeType",
    "types.FunctionType",
    "types.LambdaType",
];

/// Returns the finding for a name that makes code: `eval(x)`, `map(eval, xs)`, `e = eval`.
pub(super) fn dynamic_code(meaning: &ResolvedPath) -> Option<RuleHit> {
    let path = meaning.path.as_str();
    if !MAKES_CODE.contains(&path) {
        return None;
    }
    let name = path.strip_prefix("builtins.").unwrap_or(path);
    let instead = match name {
        "eval" => "; json.loads and ast.literal_eval read data",
        _ => "; write the code into the program itself",
    };
    Some(RuleHit {
        rule: "dynamic-code",
        severity: if meaning.doubtful { Severity::Warning } else { Severity::Danger },
        subject: path.to_owned(),
        message: format!("{name} runs code that cannot be looked at beforehand{instead}"),
    })
}

/// Returns the finding for a name that the operator forbids.
pub(super) fn denied(path: &str, denied: &BTreeSet<String>) -> Option<RuleHit> {
    let name = path.strip_prefix("builtins.").unwrap_or(path);
    let last = name.rsplit('.').next().unwrap_or_default();
    let is_denied = denied.contains(name) || denied.contains(path) || denied.contains(last);
    is_denied.then(|| RuleHit {
        rule: "denied-name",
        severity: Severity::Danger,
        subject: name.to_owned(),
        message: format!("{name} is forbidden here by the configuration; do without it"),
    })
}
