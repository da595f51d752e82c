//! Functions that convert floats into their integer keys and back.

use std::sync::Arc;

use datafusion::{
    arrow::{
        array::{ArrayRef, AsArray},
        datatypes::{DataType, Float64Type, Int64Type},
    },
    error::Result,
    logical_expr::{
        ColumnarValue, Expr, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Volatility,
    },
};

use crate::float_keys::{key, number};

/// Returns an expression for the integer key of a float, which must not be NaN.
pub(super) fn key_of(number: Expr) -> Expr {
    call(KeyEncoding::ToKey, number)
}

/// Returns an expression for the float that a key stands for.
pub(super) fn number_of(key: Expr) -> Expr {
    call(KeyEncoding::FromKey, key)
}

fn call(way: KeyEncoding, value: Expr) -> Expr {
    let signature = Signature::exact(vec![way.given()], Volatility::Immutable);
    ScalarUDF::from(KeyFunction { signature, way }).call(vec![value])
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum KeyEncoding {
    ToKey,
    FromKey,
}

impl KeyEncoding {
    fn given(self) -> DataType {
        match self {
            Self::ToKey => DataType::Float64,
            Self::FromKey => DataType::Int64,
        }
    }

    fn made(self) -> DataType {
        match self {
            Self::ToKey => DataType::Int64,
            Self::FromKey => DataType::Float64,
        }
    }
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct KeyFunction {
    signature: Signature,
    way: KeyEncoding,
}

impl ScalarUDFImpl for KeyFunction {
    fn name(&self) -> &str {
        match self.way {
            KeyEncoding::ToKey => "key_of",
            KeyEncoding::FromKey => "number_of",
        }
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _: &[DataType]) -> Result<DataType> {
        Ok(self.way.made())
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let arrays = ColumnarValue::values_to_arrays(&args.args)?;
        let made: ArrayRef = match self.way {
            KeyEncoding::ToKey => {
                Arc::new(arrays[0].as_primitive::<Float64Type>().unary::<_, Int64Type>(key))
            }
            KeyEncoding::FromKey => {
                Arc::new(arrays[0].as_primitive::<Int64Type>().unary::<_, Float64Type>(number))
            }
        };
        Ok(ColumnarValue::Array(made))
    }
}
