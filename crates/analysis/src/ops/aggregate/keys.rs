//! Numbers with a point as whole numbers in the same order.
//!
//! The query engine looks for the smallest number of a group from the largest finite one
//! downwards, so that it never finds infinity. Whole numbers have no such end.

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

/// The whole number in the place of a number with a point, which is not NaN.
pub(super) fn key_of(number: Expr) -> Expr {
    call(Way::ToKey, number)
}

/// The number with a point that a key stands for.
pub(super) fn number_of(key: Expr) -> Expr {
    call(Way::FromKey, key)
}

fn call(way: Way, value: Expr) -> Expr {
    let signature = Signature::exact(vec![way.given()], Volatility::Immutable);
    ScalarUDF::from(Keys { signature, way }).call(vec![value])
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Way {
    ToKey,
    FromKey,
}

impl Way {
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
struct Keys {
    signature: Signature,
    way: Way,
}

impl ScalarUDFImpl for Keys {
    fn name(&self) -> &str {
        match self.way {
            Way::ToKey => "key_of",
            Way::FromKey => "number_of",
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
            Way::ToKey => {
                Arc::new(arrays[0].as_primitive::<Float64Type>().unary::<_, Int64Type>(key))
            }
            Way::FromKey => {
                Arc::new(arrays[0].as_primitive::<Int64Type>().unary::<_, Float64Type>(number))
            }
        };
        Ok(ColumnarValue::Array(made))
    }
}

fn key(number: f64) -> i64 {
    mirrored(number.to_bits() as i64)
}

fn number(key: i64) -> f64 {
    f64::from_bits(mirrored(key) as u64)
}

/// The bits of a negative number grow with its distance from zero. Twice mirrored is as before.
fn mirrored(bits: i64) -> i64 {
    bits ^ (((bits >> 63) as u64) >> 1) as i64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_in_the_order_of_numbers() {
        let numbers = [
            f64::NEG_INFINITY,
            f64::MIN,
            -2.5,
            -f64::MIN_POSITIVE,
            -0.0,
            0.0,
            f64::MIN_POSITIVE,
            1.0,
            f64::MAX,
            f64::INFINITY,
        ];
        let keys = numbers.map(key);
        assert!(keys.is_sorted_by(|a, b| a < b), "{keys:?}");
        assert_eq!(keys.map(|key| number(key).to_bits()), numbers.map(f64::to_bits));
        assert!(keys[0] > i64::MIN && keys[numbers.len() - 1] < i64::MAX);
    }
}
