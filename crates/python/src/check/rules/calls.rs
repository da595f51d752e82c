//! Arguments that a tool does not take, and required ones that a call leaves out.
//!
//! The rules are those of `tool()` in `_narrows/tools.py`: keywords, one dict of all arguments,
//! or positions; by the Python name of a parameter or by its raw name.

use std::collections::HashSet;

use ruff_python_ast::{Expr, ExprCall, ExprDict};
use ruff_text_size::{Ranged, TextSize};

use crate::{
    check::{
        finding::CheckFindings,
        known::{KnownParameter, KnownTool},
        rules::literals,
        spelling::is_name,
    },
    syntax::string,
};
use narrows_model::nearest;

/// How many parameters a message lists if no name is similar.
const MAX_NAMES: usize = 12;

/// An argument by name.
struct NamedArgument<'a> {
    name: &'a str,
    value: &'a Expr,
    at: TextSize,
}

/// All arguments of a call, as far as they can be seen.
struct CallArguments<'a> {
    positions: &'a [Expr],
    names: Vec<NamedArgument<'a>>,
    /// Whether there are others: `*args`, `**more`, keys that are computed.
    has_more: bool,
}

/// Checks the arguments in a call of a tool's function.
pub(crate) fn of_function(call: &ExprCall, tool: &KnownTool, findings: &mut CheckFindings<'_>) {
    let keywords = keywords(call);
    let given = match (&*call.arguments.args, call.arguments.keywords.is_empty()) {
        ([Expr::Dict(dict)], true) => match of_dict(dict, tool) {
            Some(given) => given,
            None => return,
        },
        // The only argument may be a dict of all arguments.
        ([only], true) if !literals::is_no_dict(only) => return,
        (positions, _) => {
            let has_stars = positions.iter().any(Expr::is_starred_expr);
            let positions = if has_stars { &[] } else { positions };
            CallArguments { positions, has_more: keywords.has_more || has_stars, ..keywords }
        }
    };
    CheckedCall { tool, by_any_name: true, start: call.start() }.check(given, findings);
}

/// The keywords of `call_mcp_tool` itself; `_narrows/discovery.py` has the same lists.
const TOOL_NAMES: [&str; 3] = ["tool_name", "name", "tool"];
const ARGUMENTS: [&str; 5] = ["input", "arguments", "args", "params", "parameters"];
const EXPECTED: [&str; 5] = ["type", "expected_type", "expected", "response_type", "result_type"];

/// Returns the name of the tool in a call by full name: the first argument, or a keyword.
pub(crate) fn full_name(call: &ExprCall) -> Option<&Expr> {
    let by_keyword = || TOOL_NAMES.iter().find_map(|name| call.arguments.find_keyword(name));
    let first = call.arguments.args.first();
    first.or_else(|| by_keyword().map(|keyword| &keyword.value))
}

/// Checks the arguments of `call_mcp_tool("mcp__server__tool", {…}, …)`, which have raw names only.
pub(crate) fn by_full_name(call: &ExprCall, tool: &KnownTool, findings: &mut CheckFindings<'_>) {
    let mut given = keywords(call);
    let positions = &*call.arguments.args;
    if positions.is_empty() {
        given.names.retain(|named| !TOOL_NAMES.contains(&named.name));
    }
    // Such keywords may belong to `call_mcp_tool` and not to the tool.
    let is_of_call = |named: &NamedArgument<'_>| {
        positions.len() < 2 && ARGUMENTS.contains(&named.name) && !literals::is_no_dict(named.value)
            || EXPECTED.contains(&named.name) && !named.value.is_literal_expr()
    };
    let (of_call, names): (Vec<_>, Vec<_>) = given.names.into_iter().partition(is_of_call);
    given.names = names;
    let dict = of_call.iter().find(|named| ARGUMENTS.contains(&named.name)).map(|it| it.value);
    match (positions, dict) {
        ([], None) | ([_], None) | ([_, Expr::NoneLiteral(_)], _) => {}
        ([] | [_], Some(Expr::Dict(dict))) | ([_, Expr::Dict(dict)], _) => {
            let keys = keys(dict);
            given.has_more |= keys.has_more;
            given.names.extend(keys.names);
        }
        _ => given.has_more = true,
    }
    CheckedCall { tool, by_any_name: false, start: call.start() }.check(given, findings);
}

fn keywords(call: &ExprCall) -> CallArguments<'_> {
    let keywords = &call.arguments.keywords;
    let names = keywords.iter().filter_map(|keyword| {
        let name = keyword.arg.as_ref()?;
        Some(NamedArgument { name, value: &keyword.value, at: name.start() })
    });
    let has_more = keywords.iter().any(|keyword| keyword.arg.is_none());
    CallArguments { positions: &[], names: names.collect(), has_more }
}

fn keys(dict: &ExprDict) -> CallArguments<'_> {
    let names = dict.items.iter().filter_map(|item| {
        let key = item.key.as_ref()?;
        Some(NamedArgument { name: string(key)?, value: &item.value, at: key.start() })
    });
    let names: Vec<NamedArgument<'_>> = names.collect();
    let has_more = names.len() < dict.items.len();
    CallArguments { positions: &[], names, has_more }
}

