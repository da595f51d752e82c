//! The signature of a tool: the few lines that a model needs to call it.

use serde_json::Value;

use super::classes::{ClassId, Defined};
use super::definition::{Definition, Observation, Parameter, Presence};
use super::literal;
use super::names::ToolName;
use super::notes::{self, PropertyNotes};
use super::types::Type;
use super::wrapper::observed;

/// How many characters of descriptions are kept, by what they describe.
#[derive(Clone, Copy, Debug)]
struct DescriptionLimits {
    tool: usize,
    parameter: usize,
    /// A property inside an argument.
    field: usize,
    /// A property of the result. These are dropped first, because a program can look at its results.
    result: usize,
}

/// The levels of detail. The first with which the signature is short enough is used.
const DETAILS: [DescriptionLimits; 5] = [
    DescriptionLimits { tool: 300, parameter: 160, field: 100, result: 60 },
    DescriptionLimits { tool: 200, parameter: 120, field: 80, result: 0 },
    DescriptionLimits { tool: 120, parameter: 80, field: 60, result: 0 },
    DescriptionLimits { tool: 100, parameter: 50, field: 40, result: 0 },
    DescriptionLimits { tool: 80, parameter: 30, field: 25, result: 0 },
];

/// The length of a short signature, in percent of the JSON's bytes. Over all real tools, that is less
/// than 40 % of its tokens, because JSON has more bytes per token.
const SHORT: usize = 34;

/// Writes the signature of a tool with its types and their meaning. It reads like Python but is never
/// run: `?` marks keys that may be absent, and class names have no prefix.
pub fn signature(name: &ToolName, raw: &Value, observation: Option<Observation<'_>>) -> String {
    let definition = Definition::new(raw, "", observation);
    let enough = raw.to_string().len() * SHORT / 100;
    let mut text = String::new();
    for detail in DETAILS {
        text = with_detail(name, &definition, detail);
        if text.len() <= enough {
            break;
        }
    }
    text
}

fn with_detail(name: &ToolName, definition: &Definition<'_>, detail: DescriptionLimits) -> String {
    let types: Vec<&Type> = definition.parameters.iter().map(|parameter| &parameter.ty).collect();
    let taken = definition.classes.needed(types);
    let mut text = String::new();
    for id in definition.classes_in_use() {
        let chars = if taken.contains(&id) { detail.field } else { detail.result };
        text += &class(definition, id, chars);
    }
    text += &format!(
        "async def {}({}){}\n",
        name.python,
        listed(parameters(definition, detail.parameter)),
        returns(definition),
    );
    let description = notes::sentences(definition.description, detail.tool);
    let description = match &definition.deprecation {
        Some(deprecation) => deprecation.with(&description),
        None => description,
    };
    if !description.is_empty() {
        text += &description;
        text.push('\n');
    }
    text
}

/// Writes the type of the result, and nothing if that may be anything.
fn returns(definition: &Definition<'_>) -> String {
    if definition.returns == Type::Any {
        return String::new();
    }
    let ty = expression(definition, &definition.returns);
    let source =
        definition.observed.map_or(String::new(), |calls| format!(" # {}", observed(calls)));
    format!(" -> {ty}{source}")
}

/// An item and the note on it.
type Noted = (String, String);

/// Writes the parameters with their notes. `= None` stands for `| None = None`, which is shorter.
fn parameters(definition: &Definition<'_>, chars: usize) -> Vec<Noted> {
    let mut list = Vec::new();
    for Parameter { raw, python, ty, presence, said, .. } in &definition.parameters {
        let text = match presence {
            Presence::Required => format!("{python}: {}", expression(definition, ty)),
            Presence::Optional => {
                format!("{python}: {} = None", expression(definition, &ty.without_none()))
            }
            Presence::Default(value) => {
                format!("{python}: {} = {value}", expression(definition, ty))
            }
        };
        // One star before all of them: every parameter is passed by name.
        let star = if list.is_empty() { "*, " } else { "" };
        list.push((format!("{star}{text}"), short_note(raw, *said, chars)));
    }
    list.extend(definition.extra.iter().map(|name| (format!("**{name}: Any"), String::new())));
    list
}

fn class(definition: &Definition<'_>, id: ClassId, chars: usize) -> String {
    let class = definition.classes.get(id);
    let mut fields = Vec::new();
    for field in &class.fields {
        let mark = if field.required { "" } else { "?" };
        let ty = expression(definition, &field.ty);
        let text = format!("{}{mark}: {ty}", literal::line(field.name));
        fields.push((text, short_note(field.name, field.said(), chars)));
    }
    if class.open {
        fields.push(("...".to_owned(), String::new()));
    }
    format!("{} = {{{}}}\n", class.name, listed(fields))
}

