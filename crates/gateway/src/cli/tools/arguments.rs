//! Parses the arguments of a tool as people write them: JSON, or `key=value` with values of the types in
//! the tool's schema.

use std::{
    fs::File,
    io::{self, Read},
};

use narrows_model::nearest;
use serde_json::{Map, Value};

/// The longest arguments; anything longer is data.
const MAX_BYTES: u64 = 8 << 20;
/// How deep a schema is followed through references, items and alternatives: some references lead to
/// themselves.
const MAX_DEPTH: usize = 8;

/// Parses arguments; the error is the reason why they cannot be understood.
pub(super) fn parse(words: &[String], schema: &Value) -> Result<Map<String, Value>, String> {
    match words {
        [] => Ok(Map::new()),
        [only] if only == "-" => object(&read(io::stdin(), "standard input")?),
        [only] if only.starts_with('@') => {
            let path = &only[1..];
            let file = File::open(path).map_err(|error| format!("cannot read {path}: {error}"))?;
            object(&read(file, path)?)
        }
        [only] if only.trim_start().starts_with(['{', '[']) => object(only),
        pairs => of_pairs(pairs, schema),
    }
}

fn read(source: impl Read, name: &str) -> Result<String, String> {
    let mut text = String::new();
    let length = source.take(MAX_BYTES + 1).read_to_string(&mut text);
    match length {
        Err(error) => Err(format!("cannot read {name}: {error}")),
        Ok(length) if length as u64 > MAX_BYTES => {
            Err(format!("{name} has more than {} MB, which no tool takes", MAX_BYTES >> 20))
        }
        Ok(_) => Ok(text),
    }
}

fn object(text: &str) -> Result<Map<String, Value>, String> {
    match serde_json::from_str(text) {
        Ok(Value::Object(object)) => Ok(object),
        Ok(_) => Err("the arguments must be a JSON object, such as {\"name\": \"value\"}".into()),
        Err(error) => Err(format!("the arguments are not JSON: {error}")),
    }
}

fn of_pairs(pairs: &[String], schema: &Value) -> Result<Map<String, Value>, String> {
    let mut arguments: Map<String, Value> = Map::new();
    for pair in pairs {
        let Some((name, text)) = pair.split_once('=').filter(|(name, _)| !name.is_empty()) else {
            return Err(format!(
                "{pair:?} is no argument: write name=value, or all of them as one JSON object"
            ));
        };
        let types = types_of(name, schema)?;
        let value = typed(text, &types);
        match arguments.get_mut(name) {
            None => drop(arguments.insert(name.to_owned(), value)),
            // `tag=a tag=b` is a list.
            Some(Value::Array(list)) if types.allows("array") => match value {
                Value::Array(more) => list.extend(more),
                one => list.push(one),
            },
            Some(_) => return Err(format!("{name} is given twice")),
        }
    }
    Ok(arguments)
}

/// The values that a schema allows.
#[derive(Debug, Default, PartialEq)]
struct Types {
    names: Vec<String>,
    /// The values that the items of a list may have.
    items: Option<Box<Types>>,
    /// The texts of `enum` and `const`, which are allowed even if no type is given.
    texts: Vec<String>,
}

impl Types {
    fn allows(&self, name: &str) -> bool {
        self.names.iter().any(|known| known == name)
    }
}

/// Returns the types of an argument. Fails for one that the tool does not have.
fn types_of(name: &str, schema: &Value) -> Result<Types, String> {
    let mut types = Types::default();
    let properties = schema.get("properties").and_then(Value::as_object);
    match properties.and_then(|properties| properties.get(name)) {
        Some(property) => collect(property, schema, MAX_DEPTH, &mut types),
        None => {
            // A schema with properties that does not mention additional ones has none.
            let is_open = match schema.get("additionalProperties") {
                Some(Value::Bool(is_open)) => *is_open,
                Some(_) => true,
                None => properties.is_none_or(Map::is_empty),
            };
            if !is_open {
                let known: Vec<&str> =
                    properties.into_iter().flat_map(Map::keys).map(String::as_str).collect();
                let near = nearest(name, known.iter().copied());
                let takes = match known.is_empty() {
                    true => "it takes no arguments".to_owned(),
                    false => format!("it takes {}", known.join(", ")),
                };
                return Err(format!("there is no argument {name:?}{near} ({takes})"));
            }
        }
    }
    Ok(types)
}

fn collect(schema: &Value, root: &Value, depth: usize, types: &mut Types) {
    if depth == 0 {
        return;
    }
    if let Some(reference) = schema.get("$ref").and_then(Value::as_str)
        && let Some(target) = reference.strip_prefix('#').and_then(|path| root.pointer(path))
    {
        collect(target, root, depth - 1, types);
    }
    let named = match schema.get("type") {
        Some(Value::String(one)) => vec![one.clone()],
        Some(Value::Array(many)) => {
            many.iter().filter_map(Value::as_str).map(str::to_owned).collect()
        }
        _ => Vec::new(),
    };
    types.names.extend(named);
    let options = schema.get("enum").and_then(Value::as_array).into_iter().flatten();
    let options = options.chain(schema.get("const"));
    types.texts.extend(options.filter_map(Value::as_str).map(str::to_owned));
    if let Some(items) = schema.get("items") {
        let inner = types.items.get_or_insert_default();
        collect(items, root, depth - 1, inner);
    }
    for branch in ["anyOf", "oneOf", "allOf"] {
        for inner in schema.get(branch).and_then(Value::as_array).into_iter().flatten() {
            collect(inner, root, depth - 1, types);
        }
    }
}

