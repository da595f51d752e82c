//! Compares columns with values.

use std::collections::HashSet;

use datafusion::{
    arrow::datatypes::DataType,
    functions::expr_fn::{contains, ends_with, isnan, lower, starts_with},
    functions_aggregate::expr_fn::{count, sum},
    functions_nested::expr_fn::array_has,
    logical_expr::{self, Expr, binary_expr, cast, in_list, lit},
    prelude::{DataFrame, ident},
    scalar::ScalarValue,
};
use regex::Regex;
use serde_json::Value;

use super::{
    condition::Comparison,
    literal::{ComparisonType, beside, fitting, plain_text, scalar},
};
use crate::{
    error::{AnalysisError, Result},
    functions::{json_has, json_is_list},
    operators::Operator,
    ops::{
        columns,
        numbers::{self, is_text, note_text, plain_type, read_number},
        params::{short, wrong},
        time_columns::{Texts, TimeForm, comparable, meant, note_texts},
    },
    times::Time,
    work::AnalysisContext,
};

/// The columns of conditions, and what is known about their values.
pub(super) struct ComparedColumns<'f> {
    frame: &'f DataFrame,
    /// The questions about them whose answer is yes.
    known: HashSet<ColumnQuestion>,
}

/// A question about the column of this name.
type ColumnQuestion = (String, Question);

/// A question about a column of text that has to be answered before it is compared.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Question {
    /// Whether all values are lists, kept as JSON text.
    List,
    Number,
    /// Whether all values are times, but not all in the form of those that they are compared with, if
    /// these share one.
    Time(Option<TimeForm>),
}

impl<'f> ComparedColumns<'f> {
    /// Examines the values of columns where the meaning of a comparison depends on them.
    pub(super) async fn look_at(
        work: &AnalysisContext,
        frame: &'f DataFrame,
        comparisons: &[&Comparison],
    ) -> Result<Self> {
        let mut asked: Vec<ColumnQuestion> = Vec::new();
        for comparison in comparisons {
            let field = &comparison.field;
            work.column(frame, &field.path, &field.name)?;
            let data_type = columns::data_type(frame, &field.name);
            if let Some(question) = comparison.question(&data_type) {
                let question = (field.name.clone(), question);
                if !asked.contains(&question) {
                    asked.push(question);
                }
            }
        }
        let is_time = |(_, question): &ColumnQuestion| matches!(question, Question::Time(_));
        let (times, others): (Vec<ColumnQuestion>, Vec<ColumnQuestion>) =
            asked.into_iter().partition(is_time);
        let mut columns = Self { frame, known: HashSet::new() };
        columns.count(work, others).await?;
        for (name, question) in times {
            columns.read_times(work, name, question).await?;
        }
        Ok(columns)
    }

    /// Answers the questions about lists and numbers, in one pass.
    async fn count(&mut self, work: &AnalysisContext, asked: Vec<ColumnQuestion>) -> Result<()> {
        if asked.is_empty() {
            return Ok(());
        }
        let figures = asked.iter().flat_map(|(name, question)| {
            let column = ident(name);
            let fits = match question {
                Question::List => sum(cast(json_is_list(column.clone()), DataType::Int64)),
                _ => count(read_number(column.clone())),
            };
            [count(column), fits]
        });
        let figures = columns::figures(work, self.frame.clone(), figures.collect()).await?;
        for ((name, question), figures) in asked.into_iter().zip(figures.chunks(2)) {
            let (given, fits) = (figures[0], figures[1]);
            match question {
                Question::List if given > 0 && given == fits => {
                    self.known.insert((name, question));
                }
                Question::Number => note_text(work, &name, given, given - fits),
                _ => {}
            }
        }
        Ok(())
    }

    async fn read_times(
        &mut self,
        work: &AnalysisContext,
        name: String,
        question: Question,
    ) -> Result<()> {
        let Question::Time(form) = &question else { return Ok(()) };
        let texts = Texts::of(work, self.frame, &name, form.as_ref()).await?;
        note_texts(work, &name, texts);
        if texts == Texts::Times {
            self.known.insert((name, question));
        }
        Ok(())
    }

