//! Window functions along rows in their order, such as running sums.

use std::sync::Arc;

use datafusion::{
    arrow::{
        array::{ArrayRef, AsArray, Float64Array},
        compute::cast,
        datatypes::{DataType, Field, FieldRef, Float64Type},
    },
    common::exec_datafusion_err,
    error::Result,
    logical_expr::{
        Expr, LimitEffect, PartitionEvaluator, Signature, Volatility, WindowUDF, WindowUDFImpl,
        function::{PartitionEvaluatorArgs, WindowUDFFieldArgs},
    },
    physical_expr::PhysicalExpr,
};

use crate::stats::{
    rolling::{Rolling, rolling},
    series::{Change, Cumulative, change, cumulative, fill_linear, fill_previous},
};

/// A function of each value and those around it in the order of the window.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum RunningFunction {
    /// A figure of the last `rows` rows, where there are at least `min` values.
    Rolling {
        rows: usize,
        function: Rolling,
        min: usize,
    },
    /// The change from the value `periods` rows before, or after if that is negative.
    Change {
        periods: i64,
        kind: Change,
    },
    Cumulative(Cumulative),
    /// Fills missing values between two known ones by linear interpolation, and those after the last one
    /// with it.
    FillLinear,
    /// The mean of all values.
    Mean,
    /// The median of all values.
    Median,
}

impl RunningFunction {
    /// Returns the window function of a column of numbers. The window defines the order.
    pub fn of(self, value: Expr) -> Expr {
        let signature = Signature::exact(vec![DataType::Float64], Volatility::Immutable);
        WindowUDF::from(Series { signature, along: self }).call(vec![value])
    }

    fn figures(self, values: &[f64]) -> Vec<f64> {
        match self {
            Self::Rolling { rows, function, min } => {
                let starts: Vec<usize> =
                    (0..values.len()).map(|at| (at + 1).saturating_sub(rows)).collect();
                rolling(values, &starts, function, min)
            }
            Self::Change { periods, kind } => change(values, periods, kind),
            Self::Cumulative(kind) => cumulative(values, kind),
            Self::FillLinear => {
                let mut filled = values.to_vec();
                fill_linear(&mut filled);
                fill_previous(&mut filled);
                filled
            }
            Self::Mean | Self::Median => vec![self.middle(values); values.len()],
        }
    }

    fn middle(self, values: &[f64]) -> f64 {
        let mut known: Vec<f64> = values.iter().copied().filter(|value| !value.is_nan()).collect();
        let count = known.len();
        if self == Self::Mean || count == 0 {
            return known.iter().sum::<f64>() / count as f64;
        }
        known.sort_unstable_by(f64::total_cmp);
        match count % 2 {
            1 => known[count / 2],
            _ => 0.5 * known[count / 2 - 1] + 0.5 * known[count / 2],
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Series {
    signature: Signature,
    along: RunningFunction,
}

impl WindowUDFImpl for Series {
    fn name(&self) -> &str {
        "series"
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn partition_evaluator(
        &self,
        _args: PartitionEvaluatorArgs<'_>,
    ) -> Result<Box<dyn PartitionEvaluator>> {
        Ok(Box::new(Evaluator(self.along)))
    }

    fn field(&self, args: WindowUDFFieldArgs<'_>) -> Result<FieldRef> {
        Ok(Arc::new(Field::new(args.name(), DataType::Float64, true)))
    }

    fn limit_effect(&self, _args: &[Arc<dyn PhysicalExpr>]) -> LimitEffect {
        LimitEffect::Unknown
    }
}

#[derive(Debug)]
struct Evaluator(RunningFunction);

impl PartitionEvaluator for Evaluator {
    fn evaluate_all(&mut self, values: &[ArrayRef], _rows: usize) -> Result<ArrayRef> {
        let values = values.first().ok_or_else(|| exec_datafusion_err!("no column is given"))?;
        let values = cast(values, &DataType::Float64)?;
        let values = values.as_primitive::<Float64Type>();
        let known = |value: Option<f64>| value.filter(|it| it.is_finite()).unwrap_or(f64::NAN);
        let values: Vec<f64> = values.iter().map(known).collect();
        let figures = self.0.figures(&values).into_iter();
        let figures = figures.map(|figure| (!figure.is_nan()).then_some(figure));
        Ok(Arc::new(figures.collect::<Float64Array>()))
    }
}
