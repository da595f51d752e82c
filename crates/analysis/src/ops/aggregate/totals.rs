//! Converts sums into integers, if they fit.

use datafusion::{
    arrow::{
        compute::{CastOptions, cast_with_options},
        datatypes::DataType,
    },
    error::{DataFusionError, Result},
    logical_expr::{
        ColumnarValue, Expr, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Volatility,
    },
};

use crate::{error::AnalysisError, ops::params::ParamName};

/// Converts a sum into an integer. The error of one that is too large names its field and what can be
/// done.
pub(super) fn whole(sum: Expr, field: &ParamName) -> Expr {
    let signature = Signature::any(1, Volatility::Immutable);
    let ParamName { path, name } = field.clone();
    ScalarUDF::from(Totals { signature, path, name }).call(vec![sum])
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct Totals {
    signature: Signature,
    path: String,
    name: String,
}

impl Totals {
    /// Makes the error for a sum that is too large, which is known only once the rows are read.
    fn too_large(&self) -> DataFusionError {
        let name = &self.name;
        let reason = format!(
            "the sum of column {name:?} is too large for a whole number; its mean is not, \
             `transform` makes floats of it with {{\"cast\": {{{name:?}: \"float\"}}}}, and SQL \
             has more digits: sum({name:?}::decimal(38, 0))"
        );
        DataFusionError::External(Box::new(AnalysisError::parameter(&self.path, reason)))
    }
}

impl ScalarUDFImpl for Totals {
    fn name(&self) -> &str {
        "whole"
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _: &[DataType]) -> Result<DataType> {
        Ok(DataType::Int64)
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let sums = ColumnarValue::values_to_arrays(&args.args)?;
        let checked = CastOptions { safe: false, ..CastOptions::default() };
        let whole = cast_with_options(&sums[0], &DataType::Int64, &checked);
        Ok(ColumnarValue::Array(whole.map_err(|_| self.too_large())?))
    }
}