    pub(super) fn compare(&self, comparison: &Comparison) -> Result<Expr> {
        let name = &comparison.field.name;
        let data_type = columns::data_type(self.frame, name);
        let asked = comparison.question(&data_type).map(|question| (name.clone(), question));
        let known = asked.and_then(|asked| self.known.get(&asked)).map(|(_, question)| question);
        let is_list = known == Some(&Question::List);
        let is_time = matches!(known, Some(Question::Time(_)));
        ComparisonSubject { comparison, data_type, is_list, is_time }.expression()
    }
}

impl Comparison {
    fn question(&self, data_type: &DataType) -> Option<Question> {
        if !is_text(data_type) {
            return None;
        }
        match self.operator {
            Operator::Contains => Some(Question::List),
            Operator::StartsWith | Operator::EndsWith | Operator::Matches => None,
            Operator::IsNull | Operator::IsNotNull => None,
            _ => match ComparisonType::of(data_type, &self.values()) {
                Some(ComparisonType::NumberInText) => Some(Question::Number),
                _ => self.question_of_times(),
            },
        }
    }

    /// Returns the question about times, if all values of the comparison are times.
    fn question_of_times(&self) -> Option<Question> {
        let values = self.values().into_iter();
        let texts = values.map(|value| value.as_str().filter(|text| meant(text).is_some()));
        let texts: Vec<&str> = texts.collect::<Option<_>>()?;
        let (first, rest) = texts.split_first()?;
        let form = TimeForm::of(first).filter(|form| rest.iter().all(|text| form.has(text)));
        Some(Question::Time(form))
    }

    /// Returns the values to compare with, without null, which is compared in another way.
    fn values(&self) -> Vec<&Value> {
        let values = match &self.value {
            Value::Array(values) => values.iter().collect(),
            one => vec![one],
        };
        values.into_iter().filter(|value| !value.is_null()).collect()
    }
}

/// A comparison together with what is known of its column.
struct ComparisonSubject<'c> {
    comparison: &'c Comparison,
    data_type: DataType,
    is_list: bool,
    /// Whether its texts are compared as times.
    is_time: bool,
}

