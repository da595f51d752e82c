//! The check of a whole program.

use crate::{
    ParsedProgram,
    check::{
        facts::Facts,
        finding::Checked,
        given::GivenVariables,
        known::KnownTools,
        values::{UsedTools, Values},
        walk::CheckWalker,
    },
};

/// How large a program may be to be checked. Programs of agents have a hundredth of that; a larger one
/// is not worth the time.
const MAX_BYTES: usize = 256 << 10;

/// Finds mistakes that would make the program fail, before it runs. A program that does not parse has
/// no findings, because Python explains syntax errors better.
pub fn check<'k>(
    program: &ParsedProgram<'_>,
    given: GivenVariables<'k>,
    known: &'k dyn KnownTools,
) -> Checked {
    let code = program.text();
    let names_tools = ["servers", "client", "call_mcp_tool"].iter().any(|it| code.contains(it));
    let is_of_interest = names_tools || matches!(given, GivenVariables::Names(_));
    if code.len() > MAX_BYTES || !is_of_interest {
        return Checked::default();
    }
    let Ok(body) = program.body() else { return Checked::default() };
    let facts = Facts::collect(body, program.scopes());
    if facts.is_opaque {
        return Checked::default();
    }
    let values = Values::new(facts, UsedTools::new(known), given);
    values.mark_changed();
    CheckWalker::new(&values, code, given).walk(body)
}
