//! The parameters that may stand in one object, with their other names.

use narrows_model::nearest;
use serde_json::{Map, Value};

use super::parameters;
use crate::{
    error::{AnalysisError, available},
    request::Kind,
};

/// A parameter, and the other names that it has.
pub(crate) type Parameter = (&'static str, &'static [&'static str]);

/// The parameters of a type, or of an object within them.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Scope {
    pub(crate) parameters: &'static [Parameter],
    /// How they are written, as JSON; of a type only.
    pub(crate) example: &'static str,
}

/// How much of a caller's own values a message repeats.
const MOST_EXAMPLE: usize = 400;

impl Scope {
    pub(crate) const fn of(parameters: &'static [Parameter]) -> Self {
        Self { parameters, example: "" }
    }

    /// The parameter that a key stands for: `orderBy` and `sort_by` are `sort`.
    pub(crate) fn canonical(&self, key: &str) -> Option<&'static str> {
        let is_named = |name: &str| {
            let named = |(known, others): &&Parameter| *known == name || others.contains(&name);
            self.parameters.iter().find(named).map(|(known, _)| *known)
        };
        is_named(key).or_else(|| is_named(&snake_case(key)))
    }

    pub(crate) fn names(&self) -> impl Iterator<Item = &'static str> + Clone {
        self.parameters.iter().map(|(name, _)| *name)
    }

    /// Says what is wrong with the names in an object, if anything is: one that is none, or two for
    /// the same parameter, of which one would be ignored in silence.
    pub(crate) fn check(
        &self,
        path: &str,
        given: &Map<String, Value>,
    ) -> Result<(), AnalysisError> {
        let place =
            |key: &str| if path.is_empty() { key.to_owned() } else { format!("{path}.{key}") };
        let mut seen: Vec<(&str, &str)> = Vec::new();
        for (key, value) in given {
            let Some(name) = self.canonical(key) else {
                return Err(AnalysisError::parameter(place(key), self.unknown(key, given)));
            };
            if value.is_null() {
                continue;
            }
            if let Some((_, other)) = seen.iter().find(|(known, _)| *known == name) {
                let reason = format!("is the same as `{other}`; give one of them");
                return Err(AnalysisError::parameter(place(key), reason));
            }
            seen.push((name, key));
        }
        Ok(())
    }

    fn unknown(&self, key: &str, given: &Map<String, Value>) -> String {
        let near = nearest(key, self.names());
        let reason = format!("there is no such parameter{near}{}", available(self.names()));
        if self.example.is_empty() {
            return reason;
        }
        let elsewhere = Kind::ALL.into_iter().find(|kind| {
            let scope = parameters::of(*kind);
            scope != self && given.keys().all(|key| scope.canonical(key).is_some())
        });
        match elsewhere {
            Some(kind) => {
                let call = call(kind.name(), &parameters::of(kind).renamed(given));
                format!("{reason}; {} has it: {call}", kind.name())
            }
            None => format!("{reason}; as in {}", self.written(given)),
        }
    }

    /// What is missing, with an example that has what was given.
    pub(crate) fn missing(&self, given: &Map<String, Value>) -> String {
        match self.example {
            "" => "is missing".to_owned(),
            _ => format!("is missing; as in {}", self.written(given)),
        }
    }

    /// The parameters that were given, by the names that are told, and what else is needed.
    fn written(&self, given: &Map<String, Value>) -> String {
        let mut written = self.renamed(given);
        if let Ok(Value::Object(example)) = serde_json::from_str(self.example) {
            for (name, value) in example {
                // By the name that is told: what was given is not there twice.
                let name = self.canonical(&name).map_or(name.clone(), str::to_owned);
                written.entry(name).or_insert(value);
            }
        }
        let text = Value::Object(written).to_string();
        if text.len() > MOST_EXAMPLE { self.example.to_owned() } else { text }
    }

    fn renamed(&self, given: &Map<String, Value>) -> Map<String, Value> {
        let known = given.iter().filter(|(_, value)| !value.is_null());
        let known = known.filter_map(|(key, value)| Some((self.canonical(key)?, value)));
        known.map(|(name, value)| (name.to_owned(), value.clone())).collect()
    }
}

/// A call of `execute_analysis` as it is written.
pub(super) fn call(analysis_type: &str, parameters: &Map<String, Value>) -> String {
    let parameters = Value::Object(parameters.clone()).to_string();
    let parameters = if parameters.len() > MOST_EXAMPLE { "{…}".to_owned() } else { parameters };
    format!("{{\"analysis_type\": {analysis_type:?}, \"parameters\": {parameters}}}")
}

/// `groupBy`, `Group By` and `group-by` as `group_by`.
pub(super) fn snake_case(name: &str) -> String {
    let mut snake = String::new();
    let mut is_after_lower = false;
    for sign in name.trim().chars() {
        match sign {
            '-' | ' ' => snake.push('_'),
            upper if upper.is_uppercase() => {
                snake.extend(is_after_lower.then_some('_').into_iter().chain(upper.to_lowercase()));
            }
            other => snake.push(other),
        }
        is_after_lower = sign.is_lowercase();
    }
    snake
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn refused(kind: Kind, given: Value) -> String {
        let given = given.as_object().unwrap().clone();
        parameters::of(kind).check("", &given).unwrap_err().to_string()
    }

    #[test]
    fn a_name_of_another_type_is_answered_with_the_call_that_works() {
        let told = refused(
            Kind::Filter,
            json!({"where": "roi > 3", "groupBy": "sector", "agg": {"roi": "mean"}}),
        );
        assert!(
            told.ends_with(
                "aggregate has it: {\"analysis_type\": \"aggregate\", \"parameters\": \
                 {\"filter\":\"roi > 3\",\"group_by\":\"sector\",\"aggregations\":{\"roi\":\"mean\"}}}"
            ),
            "{told}"
        );
    }

    #[test]
    fn a_name_that_nothing_has_is_answered_with_an_example_of_the_callers_values() {
        let told = refused(Kind::Percentiles, json!({"by": "region", "frobnicate": 1}));
        assert!(told.starts_with("frobnicate: there is no such parameter; there are "), "{told}");
        assert!(told.contains("; as in {\"group_by\":\"region\",\"fields\":"), "{told}");
    }

    #[test]
    fn one_parameter_has_one_value() {
        let told = refused(Kind::Filter, json!({"conditions": [], "sort": "a", "order_by": "b"}));
        assert_eq!(told, "order_by: is the same as `sort`; give one of them");
    }

    #[test]
    fn names_are_read_in_any_case() {
        for (name, snake) in
            [("groupBy", "group_by"), ("Group By", "group_by"), ("GROUP_BY", "group_by")]
        {
            assert_eq!(snake_case(name), snake);
        }
    }

    #[test]
    fn no_name_stands_for_two_parameters() {
        for scope in parameters::all() {
            let mut seen = std::collections::HashSet::new();
            for (name, others) in scope.parameters {
                for name in std::iter::once(name).chain(others.iter()) {
                    assert!(
                        seen.insert(*name),
                        "{name} in {:?}",
                        scope.names().collect::<Vec<_>>()
                    );
                }
            }
        }
    }

    #[test]
    fn examples_are_what_they_are_examples_of() {
        for kind in Kind::ALL {
            let scope = parameters::of(kind);
            let example: Map<String, Value> = serde_json::from_str(scope.example).unwrap();
            scope.check("", &example).unwrap();
        }
    }
}
