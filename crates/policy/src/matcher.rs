//! Conditions on the arguments of a call.

use serde_json::{Map, Value};

use super::{ask::Action, pattern::Pattern};

/// The nesting of matchers. Deeper than anyone writes; stops settings that exhaust the stack.
const MAX_DEPTH: usize = 16;

/// A condition on the value of an argument.
#[derive(Clone, Debug, PartialEq)]
pub enum Matcher {
    Equals(Value),
    /// A text (or a number, as it is written) that fits a pattern or a regular expression.
    Like(Pattern),
    /// Whether there is such an argument that is not null.
    Present(bool),
    Above(f64),
    Below(f64),
    Not(Box<Matcher>),
    /// One of them.
    Any(Vec<Matcher>),
    /// Each of them.
    All(Vec<Matcher>),
}

impl Matcher {
    /// Parses a matcher of the configuration:
    ///
    /// | written | fits |
    /// |---|---|
    /// | `"main"`, `5`, `true` | that value |
    /// | `"*@example.com"` | a whole text of that form |
    /// | `["a", "b*"]` | one of these |
    /// | `{"regex": "^x"}` | a text in which the expression is found |
    /// | `{"above": 5, "below": 9}` | a number between these |
    /// | `{"present": false}` | no such argument |
    /// | `{"equals": "*"}` | that value, whatever is in it |
    /// | `{"not": …}` | values that the inner matcher does not fit |
    pub fn read(written: &Value) -> Result<Self, String> {
        Self::read_at(written, 0)
    }

    fn read_at(written: &Value, depth: usize) -> Result<Self, String> {
        if depth > MAX_DEPTH {
            return Err(format!("matchers stand at most {MAX_DEPTH} deep in one another"));
        }
        match written {
            Value::String(text) if text.contains(['*', '?']) => {
                Pattern::glob(text).map(Self::Like).map_err(|error| error.to_string())
            }
            Value::Array(choices) if !choices.is_empty() => {
                let choices = choices.iter().map(|choice| Self::read_at(choice, depth + 1));
                Ok(Self::Any(choices.collect::<Result<_, _>>()?))
            }
            Value::Object(parts) if !parts.is_empty() => {
                let parts = parts.iter().map(|(word, value)| Self::part(word, value, depth));
                let mut parts = parts.collect::<Result<Vec<_>, _>>()?;
                Ok(if parts.len() == 1 { parts.remove(0) } else { Self::All(parts) })
            }
            Value::Array(_) | Value::Object(_) => {
                Err("an empty matcher fits nothing: write the value that is meant".to_owned())
            }
            value => Ok(Self::Equals(value.clone())),
        }
    }

    fn part(word: &str, value: &Value, depth: usize) -> Result<Self, String> {
        let number =
            || value.as_f64().ok_or_else(|| format!("{word} takes a number, and not {value}"));
        match word {
            "equals" => Ok(Self::Equals(value.clone())),
            "above" => Ok(Self::Above(number()?)),
            "below" => Ok(Self::Below(number()?)),
            "not" => Ok(Self::Not(Box::new(Self::read_at(value, depth + 1)?))),
            "present" => match value.as_bool() {
                Some(present) => Ok(Self::Present(present)),
                None => Err(format!("present takes true or false, and not {value}")),
            },
            "regex" | "glob" => {
                let text = value.as_str();
                let text = text.ok_or_else(|| format!("{word} takes a text, and not {value}"))?;
                let read = if word == "regex" { Pattern::regex } else { Pattern::glob };
                read(text).map(Self::Like).map_err(|error| error.to_string())
            }
            _ => Err(format!(
                "there is no matcher {word:?}; there are equals, glob, regex, above, below, present and not"
            )),
        }
    }

    /// Tells whether the arguments at a path meet the condition, for a rule with this action.
    ///
    /// A path may mean many values: those of a list, or of `items.*.id`. To deny or to ask, one of them
    /// is enough; to allow, all have to fit. So a list of recipients is not allowed because of the
    /// harmless ones in it.
    pub(super) fn fits(&self, arguments: &Map<String, Value>, path: &str, action: Action) -> bool {
        let mut values = Vec::new();
        select_members(arguments, path, &mut values);
        if values.is_empty() {
            return self.fits_absent();
        }
        let mut judged = values.iter().map(|found| match found {
            PathValue::Value(value) => self.judge(value, action),
            PathValue::Unreadable => None,
        });
        // A value that cannot be compared fits rules that deny, and never one that allows.
        match action {
            Action::Allow => judged.all(|fits| fits == Some(true)),
            Action::Deny | Action::Confirm => judged.any(|fits| fits != Some(false)),
        }
    }

