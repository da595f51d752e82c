//! Checks the arguments of a call against the tool's schema, and says what is wrong with them
//! so that whoever wrote the call can mend it.

mod budget;

use jsonschema::{PatternOptions, ValidationError, Validator, error::ValidationErrorKind};
use serde_json::{Map, Value};

use narrows_model::{cut, nearest};

use crate::codegen::percent_decoded;

/// How many mistakes one message tells.
const MOST_MISTAKES: usize = 4;
/// How much of a wrong value is shown.
const SHOWN_CHARS: usize = 60;

/// How often a pattern of a server is tried at another place: `(a|aa)+(?!b)` tries without end.
const BACKTRACK_LIMIT: usize = 20_000;
/// What a compiled pattern may take: `((a{100}){100}){100}` is short, and large.
const MAX_PATTERN_SIZE: usize = 2 << 20;
/// Checks of fewer steps are done at once; it would cost more to hand them to another thread.
const FEW_STEPS: u64 = 5_000;
/// Steps of one check: some tenths of a second. An exponential schema needs ten times as many with
/// each level of the arguments.
const MAX_STEPS: u64 = 1_000_000;

/// A tool's schema, ready to check.
#[derive(Debug)]
pub(crate) struct Checker {
    /// None if the schema itself is broken or hostile: then the server checks, as it would anyway.
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
            validator: compiled(schema),
            properties: names("properties"),
            required: names("required"),
        }
    }

    /// Whether anything is refused: a broken schema refuses nothing.
    pub(crate) fn checks(&self) -> bool {
        self.validator.is_some()
    }

    /// Says what is wrong, if anything, if that is found out in no time. None if it takes longer, and
    /// so is not for a thread that others wait for. The schema is the one that this was made of.
    pub(crate) fn check_at_once(
        &self,
        schema: &Value,
        arguments: &mut Map<String, Value>,
    ) -> Option<Result<(), String>> {
        self.check_within(FEW_STEPS, schema, arguments)
    }

    /// Says what is wrong, if anything. A `None` for something that may be left out is left out.
    /// What would take too long is not checked.
    pub(crate) fn check(
        &self,
        schema: &Value,
        arguments: &mut Map<String, Value>,
    ) -> Result<(), String> {
        self.check_within(MAX_STEPS, schema, arguments).unwrap_or_else(|| {
            tracing::warn!(
                "arguments were not checked against the schema of their tool: it would take more \
                 than {MAX_STEPS} steps"
            );
            Ok(())
        })
    }

    fn check_within(
        &self,
        max_steps: u64,
        schema: &Value,
        arguments: &mut Map<String, Value>,
    ) -> Option<Result<(), String>> {
        let Some(validator) = &self.validator else { return Some(Ok(())) };
        let mut value = Value::Object(std::mem::take(arguments));
        let mistakes = budget::steps(schema, &value, max_steps).map(|_| {
            if !validator.is_valid(&value) {
                self.leave_out_nulls(validator, &mut value);
            }
            self.mistakes(validator, &value)
        });
        if let Value::Object(map) = value {
            *arguments = map;
        }
        mistakes.map(|some| if some.is_empty() { Ok(()) } else { Err(some.join("; ")) })
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
            // Nobody knows whether the value fits.
            if let ValidationErrorKind::BacktrackLimitExceeded { .. } = error.kind() {
                continue;
            }
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

/// Compiles a schema within bounds. None if it is broken, or beyond them.
fn compiled(schema: &Value) -> Option<Validator> {
    if !budget::is_countable(schema) {
        return None;
    }
    let patterns = PatternOptions::fancy_regex()
        .backtrack_limit(BACKTRACK_LIMIT)
        .size_limit(MAX_PATTERN_SIZE)
        .dfa_size_limit(MAX_PATTERN_SIZE);
    jsonschema::options().with_pattern_options(patterns).build(schema).ok()
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
        let schema = json!({
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
        });
        let Value::Object(mut arguments) = arguments else { panic!("not an object") };
        let checked = Checker::new(&schema).check(&schema, &mut arguments);
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
        let schema = json!({"type": 7, "$ref": "nowhere"});
        let mut arguments = Map::from_iter([("a".into(), json!(1))]);
        assert_eq!(Checker::new(&schema).check(&schema, &mut arguments), Ok(()));
    }

    /// A server's schema for whose arguments a check would take ten times as long with each level.
    fn exponential() -> Value {
        let branch = json!({
            "type": "object", "properties": {"x": {"$ref": "#/$defs/A"}}, "required": ["x"],
        });
        json!({"properties": {"x": {"$ref": "#/$defs/A"}}, "$defs": {"A": {"anyOf": vec![branch; 10]}}})
    }

    fn object(value: Value) -> Map<String, Value> {
        let Value::Object(fields) = value else { panic!("not an object") };
        fields
    }

    #[test]
    fn a_check_that_would_take_exponential_time_is_not_done() {
        let nested = |depth| object((0..depth).fold(json!(1), |inner, _| json!({"x": inner})));
        let schema = exponential();
        let checker = Checker::new(&schema);
        // Control: the same mistake, less deep, is found.
        assert!(checker.check_at_once(&schema, &mut nested(2)).unwrap().is_err());
        let mut deep = nested(12);
        assert_eq!(checker.check_at_once(&schema, &mut deep), None);
        assert_eq!(checker.check(&schema, &mut deep), Ok(()));
        assert_eq!(deep, nested(12));
    }

    #[test]
    fn a_check_that_takes_long_is_not_done_at_once() {
        let schema = json!({"properties": {"rows": {"items": {"type": "integer"}}}});
        let checker = Checker::new(&schema);
        let mut rows = object(json!({"rows": vec![json!("wrong"); 3_000]}));
        assert_eq!(checker.check_at_once(&schema, &mut rows), None);
        assert!(checker.check(&schema, &mut rows).is_err());
    }

    #[test]
    fn patterns_that_backtrack_without_end_or_are_huge_refuse_nothing() {
        let checked = |pattern: &str, text: &str| {
            let schema = json!({"properties": {"a": {"pattern": pattern}}});
            let checker = Checker::new(&schema);
            (checker.checks(), checker.check(&schema, &mut object(json!({"a": text}))).is_ok())
        };
        let long = "a".repeat(60) + "!";
        assert_eq!(checked(r"^(a|aa)+\1b$", &long), (true, true));
        assert_eq!(checked("((a{100}){100}){100}", &long), (false, true));
        // Controls: a pattern that needs no tries, and one with lookaround that needs few.
        assert_eq!(checked("^(a+)+$", &long), (true, false));
        assert_eq!(checked("^(?!x)a+$", &long), (true, false));
    }

    #[test]
    fn schemas_whose_parts_refer_to_each_other_are_compiled_in_no_time() {
        // Each of thirty parts refers ten times to the next.
        let mut parts: Map<String, Value> = (0..30)
            .map(|number| {
                let next = json!({"$ref": format!("#/$defs/D{}", number + 1)});
                let fields: Map<String, Value> =
                    (0..10).map(|field| (format!("l{field}"), next.clone())).collect();
                (format!("D{number}"), json!({"type": "object", "properties": fields}))
            })
            .collect();
        parts.insert("D30".to_owned(), json!({"type": "string"}));
        let schema = json!({"properties": {"a": {"$ref": "#/$defs/D0"}}, "$defs": parts});
        let mut wrong = object(json!({"a": {"l0": 1}}));
        assert!(Checker::new(&schema).check(&schema, &mut wrong).is_err());
    }
}
