//! Builds the query that finds violations: columns of the table, what they are compared with, and
//! checks.

use datafusion::{
    arrow::{compute::can_cast_types, datatypes::DataType},
    common::JoinType,
    functions_aggregate::expr_fn::count,
    functions_window::expr_fn::lag,
    logical_expr::{Expr, ExprFunctionExt, cast, expr::NullTreatment, lit, when},
    prelude::{DataFrame, concat, ident, isnan},
};

use super::{
    contents::Content,
    entry::{CountRange, Reference},
};
use crate::{
    error::{AnalysisError, Result},
    ops::{
        columns,
        rows::{ROW, numbered},
    },
    work::AnalysisContext,
};

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Severity {
    #[default]
    Error,
    Warning,
}

/// One rule for one field.
#[derive(Clone, Debug)]
pub(super) struct RuleCheck {
    pub(super) field: Option<String>,
    pub(super) rule: &'static str,
    pub(super) severity: Severity,
    /// Null counts as false.
    pub(super) violated: Expr,
    /// The value that breaks the rule, as text.
    pub(super) value: Option<Expr>,
    /// The message about it, which may depend on the value.
    pub(super) message: Expr,
}

/// A column that is checked.
#[derive(Clone, Debug)]
pub(super) struct CheckedColumn {
    pub(super) field: String,
    pub(super) column: Expr,
    pub(super) data_type: DataType,
    /// A condition for values that do not have the required type, if one is required.
    pub(super) misfits: Option<Expr>,
}

impl CheckedColumn {
    pub(super) fn is_there(&self) -> Expr {
        self.column.clone().is_not_null()
    }

    /// Returns a condition that is true if there is a value for which `holds` is false or null.
    pub(super) fn unless(&self, holds: Expr) -> Result<Expr> {
        Ok(when(holds, lit(false)).otherwise(self.is_there())?)
    }

    /// Returns the value as text, if it can be cast.
    pub(super) fn text(&self) -> Option<Expr> {
        can_cast_types(&self.data_type, &DataType::Utf8)
            .then(|| cast(self.column.clone(), DataType::Utf8))
    }

    /// Returns the value as text for a rule, or the error that it cannot be cast.
    pub(super) fn as_text(&self, path: &str) -> Result<Expr> {
        self.text().ok_or_else(|| {
            let reason =
                format!("{:?} has values of type {}, not text", self.field, self.data_type);
            AnalysisError::parameter(path, reason)
        })
    }
}

/// Returns values as one text, with their names if there are several.
pub(super) fn values(subjects: &[CheckedColumn]) -> Option<Expr> {
    if let [subject] = subjects {
        return subject.text();
    }
    let mut parts = Vec::new();
    for subject in subjects {
        let separator = if parts.is_empty() { "" } else { ", " };
        parts.push(lit(format!("{separator}{}=", subject.field)));
        parts.push(subject.text()?);
    }
    Some(concat(parts))
}

/// The plan of a validation. Columns have names of our own (`c0`, …), so that those of the table cannot
/// be confused with added ones.
pub(super) struct ValidationPlan<'a> {
    pub(super) work: &'a AnalysisContext,
    pub(super) frame: DataFrame,
    pub(super) checks: Vec<RuleCheck>,
    pub(super) row_counts: Vec<(CountRange, Severity)>,
    taken: Vec<(Expr, DataType)>,
    fields: Vec<(String, usize)>,
    repeated: Vec<Vec<Expr>>,
    tables: Vec<(DataFrame, Expr)>,
    before: Vec<Expr>,
}

impl<'a> ValidationPlan<'a> {
    pub(super) fn new(work: &'a AnalysisContext, frame: DataFrame) -> Self {
        Self {
            work,
            frame,
            checks: Vec::new(),
            row_counts: Vec::new(),
            taken: Vec::new(),
            fields: Vec::new(),
            repeated: Vec::new(),
            tables: Vec::new(),
            before: Vec::new(),
        }
    }

    pub(super) fn field_names(&self) -> Vec<String> {
        self.frame.schema().fields().iter().map(|field| field.name().clone()).collect()
    }

    /// Selects a column of the table, whose name is known to exist. NaN counts as missing.
    pub(super) fn subject(&mut self, field: &str) -> Result<CheckedColumn> {
        let known = self.fields.iter().find(|(name, _)| name == field).map(|(_, at)| *at);
        let at = match known {
            Some(at) => at,
            None => {
                let schema = self.frame.schema();
                let mut data_type = schema.field_with_unqualified_name(field)?.data_type().clone();
                let mut column = ident(field);
                if let DataType::Dictionary(_, values) = data_type {
                    data_type = *values;
                    column = cast(column, data_type.clone());
                }
                if data_type.is_floating() {
                    column = when(isnan(column.clone()).is_not_true(), column).end()?;
                }
                self.take(column, data_type);
                self.fields.push((field.to_owned(), self.taken.len() - 1));
                self.taken.len() - 1
            }
        };
        let data_type = self.taken[at].1.clone();
        let column = ident(format!("c{at}"));
        Ok(CheckedColumn { field: field.to_owned(), column, data_type, misfits: None })
    }

    /// Selects a value that is computed from a row of the table.
    pub(super) fn take(&mut self, value: Expr, data_type: DataType) -> Expr {
        self.taken.push((value, data_type));
        ident(format!("c{}", self.taken.len() - 1))
    }

