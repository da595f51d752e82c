//! Compares a column with a constant, for the types that most conditions are about. The query engine
//! compares all types, and takes several times as long for these.

use datafusion::{
    arrow::{
        array::{Array, ArrayRef, AsArray, BooleanArray, make_view},
        buffer::BooleanBuffer,
        datatypes::{Float64Type, Int64Type},
    },
    logical_expr::Operator,
    scalar::ScalarValue,
};

/// Texts up to this many bytes are contained in their views.
const SHORT: usize = 12;

/// Compares a column with a constant, with the results of the query engine. Returns none for types that
/// are left to the engine.
pub fn compare(
    column: &ArrayRef,
    operator: Operator,
    constant: &ScalarValue,
) -> Option<BooleanArray> {
    let holds = match constant {
        ScalarValue::Int64(Some(constant)) => {
            integers(column.as_primitive_opt::<Int64Type>()?.values(), operator, *constant)?
        }
        ScalarValue::Float64(Some(constant)) if !constant.is_nan() => {
            floats(column.as_primitive_opt::<Float64Type>()?.values(), operator, *constant)?
        }
        ScalarValue::Utf8View(Some(text)) if text.len() <= SHORT => {
            let view = make_view(text.as_bytes(), 0, 0);
            views(column.as_string_view_opt()?.views(), operator, view)?
        }
        _ => return None,
    };
    Some(BooleanArray::new(holds, column.nulls().cloned()))
}

fn integers(values: &[i64], operator: Operator, constant: i64) -> Option<BooleanBuffer> {
    Some(match operator {
        Operator::Eq => packed(values, |value| value == constant),
        Operator::NotEq => packed(values, |value| value != constant),
        Operator::Lt => packed(values, |value| value < constant),
        Operator::LtEq => packed(values, |value| value <= constant),
        Operator::Gt => packed(values, |value| value > constant),
        Operator::GtEq => packed(values, |value| value >= constant),
        _ => return None,
    })
}

/// Compares floats. NaN comes after all numbers, or before them if it is negative. Both conditions are
/// computed for each value without a branch, which could not be predicted.
fn floats(values: &[f64], operator: Operator, constant: f64) -> Option<BooleanBuffer> {
    let is_less = |value: f64| (value < constant) | (value.is_nan() & value.is_sign_negative());
    let is_more = |value: f64| (value > constant) | (value.is_nan() & value.is_sign_positive());
    Some(match operator {
        Operator::Eq => packed(values, |value| value == constant),
        Operator::NotEq => packed(values, |value| value != constant),
        Operator::Lt => packed(values, is_less),
        Operator::LtEq => packed(values, |value| !is_more(value)),
        Operator::Gt => packed(values, is_more),
        Operator::GtEq => packed(values, |value| !is_less(value)),
        _ => return None,
    })
}

fn views(views: &[u128], operator: Operator, constant: u128) -> Option<BooleanBuffer> {
    Some(match operator {
        Operator::Eq => packed(views, |view| view == constant),
        Operator::NotEq => packed(views, |view| view != constant),
        _ => return None,
    })
}

