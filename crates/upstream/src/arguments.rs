//! Checks the arguments of a call against the tool's schema, and says what is wrong with them
//! so that whoever wrote the call can mend it.

mod budget;
mod mistake;

use std::collections::HashSet;

use jsonschema::{PatternOptions, ValidationError, Validator, error::ValidationErrorKind};
use serde_json::{Map, Value};

use narrows_model::cut;

/// How many mistakes one message tells.
const MAX_MISTAKES: usize = 4;
/// How many errors of the validator are looked at for them: a schema can refuse one field in thousands
/// of places.
const MAX_ERRORS: usize = 32;
/// About how long a message may be: a schema names thousands of fields, and so does a call.
const MAX_MESSAGE_BYTES: usize = 4_000;

/// How often a server's pattern may backtrack: `(a|aa)+(?!b)` tries without end.
const BACKTRACK_LIMIT: usize = 20_000;
/// The most memory of a compiled pattern: `((a{100}){100}){100}` is short, and large.
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

    /// Tells whether anything can be refused: a broken schema refuses nothing.
    pub(crate) fn checks(&self) -> bool {
        self.validator.is_some()
    }

    /// Tells whether arguments surely fit, if that can be found out in no time. To explain what is
    /// wrong with others takes longer, and must not happen on a thread that others wait for. `schema`
    /// is the one that this was made of.
    pub(crate) fn fits_at_once(&self, schema: &Value, arguments: &mut Map<String, Value>) -> bool {
        let Some(validator) = &self.validator else { return true };
        let value = Value::Object(std::mem::take(arguments));
        let is_short = budget::steps(schema, &value, FEW_STEPS).is_some();
        let fits = is_short && validator.is_valid(&value);
        if let Value::Object(map) = value {
            *arguments = map;
        }
        fits
    }

    /// Checks arguments and says what is wrong with them. A null that the schema refuses is removed if
    /// its field is optional. A check that would take too long is skipped.
    pub(crate) fn check(
        &self,
        schema: &Value,
        arguments: &mut Map<String, Value>,
    ) -> Result<(), String> {
        self.check_within(MAX_STEPS, schema, arguments).unwrap_or_else(|| {
            tracing::warn!(
                max_steps = MAX_STEPS,
                "the arguments of a call were not checked against the schema of its tool, which \
                 would take too long"
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
        mistakes.map(|some| if some.is_empty() { Ok(()) } else { Err(joined(&some)) })
    }

    fn leave_out_nulls(&self, validator: &Validator, value: &mut Value) {
        let required: HashSet<&str> = self.required.iter().map(String::as_str).collect();
        let refused: HashSet<String> = validator
            .iter_errors(value)
            .filter(|error| error.instance().is_null())
            .filter_map(|error| field(&error))
            .filter(|name| !required.contains(name.as_str()))
            .collect();
        if let Value::Object(map) = value {
            map.retain(|name, value| !(value.is_null() && refused.contains(name)));
        }
    }

    fn mistakes(&self, validator: &Validator, value: &Value) -> Vec<String> {
        let mut mistakes: Vec<String> = Vec::new();
        // After too much backtracking, nobody knows whether the value fits.
        let is_known = |error: &ValidationError<'_>| {
            !matches!(error.kind(), ValidationErrorKind::BacktrackLimitExceeded { .. })
        };
        for error in validator.iter_errors(value).filter(is_known).take(MAX_ERRORS) {
            let mistake = mistake::describe(&error, &self.properties);
            if !mistakes.contains(&mistake) {
                mistakes.push(mistake);
            }
            if mistakes.len() == MAX_MISTAKES {
                break;
            }
        }
        mistakes
    }
}

/// Joins the mistakes into one message, which is cut if it is too long.
fn joined(mistakes: &[String]) -> String {
    let message = mistakes.join("; ");
    match message.len() > MAX_MESSAGE_BYTES {
        true => format!("{}…", cut::head(&message, MAX_MESSAGE_BYTES)),
        false => message,
    }
}

/// Compiles a schema within bounds. Returns `None` if it is broken, or exceeds them.
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

/// Returns the top-level property that a mistake is about, or `None` if it lies deeper.
fn field(error: &ValidationError<'_>) -> Option<String> {
    let place = mistake::place(error);
    (!place.is_empty() && !place.contains(['.', '['])).then_some(place)
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
        for letters in 160..180 {
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
        assert!(checker.check(&schema, &mut nested(2)).is_err());
        let mut deep = nested(12);
        assert!(!checker.fits_at_once(&schema, &mut deep));
        assert_eq!(checker.check(&schema, &mut deep), Ok(()));
        assert_eq!(deep, nested(12));
    }

    #[test]
    fn what_takes_long_to_check_or_to_explain_is_not_done_at_once() {
        let schema = json!({"properties": {"rows": {"items": {"type": "integer"}}}});
        let checker = Checker::new(&schema);
        let rows = |value: Value, count| object(json!({"rows": vec![value; count]}));
        // The control: what is right and short.
        assert!(checker.fits_at_once(&schema, &mut rows(json!(1), 3)));
        for (mut given, fits) in [
            (rows(json!(1), 3_000), true),
            (rows(json!("wrong"), 3_000), false),
            (rows(json!("wrong"), 3), false),
        ] {
            let before = given.clone();
            assert!(!checker.fits_at_once(&schema, &mut given));
            assert_eq!(given, before);
            assert_eq!(checker.check(&schema, &mut given).is_ok(), fits);
        }
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
