//! The parameters that may stand in one object, with their other names.

use narrows_model::nearest;
use serde_json::{Map, Value};

use super::parameters;
use crate::{
    error::{AnalysisError, available},
    kind::AnalysisType,
    spelling::snake_case,
    suggestion::Suggestion,
};

/// A parameter with its other names.
pub(crate) type Parameter = (&'static str, &'static [&'static str]);

/// The parameters of a type, or of an object within them.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Scope {
    pub(crate) parameters: &'static [Parameter],
    /// Examples of calls as JSON with the placeholders of suggestions; for types only.
    pub(crate) examples: &'static [&'static str],
}

impl Scope {
    pub(crate) const fn of(parameters: &'static [Parameter]) -> Self {
        Self { parameters, examples: &[] }
    }

    /// Returns the parameter that a key stands for: `orderBy` and `sort_by` are `sort`.
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

    /// Checks the names in an object. Fails for an unknown one, and for two names of the same parameter,
    /// of which one would be ignored silently.
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
                let (reason, suggestion) = self.unknown(key, given);
                return Err(AnalysisError::suggesting(place(key), reason, suggestion));
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

    fn unknown(&self, key: &str, given: &Map<String, Value>) -> (String, Suggestion) {
        let near = nearest(key, self.names());
        let reason = format!("there is no such parameter{near}{}", available(self.names()));
        let mut suggestion = Suggestion::default();
        let is_type = !self.examples.is_empty();
        let elsewhere = AnalysisType::ALL.into_iter().filter(|_| is_type).find(|kind| {
            let scope = parameters::of(*kind);
            scope != self && given.keys().all(|key| scope.canonical(key).is_some())
        });
        if let Some(kind) = elsewhere {
            let lead = format!("; {} has it: ", kind.name());
            let parameters = parameters::of(kind).renamed(given);
            suggestion = suggestion.or(&lead, Some(kind.name()), parameters.into());
        }
        (reason, self.with_examples(suggestion, given))
    }

    /// Suggests examples for what is missing, which keep what was given as far as possible.
    pub(crate) fn suggestion(&self, given: &Map<String, Value>) -> Suggestion {
        self.with_examples(Suggestion::default(), given)
    }

    /// Appends examples: first with what was given, under the parameters' own names, and then without
    /// it.
    fn with_examples(&self, mut suggestion: Suggestion, given: &Map<String, Value>) -> Suggestion {
        for keeps_given in [true, false] {
            for example in self.examples {
                let Ok(Value::Object(example)) = serde_json::from_str(example) else { continue };
                let mut written = if keeps_given { self.renamed(given) } else { Map::new() };
                for (name, value) in example {
                    // By the name that is told: what was given is not there twice.
                    let name = self.canonical(&name).map_or(name.clone(), str::to_owned);
                    written.entry(name).or_insert(value);
                }
                suggestion = suggestion.or("; as in ", None, written.into());
            }
        }
        suggestion
    }

    fn renamed(&self, given: &Map<String, Value>) -> Map<String, Value> {
        let known = given.iter().filter(|(_, value)| !value.is_null());
        let known = known.filter_map(|(key, value)| Some((self.canonical(key)?, value)));
        known.map(|(name, value)| (name.to_owned(), value.clone())).collect()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn refused(kind: AnalysisType, given: Value) -> String {
        let given = given.as_object().unwrap().clone();
        parameters::of(kind).check("", &given).unwrap_err().to_string()
    }

    #[test]
    fn a_name_of_another_type_is_answered_with_the_call_that_works() {
        let told = refused(
            AnalysisType::Filter,
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
        let told = refused(AnalysisType::Percentiles, json!({"by": "region", "frobnicate": 1}));
        assert!(told.starts_with("frobnicate: there is no such parameter; there are "), "{told}");
        assert!(told.contains("; as in {\"group_by\":\"region\",\"fields\":"), "{told}");
    }

    #[test]
    fn one_parameter_has_one_value() {
        let told =
            refused(AnalysisType::Filter, json!({"conditions": [], "sort": "a", "order_by": "b"}));
        assert_eq!(told, "order_by: is the same as `sort`; give one of them");
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
        for kind in AnalysisType::ALL {
            let scope = parameters::of(kind);
            assert!(!scope.examples.is_empty(), "{}", kind.name());
            for example in scope.examples {
                let example: Map<String, Value> = serde_json::from_str(example).unwrap();
                scope.check("", &example).unwrap();
            }
        }
    }
}