    fn fits_absent(&self) -> bool {
        match self {
            Self::Present(wanted) => !wanted,
            Self::Equals(value) => value.is_null(),
            Self::Not(inner) => match inner.as_ref() {
                Self::Present(wanted) => *wanted,
                _ => false,
            },
            Self::Any(choices) => choices.iter().any(Self::fits_absent),
            Self::All(parts) => parts.iter().all(Self::fits_absent),
            Self::Like(_) | Self::Above(_) | Self::Below(_) => false,
        }
    }

    fn wants_list(&self) -> bool {
        match self {
            Self::Equals(wanted) => wanted.is_array(),
            Self::Present(_) => true,
            Self::Not(inner) => inner.wants_list(),
            Self::Any(several) | Self::All(several) => several.iter().any(Self::wants_list),
            Self::Like(_) | Self::Above(_) | Self::Below(_) => false,
        }
    }

    fn is_of_numbers(&self) -> bool {
        match self {
            Self::Above(_) | Self::Below(_) => true,
            Self::Not(inner) => inner.is_of_numbers(),
            Self::Any(several) | Self::All(several) => several.iter().any(Self::is_of_numbers),
            Self::Equals(_) | Self::Like(_) | Self::Present(_) => false,
        }
    }

    /// Tells whether a value fits; None if the two cannot be compared, such as `"5,000"` with a number,
    /// or an object with a text, because nobody knows how a server reads such a value.
    fn judge(&self, value: &Value, action: Action) -> Option<bool> {
        // A list stands for its elements, unless the matcher wants a list.
        if let Value::Array(elements) = value
            && !self.wants_list()
        {
            if elements.is_empty() {
                // An empty list cannot be compared with a number.
                return (action == Action::Allow || !self.is_of_numbers()).then_some(false);
            }
            let judged = elements.iter().map(|element| self.judge(element, action));
            return match action {
                Action::Allow => all(judged),
                Action::Deny | Action::Confirm => any(judged),
            };
        }
        match self {
            Self::Above(than) => Some(number(value)? > *than),
            Self::Below(than) => Some(number(value)? < *than),
            // If one element is enough for the matcher, its opposite needs all, and the other way round.
            Self::Not(inner) => inner.judge(value, opposite(action)).map(|fits| !fits),
            Self::Any(choices) => any(choices.iter().map(|choice| choice.judge(value, action))),
            Self::All(parts) => all(parts.iter().map(|part| part.judge(value, action))),
            _ if value.is_null() => Some(self.fits_absent()),
            Self::Equals(wanted) => equal(wanted, value),
            Self::Like(pattern) => match value {
                Value::String(text) => Some(pattern.fits(text)),
                Value::Number(_) | Value::Bool(_) => Some(pattern.fits(&value.to_string())),
                // Nobody knows which member of an object a server takes for the text.
                _ => None,
            },
            Self::Present(wanted) => Some(*wanted),
        }
    }
}

/// Returns the action that a matcher within `not` is judged by: to allow, all elements of a list have
/// to fit, so for the opposite one that does not is enough.
fn opposite(action: Action) -> Action {
    match action {
        Action::Allow => Action::Deny,
        Action::Deny | Action::Confirm => Action::Allow,
    }
}

fn any(mut judged: impl Iterator<Item = Option<bool>>) -> Option<bool> {
    let found = judged.try_fold(Some(false), |so_far, fits| match fits {
        Some(true) => Err(()),
        Some(false) => Ok(so_far),
        None => Ok(None),
    });
    found.unwrap_or(Some(true))
}

fn all(judged: impl Iterator<Item = Option<bool>>) -> Option<bool> {
    any(judged.map(|fits| fits.map(|fits| !fits))).map(|fits| !fits)
}

/// A value at a path.
#[derive(Clone, Copy)]
enum PathValue<'a> {
    Value(&'a Value),
    /// A text where the path goes on. Servers parse objects out of texts, and a rule cannot know how.
    Unreadable,
}

/// Collects the values at a path. `*` is every member or element; the elements of a list are visited
/// even if the path has no `*` for them; a name may have dots in it.
fn select<'a>(value: &'a Value, path: &str, found: &mut Vec<PathValue<'a>>) {
    match value {
        Value::Object(members) => select_members(members, path, found),
        Value::Array(elements) => {
            let (first, rest) = path.split_once('.').unwrap_or((path, ""));
            for element in elements {
                match (first, rest) {
                    ("*", "") => found.push(PathValue::Value(element)),
                    ("*", rest) => select(element, rest, found),
                    _ => select(element, path, found),
                }
            }
        }
        Value::String(_) => found.push(PathValue::Unreadable),
        _ => {}
    }
}

