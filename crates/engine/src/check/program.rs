//! A whole program.

use ruff_python_parser::parse_module;
use ruff_text_size::{TextRange, TextSize};

use super::{
    collect, depth, finding::Finding, known::Known, tools::Tools, value::Values, walk::Walker,
};

/// Programs of agents have a hundredth of that; a larger one is not worth the time.
const MOST_BYTES: usize = 256 << 10;

/// Finds mistakes that would make the program fail, before it runs. What does not parse is left
/// to Python, which says it better.
pub fn check(code: &str, known: &dyn Known) -> Vec<Finding> {
    let code = code.strip_prefix('\u{feff}').unwrap_or(code);
    let names_tools = code.contains("servers") || code.contains("client");
    if code.len() > MOST_BYTES || !names_tools || depth::is_too_deep(code) {
        return Vec::new();
    }
    let Ok(parsed) = parse_module(code) else { return Vec::new() };
    let end = TextSize::try_from(code.len()).unwrap_or_default();
    let facts = collect::collect(parsed.suite(), TextRange::up_to(end));
    if facts.is_opaque {
        return Vec::new();
    }
    let values = Values::new(facts, Tools::new(known));
    values.mark_changed();
    Walker::new(&values, code).walk(parsed.suite())
}
