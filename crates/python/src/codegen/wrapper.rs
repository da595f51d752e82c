//! The Python source of a tool that runs in the sandbox.

use std::collections::HashSet;

use serde_json::Value;

use super::classes::{Comments, Defined};
use super::definition::{Definition, Observation, Parameter, Presence};
use super::literal;
use super::names::ToolName;
use super::notes;
use super::types::Type;

/// The imports that the source of a tool relies on, besides `_tool`.
pub const PREAMBLE: &str = "from typing import Any, Literal, NotRequired, TypedDict, Union\n";

/// The Python source of one tool: its classes, and a function without a body that the
/// decorator `_tool` makes into a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ToolCode {
    pub python_name: String,
    pub source: String,
}

impl ToolCode {
    /// Generates the source. `full_name` is the tool that `_tool` calls; `raw` is the definition by its
    /// server.
    pub fn new(
        full_name: &str,
        name: &ToolName,
        raw: &Value,
        observation: Option<Observation<'_>>,
    ) -> Self {
        let definition = Definition::new(raw, &name.class_prefix, observation);
        Self::with_docstring(full_name, name, &definition, &docstring(&definition))
    }

    /// Generates the source like [`Self::new`], without the texts of the server: the description of the
    /// tool, and the values in its signature (choices, defaults). For flow rules, showing them counts as
    /// reading from the server, and a program that only names a tool has not read anything.
    pub fn without_description(
        full_name: &str,
        name: &ToolName,
        raw: &Value,
        observation: Option<Observation<'_>>,
    ) -> Self {
        let mut definition = Definition::new(raw, &name.class_prefix, observation);
        definition.drop_values();
        let docstring = literal::docstring("get_tool_definition tells what it does.");
        Self::with_docstring(full_name, name, &definition, &docstring)
    }

    fn with_docstring(
        full_name: &str,
        name: &ToolName,
        definition: &Definition<'_>,
        docstring: &str,
    ) -> Self {
        let mut source = String::new();
        let mut defined = Defined::Only(HashSet::new());
        for id in definition.classes_in_use() {
            source += &definition.classes.source(id, &defined, Comments::Without);
            if let Defined::Only(ids) = &mut defined {
                ids.insert(id);
            }
        }
        source += &decorator(full_name, &definition.parameters);
        source += &format!(
            "async def {}({}) -> {}:\n{}\n",
            name.python,
            parameters(definition, &defined),
            definition.classes.expression(&definition.returns, &defined),
            docstring,
        );
        Self { python_name: name.python.clone(), source }
    }
}

/// Writes the docstring of a tool: its whole description, then its parameters.
pub(super) fn docstring(definition: &Definition<'_>) -> String {
    let mut text = definition.description.trim().to_owned();
    let notes: Vec<String> = definition
        .parameters
        .iter()
        .filter_map(|parameter| {
            let note = notes::note(parameter.said?);
            (!note.is_empty()).then(|| format!("{}: {note}", parameter.python))
        })
        .collect();
    if !notes.is_empty() {
        text = format!("{text}\n\n{}", notes.join("\n"));
    }
    if let Some(calls) = definition.observed {
        text = format!("{text}\n\nThe type of the result was {}.", observed(calls));
    }
    literal::docstring(&text)
}

/// Returns the note on a type that was inferred from results and not declared by the server.
pub(super) fn observed(calls: u64) -> String {
    format!("observed in {calls} call{}", if calls == 1 { "" } else { "s" })
}

fn decorator(full_name: &str, parameters: &[Parameter<'_>]) -> String {
    let renamed: Vec<String> = parameters
        .iter()
        .filter(|parameter| parameter.python != parameter.raw)
        .map(|p| format!("{}: {}", literal::string(&p.python), literal::string(p.raw)))
        .collect();
    let full_name = literal::string(full_name);
    if renamed.is_empty() {
        return format!("@_tool({full_name})\n");
    }
    format!("@_tool({full_name}, {{{}}})\n", renamed.join(", "))
}

fn parameters(definition: &Definition<'_>, defined: &Defined) -> String {
    let expression = |ty: &Type| definition.classes.expression(ty, defined);
    definition.parameter_list(|Parameter { python, ty, presence, .. }| match presence {
        Presence::Required => format!("{python}: {}", expression(ty)),
        Presence::Optional => format!("{python}: {} = None", expression(&ty.clone().or_none())),
        Presence::Default(value) => format!("{python}: {} = {value}", expression(ty)),
    })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used)]
    use serde_json::json;

    use super::super::names::ToolNames;
    use super::*;

    #[test]
    fn a_tool_is_its_classes_and_a_decorated_function() {
        let raw = json!({
            "name": "create-issue",
            "description": "Create an issue.",
            "inputSchema": {
                "type": "object",
                "properties": {
                    "from": {"type": "string", "description": "Who reports it"},
                    "title": {"type": "string"},
                    "labels": {"type": "array", "items": {"type": "string"}},
                    "per_page": {"type": "integer", "default": 30, "maximum": 100},
                    "place": {"type": "object", "properties": {"x": {"type": "number"}}},
                },
                "required": ["title"],
            },
            "outputSchema": {
                "type": "object", "properties": {"id": {"type": "integer"}}, "required": ["id"],
            },
        });
        let names = ToolNames::new(["create-issue"]);
        let name = names.get("create-issue").unwrap();
        let code = ToolCode::new("mcp__github__create-issue", name, &raw, None);
        assert_eq!(code.python_name, "create_issue");
        assert_eq!(
            code.source,
            r#"class CreateIssuePlace(TypedDict):
    x: NotRequired[float]
class CreateIssueResult(TypedDict):
    id: int
@_tool("mcp__github__create-issue", {"from_": "from"})
async def create_issue(*, title: str, from_: str | None = None, labels: list[str] | None = None, per_page: int = 30, place: CreateIssuePlace | None = None) -> CreateIssueResult:
    """Create an issue.

    from_: Who reports it
    per_page: (<=100)
    """
"#
        );
    }

    #[test]
    fn without_its_description_a_tool_has_types_and_no_values() {
        let choice = json!({"enum": ["SECRET", 5, null], "default": "SECRET"});
        let raw = json!({
            "name": "help",
            "description": "SECRET",
            "inputSchema": {
                "type": "object",
                "properties": {
                    "kind": choice,
                    "kinds": {"type": "array", "items": choice},
                    "only": {"const": "SECRET"},
                    "by": {"type": "object", "properties": {"field": choice}},
                    "name": {"type": "string", "default": "SECRET", "title": "SECRET"},
                    "count": {"type": "integer", "default": 7},
                },
                "required": ["kinds", "only"],
            },
            "outputSchema": {
                "type": "object", "properties": {"state": choice}, "required": ["state"],
            },
        });
        let names = ToolNames::new(["help"]);
        let name = names.get("help").unwrap();
        let source = ToolCode::without_description("mcp__mail__help", name, &raw, None).source;
        assert_eq!(
            source,
            r#"class HelpBy(TypedDict):
    field: NotRequired[str | int | None]
class HelpResult(TypedDict):
    state: str | int | None
@_tool("mcp__mail__help")
async def help(*, kinds: list[str | int | None], only: str, kind: str | int | None = None, by: HelpBy | None = None, name: str | None = None, count: int | None = None) -> HelpResult:
    """get_tool_definition tells what it does."""
"#
        );
        // The control: the full source has the values.
        assert!(ToolCode::new("x", name, &raw, None).source.matches("SECRET").count() > 5);
    }
}