fn select_members<'a>(members: &'a Map<String, Value>, path: &str, found: &mut Vec<PathValue<'a>>) {
    match path.strip_prefix("*.") {
        _ if path == "*" => return found.extend(members.values().map(PathValue::Value)),
        // `*` means every member, and most are plain texts, which cannot all count as unreadable.
        Some(rest) => members
            .values()
            .filter(|member| !is_plain_text(member))
            .for_each(|member| select(member, rest, found)),
        None => {}
    }
    found.extend(members.get(path).map(PathValue::Value));
    for (dot, _) in path.match_indices('.') {
        if let Some(member) = members.get(&path[..dot]) {
            select(member, &path[dot + 1..], found);
        }
    }
}

/// Tells whether a value is a text, or a list of nothing but texts.
fn is_plain_text(value: &Value) -> bool {
    match value {
        Value::Array(elements) => elements.iter().all(is_plain_text),
        value => value.is_string(),
    }
}

/// Tells whether two values are equal; 5 and 5.0 are. None if one is a number or a Boolean and the
/// other is only written like one or cannot be compared with it: servers take `"5"` for 5 and
/// `"yes"` for true, a member of an object for the text that they want, and a text for an object.
fn equal(wanted: &Value, value: &Value) -> Option<bool> {
    match (wanted, value) {
        (Value::Number(a), Value::Number(b)) => Some(a == b || a.as_f64() == b.as_f64()),
        (Value::Number(wanted), value) => match number(value) {
            Some(other) if wanted.as_f64() != Some(other) => Some(false),
            _ => None,
        },
        (Value::Bool(wanted), Value::Bool(value)) => Some(wanted == value),
        (Value::Bool(_), _) => None,
        (Value::String(_), Value::Object(_)) | (Value::Object(_), Value::String(_)) => None,
        (Value::String(wanted), Value::Number(_) | Value::Bool(_)) => {
            let is_same = number(&Value::from(wanted.as_str()))
                .is_some_and(|n| number(value) == Some(n))
                || wanted.eq_ignore_ascii_case(&value.to_string());
            (!is_same).then_some(false)
        }
        _ => Some(wanted == value),
    }
}