impl ComparisonSubject<'_> {
    fn expression(&self) -> Result<Expr> {
        match self.comparison.operator {
            Operator::Equal => self.equal(),
            Operator::NotEqual => Ok(self.equal()?.is_not_true()),
            Operator::Greater => Ok(self.not_nan(self.ordered(logical_expr::Operator::Gt)?)),
            Operator::GreaterOrEqual => {
                Ok(self.not_nan(self.ordered(logical_expr::Operator::GtEq)?))
            }
            Operator::Less => self.ordered(logical_expr::Operator::Lt),
            Operator::LessOrEqual => self.ordered(logical_expr::Operator::LtEq),
            Operator::In => self.is_in(),
            Operator::NotIn => Ok(self.is_in()?.is_not_true()),
            Operator::Between => self.between(),
            Operator::Contains => self.contains(),
            Operator::StartsWith => Ok(starts_with(self.text(), lit(self.part()?))),
            Operator::EndsWith => Ok(ends_with(self.text(), lit(self.part()?))),
            Operator::Matches => self.matches(),
            Operator::IsNull | Operator::IsNotNull => self.nothing(),
        }
    }

    fn column(&self) -> Expr {
        ident(&self.comparison.field.name)
    }

    fn is_float(&self) -> bool {
        self.data_type.is_floating()
    }

    /// Excludes NaN, which the query engine takes to be larger than every number.
    fn not_nan(&self, condition: Expr) -> Expr {
        if self.is_float() { condition.and(isnan(self.column()).is_not_true()) } else { condition }
    }

    fn is_missing(&self) -> Expr {
        let is_null = self.column().is_null();
        if self.is_float() { is_null.or(isnan(self.column())) } else { is_null }
    }

    fn nature(&self) -> Result<ComparisonType> {
        ComparisonType::of(&self.data_type, &self.comparison.values()).ok_or_else(|| {
            let name = &self.comparison.field.name;
            let reason =
                format!("column {name:?} holds {}, which has no such operator", self.data_type);
            AnalysisError::parameter(&self.comparison.field.path, reason)
        })
    }

    /// Compares the column in the form of its comparison type.
    fn compared(&self, nature: ComparisonType, compare: impl Fn(Expr) -> Expr) -> Result<Expr> {
        Ok(match nature {
            ComparisonType::NumberInText => numbers::compared(self.column(), compare)?,
            ComparisonType::Text if self.comparison.ignore_case => compare(lower(self.column())),
            _ => compare(self.column()),
        })
    }

    fn scalar(&self, path: &str, nature: ComparisonType, value: &Value) -> Result<ScalarValue> {
        let name = &self.comparison.field.name;
        let lowered = match value {
            Value::String(text)
                if nature == ComparisonType::Text && self.comparison.ignore_case =>
            {
                &Value::String(text.to_lowercase())
            }
            other => other,
        };
        scalar(path, name, nature, plain_type(&self.data_type), lowered)
    }

    fn compare(&self, operator: logical_expr::Operator, path: &str, value: &Value) -> Result<Expr> {
        use logical_expr::Operator::{Eq, Gt, GtEq, Lt, LtEq};
        if let Some(time) = time_of(value).filter(|_| self.is_time) {
            return Ok(binary_expr(comparable(self.column(), time), operator, lit(time.micros)));
        }
        let nature = self.nature()?;
        let value = self.scalar(path, nature, value)?;
        if nature == ComparisonType::Time
            && let Some((beside, is_before)) = beside(&value, plain_type(&self.data_type))
        {
            let operator = match (operator, is_before) {
                (Eq, _) => return Ok(lit(false)),
                (Gt | GtEq, true) => Gt,
                (Gt | GtEq, false) => GtEq,
                (_, true) => LtEq,
                (_, false) => Lt,
            };
            return Ok(binary_expr(self.column(), operator, lit(beside)));
        }
        self.compared(nature, |side| binary_expr(side, operator, lit(value.clone())))
    }

    fn equal(&self) -> Result<Expr> {
        match self.comparison.value.is_null() {
            true => Ok(self.is_missing()),
            false => self.ordered(logical_expr::Operator::Eq),
        }
    }

    fn ordered(&self, operator: logical_expr::Operator) -> Result<Expr> {
        self.compare(operator, &self.comparison.path, &self.comparison.value)
    }

    fn is_in(&self) -> Result<Expr> {
        let Comparison { path, value, .. } = self.comparison;
        let Value::Array(values) = value else { return Err(wrong(path, "a list", value)) };
        let is_listed = match self.is_time {
            true => self.is_one_of_times(values),
            false => self.is_one_of(values)?,
        };
        let has_null = values.iter().any(Value::is_null);
        Ok(if has_null { is_listed.or(self.is_missing()) } else { is_listed })
    }

    fn is_one_of(&self, values: &[Value]) -> Result<Expr> {
        let path = &self.comparison.path;
        let nature = self.nature()?;
        let literals = values.iter().enumerate().filter(|(_, value)| !value.is_null());
        let mut literals: Vec<ScalarValue> = literals
            .map(|(index, value)| self.scalar(&format!("{path}[{index}]"), nature, value))
            .collect::<Result<_>>()?;
        let held = plain_type(&self.data_type);
        literals.retain(|value| nature != ComparisonType::Time || value.data_type() == *held);
        let literals: Vec<Expr> = literals.into_iter().map(lit).collect();
        match literals.is_empty() {
            true => Ok(lit(false)),
            false => self.compared(nature, |side| in_list(side, literals.clone(), false)),
        }
    }

    fn is_one_of_times(&self, values: &[Value]) -> Expr {
        let times = values.iter().filter_map(time_of);
        let (zoned, local): (Vec<Time>, Vec<Time>) = times.partition(|time| time.is_zoned());
        let listed = [zoned, local].into_iter().filter_map(|times| {
            let side = comparable(self.column(), *times.first()?);
            Some(in_list(side, times.iter().map(|time| lit(time.micros)).collect(), false))
        });
        listed.reduce(Expr::or).unwrap_or(lit(false))
    }

    fn between(&self) -> Result<Expr> {
        let Comparison { path, value, .. } = self.comparison;
        let Some([low, high]) = value.as_array().map(Vec::as_slice) else {
            return Err(wrong(path, "a list of the lowest and the highest value", value));
        };
        let low = self.compare(logical_expr::Operator::GtEq, &format!("{path}[0]"), low)?;
        let high = self.compare(logical_expr::Operator::LtEq, &format!("{path}[1]"), high)?;
        Ok(low.and(high))
    }

    /// Returns the column as text.
    fn text(&self) -> Expr {
        let column = match self.data_type.is_string() {
            true => self.column(),
            false => cast(self.column(), DataType::Utf8),
        };
        if self.comparison.ignore_case { lower(column) } else { column }
    }

    fn part(&self) -> Result<String> {
        let Comparison { path, value, ignore_case, .. } = self.comparison;
        let part = plain_text(value).ok_or_else(|| wrong(path, "a text", value))?;
        Ok(if *ignore_case { part.to_lowercase() } else { part })
    }

    /// Tests whether a list has a value, or a text contains another one.
    fn contains(&self) -> Result<Expr> {
        let Comparison { path, value, ignore_case, .. } = self.comparison;
        match plain_type(&self.data_type) {
            DataType::List(item) | DataType::LargeList(item) | DataType::FixedSizeList(item, _) => {
                let nature = ComparisonType::of(item.data_type(), &[value]);
                let nature = nature.ok_or_else(|| {
                    let reason =
                        format!("the lists hold {}, not {}", item.data_type(), short(value));
                    AnalysisError::parameter(path, reason)
                })?;
                let name = &self.comparison.field.name;
                let wanted = scalar(path, name, nature, item.data_type(), value)?;
                Ok(match fitting(&wanted, item.data_type()) {
                    Some(wanted) => array_has(self.column(), lit(wanted)),
                    None => lit(false),
                })
            }
            _ if self.is_list => Ok(json_has(self.column(), value, *ignore_case)),
            _ => Ok(contains(self.text(), lit(self.part()?))),
        }
    }

    fn matches(&self) -> Result<Expr> {
        let Comparison { path, value, ignore_case, .. } = self.comparison;
        let pattern = value.as_str().ok_or_else(|| wrong(path, "a regular expression", value))?;
        if let Err(error) = Regex::new(pattern) {
            let reason = format!("{pattern:?} is no regular expression: {error}");
            return Err(AnalysisError::parameter(path, reason));
        }
        let operator = match ignore_case {
            true => logical_expr::Operator::RegexIMatch,
            false => logical_expr::Operator::RegexMatch,
        };
        let text = match self.data_type.is_string() {
            true => self.column(),
            false => cast(self.column(), DataType::Utf8),
        };
        Ok(binary_expr(text, operator, lit(pattern)))
    }

    /// Tests for missing values; `"value": false` is the opposite.
    fn nothing(&self) -> Result<Expr> {
        let Comparison { path, value, operator, .. } = self.comparison;
        let asked = match value {
            Value::Null | Value::Bool(true) => true,
            Value::Bool(false) => false,
            other => return Err(wrong(path, "true, false or nothing", other)),
        };
        let wants_missing = (*operator == Operator::IsNull) == asked;
        Ok(if wants_missing { self.is_missing() } else { self.is_missing().is_not_true() })
    }
}

fn time_of(value: &Value) -> Option<Time> {
    meant(value.as_str()?)
}
