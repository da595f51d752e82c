//! Translates JSON schema (draft 7 to 2020-12) to Python types.

use std::collections::HashMap;

use narrows_model::percent_decoded;
use serde_json::{Map, Value};

use super::classes::{ClassField, ClassId, Classes};
use super::notes;
use super::shape::ObjectSchema;
use super::types::{self, Type};

/// How deep a schema is read; anything below is `Any`. Deeper than any schema that was written by hand
/// or generated from types. It bounds the stack, whatever `$ref`s there are.
const MAX_DEPTH: usize = 32;

/// How many parts of a schema are read. Stops small schemas that take forever, such as an `allOf` of
/// twice the same `$ref` at each level.
const MAX_STEPS: usize = 50_000;

/// A reader of the parts of one schema document.
#[derive(Debug)]
pub(super) struct SchemaReader<'a, 'c> {
    root: &'a Value,
    classes: &'c mut Classes<'a>,
    /// The types that were read, by the address of their schema in the document, so that each object is
    /// one class, however many references lead to it. The addresses are only compared.
    seen: HashMap<*const Value, ClassState>,
    steps: usize,
}

#[derive(Debug)]
enum ClassState {
    Open,
    Done(Type),
}

/// The arguments of a tool.
#[derive(Debug)]
pub(super) struct Arguments {
    /// A class with a field for each parameter. None if the schema lists none.
    pub(super) class: Option<ClassId>,
    /// Whether the tool takes other arguments too.
    pub(super) open: bool,
}

impl<'a, 'c> SchemaReader<'a, 'c> {
    pub(super) fn new(root: &'a Value, classes: &'c mut Classes<'a>) -> Self {
        Self { root, classes, seen: HashMap::new(), steps: 0 }
    }

    /// Reads the type of a part of the document. `hint` names it if it needs a class.
    pub(super) fn read(&mut self, schema: &'a Value, hint: &str) -> Type {
        self.at(schema, hint, 0)
    }

    /// Reads the whole document as the arguments of a tool.
    pub(super) fn read_arguments(&mut self, hint: &str) -> Arguments {
        let shape = self.shape(self.root, 0);
        let open = shape.is_open() || (!shape.listed && shape.is_empty());
        if shape.is_empty() {
            return Arguments { class: None, open };
        }
        match self.class(self.root, shape, hint, 0) {
            Type::Class(id) => Arguments { class: Some(id), open },
            _ => Arguments { class: None, open: true },
        }
    }

    fn at(&mut self, schema: &'a Value, hint: &str, depth: usize) -> Type {
        let Some(keywords) = schema.as_object() else { return Type::Any };
        if depth >= MAX_DEPTH || !self.may_step() {
            return Type::Any;
        }
        match self.seen.get(&std::ptr::from_ref(schema)) {
            Some(ClassState::Done(ty)) => {
                // The type will be written once more, so it counts again.
                self.steps += ty.size();
                return ty.clone();
            }
            // A recursive type that has no object on the way has no name to refer to.
            Some(ClassState::Open) => return Type::Any,
            None => {}
        }
        self.seen.insert(schema, ClassState::Open);
        let mut ty = self.of_keywords(schema, keywords, hint, depth);
        if keywords.get("nullable") == Some(&Value::Bool(true)) {
            ty = ty.or_none();
        }
        self.seen.insert(schema, ClassState::Done(ty.clone()));
        ty
    }

    fn of_keywords(
        &mut self,
        schema: &'a Value,
        keywords: &'a Map<String, Value>,
        hint: &str,
        depth: usize,
    ) -> Type {
        let has_properties = keywords.get("properties").is_some_and(Value::is_object);
        if let Some(reference) = keywords.get("$ref").filter(|_| !has_properties) {
            return match self.resolve(reference) {
                Some((target, name)) => self.at(target, &name, depth + 1),
                None => Type::Any,
            };
        }
        if let Some(value) = keywords.get("const") {
            return types::of_values([value]);
        }
        if let Some(ty) = keywords.get("enum").and_then(|values| of_enum(values, keywords)) {
            return ty;
        }
        if !has_properties && let Some(ty) = self.of_alternatives(keywords, hint, depth) {
            return ty;
        }
        match keywords.get("type") {
            Some(Value::String(name)) => self.of_type(name, schema, keywords, hint, depth),
            Some(Value::Array(names)) => {
                let names: Vec<&str> = names.iter().filter_map(Value::as_str).collect();
                Type::union(
                    names.iter().map(|name| self.of_type(name, schema, keywords, hint, depth)),
                )
            }
            _ => self.of_untyped(schema, keywords, hint, depth),
        }
    }