/// Converts a word to a value: text where text is allowed, otherwise JSON if it parses. Misfits are left
/// to the check against the schema, which names what is expected.
fn typed(text: &str, types: &Types) -> Value {
    if types.allows("string") || types.texts.iter().any(|known| known == text) {
        return Value::String(text.to_owned());
    }
    let json = serde_json::from_str(text);
    if types.allows("array") && !matches!(json, Ok(Value::Array(_) | Value::Null)) {
        let item = types.items.as_deref().map(|items| typed(text, items));
        return Value::Array(vec![item.unwrap_or_else(|| Value::String(text.to_owned()))]);
    }
    json.unwrap_or_else(|_| Value::String(text.to_owned()))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn schema() -> Value {
        json!({
            "type": "object",
            "properties": {
                "text": {"type": "string"},
                "count": {"type": "integer"},
                "ratio": {"anyOf": [{"type": "number"}, {"type": "null"}]},
                "deep": {"type": "boolean"},
                "tags": {"type": "array", "items": {"type": "string"}},
                "ids": {"$ref": "#/$defs/Ids"},
                "filter": {"type": "object"},
                "any": {},
                "order": {"enum": ["asc", "1", 2]},
                "loop": {"$ref": "#/properties/loop"},
            },
            "$defs": {"Ids": {"type": ["array", "null"], "items": {"type": "integer"}}},
        })
    }

    fn of(words: &[&str]) -> Result<Value, String> {
        let words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
        parse(&words, &schema()).map(Value::Object)
    }

    #[test]
    fn values_have_the_types_of_the_schema() {
        for (word, value) in [
            ("text=7", json!("7")),
            ("text=a=b", json!("a=b")),
            ("text=", json!("")),
            ("count=7", json!(7)),
            ("ratio=0.5", json!(0.5)),
            ("ratio=null", json!(null)),
            ("deep=true", json!(true)),
            ("tags=[\"a\",\"b\"]", json!(["a", "b"])),
            ("tags=7", json!(["7"])),
            ("ids=7", json!([7])),
            ("ids=null", json!(null)),
            ("filter={\"a\": [1]}", json!({"a": [1]})),
            ("any=7", json!(7)),
            ("any=seven", json!("seven")),
            ("order=1", json!("1")),
            ("order=2", json!(2)),
            ("loop=1", json!(1)),
            // The check against the schema says what is wrong with it.
            ("count=seven", json!("seven")),
        ] {
            let name = word.split('=').next().unwrap();
            assert_eq!(of(&[word]), Ok(json!({ name: value })), "{word}");
        }
        assert_eq!(
            of(&["tags=a", "tags=b", "count=1"]),
            Ok(json!({"tags": ["a", "b"], "count": 1}))
        );
        assert_eq!(of(&["{\"count\": 1}"]), Ok(json!({"count": 1})));
        assert_eq!(of(&[]), Ok(json!({})));
    }

    #[test]
    fn mistakes_are_named_with_what_to_do() {
        for (words, reason) in [
            (
                &["cuont=1"][..],
                "there is no argument \"cuont\"; did you mean count? (it takes text",
            ),
            (&["count"], "\"count\" is no argument: write name=value"),
            (&["=1"], "write name=value"),
            (&["text=a", "text=b"], "text is given twice"),
            (&["{\"count\": }"], "not JSON: expected value at line 1 column 11"),
            (&["[1]"], "must be a JSON object"),
            (&["{\"count\": 1}", "text=a"], "is no argument"),
            (&["@/no/such/file"], "cannot read /no/such/file"),
        ] {
            let told = of(words).unwrap_err();
            assert!(told.contains(reason), "{words:?}: {told}");
        }
    }

    #[test]
    fn a_tool_takes_other_arguments_only_if_it_says_so() {
        let read = |schema: Value| parse(&["x=1".to_owned()], &schema).map(Value::Object);
        assert_eq!(read(json!({"type": "object"})), Ok(json!({"x": 1})));
        let open = json!({"properties": {"a": {}}, "additionalProperties": true});
        assert_eq!(read(open), Ok(json!({"x": 1})));
        let closed = json!({"type": "object", "additionalProperties": false});
        assert!(read(closed).unwrap_err().contains("it takes no arguments"));
    }

    #[test]
    fn a_file_holds_all_arguments() {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), "{\"count\": 1}").unwrap();
        assert_eq!(of(&[&format!("@{}", file.path().display())]), Ok(json!({"count": 1})));
    }
}
