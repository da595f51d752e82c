//! Checks the arguments of a call against the tool's schema, and says what is wrong with them
//! so that whoever wrote the call can mend it.

use jsonschema::{ValidationError, Validator, error::ValidationErrorKind};
use serde_json::{Map, Value};

use narrows_model::{cut, nearest};

/// How many mistakes one message tells.
const MOST_MISTAKES: usize = 4;
/// How much of a wrong value is shown.
const SHOWN_CHARS: usize = 60;

/// A tool's schema, ready to check.
#[derive(Debug)]
pub(crate) struct Checker {
    /// None if the schema itself is broken: then the server checks, as it would anyway.
    validator: Option<Validator>,
    properties: Vec<String>,
    required: Vec<String>,
}

impl Checker {
    pub(crate) fn new(schema: &Value) -> Self {
        let names = |key: &str| match schema.get(key) {
            Some(Value::Object(map)) => map.keys().cloned().collect(),
            Some(Value::Array(list)) => {
                list.iter().filter_map(Value::as_str).map(str::to_owned).collect()
            }
            _ => Vec::new(),
        };
        Self {
            validator: jsonschema::validator_for(schema).ok(),
            properties: names("properties"),
            required: names("required"),
        }
    }

    /// Whether anything is refused: a broken schema refuses nothing.
    pub(crate) fn checks(&self) -> bool {
        self.validator.is_some()
    }

    /// Says what is wrong, if anything. A `None` for something that may be left out is left out.
    pub(crate) fn check(&self, arguments: &mut Map<String, Value>) -> Result<(), String> {
        let Some(validator) = &self.validator else { return Ok(()) };
        let mut value = Value::Object(std::mem::take(arguments));
        if !validator.is_valid(&value) {
            self.leave_out_nulls(validator, &mut value);
        }
        let mistakes = self.mistakes(validator, &value);
        if let Value::Object(map) = value {
            *arguments = map;
        }
        if mistakes.is_empty() { Ok(()) } else { Err(mistakes.join("; ")) }
    }

    fn leave_out_nulls(&self, validator: &Validator, value: &mut Value) {
        let refused: Vec<String> = validator
            .iter_errors(value)
            .filter(|error| error.instance().is_null())
            .filter_map(|error| field(&error))
            .filter(|name| !self.required.contains(name))
            .collect();
        if let Value::Object(map) = value {
            map.retain(|name, value| !(value.is_null() && refused.contains(name)));
        }
    }

    fn mistakes(&self, validator: &Validator, value: &Value) -> Vec<String> {
        let mut mistakes: Vec<String> = Vec::new();
        for error in validator.iter_errors(value) {
            let mistake = self.mistake(&error);
            if !mistakes.contains(&mistake) {
                mistakes.push(mistake);
            }
            if mistakes.len() == MOST_MISTAKES {
                break;
            }
        }
        mistakes
    }

    fn mistake(&self, error: &ValidationError<'_>) -> String {
        let place = place(error);
        match error.kind() {
            ValidationErrorKind::Required { property } => {
                let name = property.as_str().unwrap_or_default();
                match place.as_str() {
                    "" => format!("{name:?} is missing"),
                    place => format!("{place:?} has no {name:?}"),
                }
            }
            ValidationErrorKind::AdditionalProperties { unexpected }
            | ValidationErrorKind::UnevaluatedProperties { unexpected } => {
                let known: Vec<&str> = if place.is_empty() {
                    self.properties.iter().map(String::as_str).collect()
                } else {
                    Vec::new()
                };
                let names: Vec<String> = unexpected
                    .iter()
                    .map(|name| {
                        format!("{name:?} is not known{}", nearest(name, known.iter().copied()))
                    })
                    .collect();
                let takes = match known.as_slice() {
                    [] => String::new(),
                    known => format!(" (it takes {})", known.join(", ")),
                };
                format!("{}{takes}", names.join("; "))
            }
            ValidationErrorKind::Enum { options } => {
                let options: Vec<String> = options
                    .as_array()
                    .map(|options| options.iter().map(shown).collect())
                    .unwrap_or_default();
                let texts = error.instance().as_str().map(|given| {
                    nearest(given, options.iter().map(|option| option.trim_matches('"')))
                });
                format!(
                    "{place:?} is {}, expected one of {}{}",
                    shown(error.instance()),
                    options.join(", "),
                    texts.unwrap_or_default()
                )
            }
            ValidationErrorKind::Type { kind } => {
                let expected = match kind {
                    jsonschema::error::TypeKind::Single(one) => one.to_string(),
                    jsonschema::error::TypeKind::Multiple(many) => {
                        many.iter().map(|one| one.to_string()).collect::<Vec<_>>().join(" or ")
                    }
                };
                format!("{place:?} is {}, expected {expected}", shown(error.instance()))
            }
            ValidationErrorKind::AnyOf { context }
            | ValidationErrorKind::OneOfNotValid { context } => {
                // The branch with the fewest mistakes is the one that was meant.
                let meant = context.iter().filter(|branch| !branch.is_empty());
                match meant.min_by_key(|branch| branch.len()).and_then(|branch| branch.first()) {
                    Some(inner) => {
                        let inner = inner.masked().to_string();
                        format!("{place:?} is {}: {inner}", shown(error.instance()))
                    }
                    None => format!("{place:?} is {}, which does not fit", shown(error.instance())),
                }
            }
            // The rest names its expectation by itself ("5 is greater than the maximum of 3").
            _ if place.is_empty() => error.to_string(),
            _ => format!("{place:?}: {}", shorten(&error.to_string())),
        }
    }
}