    /// Reads `anyOf` and `oneOf`, unless they only constrain the keywords beside them.
    fn of_alternatives(
        &mut self,
        keywords: &'a Map<String, Value>,
        hint: &str,
        depth: usize,
    ) -> Option<Type> {
        let list = ["anyOf", "oneOf"].iter().find_map(|keyword| keywords.get(*keyword))?;
        let alternatives: Vec<Type> =
            list.as_array()?.iter().map(|one| self.at(one, hint, depth + 1)).collect();
        Some(Type::union(alternatives)).filter(|ty| *ty != Type::Any)
    }

    fn of_type(
        &mut self,
        name: &str,
        schema: &'a Value,
        keywords: &'a Map<String, Value>,
        hint: &str,
        depth: usize,
    ) -> Type {
        match name {
            "string" => Type::Str,
            "integer" => Type::Int,
            "number" => Type::Float,
            "boolean" => Type::Bool,
            "null" => Type::None,
            "array" => self.of_array(keywords, hint, depth),
            "object" => self.of_object(schema, hint, depth),
            _ => Type::Any,
        }
    }

    fn of_untyped(
        &mut self,
        schema: &'a Value,
        keywords: &'a Map<String, Value>,
        hint: &str,
        depth: usize,
    ) -> Type {
        let has = |keyword| keywords.contains_key(keyword);
        if has("properties") || has("additionalProperties") || has("patternProperties") {
            return self.of_object(schema, hint, depth);
        }
        if has("items") || has("prefixItems") {
            return self.of_array(keywords, hint, depth);
        }
        let Some(parts) = keywords.get("allOf").and_then(Value::as_array) else {
            return Type::Any;
        };
        if let [only] = parts.as_slice() {
            return self.at(only, hint, depth + 1);
        }
        let shape = self.shape(schema, depth);
        if !shape.is_empty() {
            return self.class(schema, shape, hint, depth);
        }
        parts
            .iter()
            .map(|part| self.at(part, hint, depth + 1))
            .find(|ty| *ty != Type::Any)
            .unwrap_or(Type::Any)
    }

    /// Reads an array, always as a list: JSON has no tuples, and programs get lists.
    fn of_array(&mut self, keywords: &'a Map<String, Value>, hint: &str, depth: usize) -> Type {
        let mut items: Vec<&'a Value> = Vec::new();
        for keyword in ["prefixItems", "items"] {
            match keywords.get(keyword) {
                Some(Value::Array(each)) => items.extend(each),
                Some(Value::Bool(false)) | None => {}
                Some(schema) => items.push(schema),
            }
        }
        let items: Vec<Type> = items.iter().map(|item| self.at(item, hint, depth + 1)).collect();
        Type::list(Type::union(items))
    }

    fn of_object(&mut self, schema: &'a Value, hint: &str, depth: usize) -> Type {
        let shape = self.shape(schema, depth);
        if !shape.is_empty() {
            return self.class(schema, shape, hint, depth);
        }
        let patterns = schema.get("patternProperties").and_then(Value::as_object);
        let values: Vec<&'a Value> = patterns
            .map(|patterns| patterns.values().collect::<Vec<_>>())
            .unwrap_or_default()
            .into_iter()
            .chain(shape.additional.filter(|additional| **additional != Value::Bool(false)))
            .collect();
        let values: Vec<Type> =
            values.iter().map(|value| self.at(value, hint, depth + 1)).collect();
        Type::dict(Type::union(values))
    }

    fn class(
        &mut self,
        schema: &'a Value,
        shape: ObjectSchema<'a>,
        hint: &str,
        depth: usize,
    ) -> Type {
        let Some(id) = self.classes.open(hint) else { return Type::dict(Type::Any) };
        // Set before the fields are read, because they may refer to the class.
        self.seen.insert(schema, ClassState::Done(Type::Class(id)));
        let open = shape.is_open();
        let mut fields = Vec::new();
        for (name, property) in shape.into_properties() {
            let types: Vec<Type> =
                property.schemas.iter().map(|schema| self.at(schema, name, depth + 1)).collect();
            fields.push(ClassField {
                name,
                ty: Type::union(types),
                required: property.required,
                schema: property.schemas.first().map(|schema| self.described(schema)),
                limits: property.schemas.first().map(|schema| self.limited(schema)),
            });
        }
        Type::Class(self.classes.finish(id, fields, open))
    }