/// Packs the results for all values into bits.
fn packed<T: Copy>(values: &[T], holds: impl Fn(T) -> bool) -> BooleanBuffer {
    let word = |values: &[T]| {
        let bits = values.iter().enumerate();
        bits.fold(0_u64, |word, (bit, value)| word | (u64::from(holds(*value)) << bit))
    };
    let words: Vec<u64> = values.chunks(64).map(word).collect();
    BooleanBuffer::new(words.into(), 0, values.len())
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use datafusion::{
        arrow::{
            array::{Float64Array, Int64Array, RecordBatch, StringArray, StringViewArray},
            datatypes::Schema,
        },
        physical_expr::expressions::{binary, col, lit},
    };
    use proptest::prelude::*;

    use super::*;

    const OPERATORS: [Operator; 6] =
        [Operator::Eq, Operator::NotEq, Operator::Lt, Operator::LtEq, Operator::Gt, Operator::GtEq];

    /// What the query engine says.
    fn expected(column: &ArrayRef, operator: Operator, constant: &ScalarValue) -> BooleanArray {
        let batch = RecordBatch::try_from_iter([("a", Arc::clone(column))]).expect("a batch");
        let schema: &Schema = &batch.schema();
        let left = col("a", schema).expect("a column");
        let condition = binary(left, operator, lit(constant.clone()), schema).expect("a condition");
        let holds = condition.evaluate(&batch).expect("a result");
        holds.into_array(batch.num_rows()).expect("an array").as_boolean().clone()
    }

    fn number() -> impl Strategy<Value = f64> + Clone {
        let edges = [0.0, -0.0, 1.0, f64::INFINITY, -f64::INFINITY, f64::NAN, -f64::NAN];
        prop_oneof![prop::sample::select(edges.to_vec()), any::<f64>()]
    }

    fn text() -> impl Strategy<Value = String> + Clone {
        prop_oneof![
            prop::sample::select(vec![
                "",
                "a",
                "a\0",
                "north east",
                "north west",
                "twelve bytes",
                "twelve bytes!",
            ])
            .prop_map(str::to_owned),
            ".{0,20}",
        ]
    }

    /// A constant, often one of the values; few enough that several are alike, in several words.
    fn case<T: Clone + std::fmt::Debug + 'static>(
        value: impl Strategy<Value = T> + Clone + 'static,
    ) -> impl Strategy<Value = (Vec<Option<T>>, T)> {
        let values = prop::collection::vec(prop::option::weighted(0.9, value.clone()), 1..200);
        (values, value, any::<prop::sample::Index>(), any::<bool>()).prop_map(
            |(values, other, place, is_other)| {
                let one = values[place.index(values.len())].clone().filter(|_| !is_other);
                (values, one.unwrap_or(other))
            },
        )
    }

    proptest! {
        #[test]
        fn whole_numbers((values, constant) in case(any::<i64>())) {
            let column: ArrayRef = Arc::new(Int64Array::from(values));
            let constant = ScalarValue::Int64(Some(constant));
            for operator in OPERATORS {
                let found = compare(&column, operator, &constant).expect("a result");
                prop_assert_eq!(found, expected(&column, operator, &constant), "{}", operator);
            }
        }

        #[test]
        fn other_numbers((values, constant) in case(number())) {
            let column: ArrayRef = Arc::new(Float64Array::from(values));
            let is_nan = constant.is_nan();
            let constant = ScalarValue::Float64(Some(constant));
            for operator in OPERATORS {
                match compare(&column, operator, &constant) {
                    Some(found) => {
                        prop_assert_eq!(found, expected(&column, operator, &constant), "{}", operator);
                    }
                    None => prop_assert!(is_nan),
                }
            }
        }

        #[test]
        fn texts((values, constant) in case(text())) {
            let column: ArrayRef = Arc::new(StringViewArray::from_iter(values));
            let is_short = constant.len() <= SHORT;
            let constant = ScalarValue::Utf8View(Some(constant));
            for operator in [Operator::Eq, Operator::NotEq] {
                match compare(&column, operator, &constant) {
                    Some(found) => {
                        prop_assert_eq!(found, expected(&column, operator, &constant), "{}", operator);
                    }
                    None => prop_assert!(!is_short),
                }
            }
        }
    }

    #[test]
    fn parts_of_columns_are_compared() {
        let column = Int64Array::from_iter((0..300).map(|n| (n % 3 > 0).then_some(n % 7)));
        let constant = ScalarValue::Int64(Some(3));
        for (start, rows) in [(0, 0), (1, 63), (65, 64), (7, 200)] {
            let part: ArrayRef = Arc::new(column.slice(start, rows));
            let found = compare(&part, Operator::Lt, &constant).expect("a result");
            assert_eq!(found, expected(&part, Operator::Lt, &constant), "{start} {rows}");
        }
    }

    #[test]
    fn what_is_not_for_here_is_left_to_the_engine() {
        let column: ArrayRef = Arc::new(StringArray::from(vec!["a"]));
        let text = |text: &str| ScalarValue::Utf8View(Some(text.to_owned()));
        assert_eq!(compare(&column, Operator::Eq, &text("a")), None);
        let column: ArrayRef = Arc::new(StringViewArray::from(vec!["a"]));
        assert_eq!(compare(&column, Operator::Lt, &text("a")), None);
        assert_eq!(compare(&column, Operator::Eq, &ScalarValue::Utf8View(None)), None);
        assert_eq!(compare(&column, Operator::Eq, &ScalarValue::Int64(Some(1))), None);
    }
}
