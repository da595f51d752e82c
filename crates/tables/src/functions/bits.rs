//! Converts floats into their bits, for functions that only take integers.

use std::sync::Arc;

use datafusion::{
    arrow::{
        array::{Array, AsArray, Int64Array},
        buffer::ScalarBuffer,
        datatypes::{DataType, Float64Type},
    },
    error::Result,
    logical_expr::{
        ColumnarValue, Expr, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Volatility,
    },
};

/// Returns an expression for an integer that is the same for equal floats.
pub fn bits(value: Expr) -> Expr {
    let signature = Signature::exact(vec![DataType::Float64], Volatility::Immutable);
    ScalarUDF::from(Bits { signature }).call(vec![value])
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct Bits {
    signature: Signature,
}

impl ScalarUDFImpl for Bits {
    fn name(&self) -> &str {
        "bits"
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _: &[DataType]) -> Result<DataType> {
        Ok(DataType::Int64)
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let arrays = ColumnarValue::values_to_arrays(&args.args)?;
        let numbers = arrays[0].as_primitive::<Float64Type>();
        let bits = ScalarBuffer::<i64>::from(numbers.values().inner().clone());
        Ok(ColumnarValue::Array(Arc::new(Int64Array::new(bits, numbers.nulls().cloned()))))
    }
}
