//! Functions of text that queries do not have.

use std::sync::Arc;

use datafusion::{
    arrow::{
        array::{Array, ArrayRef, AsArray, BooleanArray, Int64Array, StringArray},
        datatypes::DataType,
    },
    error::Result,
    logical_expr::{ColumnarValue, ScalarUDF, Volatility, create_udf},
};

/// Makes a function that tests a text; null for null.
pub(super) fn predicate(
    name: &str,
    test: impl Fn(&str) -> bool + Send + Sync + 'static,
) -> ScalarUDF {
    function(name, DataType::Boolean, move |texts| {
        let found: BooleanArray = texts.iter().map(|text| text.map(&test)).collect();
        Arc::new(found)
    })
}

/// Makes a function that computes a number of a text; null for null.
pub(super) fn figure(name: &str, of: fn(&str) -> i64) -> ScalarUDF {
    function(name, DataType::Int64, move |texts| {
        let figures: Int64Array = texts.iter().map(|text| text.map(of)).collect();
        Arc::new(figures)
    })
}

/// Makes a function that computes a number of two texts; null if one of them is.
pub(super) fn figure_of_two(name: &str, of: fn(&str, &str) -> i64) -> ScalarUDF {
    let run = move |values: &[ColumnarValue]| -> Result<ColumnarValue> {
        let arrays = ColumnarValue::values_to_arrays(values)?;
        let texts: Vec<&StringArray> =
            arrays.iter().filter_map(|array| array.as_string_opt::<i32>()).collect();
        let [left, right] = texts.as_slice() else {
            return datafusion::common::exec_err!("two texts are needed");
        };
        let pairs = left.iter().zip(right.iter());
        let figures: Int64Array = pairs.map(|(left, right)| Some(of(left?, right?))).collect();
        Ok(ColumnarValue::Array(Arc::new(figures)))
    };
    let types = vec![DataType::Utf8, DataType::Utf8];
    create_udf(name, types, DataType::Int64, Volatility::Immutable, Arc::new(run))
}

fn function(
    name: &str,
    result: DataType,
    compute: impl Fn(&StringArray) -> ArrayRef + Send + Sync + 'static,
) -> ScalarUDF {
    let run = move |values: &[ColumnarValue]| -> Result<ColumnarValue> {
        let arrays = ColumnarValue::values_to_arrays(values)?;
        let Some(texts) = arrays.first().and_then(|array| array.as_string_opt::<i32>()) else {
            return datafusion::common::exec_err!("text is needed");
        };
        debug_assert_eq!(texts.len(), arrays[0].len());
        Ok(ColumnarValue::Array(compute(texts)))
    };
    create_udf(name, vec![DataType::Utf8], result, Volatility::Immutable, Arc::new(run))
}
