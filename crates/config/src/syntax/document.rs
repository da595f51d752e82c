//! Parses TOML or JSON to a tree of nodes.

use std::collections::HashMap;

use jsonc_parser::{CollectOptions, ParseOptions, ast, common::Ranged};
use toml_edit::{Document, Item, TableLike};

use super::{Field, Node, Position, Value};

/// The syntax of a configuration.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Syntax {
    Toml,
    /// With comments and trailing commas, which most clients accept.
    Json,
}

/// A syntax error. It tells the place, and never shows the line itself, which may hold a secret.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {}, column {}: {reason}", at.line, at.column)]
pub struct SyntaxError {
    pub at: Position,
    pub reason: String,
}

impl Syntax {
    /// Returns the name for people.
    pub fn name(self) -> &'static str {
        match self {
            Self::Toml => "TOML",
            Self::Json => "JSON",
        }
    }

    pub(crate) fn parse(self, text: &str) -> Result<Node, SyntaxError> {
        // Editors on Windows may write a byte order mark before the text.
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        match self {
            Self::Toml => parse_toml(text),
            Self::Json => parse_json(text),
        }
    }

    /// Returns the options for JSON with comments, without extensions that only JSON5 has.
    pub(crate) fn json_options() -> ParseOptions {
        ParseOptions {
            allow_comments: true,
            allow_trailing_commas: true,
            allow_loose_object_property_names: false,
            allow_missing_commas: false,
            allow_single_quoted_strings: false,
            allow_hexadecimal_numbers: false,
            allow_unary_plus_numbers: false,
            allow_bare_decimal_point_numbers: false,
            allow_non_finite_numbers: false,
            allow_extended_string_escapes: false,
        }
    }
}

/// An index of lines, which finds the position of a byte.
struct Lines<'a> {
    text: &'a str,
    starts: Vec<usize>,
}

impl<'a> Lines<'a> {
    fn new(text: &'a str) -> Self {
        let after_breaks = text.match_indices('\n').map(|(index, _)| index + 1);
        Self { text, starts: std::iter::once(0).chain(after_breaks).collect() }
    }

    fn position(&self, byte: usize) -> Position {
        let line = self.starts.partition_point(|start| *start <= byte);
        let start = self.starts.get(line.saturating_sub(1)).copied().unwrap_or(0);
        // In a file without line breaks, counting characters from the start for every value would take
        // forever, and nobody needs an exact column that far.
        let column = match self.text.get(start..byte) {
            Some(before) if before.len() < 1000 => before.chars().count(),
            _ => byte - start,
        };
        Position { line, column: column + 1 }
    }
}

fn parse_toml(text: &str) -> Result<Node, SyntaxError> {
    let lines = Lines::new(text);
    let document = Document::parse(text).map_err(|error| SyntaxError {
        at: lines.position(error.span().map_or(0, |span| span.start)),
        // The message describes only the grammar; `Display` would show the line.
        reason: error.message().lines().collect::<Vec<_>>().join(", "),
    })?;
    let start = Position { line: 1, column: 1 };
    Ok(Node { at: start, value: toml_table(document.as_table(), start, &lines) })
}

fn toml_table(table: &dyn TableLike, above: Position, lines: &Lines<'_>) -> Value {
    let fields = table.iter().map(|(name, item)| {
        let key = table.key(name).and_then(|key| key.span());
        let at = key.map_or(above, |span| lines.position(span.start));
        Field { name: name.to_owned(), at, node: toml_item(item, at, lines) }
    });
    Value::Table(fields.collect())
}

/// Converts an item. `above` is the position of its name, for tables without one of their own.
fn toml_item(item: &Item, above: Position, lines: &Lines<'_>) -> Node {
    let at = item.span().map_or(above, |span| lines.position(span.start));
    let value = match item {
        Item::None => Value::Null,
        Item::Value(value) => return toml_value(value, above, lines),
        Item::Table(table) => toml_table(table, above, lines),
        Item::ArrayOfTables(tables) => Value::Array(
            tables.iter().map(|table| Node { at, value: toml_table(table, at, lines) }).collect(),
        ),
    };
    Node { at, value }
}

fn toml_value(value: &toml_edit::Value, above: Position, lines: &Lines<'_>) -> Node {
    let at = value.span().map_or(above, |span| lines.position(span.start));
    let value = match value {
        toml_edit::Value::String(text) => Value::String(text.value().clone()),
        toml_edit::Value::Integer(number) => Value::Integer(*number.value()),
        toml_edit::Value::Float(number) => Value::Float(*number.value()),
        toml_edit::Value::Boolean(value) => Value::Bool(*value.value()),
        toml_edit::Value::Datetime(_) => Value::Date,
        toml_edit::Value::Array(items) => {
            Value::Array(items.iter().map(|item| toml_value(item, at, lines)).collect())
        }
        toml_edit::Value::InlineTable(table) => toml_table(table, at, lines),
    };
    Node { at, value }
}

