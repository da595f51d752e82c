//! Python type expressions.

use serde_json::Value;

use super::classes::ClassId;
use super::literal;

/// How many values a `Literal` may have. Longer enumerations are in the documentation instead; in a
/// type they only hide the rest of the signature.
pub(super) const MAX_LITERALS: usize = 20;

/// The length of a string in a `Literal`. A longer one is not a choice that anyone would write.
const MAX_LITERAL_BYTES: usize = 120;

/// How many alternatives a union may have. More say no more than `Any`.
const MAX_ALTERNATIVES: usize = 24;

/// The size of a type. Stops schemas whose shared parts double at each level: they are small as JSON
/// and endless when written out.
const MAX_SIZE: usize = 100;

#[derive(Clone, Debug, PartialEq)]
pub(super) enum Type {
    Any,
    None,
    Bool,
    Int,
    Float,
    Str,
    /// Strings, integers and booleans, at least one.
    Literal(Vec<Value>),
    List(Box<Type>),
    Dict(Box<Type>),
    /// Two or more that differ, none of them a union or `Any`.
    Union(Vec<Type>),
    Class(ClassId),
}

impl Type {
    pub(super) fn list(item: Self) -> Self {
        Self::List(Box::new(item)).bounded()
    }

    pub(super) fn dict(value: Self) -> Self {
        Self::Dict(Box::new(value)).bounded()
    }

    /// Returns the union of some types; `Any` if there are none.
    pub(super) fn union(alternatives: impl IntoIterator<Item = Self>) -> Self {
        let mut members = Vec::new();
        let mut literals = Vec::new();
        let mut or_none = false;
        for alternative in alternatives {
            let parts = match alternative {
                Self::Union(parts) => parts,
                other => vec![other],
            };
            for part in parts {
                match part {
                    Self::Any => return Self::Any,
                    Self::None => or_none = true,
                    Self::Literal(values) => {
                        for value in values {
                            // Once there are too many, further ones are not even compared.
                            if literals.len() > MAX_LITERALS {
                                add_new(&mut members, [base(&value)]);
                            } else {
                                add_new(&mut literals, [value]);
                            }
                        }
                    }
                    other => add_new(&mut members, [other]),
                }
            }
            if members.len() > MAX_ALTERNATIVES {
                return Self::Any;
            }
        }
        add_new(&mut members, literal_types(literals));
        if or_none {
            members.push(Self::None);
        }
        match members.len() {
            0 => Self::Any,
            1 => members.remove(0),
            2..=MAX_ALTERNATIVES => Self::Union(members).bounded(),
            _ => Self::Any,
        }
    }

    pub(super) fn or_none(self) -> Self {
        Self::union([self, Self::None])
    }

    pub(super) fn without_none(&self) -> Self {
        match self {
            Self::Union(members) => {
                Self::union(members.iter().filter(|member| **member != Self::None).cloned())
            }
            other => other.clone(),
        }
    }

    /// Returns the type without the values that it lists: `Literal["a", 1]` becomes `str | int`.
    pub(super) fn without_values(&self) -> Self {
        match self {
            Self::Literal(values) => Self::union(values.iter().map(base)),
            Self::List(item) => Self::list(item.without_values()),
            Self::Dict(value) => Self::dict(value.without_values()),
            Self::Union(members) => Self::union(members.iter().map(Self::without_values)),
            other => other.clone(),
        }
    }

    /// Calls `visit` with every class that this mentions.
    pub(super) fn visit_classes(&self, visit: &mut impl FnMut(ClassId)) {
        match self {
            Self::Class(id) => visit(*id),
            Self::List(inner) | Self::Dict(inner) => inner.visit_classes(visit),
            Self::Union(members) => members.iter().for_each(|m| m.visit_classes(visit)),
            _ => {}
        }
    }

