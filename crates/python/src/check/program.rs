//! A whole program.

use ruff_python_parser::parse_module;
use ruff_text_size::{TextRange, TextSize};

use super::{
    collect, depth, finding::Checked, known::KnownTools, tools::UsedTools,
    undefined::GivenVariables, value::Values, walk::CheckWalker,
};

/// Programs of agents have a hundredth of that; a larger one is not worth the time.
const MAX_BYTES: usize = 256 << 10;

/// Finds mistakes that would make the program fail, before it runs. What does not parse is left
/// to Python, which says it better.
pub fn check<'k>(code: &str, given: GivenVariables<'k>, known: &'k dyn KnownTools) -> Checked {
    let code = code.strip_prefix('\u{feff}').unwrap_or(code);
    let names_tools = ["servers", "client", "call_mcp_tool"].iter().any(|it| code.contains(it));
    let is_of_interest = names_tools || matches!(given, GivenVariables::Names(_));
    if code.len() > MAX_BYTES || !is_of_interest || depth::is_too_deep(code) {
        return Checked::default();
    }
    let Ok(parsed) = parse_module(code) else { return Checked::default() };
    let end = TextSize::try_from(code.len()).unwrap_or_default();
    let facts = collect::collect(parsed.suite(), TextRange::up_to(end));
    if facts.is_opaque {
        return Checked::default();
    }
    let values = Values::new(facts, UsedTools::new(known), given);
    values.mark_changed();
    CheckWalker::new(&values, code, given).walk(parsed.suite())
}
