//! Functions of text that queries do not have.

use std::sync::Arc;

use datafusion::{
    arrow::{
        array::{Array, ArrayRef, AsArray, BooleanArray, StringArray},
        datatypes::DataType,
    },
    error::Result,
    logical_expr::{ColumnarValue, ScalarUDF, Volatility, create_udf},
};

/// Whether text is of some kind; of no text it is not known.
pub(super) fn predicate(
    name: &str,
    test: impl Fn(&str) -> bool + Send + Sync + 'static,
) -> ScalarUDF {
    function(name, DataType::Boolean, move |texts| {
        let found: BooleanArray = texts.iter().map(|text| text.map(&test)).collect();
        Arc::new(found)
    })
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
