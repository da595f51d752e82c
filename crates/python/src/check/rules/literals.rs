//! Values that stand in a call and surely do not fit.

use ruff_python_ast::{Expr, Number, UnaryOp};
use ruff_text_size::Ranged;
use serde_json::Value;

use crate::{check::finding::CheckFindings, syntax::string};
use narrows_model::nearest;

/// How much of a wrong value is shown, in characters.
const SHOWN: usize = 40;
/// How many values of an enumeration are told.
const MAX_OPTIONS: usize = 12;

const TYPES: [&str; 7] = ["null", "boolean", "integer", "number", "string", "array", "object"];

/// The type that a value has in JSON.
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

/// Whether it is surely no dict.
pub(crate) fn is_no_dict(expr: &Expr) -> bool {
    JsonType::of(expr).is_some_and(|kind| kind != JsonType::Object)
}

/// Whether values of this schema are surely no dicts.
pub(crate) fn refuses_dicts(schema: &Value) -> bool {
    types(schema).is_some_and(|types| !types.contains(&"object"))
}

/// What is wrong with an argument, if it is one that can be judged.
pub(crate) fn mistake(
    expr: &Expr,
    schema: &Value,
    required: bool,
    findings: &CheckFindings<'_>,
) -> Option<String> {
    let kind = JsonType::of(expr)?;
    // The gateway leaves out what is None and need not be there.
    if kind == JsonType::Null && !required {
        return None;
    }
    if let Some(types) = types(schema).filter(|types| !types.iter().any(|name| kind.fits(name))) {
        let shown = shown(findings.text(expr.range()));
        return Some(format!("is {shown}, expected {}", types.join(" or ")));
    }
    let text = string(expr)?;
    let options = schema.get("enum").filter(|_| !is_elsewhere(schema))?.as_array()?;
    // None at all is a slip of the server's.
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

/// The types that a schema allows, if it says so plainly.
fn types(schema: &Value) -> Option<Vec<&str>> {
    let names: Vec<&str> = match schema.get("type")? {
        Value::String(name) => vec![name],
        Value::Array(names) => names.iter().map(Value::as_str).collect::<Option<_>>()?,
        _ => return None,
    };
    let are_known = !names.is_empty() && names.iter().all(|name| TYPES.contains(name));
    (are_known && !is_elsewhere(schema)).then_some(names)
}

/// Older drafts ignore what stands beside a reference.
fn is_elsewhere(schema: &Value) -> bool {
    schema.get("$ref").is_some()
}

fn shown(text: &str) -> String {
    let mut chars = text.chars();
    let start: String =
        chars.by_ref().take(SHOWN).map(|c| if c.is_control() { ' ' } else { c }).collect();
    if chars.next().is_some() { start + "…" } else { start }
}
