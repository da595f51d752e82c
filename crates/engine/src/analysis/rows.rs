//! Finds the rows within a value: at a path, or the only list of rows.

use narrows_model::nearest;
use serde_json::Value;

/// Returns the rows within a value: at a path such as `result.items`, or its only list of rows.
pub(crate) fn rows_of(value: Value, path: Option<&str>) -> Result<Value, String> {
    let value = decoded(value);
    let Some(path) = path else {
        return match lists(&value).as_slice() {
            [] => Ok(value),
            [list] => at(value, &list.join("."), list),
            several => {
                let several: Vec<String> = several.iter().map(|list| list.join(".")).collect();
                Err(format!("path: say which list of the answer is meant: {}", several.join(", ")))
            }
        };
    };
    let steps = path.trim_start_matches(['$', '/', '.']).split(['.', '/']);
    let steps: Vec<String> = steps.filter(|step| !step.is_empty()).map(str::to_owned).collect();
    at(value, path, &steps)
}

/// Returns the paths of all lists of rows at the outermost level that has any.
fn lists(value: &Value) -> Vec<Vec<String>> {
    let mut level = vec![(Vec::new(), value)];
    while !level.is_empty() {
        let objects = level.iter().filter_map(|(steps, value)| Some((steps, value.as_object()?)));
        let within = objects.flat_map(|(steps, entries)| {
            entries
                .iter()
                .map(|(name, value)| (steps.iter().cloned().chain([name.clone()]).collect(), value))
        });
        level = within.collect();
        let found = level.iter().filter(|(_, value)| is_rows(value));
        let found: Vec<Vec<String>> = found.map(|(steps, _)| steps.clone()).collect();
        if !found.is_empty() {
            return found;
        }
    }
    Vec::new()
}

/// Returns the value at the end of `steps`; `path` is how the caller wrote them.
fn at(mut value: Value, path: &str, steps: &[String]) -> Result<Value, String> {
    for step in steps {
        let found = match &mut value {
            Value::Object(entries) => entries.get_mut(step),
            Value::Array(items) => step.parse::<usize>().ok().and_then(|at| items.get_mut(at)),
            _ => None,
        };
        let Some(found) = found else {
            let known = match &value {
                Value::Object(entries) => {
                    let names: Vec<&str> = entries.keys().map(String::as_str).collect();
                    format!("{}; there are {}", nearest(step, names.clone()), names.join(", "))
                }
                Value::Array(items) => format!("; it is a list of {}", items.len()),
                _ => "; it is no object".to_owned(),
            };
            return Err(format!("path: the answer has no {step:?} in {path:?}{known}"));
        };
        value = found.take();
    }
    Ok(value)
}

/// Tells whether a value is a list of rows.
pub(super) fn is_rows(value: &Value) -> bool {
    matches!(value, Value::Array(rows) if rows.first().is_some_and(Value::is_object))
}

/// Parses a value that is JSON in a text.
pub(super) fn decoded(value: Value) -> Value {
    match &value {
        Value::String(text) if text.trim_start().starts_with(['[', '{']) => {
            serde_json::from_str(text).unwrap_or(value)
        }
        _ => value,
    }
}