    /// Returns a condition for whether several rows have the same combination of these values. Missing
    /// values are never the same.
    pub(super) fn occurs_again(&mut self, subjects: &[CheckedColumn]) -> Expr {
        let keys = subjects.iter().map(|subject| subject.column.clone()).collect();
        ident(format!("repeated{}", place_of(&mut self.repeated, keys))).is_not_null()
    }

    /// Returns a condition for whether another table has the value.
    pub(super) async fn is_in_table(
        &mut self,
        path: &str,
        subject: &CheckedColumn,
        reference: &Reference,
    ) -> Result<Expr> {
        let table = self.work.table(&format!("{path}.table"), &reference.table).await?;
        let column = self.work.column(&table, &format!("{path}.field"), &reference.field)?;
        let schema = table.schema();
        let theirs = schema.field_with_unqualified_name(&reference.field)?.data_type().clone();
        let common = common_type(&subject.data_type, &theirs);
        let at = self.tables.len();
        let known = table
            .select(vec![cast(column, common.clone()).alias(format!("key{at}"))])?
            .distinct()?
            .select(vec![ident(format!("key{at}")), lit(true).alias(format!("known{at}"))])?;
        let matches = cast(subject.column.clone(), common).eq(ident(format!("key{at}")));
        self.tables.push((known, matches));
        Ok(ident(format!("known{at}")))
    }

    /// Returns the last value before that of the row.
    pub(super) fn before(&mut self, value: Expr) -> Expr {
        ident(format!("before{}", place_of(&mut self.before, value)))
    }

    /// Returns the kinds of contents in the texts of a column. Searching for the last number of a column
    /// that has none would keep all rows in memory.
    pub(super) async fn contents(&self, subject: &CheckedColumn) -> Result<Vec<Content>> {
        let text = cast(ident(&subject.field), DataType::Utf8);
        let counts = Content::ALL.into_iter().map(|content| content.only(text.clone()).map(count));
        let counts = counts.collect::<Result<Vec<_>>>()?;
        let counts = columns::figures(self.work, self.frame.clone(), counts).await?;
        let found = Content::ALL.into_iter().zip(counts).filter(|(_, count)| *count > 0);
        Ok(found.map(|(content, _)| content).collect())
    }

    /// Makes a frame of every row with its number, the selected columns, and whether it breaks each rule
    /// as `v0` and so on.
    pub(super) async fn rows(&self) -> Result<DataFrame> {
        let taken = self.taken.iter().enumerate();
        let mut selected: Vec<Expr> =
            taken.map(|(at, (value, _))| value.clone().alias(format!("c{at}"))).collect();
        // A table without columns has no rows for some of what reads it.
        selected.push(lit(true).alias("any"));
        let table = self.frame.clone().select(selected)?;
        let mut rows = numbered(self.work, table.clone()).await?;
        for (at, keys) in self.repeated.iter().enumerate() {
            let (repeated, matches) = repeated(&table, at, keys)?;
            rows = rows.join_on(repeated, JoinType::Left, matches)?;
        }
        for (table, matches) in &self.tables {
            rows = rows.join_on(table.clone(), JoinType::Left, [matches.clone()])?;
        }
        if !self.before.is_empty() {
            let before = self.before.iter().enumerate().map(|(at, column)| {
                let before = lag(column.clone(), Some(1), None)
                    .order_by(vec![ident(ROW).sort(true, false)])
                    .null_treatment(NullTreatment::IgnoreNulls)
                    .build()?;
                Ok(before.alias(format!("before{at}")))
            });
            rows = rows.window(before.collect::<Result<_>>()?)?;
        }
        let taken = (0..self.taken.len()).map(|at| ident(format!("c{at}")));
        let violated = self.checks.iter().enumerate();
        let violated = violated.map(|(at, check)| check.violated.clone().alias(format!("v{at}")));
        Ok(rows.select([ident(ROW)].into_iter().chain(taken).chain(violated).collect::<Vec<_>>())?)
    }
}

/// Returns the index of an item in a list, and adds it if it is missing, so that the same item is not
/// planned twice.
fn place_of<T: PartialEq>(list: &mut Vec<T>, wanted: T) -> usize {
    list.iter().position(|known| *known == wanted).unwrap_or_else(|| {
        list.push(wanted);
        list.len() - 1
    })
}

/// Returns the keys that occur more than once, and the columns to join rows with them.
fn repeated(table: &DataFrame, at: usize, keys: &[Expr]) -> Result<(DataFrame, Vec<Expr>)> {
    let names: Vec<String> = (0..keys.len()).map(|key| format!("repeated{at}_{key}")).collect();
    let are_there = keys.iter().map(|key| key.clone().is_not_null()).reduce(Expr::and);
    let named = keys.iter().zip(&names).map(|(key, name)| key.clone().alias(name)).collect();
    let number = format!("repeated{at}");
    let repeated = table
        .clone()
        .filter(are_there.unwrap_or_else(|| lit(true)))?
        .aggregate(named, vec![count(lit(1_i64)).alias(&number)])?
        .filter(ident(&number).gt(lit(1_i64)))?;
    let matches = keys.iter().zip(&names).map(|(key, name)| key.clone().eq(ident(name)));
    Ok((repeated, matches.collect()))
}

/// Returns the type in which values of two columns are compared: numbers with numbers, others as text.
fn common_type(ours: &DataType, theirs: &DataType) -> DataType {
    match (ours, theirs) {
        (ours, theirs) if ours == theirs => ours.clone(),
        (ours, theirs) if ours.is_integer() && theirs.is_integer() => DataType::Int64,
        (ours, theirs) if ours.is_numeric() && theirs.is_numeric() => DataType::Float64,
        _ => DataType::Utf8,
    }
}
