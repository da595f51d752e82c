//! `a || b` for texts: unlike `concat`, the result is null if one of them is.

use std::{fmt::Write, sync::Arc};

use datafusion::{
    arrow::{
        array::{Array, AsArray, StringBuilder},
        compute::cast,
        datatypes::DataType,
    },
    common::ScalarValue,
    error::Result,
    logical_expr::{ColumnarValue, Expr, ScalarFunctionArgs, ScalarUDFImpl, Signature, Volatility},
};

#[derive(Debug, PartialEq, Eq, Hash)]
pub(super) struct JoinText {
    signature: Signature,
}

impl JoinText {
    pub(super) fn new() -> Self {
        Self { signature: Signature::user_defined(Volatility::Immutable) }
    }
}

impl ScalarUDFImpl for JoinText {
    fn name(&self) -> &str {
        "||"
    }

    fn schema_name(&self, args: &[Expr]) -> Result<String> {
        let names: Vec<String> = args.iter().map(|arg| arg.schema_name().to_string()).collect();
        Ok(names.join(" || "))
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn coerce_types(&self, types: &[DataType]) -> Result<Vec<DataType>> {
        Ok(vec![DataType::Utf8; types.len()])
    }

    fn return_type(&self, _: &[DataType]) -> Result<DataType> {
        Ok(DataType::Utf8)
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let constant = args.args.iter().all(|value| matches!(value, ColumnarValue::Scalar(_)));
        let texts = ColumnarValue::values_to_arrays(&args.args)?;
        let texts = texts.iter().map(|text| cast(text, &DataType::Utf8));
        let texts = texts.collect::<Result<Vec<_>, _>>()?;
        let texts: Vec<_> = texts.iter().map(|text| text.as_string::<i32>()).collect();
        let rows = texts.first().map_or(0, |text| text.len());
        let mut joined = StringBuilder::new();
        for row in 0..rows {
            if texts.iter().any(|text| text.is_null(row)) {
                joined.append_null();
                continue;
            }
            for text in &texts {
                joined.write_str(text.value(row))?;
            }
            joined.append_value("");
        }
        let joined = joined.finish();
        Ok(match constant {
            true => ColumnarValue::Scalar(ScalarValue::try_from_array(&joined, 0)?),
            false => ColumnarValue::Array(Arc::new(joined)),
        })
    }
}