/// Returns the number that a value is or is written as: servers take `"5000"` for 5000, so rules must.
fn number(value: &Value) -> Option<f64> {
    let number = match value {
        Value::Number(number) => number.as_f64(),
        Value::String(text) => text.trim().parse().ok(),
        _ => None,
    };
    number.filter(|number| number.is_finite())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn fits(matcher: Value, value: Value, action: Action) -> bool {
        let matcher = Matcher::read(&matcher).expect("a matcher");
        let arguments = json!({ "amount": value });
        let Value::Object(arguments) = arguments else { return false };
        matcher.fits(&arguments, "amount", action)
    }

    #[test]
    fn what_a_rule_cannot_compare_it_does_not_allow() {
        let odd = [
            json!("5,000"),
            json!("5_000"),
            json!("５０００"),
            json!("0x1388"),
            json!("nan"),
            json!("many"),
            json!(true),
            json!(null),
            json!({"value": 5_000}),
            json!([]),
            json!([1, "5,000"]),
        ];
        for value in odd {
            for action in [Action::Deny, Action::Confirm] {
                assert!(fits(json!({"above": 100}), value.clone(), action), "{value}");
                assert!(fits(json!({"not": {"below": 100}}), value.clone(), action), "{value}");
            }
            for matcher in [json!({"below": 100}), json!({"not": {"above": 100}})] {
                assert!(!fits(matcher, value.clone(), Action::Allow), "{value}");
            }
        }
        // The positive control: comparable values are compared.
        for value in [json!(5), json!("5"), json!(5.5), json!([5, "6"])] {
            assert!(!fits(json!({"above": 100}), value.clone(), Action::Deny), "{value}");
            assert!(fits(json!({"below": 100}), value.clone(), Action::Allow), "{value}");
        }
        assert!(fits(json!({"above": 100}), json!("5000"), Action::Deny));
    }

    #[test]
    fn a_number_or_truth_value_is_not_passed_by_one_that_is_written_otherwise() {
        for (wanted, odd) in [
            (json!(5), json!("5")),
            (json!(5), json!("5_0")),
            (json!(5), json!("five")),
            (json!(5), json!({"value": 5})),
            (json!(true), json!("true")),
            (json!(true), json!(1)),
            (json!(true), json!("yes")),
        ] {
            assert!(fits(wanted.clone(), odd.clone(), Action::Deny), "{wanted} {odd}");
            assert!(!fits(wanted.clone(), odd.clone(), Action::Allow), "{wanted} {odd}");
            assert!(!fits(json!({"not": wanted}), odd, Action::Allow));
        }
        // The positive control: a value that is surely different does not fit.
        for (wanted, other) in
            [(json!(5), json!(6)), (json!(5), json!("6")), (json!(true), json!(false))]
        {
            assert!(!fits(wanted.clone(), other.clone(), Action::Deny), "{wanted} {other}");
            assert!(fits(json!({"not": wanted}), other, Action::Allow));
        }
    }

    #[test]
    fn a_text_or_a_pattern_is_not_passed_by_an_object_in_its_place() {
        let mail = json!({"email": "x@evil.com"});
        for odd in [mail.clone(), json!([mail]), json!([[mail]]), json!(["a@home", mail])] {
            for matcher in [
                json!("*@evil.com"),
                json!({"regex": "evil"}),
                json!("x@evil.com"),
                json!({"not": "*@home"}),
                json!(["*@evil.com", "x@evil.com"]),
                json!(["*@evil.com", {"equals": ["x"]}]),
            ] {
                for action in [Action::Deny, Action::Confirm] {
                    assert!(fits(matcher.clone(), odd.clone(), action), "{matcher} {odd}");
                }
                assert!(
                    !fits(json!({"not": matcher}), odd.clone(), Action::Allow),
                    "{matcher} {odd}"
                );
            }
            assert!(!fits(json!("*"), odd, Action::Allow));
        }
        // The positive control: texts are compared, also one by one.
        for home in [json!("a@home"), json!(["a@home", "b@home"])] {
            for matcher in [json!("*@evil.com"), json!("x@evil.com"), json!({"not": "*@home"})] {
                assert!(!fits(matcher.clone(), home.clone(), Action::Deny), "{matcher} {home}");
                assert!(fits(json!({"not": matcher}), home.clone(), Action::Allow), "{home}");
            }
        }
    }

    #[test]
    fn one_element_is_enough_to_deny_whatever_stands_around_the_pattern() {
        let mixed = json!(["x@evil.com", "a@home"]);
        // Beside a matcher that wants a list, the pattern gets the whole list and not its elements.
        let matcher = json!(["*@evil.com", {"equals": ["x"]}]);
        assert!(fits(matcher.clone(), mixed.clone(), Action::Deny));
        assert!(!fits(json!({"not": matcher.clone()}), mixed.clone(), Action::Allow));
        assert!(fits(json!({"not": {"not": matcher.clone()}}), mixed, Action::Deny));
        assert!(fits(json!({"not": matcher}), json!(["a@home"]), Action::Allow));
    }

    #[test]
    fn a_text_is_not_passed_by_a_number_that_is_written_like_it() {
        for (wanted, odd) in [("5", json!(5)), ("5", json!(5.0)), ("True", json!(true))] {
            assert!(fits(json!(wanted), odd.clone(), Action::Deny), "{wanted} {odd}");
            assert!(!fits(json!(wanted), odd.clone(), Action::Allow), "{wanted} {odd}");
            assert!(!fits(json!({"not": wanted}), odd, Action::Allow), "{wanted}");
        }
        for (wanted, other) in [("5", json!(6)), ("main", json!(true)), ("main", json!(5))] {
            assert!(!fits(json!(wanted), other.clone(), Action::Deny), "{wanted} {other}");
            assert!(fits(json!({"not": wanted}), other, Action::Allow), "{wanted}");
        }
    }

    #[test]
    fn a_rule_is_not_passed_by_an_object_that_is_written_as_text() {
        let fits = |path: &str, arguments: Value, action| {
            let matcher = Matcher::read(&json!({"above": 100})).unwrap();
            matcher.fits(arguments.as_object().unwrap(), path, action)
        };
        for arguments in
            [json!({"payment": "{\"amount\": 5000}"}), json!({"payment": ["{\"amount\": 5000}"]})]
        {
            assert!(fits("payment.amount", arguments.clone(), Action::Deny), "{arguments}");
            assert!(!fits("payment.amount", arguments, Action::Allow));
        }
        // The positive control: objects are searched, and for a rule on all members plain texts count
        // as texts, and not as objects that are written as text.
        for (path, arguments, denied) in [
            ("payment.amount", json!({"payment": {"amount": 5}}), false),
            ("payment.amount", json!({"payment": {"amount": 5000}}), true),
            ("payment.amount", json!({"note": "x"}), false),
            ("*.amount", json!({"note": ["x"], "payment": {"amount": 5}}), false),
            ("*.amount", json!({"note": "x", "payment": {"amount": 5000}}), true),
        ] {
            assert_eq!(fits(path, arguments.clone(), Action::Deny), denied, "{path} {arguments}");
        }
    }

    #[test]
    fn null_is_no_argument() {
        for action in [Action::Deny, Action::Allow] {
            assert!(fits(json!({"present": false}), json!(null), action));
            assert!(!fits(json!({"present": true}), json!(null), action));
            assert!(!fits(json!("a*"), json!(null), action));
        }
    }
}