    /// Writes the type expression. `class` returns the name of a class, in quotes where it is not yet
    /// defined.
    pub(super) fn expression(&self, class: &impl Fn(ClassId) -> String) -> String {
        match self {
            Self::Any => "Any".to_owned(),
            Self::None => "None".to_owned(),
            Self::Bool => "bool".to_owned(),
            Self::Int => "int".to_owned(),
            Self::Float => "float".to_owned(),
            Self::Str => "str".to_owned(),
            Self::Literal(values) => {
                let values: Vec<String> = values.iter().map(literal::value).collect();
                format!("Literal[{}]", values.join(", "))
            }
            Self::List(item) => format!("list[{}]", item.expression(class)),
            Self::Dict(value) => format!("dict[str, {}]", value.expression(class)),
            Self::Class(id) => class(*id),
            Self::Union(members) => {
                let members: Vec<String> = members.iter().map(|m| m.expression(class)).collect();
                // A name in quotes is a string, and the operator `|` does not work on strings.
                if members.iter().any(|member| member.starts_with('"')) {
                    format!("Union[{}]", members.join(", "))
                } else {
                    members.join(" | ")
                }
            }
        }
    }

    fn bounded(self) -> Self {
        if self.size() > MAX_SIZE { Self::Any } else { self }
    }

    /// Returns the approximate length of the expression, in words.
    pub(super) fn size(&self) -> usize {
        1 + match self {
            Self::Literal(values) => values.len(),
            Self::List(inner) | Self::Dict(inner) => inner.size(),
            Self::Union(members) => members.iter().map(Self::size).sum(),
            _ => 0,
        }
    }
}

/// Returns the type with exactly these values, or a wider one if there are many.
pub(super) fn of_values<'v>(values: impl IntoIterator<Item = &'v Value>) -> Type {
    Type::union(values.into_iter().map(|value| match value {
        Value::Null => Type::None,
        Value::Array(_) => Type::list(Type::Any),
        Value::Object(_) => Type::dict(Type::Any),
        Value::Number(number) if number.is_f64() => Type::Float,
        Value::String(text) if text.len() > MAX_LITERAL_BYTES => Type::Str,
        scalar => Type::Literal(vec![scalar.clone()]),
    }))
}

fn literal_types(values: Vec<Value>) -> Vec<Type> {
    if values.is_empty() {
        return Vec::new();
    }
    if values.len() == 2 && values.iter().all(Value::is_boolean) {
        return vec![Type::Bool];
    }
    if values.len() <= MAX_LITERALS {
        return vec![Type::Literal(values)];
    }
    let mut bases = Vec::new();
    for value in &values {
        add_new(&mut bases, [base(value)]);
    }
    bases
}

fn base(literal: &Value) -> Type {
    match literal {
        Value::String(_) => Type::Str,
        Value::Bool(_) => Type::Bool,
        _ => Type::Int,
    }
}

fn add_new<T: PartialEq>(list: &mut Vec<T>, items: impl IntoIterator<Item = T>) {
    for item in items {
        if !list.contains(&item) {
            list.push(item);
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn text(ty: &Type) -> String {
        ty.expression(&|_| "\"C\"".to_owned())
    }

    #[test]
    fn unions_are_flat_and_say_nothing_twice() {
        let inner = Type::union([Type::None, Type::Str]);
        assert_eq!(text(&Type::union([inner, Type::Int, Type::Str])), "str | int | None");
        assert_eq!(Type::union([Type::Str, Type::Any]), Type::Any);
        assert_eq!(Type::union([]), Type::Any);
    }

    #[test]
    fn literals_join() {
        let ty = of_values(&[json!("a"), json!(1), json!(true), json!(null), json!("a")]);
        assert_eq!(text(&ty), "Literal[\"a\", 1, True] | None");
        assert_eq!(of_values(&[json!(true), json!(false)]), Type::Bool);
        assert_eq!(
            text(&of_values(&[json!(1.5), json!([]), json!({})])),
            "float | list[Any] | dict[str, Any]"
        );
    }

    #[test]
    fn many_literals_are_their_base() {
        let values: Vec<Value> = (0..21).map(|n| json!(format!("v{n}"))).collect();
        assert_eq!(of_values(&values), Type::Str);
        assert!(matches!(of_values(&values[1..]), Type::Literal(_)));
    }

    #[test]
    fn forward_references_never_meet_a_bar() {
        let ty = Type::union([Type::Class(ClassId::first()), Type::None]);
        assert_eq!(text(&ty), "Union[\"C\", None]");
        assert_eq!(text(&Type::list(ty).or_none()), "list[Union[\"C\", None]] | None");
    }

    #[test]
    fn a_type_that_doubles_at_each_level_is_cut() {
        let mut ty = Type::Str;
        for _ in 0..64 {
            ty = Type::union([Type::list(ty.clone()), Type::dict(ty)]);
        }
        assert!(text(&ty).len() < 2000);
    }
}