/// Returns the arguments in a lone dict. None if it may as well be the first argument.
fn of_dict<'a>(dict: &'a ExprDict, tool: &KnownTool) -> Option<CallArguments<'a>> {
    let keys = keys(dict);
    let is_known = |named: &NamedArgument<'_>| parameter(tool, named.name).is_some();
    let has_known = keys.names.iter().any(is_known);
    if dict.items.is_empty() || tool.open || tool.parameters.is_empty() || has_known {
        return Some(keys);
    }
    let first = tool.parameters.first()?;
    // As the first argument, a dict would fail as well; so all arguments were meant.
    (!keys.has_more && literals::refuses_dicts(&first.schema)).then_some(keys)
}

fn parameter<'t>(tool: &'t KnownTool, name: &str) -> Option<&'t KnownParameter> {
    let by_python = tool.parameters.iter().find(|parameter| parameter.python == name);
    by_python.or_else(|| tool.parameters.iter().find(|parameter| parameter.raw == name))
}

/// A call that is checked.
struct CheckedCall<'t> {
    tool: &'t KnownTool,
    /// Whether Python names are accepted beside raw ones.
    by_any_name: bool,
    start: TextSize,
}

impl<'t> CheckedCall<'t> {
    fn check(&self, given: CallArguments<'_>, findings: &mut CheckFindings<'_>) {
        let parameters = &self.tool.parameters;
        let name = &self.tool.name;
        if given.positions.len() > parameters.len() {
            let (takes, count) = (parameters.len(), given.positions.len());
            let message =
                format!("{name}() takes {takes} arguments, {count} were given{}", self.takes());
            return findings.add(self.start, message);
        }
        let mut seen: HashSet<&str> = HashSet::new();
        for (parameter, value) in parameters.iter().zip(given.positions) {
            seen.insert(&parameter.raw);
            self.check_value(parameter, value, findings);
        }
        let mut meant: HashSet<&str> = HashSet::new();
        for argument in given.names.iter().filter(|argument| is_name(argument.name)) {
            if findings.are_enough() {
                return;
            }
            match self.parameter(argument.name) {
                Some(parameter) if seen.insert(&parameter.raw) => {
                    self.check_value(parameter, argument.value, findings);
                }
                Some(_) if self.by_any_name => {
                    let message = format!("{name}() gets '{}' twice", argument.name);
                    findings.add(argument.at, message);
                }
                Some(_) => {}
                None if self.is_open() => {}
                None => meant.extend(self.unknown(argument, findings)),
            }
        }
        let missing: Vec<&str> = parameters
            .iter()
            .filter(|parameter| parameter.required && !seen.contains(parameter.raw.as_str()))
            .filter(|parameter| !meant.contains(parameter.raw.as_str()))
            .map(|parameter| self.name_of(parameter))
            .collect();
        if !missing.is_empty() && !given.has_more {
            findings.add(self.start, format!("{name}() needs {}", missing.join(", ")));
        }
    }

    fn is_open(&self) -> bool {
        if self.by_any_name { self.tool.open } else { !self.tool.closed }
    }

    fn parameter(&self, name: &str) -> Option<&'t KnownParameter> {
        match self.by_any_name {
            true => parameter(self.tool, name),
            false => self.tool.parameters.iter().find(|parameter| parameter.raw == name),
        }
    }

    fn name_of<'p>(&self, parameter: &'p KnownParameter) -> &'p str {
        if self.by_any_name { &parameter.python } else { &parameter.raw }
    }

    fn check_value(
        &self,
        parameter: &KnownParameter,
        value: &Expr,
        findings: &mut CheckFindings<'_>,
    ) {
        let mistake = literals::mistake(value, &parameter.schema, parameter.required, findings);
        if let Some(mistake) = mistake {
            let message = format!("{}(): '{}' {mistake}", self.tool.name, self.name_of(parameter));
            findings.add(value.start(), message);
        }
    }

    /// Reports that there is no such parameter, with the one that was surely meant.
    fn unknown(
        &self,
        argument: &NamedArgument<'_>,
        findings: &mut CheckFindings<'_>,
    ) -> Option<&'t str> {
        let parameters = &self.tool.parameters;
        let known = parameters.iter().map(|parameter| self.name_of(parameter));
        let nearest = nearest(argument.name, known).0.into_iter().next();
        let hint = match &nearest {
            Some(near) => format!("; did you mean '{near}'?"),
            None => self.takes(),
        };
        let (tool, name) = (&self.tool.name, argument.name);
        findings.add(argument.at, format!("{tool}() has no parameter '{name}'{hint}"));
        let meant = parameters.iter().find(|one| Some(self.name_of(one)) == nearest.as_deref());
        meant.map(|parameter| parameter.raw.as_str())
    }

    fn takes(&self) -> String {
        let names: Vec<&str> =
            self.tool.parameters.iter().map(|parameter| self.name_of(parameter)).collect();
        match names.as_slice() {
            [] => " (it takes none)".to_owned(),
            names if names.len() > MAX_NAMES => {
                format!(" (it takes {}, …)", names[..MAX_NAMES].join(", "))
            }
            names => format!(" (it takes {})", names.join(", ")),
        }
    }
}