/// The first property on the way to a mistake.
fn field(error: &ValidationError<'_>) -> Option<String> {
    let place = place(error);
    (!place.is_empty() && !place.contains(['.', '['])).then_some(place)
}

/// Where a mistake is, as Python writes it: `items[2].name`.
fn place(error: &ValidationError<'_>) -> String {
    let pointer = error.instance_path().to_string();
    let mut place = String::new();
    for part in pointer.split('/').skip(1) {
        let part = part.replace("~1", "/").replace("~0", "~");
        if part.parse::<usize>().is_ok() {
            place += &format!("[{part}]");
        } else if place.is_empty() {
            place = part;
        } else {
            place += &format!(".{part}");
        }
    }
    place
}

fn shown(value: &Value) -> String {
    shorten(&value.to_string())
}

fn shorten(text: &str) -> String {
    match text.char_indices().nth(SHOWN_CHARS * 3) {
        Some((end, _)) => format!("{}…", cut::head(text, end)),
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn check(arguments: Value) -> (Result<(), String>, Value) {
        let checker = Checker::new(&json!({
            "type": "object",
            "properties": {
                "title": {"type": "string"},
                "state": {"enum": ["open", "closed"]},
                "count": {"type": "integer", "minimum": 1},
                "due": {"type": ["string", "null"]},
                "labels": {"type": "array", "items": {"type": "object", "required": ["name"]}},
            },
            "required": ["title"],
            "additionalProperties": false,
        }));
        let Value::Object(mut arguments) = arguments else { panic!("not an object") };
        let checked = checker.check(&mut arguments);
        (checked, Value::Object(arguments))
    }

    #[test]
    fn right_arguments_pass_as_they_are() {
        let right = json!({"title": "t", "state": "open", "count": 2, "due": null});
        assert_eq!(check(right.clone()), (Ok(()), right));
    }

    #[test]
    fn none_for_what_may_be_left_out_is_left_out() {
        let given = json!({"title": "t", "count": null, "due": null});
        assert_eq!(check(given), (Ok(()), json!({"title": "t", "due": null})));
    }

    #[test]
    fn mistakes_name_the_field_and_what_was_expected() {
        for (wrong, expected) in [
            (json!({}), r#""title" is missing"#),
            (json!({"title": null}), r#""title" is null, expected string"#),
            (json!({"title": "t", "count": "5"}), r#""count" is "5", expected integer"#),
            (json!({"title": "t", "count": 0}), "minimum of 1"),
            (
                json!({"title": "t", "state": "opn"}),
                r#"expected one of "open", "closed"; did you mean open?"#,
            ),
            (
                json!({"titel": "t", "title": "t"}),
                r#""titel" is not known; did you mean title? (it takes title, state"#,
            ),
            (json!({"title": "t", "labels": [{}]}), r#""labels[0]" has no "name""#),
        ] {
            let (checked, _) = check(wrong.clone());
            let message = checked.expect_err("it should be refused");
            assert!(message.contains(expected), "{wrong}: {message}");
        }
    }

    #[test]
    fn a_long_value_is_shown_without_half_of_an_address() {
        for letters in SHOWN_CHARS * 3 - 20..SHOWN_CHARS * 3 {
            let title = json!([format!("{} ada@example.com", "x".repeat(letters))]);
            let (checked, _) = check(json!({"title": title}));
            let message = checked.expect_err("it should be refused");
            let has_half = message.contains("ada") && !message.contains("ada@example.com");
            assert!(message.contains("xxx") && !has_half, "{message}");
        }
    }

    #[test]
    fn a_broken_schema_leaves_the_check_to_the_server() {
        let checker = Checker::new(&json!({"type": 7, "$ref": "nowhere"}));
        assert_eq!(checker.check(&mut Map::from_iter([("a".into(), json!(1))])), Ok(()));
    }
}
