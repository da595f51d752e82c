//! Literals in a call that surely do not fit their parameter.

use ruff_python_ast::{Expr, Number, UnaryOp};
use ruff_text_size::Ranged;
use serde_json::Value;

use crate::{check::finding::CheckFindings, syntax::string};
use narrows_model::nearest;

/// How many characters of a wrong value a message shows.
const SHOWN: usize = 40;
/// How many values of an enumeration a message lists.
const MAX_OPTIONS: usize = 12;

const TYPES: [&str; 7] = ["null", "boolean", "integer", "number", "string", "array", "object"];

/// The JSON type of a literal.
#[derive(Clone, Copy, Debug, PartialEq)]
enum JsonType {
    Null,
    Boolean,
    Integer,
    Float(f64),
    String,
    Array,
    Object,
}

impl JsonType {
    fn of(expr: &Expr) -> Option<Self> {
        match expr {
            Expr::NoneLiteral(_) => Some(Self::Null),
            Expr::BooleanLiteral(_) => Some(Self::Boolean),
            Expr::StringLiteral(_) | Expr::FString(_) => Some(Self::String),
            Expr::List(_) | Expr::ListComp(_) | Expr::Tuple(_) => Some(Self::Array),
            Expr::Dict(_) | Expr::DictComp(_) => Some(Self::Object),
            Expr::NumberLiteral(number) => match number.value {
                Number::Int(_) => Some(Self::Integer),
                Number::Float(value) => Some(Self::Float(value)),
                Number::Complex { .. } => None,
            },
            Expr::UnaryOp(unary) if matches!(unary.op, UnaryOp::USub | UnaryOp::UAdd) => {
                Self::of(&unary.operand)
                    .filter(|kind| matches!(kind, Self::Integer | Self::Float(_)))
            }
            _ => None,
        }
    }

    fn fits(self, name: &str) -> bool {
        match self {
            Self::Null => name == "null",
            Self::Boolean => name == "boolean",
            Self::Integer => matches!(name, "integer" | "number"),
            // 1.0 is an integer to JSON schema.
            Self::Float(value) => name == "number" || name == "integer" && value.fract() == 0.0,
            Self::String => name == "string",
            Self::Array => name == "array",
            Self::Object => name == "object",
        }
    }
}

/// Tells whether an expression is surely not a dict.
pub(crate) fn is_no_dict(expr: &Expr) -> bool {
    JsonType::of(expr).is_some_and(|kind| kind != JsonType::Object)
}

/// Tells whether values of this schema are surely not dicts.
pub(crate) fn refuses_dicts(schema: &Value) -> bool {
    types(schema).is_some_and(|types| !types.contains(&"object"))
}

/// Describes what is wrong with an argument, if it is a literal and does not fit.
pub(crate) fn mistake(
    expr: &Expr,
    schema: &Value,
    required: bool,
    findings: &CheckFindings<'_>,
) -> Option<String> {
    let kind = JsonType::of(expr)?;
    // The gateway leaves out optional arguments that are None.
    if kind == JsonType::Null && !required {
        return None;
    }
    if let Some(types) = types(schema).filter(|types| !types.iter().any(|name| kind.fits(name))) {
        let shown = shown(findings.text(expr.range()));
        return Some(format!("is {shown}, expected {}", types.join(" or ")));
    }
    let text = string(expr)?;
    let options = schema.get("enum").filter(|_| !is_elsewhere(schema))?.as_array()?;
    // An empty enumeration is a mistake of the server.
    if options.is_empty() || options.iter().any(|option| option == text) {
        return None;
    }
    let texts: Vec<&str> = options.iter().filter_map(Value::as_str).collect();
    let told: Vec<String> = options.iter().take(MAX_OPTIONS).map(Value::to_string).collect();
    let more = if options.len() > MAX_OPTIONS { ", …" } else { "" };
    let near = nearest(text, texts);
    let shown = shown(findings.text(expr.range()));
    Some(format!("is {shown}, expected one of {}{more}{near}", told.join(", ")))
}

/// Returns the types that a schema allows, if it lists them.
fn types(schema: &Value) -> Option<Vec<&str>> {
    let names: Vec<&str> = match schema.get("type")? {
        Value::String(name) => vec![name],
        Value::Array(names) => names.iter().map(Value::as_str).collect::<Option<_>>()?,
        _ => return None,
    };
    let are_known = !names.is_empty() && names.iter().all(|name| TYPES.contains(name));
    (are_known && !is_elsewhere(schema)).then_some(names)
}

/// Tells whether a schema is a reference: older drafts ignore everything beside one.
fn is_elsewhere(schema: &Value) -> bool {
    schema.get("$ref").is_some()
}

fn shown(text: &str) -> String {
    let mut chars = text.chars();
    let start: String =
        chars.by_ref().take(SHOWN).map(|c| if c.is_control() { ' ' } else { c }).collect();
    if chars.next().is_some() { start + "…" } else { start }
}
