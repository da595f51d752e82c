//! Functions of lists that are kept as JSON text.

use std::sync::Arc;

use datafusion::{
    arrow::{
        array::{AsArray, BooleanArray},
        datatypes::DataType,
    },
    error::Result,
    logical_expr::{
        ColumnarValue, Expr, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Volatility,
        cast,
    },
};
use serde::de::IgnoredAny;
use serde_json::{Number, Value};

/// Returns an expression for whether a text is a JSON list.
pub fn json_is_list(text: Expr) -> Expr {
    call(text, Question::IsList)
}

/// Returns an expression for whether a text is a JSON list with this value in it. Texts are compared in
/// any case if `ignore_case`.
pub fn json_has(text: Expr, wanted: &Value, ignore_case: bool) -> Expr {
    let wanted = if ignore_case { lowercase(wanted.clone()) } else { wanted.clone() };
    call(text, Question::Has { wanted, ignore_case })
}

fn call(text: Expr, question: Question) -> Expr {
    let signature = Signature::exact(vec![DataType::Utf8], Volatility::Immutable);
    ScalarUDF::from(JsonList { signature, question }).call(vec![cast(text, DataType::Utf8)])
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct JsonList {
    signature: Signature,
    question: Question,
}

#[derive(Debug, PartialEq, Eq, Hash)]
enum Question {
    IsList,
    Has { wanted: Value, ignore_case: bool },
}

impl ScalarUDFImpl for JsonList {
    fn name(&self) -> &str {
        match self.question {
            Question::IsList => "json_is_list",
            Question::Has { .. } => "json_has",
        }
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _: &[DataType]) -> Result<DataType> {
        Ok(DataType::Boolean)
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let arrays = ColumnarValue::values_to_arrays(&args.args)?;
        let texts = arrays[0].as_string::<i32>().iter();
        let answers: BooleanArray =
            texts.map(|text| text.map(|text| self.question.answer(text))).collect();
        Ok(ColumnarValue::Array(Arc::new(answers)))
    }
}

impl Question {
    fn answer(&self, text: &str) -> bool {
        if !text.trim_start().starts_with('[') {
            return false;
        }
        match self {
            Self::IsList => serde_json::from_str::<Vec<IgnoredAny>>(text).is_ok(),
            Self::Has { wanted, ignore_case } => serde_json::from_str::<Vec<Value>>(text)
                .unwrap_or_default()
                .into_iter()
                .any(|value| {
                    let value = if *ignore_case { lowercase(value) } else { value };
                    is_same(&value, wanted)
                }),
        }
    }
}

fn lowercase(value: Value) -> Value {
    match value {
        Value::String(text) => Value::String(text.to_lowercase()),
        other => other,
    }
}

/// Compares JSON values, where 1 and 1.0 are the same number.
fn is_same(a: &Value, b: &Value) -> bool {
    let are_same_numbers = |a: &Number, b: &Number| a == b || a.as_f64() == b.as_f64();
    match (a, b) {
        (Value::Number(a), Value::Number(b)) => are_same_numbers(a, b),
        _ => a == b,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn has(text: &str, wanted: Value, ignore_case: bool) -> bool {
        let wanted = if ignore_case { lowercase(wanted) } else { wanted };
        Question::Has { wanted, ignore_case }.answer(text)
    }

    #[test]
    fn a_list_has_its_values_and_nothing_else() {
        assert!(has(r#"["a", "bc"]"#, json!("bc"), false));
        assert!(!has(r#"["a", "bc"]"#, json!("b"), false));
        assert!(!has(r#"["a", "BC"]"#, json!("bc"), false));
        assert!(has(r#"["a", "BC"]"#, json!("bc"), true));
        assert!(has("[1.0, null]", json!(1), false));
        assert!(has("[1.0, null]", json!(null), false));
        assert!(!has("[9007199254740993]", json!("9007199254740993"), false));
        assert!(!has("a [list]", json!("list"), false));
        assert!(!has("[broken", json!("broken"), false));
    }

    #[test]
    fn only_whole_lists_are_lists() {
        for (text, is_list) in [
            ("[]", true),
            (" [1]", true),
            ("[1", false),
            ("[a]", false),
            ("{}", false),
            ("", false),
        ] {
            assert_eq!(Question::IsList.answer(text), is_list, "{text}");
        }
    }
}