    fn shape(&mut self, schema: &'a Value, depth: usize) -> ObjectSchema<'a> {
        let mut shape = ObjectSchema::default();
        self.add_to(&mut shape, schema, depth);
        shape
    }

    fn add_to(&mut self, shape: &mut ObjectSchema<'a>, schema: &'a Value, depth: usize) {
        let Some(keywords) = schema.as_object() else { return };
        if depth >= MAX_DEPTH || !self.may_step() {
            return;
        }
        self.steps += shape.add_own(keywords);
        if let Some((target, _)) = keywords.get("$ref").and_then(|r| self.resolve(r)) {
            self.add_to(shape, target, depth + 1);
        }
        for part in keywords.get("allOf").and_then(Value::as_array).into_iter().flatten() {
            self.add_to(shape, part, depth + 1);
        }
        for keyword in ["anyOf", "oneOf"] {
            if let Some(list) = keywords.get(keyword).and_then(Value::as_array) {
                let alternatives =
                    list.iter().map(|alternative| self.shape(alternative, depth + 1)).collect();
                shape.add_alternatives(alternatives);
            }
        }
    }

    /// Returns the schema with the description: this one, or the target of its reference.
    fn described(&mut self, schema: &'a Value) -> &'a Value {
        if schema.get("description").is_some() {
            return schema;
        }
        let Some((target, _)) = schema.get("$ref").and_then(|r| self.resolve(r)) else {
            return schema;
        };
        // One long text that many properties refer to would be written for each of them.
        if self.may_step() {
            self.steps += notes::description(target).len() / 8;
            return target;
        }
        schema
    }

    /// Returns the schema with the constraints: this one, or one that references and single alternatives
    /// lead to.
    fn limited(&mut self, schema: &'a Value) -> &'a Value {
        let mut at = schema;
        for _ in 0..MAX_DEPTH {
            if !notes::constraints(at).is_empty() || !self.may_step() {
                break;
            }
            let target = || Some(self.resolve(at.get("$ref")?)?.0);
            let Some(next) = notes::only_part(at).or_else(target) else { return schema };
            at = next;
        }
        if !std::ptr::eq(at, schema) {
            // These are written for each property too, like a description.
            self.steps += notes::constraints(at).join(", ").len() / 8;
        }
        at
    }

    /// Resolves a reference within the document, and returns the target with its last name.
    fn resolve(&self, reference: &Value) -> Option<(&'a Value, String)> {
        let pointer = percent_decoded(reference.as_str()?.strip_prefix('#')?)?;
        let target = self.root.pointer(&pointer)?;
        let mut names = pointer.rsplit('/').filter(|name| {
            !matches!(*name, "items" | "properties" | "anyOf" | "oneOf" | "allOf" | "")
                && name.parse::<usize>().is_err()
        });
        Some((target, names.next().unwrap_or("Item").to_owned()))
    }

    fn may_step(&mut self) -> bool {
        self.steps += 1;
        self.steps <= MAX_STEPS
    }
}

/// Returns the values of an enumeration that its `type` allows. None if there are none: one of the two
/// is wrong then, and it is more often the enumeration (`enum` beside an array is meant for its items).
fn of_enum(values: &Value, keywords: &Map<String, Value>) -> Option<Type> {
    let allowed: Option<Vec<&str>> = match keywords.get("type") {
        Some(Value::String(name)) => Some(vec![name]),
        Some(Value::Array(names)) => Some(names.iter().filter_map(Value::as_str).collect()),
        _ => None,
    };
    let fits = |value: &Value| {
        let name = match value {
            Value::Null => "null",
            Value::Bool(_) => "boolean",
            Value::Number(number) if number.is_f64() => "number",
            Value::Number(_) => "integer",
            Value::String(_) => "string",
            Value::Array(_) => "array",
            Value::Object(_) => "object",
        };
        allowed.as_ref().is_none_or(|allowed| {
            allowed.contains(&name) || (name == "integer" && allowed.contains(&"number"))
        })
    };
    let values: Vec<&Value> = values.as_array()?.iter().filter(|value| fits(value)).collect();
    (!values.is_empty()).then(|| types::of_values(values))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used)]
    use serde_json::json;

    use super::super::classes::{Comments, Defined};
    use super::*;

    /// Returns the type expression of a schema, and the classes that it needs.
    fn python(schema: &Value) -> (String, String) {
        let mut classes = Classes::new("T");
        let ty = SchemaReader::new(schema, &mut classes).read(schema, "Root");
        let mut source = String::new();
        let mut defined = std::collections::HashSet::new();
        for id in classes.needed([&ty]) {
            let so_far = Defined::Only(defined.clone());
            source += &classes.source(id, &so_far, Comments::Without);
            defined.insert(id);
        }
        (classes.expression(&ty, &Defined::All), source)
    }

    fn expression(schema: Value) -> String {
        python(&schema).0
    }

    #[test]
    fn simple_types() {
        for (schema, expected) in [
            (json!({"type": "string"}), "str"),
            (json!({"type": "integer"}), "int"),
            (json!({"type": "number"}), "float"),
            (json!({"type": "boolean"}), "bool"),
            (json!({"type": "null"}), "None"),
            (json!({"type": ["string", "null"]}), "str | None"),
            (json!({"type": "string", "nullable": true}), "str | None"),
            (json!({"type": "array"}), "list[Any]"),
            (json!({"items": {"type": "string"}}), "list[str]"),
            (
                json!({"type": "array", "prefixItems": [{"type": "string"}, {"type": "integer"}],
                "items": false}),
                "list[str | int]",
            ),
            (
                json!({"type": "array", "items": [{"type": "string"}, {"type": "integer"}]}),
                "list[str | int]",
            ),
            (json!({"type": "object"}), "dict[str, Any]"),
            (json!({"type": "object", "properties": {}}), "dict[str, Any]"),
            (json!({"additionalProperties": {"type": "integer"}}), "dict[str, int]"),
            (
                json!({"patternProperties": {"^x": {"type": "integer"}},
                "additionalProperties": false}),
                "dict[str, int]",
            ),
            (json!({"const": "a"}), "Literal[\"a\"]"),
            (json!({"enum": ["a", null], "type": ["string", "null"]}), "Literal[\"a\"] | None"),
            (json!({"enum": ["a"], "type": "array", "items": {"type": "string"}}), "list[str]"),
            (json!({"enum": [1, 2.5], "type": "number"}), "float | Literal[1]"),
            (
                json!({"anyOf": [{"type": "string"}, {"type": "integer"}, {"type": "string"}]}),
                "str | int",
            ),
            (json!({"type": "string", "anyOf": [{"format": "date"}, {"format": "time"}]}), "str"),
            (json!({"allOf": [{"description": "x"}, {"type": "integer"}]}), "int"),
        ] {
            assert_eq!(expression(schema.clone()), expected, "{schema}");
        }
    }

    #[test]
    fn what_makes_no_sense_is_any() {
        for schema in [
            json!(null),
            json!(true),
            json!(false),
            json!(7),
            json!("string"),
            json!([]),
            json!({}),
            json!({"type": 3}),
            json!({"type": "nonsense"}),
            json!({"type": []}),
            json!({"$ref": 4}),
            json!({"$ref": "#/none"}),
            json!({"$ref": "http://x/y"}),
            json!({"$ref": "#%zz"}),
            json!({"$ref": "#%"}),
            json!({"anyOf": 3}),
            json!({"anyOf": []}),
            json!({"allOf": {}}),
            json!({"enum": "a"}),
            json!({"enum": []}),
            json!({"$ref": "#"}),
        ] {
            assert_eq!(expression(schema.clone()), "Any", "{schema}");
        }
        let nonsense = json!({"type": "object", "properties": [], "required": {"a": 1},
            "additionalProperties": 5});
        assert_eq!(expression(nonsense), "dict[str, Any]");
    }

    #[test]
    fn objects_are_classes() {
        let (ty, source) = python(&json!({
            "type": "object",
            "properties": {
                "a": {"type": "string"},
                "inner": {"type": "object", "properties": {"b": {"type": "integer"}}},
            },
            "required": ["a", "unlisted"],
        }));
        assert_eq!(ty, "TRoot");
        assert_eq!(
            source,
            "class TInner(TypedDict):\n    b: NotRequired[int]\n\
             class TRoot(TypedDict):\n    a: str\n    inner: NotRequired[TInner]\n    \
             unlisted: Any\n"
        );
    }

    #[test]
    fn keys_that_are_no_names_are_keys() {
        for key in ["from", "a-b", "list", "__a", "TRoot", "Any", "größe", ""] {
            let (_, source) = python(&json!({"properties": {key: {"type": "string"}}}));
            let expected =
                format!("TRoot = TypedDict(\"TRoot\", {{\n    \"{key}\": NotRequired[str],\n}})\n");
            assert_eq!(source, expected);
        }
    }

    #[test]
    fn recursion_goes_through_names() {
        let (ty, source) = python(&json!({
            "$ref": "#/$defs/node",
            "$defs": {"node": {"type": "object", "properties": {
                "next": {"anyOf": [{"$ref": "#/$defs/node"}, {"type": "null"}]},
                "all": {"type": "array", "items": {"$ref": "#/$defs/node"}},
            }}},
        }));
        assert_eq!(ty, "TNode");
        assert_eq!(
            source,
            "class TNode(TypedDict):\n    next: NotRequired[Union[\"TNode\", None]]\n    \
             all: NotRequired[list[\"TNode\"]]\n"
        );
        let root = json!({"properties": {"self": {"$ref": "#"}}});
        assert_eq!(python(&root).1, "class TRoot(TypedDict):\n    self: NotRequired[\"TRoot\"]\n");
        let nameless = json!({"type": "array", "items": {"$ref": "#"}});
        assert_eq!(expression(nameless), "list[Any]");
    }

    #[test]
    fn references_are_pointers_wherever_they_lead() {
        let schema = json!({
            "properties": {
                "a": {"items": {"properties": {"x": {"type": "integer"}}}},
                "b": {"$ref": "#/properties/a/items"},
                "c": {"$ref": "#/definitions/per%20cent~1slash"},
            },
            "definitions": {"per cent/slash": {"type": "boolean"}},
        });
        let (_, source) = python(&schema);
        assert!(source.contains("a: NotRequired[list[TA]]"), "{source}");
        assert!(source.contains("b: NotRequired[TA]"), "{source}");
        assert!(source.contains("c: NotRequired[bool]"), "{source}");
    }

    #[test]
    fn parts_are_one_object() {
        let (_, source) = python(&json!({
            "allOf": [
                {"$ref": "#/$defs/base"},
                {"properties": {"b": {"type": "string"}, "a": {"description": "narrower"}}},
            ],
            "$defs": {"base": {"properties": {"a": {"type": "integer"}}, "required": ["a"]}},
        }));
        assert_eq!(source, "class TRoot(TypedDict):\n    a: int\n    b: NotRequired[str]\n");
    }

    #[test]
    fn alternatives_beside_properties_only_add_to_them() {
        let (ty, source) = python(&json!({
            "type": "object",
            "properties": {"a": {"type": "string"}, "b": {"type": "string"}},
            "anyOf": [{"required": ["a", "k"]}, {"required": ["b", "k"],
                "properties": {"k": {"type": "integer"}}}],
        }));
        assert_eq!(ty, "TRoot");
        assert_eq!(
            source,
            "class TRoot(TypedDict):\n    a: NotRequired[str]\n    b: NotRequired[str]\n    \
             k: int\n"
        );
    }

    #[test]
    fn equal_objects_of_one_name_are_one_class() {
        let item = json!({"properties": {"x": {"type": "integer"}}});
        let schema = json!({"properties": {
            "a": {"properties": {"item": item}}, "b": {"properties": {"item": item}}}});
        let (_, source) = python(&schema);
        assert_eq!(source.matches("class TItem").count(), 1, "{source}");
    }

    #[test]
    fn a_schema_that_doubles_at_each_level_is_cut() {
        let mut definitions = Map::new();
        for level in 0..40 {
            let next = json!({"$ref": format!("#/$defs/d{}", level + 1)});
            let twice = match level % 3 {
                0 => json!({"allOf": [next, next], "properties": {format!("p{level}"): next}}),
                1 => json!({"anyOf": [{"items": next}, {"additionalProperties": next}]}),
                _ => {
                    json!({"properties": {"a": next, "b": {"items": next}}, "oneOf": [next, next]})
                }
            };
            definitions.insert(format!("d{level}"), twice);
        }
        let schema = json!({"$ref": "#/$defs/d0", "$defs": definitions});
        let (_, source) = python(&schema);
        assert!(source.len() < 1_000_000, "{}", source.len());
    }

    #[test]
    fn text_that_many_refer_to_is_not_written_for_each() {
        let mut properties = Map::new();
        for n in 0..5_000 {
            properties.insert(format!("p{n}"), json!({"$ref": "#/$defs/long"}));
        }
        let schema = json!({"properties": properties, "$defs": {"long": {
            "enum": (0..20).map(|n| format!("{n}{}", "x".repeat(100))).collect::<Vec<_>>(),
            "description": "long ".repeat(2_000),
        }}});
        let mut classes = Classes::new("T");
        let ty = SchemaReader::new(&schema, &mut classes).read(&schema, "Root");
        let id = classes.needed([&ty])[0];
        let source = classes.source(id, &Defined::All, Comments::With);
        assert!(source.len() < 8_000_000, "{}", source.len());
    }

    #[test]
    fn many_objects_become_dictionaries() {
        let mut properties = Map::new();
        for n in 0..500 {
            properties.insert(format!("p{n}"), json!({"properties": {format!("q{n}"): {}}}));
        }
        let (_, source) = python(&json!({"properties": properties}));
        assert_eq!(source.matches("(TypedDict)").count(), 200);
        assert!(source.contains("p499: NotRequired[dict[str, Any]]"));
    }
}
