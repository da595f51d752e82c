//! Builds the expressions of figures.

use std::collections::HashMap;

use datafusion::{
    arrow::datatypes::DataType,
    functions::expr_fn::coalesce,
    functions_aggregate::expr_fn::{
        array_agg, avg, count, count_distinct, first_value, last_value, max, min, stddev, sum,
        var_sample,
    },
    logical_expr::{
        Expr, ExprFunctionExt, ExprSchemable, SortExpr, cast, expr::NullTreatment, lit,
    },
    prelude::{DataFrame, ident},
    scalar::ScalarValue,
};

use super::{
    keys::{key_of, number_of},
    metrics::{Figure, FigureFunction},
    totals::whole,
};
use crate::{
    error::Result,
    functions::{TallyOutput, quantile, quantiles, tally},
    ops::{
        columns,
        numbers::{is_text, numeric},
        params::ParamName,
        time_columns::{ValueOrder, with_time, without_time},
    },
    work::AnalysisContext,
};

/// The aggregates that figures are made of, each of which is computed once.
pub(super) struct Aggregates<'f> {
    work: &'f AnalysisContext,
    frame: &'f DataFrame,
    /// The column with the number of the row, if there is one.
    row: Option<&'f str>,
    expressions: Vec<Expr>,
    numbers: HashMap<String, Expr>,
    /// How the smallest and the largest value of a column are found.
    ordered: HashMap<String, ValueOrder>,
    /// The fractions at which quantiles of a column are wanted, and its place in `expressions`.
    quantiles: Vec<(String, Expr, Vec<f64>, usize)>,
}

impl<'f> Aggregates<'f> {
    pub(super) fn new(
        work: &'f AnalysisContext,
        frame: &'f DataFrame,
        row: Option<&'f str>,
    ) -> Self {
        Self {
            work,
            frame,
            row,
            expressions: Vec::new(),
            numbers: HashMap::new(),
            ordered: HashMap::new(),
            quantiles: Vec::new(),
        }
    }

    /// Returns a figure as an expression over the aggregates.
    pub(super) async fn value(&mut self, figure: &Figure) -> Result<Expr> {
        let Some(field) = &figure.field else {
            return Ok(self.add(count(lit(1))));
        };
        self.work.column(self.frame, &field.path, &field.name)?;
        let plain = columns::value(self.frame, &field.name);
        Ok(match &figure.function {
            FigureFunction::Count => self.add(count(plain)),
            FigureFunction::CountDistinct => self.add(count_distinct(plain)),
            FigureFunction::Min => {
                let order = self.ordered(field).await?;
                self.extreme(plain, order, min)?
            }
            FigureFunction::Max => {
                let order = self.ordered(field).await?;
                self.extreme(plain, order, max)?
            }
            FigureFunction::Sum => {
                let number = self.number(field).await?;
                self.sum(number, field)?
            }
            FigureFunction::Mean => {
                let number = self.float(field).await?;
                self.add(avg(number))
            }
            FigureFunction::Deviation => {
                let number = self.float(field).await?;
                self.add(stddev(number))
            }
            FigureFunction::Variance => {
                let number = self.float(field).await?;
                self.add(var_sample(number))
            }
            FigureFunction::First => {
                let by_row = self.by_row();
                self.add(without_nulls(first_value(plain, by_row))?)
            }
            FigureFunction::Last => {
                let by_row = self.by_row();
                self.add(without_nulls(last_value(plain, by_row))?)
            }
            FigureFunction::Quantile(fraction) => self.quantile(field, *fraction).await?,
            FigureFunction::Mode => TallyOutput::Value.of(self.add(tally(plain, usize::MAX))),
            FigureFunction::Collect | FigureFunction::Top(_) => {
                let by_row = self.by_row();
                let item = plain.get_type(self.frame.schema())?;
                let list = array_agg(plain).order_by(by_row);
                let list = list.null_treatment(NullTreatment::IgnoreNulls).build()?;
                let list = self.add(list);
                // No values at all have an empty list.
                let nothing = ScalarValue::List(ScalarValue::new_list_nullable(&[], &item));
                coalesce(vec![list, lit(nothing)])
            }
        })
    }

    pub(super) fn into_expressions(mut self) -> Vec<Expr> {
        for (_, number, fractions, index) in std::mem::take(&mut self.quantiles) {
            let name = self.hidden(index);
            self.expressions[index] = quantiles(number, &fractions).alias(name);
        }
        self.expressions
    }

