//! Row numbers in a shuffled order that depends on a seed alone.

use std::sync::Arc;

use datafusion::{
    arrow::{
        array::{AsArray, UInt64Array},
        datatypes::{DataType, UInt64Type},
    },
    error::Result,
    logical_expr::{
        ColumnarValue, Expr, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Volatility,
    },
};

/// Returns an expression that maps each row number to a pseudo-random number; no two are the same.
pub fn scatter(row: Expr, seed: u64) -> Expr {
    let signature = Signature::exact(vec![DataType::UInt64], Volatility::Immutable);
    ScalarUDF::from(Scatter { signature, seed }).call(vec![row])
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct Scatter {
    signature: Signature,
    seed: u64,
}

impl ScalarUDFImpl for Scatter {
    fn name(&self) -> &str {
        "scatter"
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _: &[DataType]) -> Result<DataType> {
        Ok(DataType::UInt64)
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let arrays = ColumnarValue::values_to_arrays(&args.args)?;
        let start = mixed(self.seed);
        let scattered: UInt64Array =
            arrays[0].as_primitive::<UInt64Type>().unary(|row| mixed(row.wrapping_add(start)));
        Ok(ColumnarValue::Array(Arc::new(scattered)))
    }
}

/// Applies the finalizer of SplitMix64, which is one to one.
fn mixed(number: u64) -> u64 {
    let number = number.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let number = (number ^ (number >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let number = (number ^ (number >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    number ^ (number >> 31)
}