fn parse_json(text: &str) -> Result<Node, SyntaxError> {
    let lines = Lines::new(text);
    let options = Syntax::json_options();
    let parsed = jsonc_parser::parse_to_ast(text, &CollectOptions::default(), &options);
    let parsed = parsed.map_err(|error| SyntaxError {
        at: lines.position(error.range().start),
        reason: lower_first(&error.kind().to_string()),
    })?;
    match parsed.value {
        Some(value) => Ok(json_value(&value, &lines)),
        // Clients create empty files.
        None => Ok(Node { at: Position { line: 1, column: 1 }, value: Value::Table(Vec::new()) }),
    }
}

fn json_value(value: &ast::Value<'_>, lines: &Lines<'_>) -> Node {
    let at = lines.position(value.range().start);
    let value = match value {
        ast::Value::NullKeyword(_) => Value::Null,
        ast::Value::BooleanLit(literal) => Value::Bool(literal.value),
        ast::Value::StringLit(literal) => Value::String(literal.value.clone().into_owned()),
        ast::Value::NumberLit(literal) => match literal.value.parse::<i64>() {
            Ok(number) => Value::Integer(number),
            // A number out of range becomes infinite, which no setting accepts.
            Err(_) => Value::Float(literal.value.parse().unwrap_or(f64::INFINITY)),
        },
        ast::Value::Array(array) => {
            Value::Array(array.elements.iter().map(|item| json_value(item, lines)).collect())
        }
        ast::Value::Object(object) => {
            let mut fields: Vec<Field> = Vec::with_capacity(object.properties.len());
            let mut known: HashMap<&str, usize> = HashMap::new();
            for property in &object.properties {
                let name = property.name.as_str();
                let at = lines.position(property.range.start);
                let node = json_value(&property.value, lines);
                let field = Field { name: name.to_owned(), at, node };
                // If a name occurs twice, the last one counts, as in every JSON parser.
                match known.insert(name, fields.len()) {
                    Some(index) => {
                        known.insert(name, index);
                        fields[index] = field;
                    }
                    None => fields.push(field),
                }
            }
            Value::Table(fields)
        }
    };
    Node { at, value }
}

fn lower_first(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |first| first.to_lowercase().chain(letters).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_know_their_lines_in_both_syntaxes() {
        let toml = "# one\n[servers.a]\ncommand = \"x\"\nenv.B = \"y\"\nargs = [\n  \"z\",\n]\n";
        let json = "// one\n{\"servers\": {\"a\": {\n\"command\": \"x\",\n\"env\": {\"B\": \"y\"},\n\
                    \"args\": [\n\"z\",\n]}}}";
        for (syntax, text) in [(Syntax::Toml, toml), (Syntax::Json, json)] {
            let root = syntax.parse(text).unwrap();
            let server = root.at_path(&["servers".into(), "a".into()]).unwrap();
            let lines: Vec<_> = server
                .fields()
                .unwrap()
                .iter()
                .map(|field| (field.name.as_str(), field.at.line))
                .collect();
            assert_eq!(lines, [("command", 3), ("env", 4), ("args", 5)], "{syntax:?}");
            let Value::Array(items) = &server.get("args").unwrap().value else { panic!() };
            assert_eq!((items[0].at.line, items[0].as_str()), (6, Some("z")));
        }
    }

    #[test]
    fn malformed_text_is_located_and_never_shown() {
        for (syntax, text, line) in [
            (Syntax::Toml, "a = 1\nkey \"s3cret\"\n", 2),
            (Syntax::Toml, "key = s3cret\n", 1),
            (Syntax::Toml, "\n\nkey = \"s3cret\nb = 1", 3),
            (Syntax::Toml, "[a]\nkey = \"s3cret\"\nkey = \"s3cret\"\n", 3),
            (Syntax::Toml, "key = { TOKEN = \"s3cret\"", 1),
            (Syntax::Json, "{\n\"a\": s3cret}", 2),
            (Syntax::Json, "{\n\"a\" \"s3cret\"}", 2),
            (Syntax::Json, "{\"a\": \"s3cret\n}", 1),
            (Syntax::Json, "{\"a\": 1,\n'b': 's3cret'}", 2),
            (Syntax::Json, "{\n\"a\": \"s3cret\" \"b\": 2}", 2),
        ] {
            let error = syntax.parse(text).unwrap_err();
            assert_eq!(error.at.line, line, "{text:?}: {error}");
            assert!(!error.to_string().contains("s3cret"), "{error}");
            assert!(!error.to_string().contains('\n'), "{error}");
        }
    }

    #[test]
    fn empty_text_marks_and_repeated_names_are_no_errors() {
        for syntax in [Syntax::Toml, Syntax::Json] {
            assert_eq!(syntax.parse("").unwrap().plain(), serde_json::json!({}));
        }
        let twice = Syntax::Json.parse("{\"a\": 1, \"b\": 2, \"a\": 3}").unwrap();
        assert_eq!(twice.plain(), serde_json::json!({"a": 3, "b": 2}));
        let marked = Syntax::Json.parse("\u{feff}{\"a\": 1}").unwrap();
        assert_eq!(marked.plain(), serde_json::json!({"a": 1}));
    }
}