    fn add(&mut self, aggregate: Expr) -> Expr {
        let name = self.hidden(self.expressions.len());
        self.expressions.push(aggregate.alias(&name));
        ident(name)
    }

    /// Returns a name that no column has, not even one that is grouped by.
    fn hidden(&self, index: usize) -> String {
        columns::unused(self.frame, &index.to_string())
    }

    async fn number(&mut self, field: &ParamName) -> Result<Expr> {
        if let Some(known) = self.numbers.get(&field.name) {
            return Ok(known.clone());
        }
        let number = numeric(self.work, self.frame, &field.path, &field.name).await?;
        self.numbers.insert(field.name.clone(), number.clone());
        self.note_text(&field.name);
        Ok(number)
    }

    async fn ordered(&mut self, field: &ParamName) -> Result<ValueOrder> {
        if let Some(known) = self.ordered.get(&field.name) {
            return Ok(known.clone());
        }
        let order = ValueOrder::of(self.work, self.frame, &field.name).await?;
        self.ordered.insert(field.name.clone(), order.clone());
        self.note_text(&field.name);
        Ok(order)
    }

    /// Notes columns of text with some numbers, whose sum is that of the numbers, while the smallest
    /// value is that of all texts.
    fn note_text(&self, name: &str) {
        let is_text = is_text(&columns::data_type(self.frame, name));
        let is_plain = matches!(self.ordered.get(name), Some(ValueOrder::Plain(_)));
        if is_text && is_plain && self.numbers.contains_key(name) {
            self.work.note(format!("min and max of column {name:?} are those of its text"));
        }
    }

    async fn float(&mut self, field: &ParamName) -> Result<Expr> {
        Ok(cast(self.number(field).await?, DataType::Float64))
    }

    /// Returns the smallest or the largest value. Of texts that are times it is the text of the first or
    /// the last time.
    fn extreme(&mut self, plain: Expr, order: ValueOrder, of: fn(Expr) -> Expr) -> Result<Expr> {
        let value = match order {
            ValueOrder::Plain(value) | ValueOrder::Number(value) => value,
            ValueOrder::Moment(_) => return Ok(without_time(self.add(of(with_time(plain))))),
        };
        Ok(match value.get_type(self.frame.schema())? {
            DataType::Float64 => number_of(self.add(of(key_of(value)))),
            _ => self.add(of(value)),
        })
    }

    /// Returns a sum. Integers are added up in more bits than they have: a sum that does not fit is an
    /// error, not another number. Unsigned 64-bit integers may be too large already, so that their sums
    /// are decimals.
    fn sum(&mut self, number: Expr, field: &ParamName) -> Result<Expr> {
        let data_type = number.get_type(self.frame.schema())?;
        if !data_type.is_integer() {
            return Ok(coalesce(vec![self.add(sum(number)), lit(0)]));
        }
        let wide = sum(cast(number, DataType::Decimal128(20, 0)));
        let wide = coalesce(vec![self.add(wide), lit(0)]);
        Ok(if data_type == DataType::UInt64 { wide } else { whole(wide, field) })
    }

    fn by_row(&self) -> Vec<SortExpr> {
        self.row.iter().map(|row| ident(*row).sort(true, false)).collect()
    }

    /// Returns a quantile. All quantiles of a column come from one copy of its values.
    async fn quantile(&mut self, field: &ParamName, fraction: f64) -> Result<Expr> {
        let number = self.float(field).await?;
        let known = self.quantiles.iter().position(|(name, ..)| *name == field.name);
        let known = known.unwrap_or_else(|| {
            let index = self.expressions.len();
            self.expressions.push(lit(0));
            self.quantiles.push((field.name.clone(), number, Vec::new(), index));
            self.quantiles.len() - 1
        });
        let (_, _, fractions, index) = &mut self.quantiles[known];
        let place = fractions.iter().position(|known| *known == fraction).unwrap_or_else(|| {
            fractions.push(fraction);
            fractions.len() - 1
        });
        let index = *index;
        Ok(quantile(ident(self.hidden(index)), place))
    }
}

fn without_nulls(value: Expr) -> Result<Expr> {
    Ok(value.null_treatment(NullTreatment::IgnoreNulls).build()?)
}
