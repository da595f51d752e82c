//! Parses YAML to a tree of nodes, for goose.

use saphyr::{LoadableYamlNode, MarkedYaml, Scalar, YamlData};

use crate::syntax::{Field, Node, Position, SyntaxError, Value};

/// Reads the first document of the text.
pub(crate) fn parse(text: &str) -> Result<Node, SyntaxError> {
    let documents = MarkedYaml::load_from_str(text).map_err(|error| SyntaxError {
        at: Position { line: error.marker().line(), column: error.marker().col() + 1 },
        // These describe the grammar, and do not quote the text, which may hold secrets.
        reason: error.info().to_owned(),
    })?;
    match documents.first() {
        Some(document) => Ok(node(document)),
        None => Ok(Node { at: Position { line: 1, column: 1 }, value: Value::Table(Vec::new()) }),
    }
}

fn node(yaml: &MarkedYaml<'_>) -> Node {
    let start = yaml.span.start;
    let at = Position { line: start.line(), column: start.col() + 1 };
    let value = match &yaml.data {
        YamlData::Value(scalar) => match scalar {
            Scalar::Null => Value::Null,
            Scalar::Boolean(value) => Value::Bool(*value),
            Scalar::Integer(number) => Value::Integer(*number),
            Scalar::FloatingPoint(number) => Value::Float(number.into_inner()),
            Scalar::String(text) => Value::String(text.clone().into_owned()),
        },
        YamlData::Representation(text, ..) => Value::String(text.clone().into_owned()),
        YamlData::Sequence(items) => Value::Array(items.iter().map(node).collect()),
        YamlData::Mapping(entries) => {
            let fields = entries.iter().filter_map(|(key, value)| {
                let key = node(key);
                let name = key.as_str()?.to_owned();
                Some(Field { name, at: key.at, node: node(value) })
            });
            Value::Table(fields.collect())
        }
        YamlData::Tagged(_, inner) => return node(inner),
        YamlData::Alias(_) | YamlData::BadValue => Value::Null,
    };
    Node { at, value }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_and_lines_are_read() {
        let text = "# goose\na: 1\nb:\n  c: [x, \"y\"]\n  d: true\n  e: |\n    long\n";
        let root = parse(text).unwrap();
        let expected =
            serde_json::json!({"a": 1, "b": {"c": ["x", "y"], "d": true, "e": "long\n"}});
        assert_eq!(root.plain(), expected);
        let fields = root.get("b").unwrap().fields().unwrap();
        assert_eq!(fields[1].at, Position { line: 5, column: 3 });
        assert_eq!(parse("").unwrap().plain(), serde_json::json!({}));
    }

    #[test]
    fn malformed_text_is_located_and_never_shown() {
        for (text, line) in
            [("a: 1\nb: \"s3cret\n", 2), ("a: [s3cret\nb: 1\n", 2), ("a: s3cret\n  b: c: d\n", 2)]
        {
            let error = parse(text).unwrap_err();
            assert_eq!(error.at.line, line, "{text:?} {error}");
            assert!(!error.to_string().contains("s3cret"), "{error}");
        }
    }
}