/// Joins items on one line, except for those with a note, which get lines of their own.
fn listed(items: Vec<Noted>) -> String {
    if items.iter().all(|(_, note)| note.is_empty()) {
        let items: Vec<String> = items.into_iter().map(|(item, _)| item).collect();
        return items.join(", ");
    }
    let mut text = "\n".to_owned();
    for (item, note) in items {
        let start_of_line = text.ends_with('\n');
        if note.is_empty() {
            text += if start_of_line { "" } else { " " };
            text += &format!("{item},");
        } else {
            text += if start_of_line { "" } else { "\n" };
            text += &format!("{item}, # {note}\n");
        }
    }
    if !text.ends_with('\n') {
        text.push('\n');
    }
    text
}

fn expression(definition: &Definition<'_>, ty: &Type) -> String {
    definition.classes.expression(ty, &Defined::All)
}

fn short_note(name: &str, said: Option<PropertyNotes<'_>>, chars: usize) -> String {
    match said {
        Some(said) if chars > 0 => notes::short_note(name, said, chars),
        _ => String::new(),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used)]
    use serde_json::json;

    use super::super::names::ToolNames;
    use super::*;

    #[test]
    fn a_deprecated_tool_says_so_even_if_its_words_are_cut() {
        let said = format!("{} This tool is deprecated; use stat.", "Reads a file. ".repeat(40));
        for raw in [
            json!({"name": "read", "description": said}),
            json!({"name": "read", "description": "Reads a file.", "deprecated": "use stat"}),
        ] {
            let text = signature(ToolNames::new(["read"]).get("read").unwrap(), &raw, None);
            assert!(text.contains("\ndeprecated: use stat; Reads a file."), "{text}");
        }
    }

    #[test]
    fn limits_and_formats_are_said_wherever_the_schema_has_them() {
        let raw = json!({
            "name": "find",
            "inputSchema": {
                "type": "object",
                "properties": {
                    "limit": {"$ref": "#/$defs/Limit", "description": "How many rows"},
                    "page": {"anyOf": [{"$ref": "#/$defs/Limit"}, {"type": "null"}]},
                    "since": {"allOf": [{"$ref": "#/$defs/Moment"}], "description": "From when on"},
                    "to": {"type": "array", "items": {"type": "string", "format": "email"}},
                    "code": {"type": "string", "pattern": "^[A-Z]{3}$", "maxLength": 3},
                    "when": {"anyOf": [{"type": "integer", "minimum": 0}, {"$ref": "#/$defs/Moment"}]},
                },
                "required": ["limit"],
                "$defs": {
                    "Limit": {"type": "integer", "minimum": 1, "maximum": 100},
                    "Moment": {"type": "string", "format": "date-time"},
                },
            },
        });
        let text = signature(ToolNames::new(["find"]).get("find").unwrap(), &raw, None);
        for line in [
            "limit: int, # How many rows (1..100)",
            "page: int = None, # (1..100)",
            "since: str = None, # From when on (date-time)",
            "to: list[str] = None, # (each email)",
            "code: str = None, # (length <=3, pattern ^[A-Z]{3}$)",
            "when: int | str = None, # (>=0)",
        ] {
            assert!(text.contains(line), "{line}: {text}");
        }
    }

    #[test]
    fn a_signature_says_what_a_call_needs() {
        let raw = json!({
            "name": "move",
            "description": "Move a file. It must exist.\n\nMore about it.",
            "inputSchema": {
                "type": "object",
                "properties": {
                    "path": {"type": "string", "description": "The path"},
                    "to": {"type": "string", "description": "Where it goes"},
                    "mode": {"enum": ["copy", "link"]},
                    "options": {"type": "object", "properties": {"force": {"type": "boolean"}}},
                },
                "required": ["path", "to"],
                "additionalProperties": true,
            },
        });
        let names = ToolNames::new(["move"]);
        assert_eq!(
            signature(names.get("move").unwrap(), &raw, None),
            r#"Options = {force?: bool}
async def move(
*, path: str,
to: str, # Where it goes
mode: Literal["copy", "link"] = None, options: Options = None, **extra: Any,
)
Move a file. It must exist. More about it.
"#
        );
    }
}
