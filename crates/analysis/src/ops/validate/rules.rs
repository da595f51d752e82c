//! From rules as they are written to checks of rows.

use datafusion::{
    arrow::datatypes::DataType,
    logical_expr::{Expr, ExprSchemable, cast, lit, not, when},
};
use narrows_model::nearest;
use regex::Regex;
use serde_json::{Map, Value};

use super::{
    bounds::{self, Bound, BoundOperator, bound, list},
    contents::order,
    direct,
    entry::{Coerce, Compare, Entry, Increasing, Reference, Unique},
    plan::{self, CheckedColumn, RuleCheck, Severity, ValidationPlan},
    report, text, types,
};
use crate::{
    aliases::parameters,
    error::{AnalysisError, Result},
    kind::AnalysisType,
    ops::{names::Names, params::Params},
    sql,
    work::{AnalysisContext, OpOutput},
};

pub(crate) async fn run(
    work: &AnalysisContext,
    parameters: &Map<String, Value>,
) -> Result<OpOutput> {
    let given = Params::parameters(AnalysisType::Validate, parameters)?;
    let coerce = given.flag("coerce")?;
    let rules = direct::rules(&given, parameters)?;
    if rules.is_empty() {
        let suggestion = parameters::of(AnalysisType::Validate).suggestion(parameters);
        return Err(AnalysisError::suggesting("validations", "there is no rule", suggestion));
    }
    let mut plan = ValidationPlan::new(work, work.main().await?);
    for (path, rule) in rules {
        let entry = Entry::read(&path, &rule)?;
        let coerce = Coerce::from(entry.coerce.or(coerce));
        EntryChecks { plan: &mut plan, severity: entry.severity, path, coerce }.add(entry).await?;
    }
    report::outcome(work, plan).await
}

/// Makes checks of one entry.
struct EntryChecks<'a, 'b> {
    plan: &'a mut ValidationPlan<'b>,
    severity: Severity,
    /// The path of the entry in the parameters.
    path: String,
    coerce: Coerce,
}

impl EntryChecks<'_, '_> {
    async fn add(&mut self, entry: Entry) -> Result<()> {
        let before = self.plan.checks.len() + self.plan.row_counts.len();
        if let Some(range) = entry.row_count {
            self.plan.row_counts.push((range, self.severity));
        }
        if let Some(expression) = &entry.expression {
            self.expression(expression)?;
        }
        match (&entry.unique, &entry.field, &entry.fields) {
            (Some(Unique::Fields(fields)), _, _) => self.unique("unique", fields)?,
            (Some(Unique::Flag(true)), None, Some(fields)) => self.unique("fields", fields)?,
            _ => {}
        }
        for (path, field) in self.fields(&entry)? {
            self.field(&path, field, &entry).await?;
        }
        if before == self.plan.checks.len() + self.plan.row_counts.len() {
            let reason = "nothing to check; say a `type`, `required`, `min`, …";
            return Err(AnalysisError::parameter(&self.path, reason));
        }
        Ok(())
    }

    /// Returns the fields that the entry is about, each with its path in the parameters.
    fn fields<'e>(&self, entry: &'e Entry) -> Result<Vec<(String, &'e str)>> {
        let path = |parameter: &str| format!("{}.{parameter}", self.path);
        let fields = match (&entry.field, &entry.fields) {
            (Some(_), Some(_)) => {
                return Err(AnalysisError::parameter(path("fields"), "either `field` or `fields`"));
            }
            (Some(field), None) => vec![(path("field"), field.as_str())],
            (None, Some(fields)) => fields.with_paths(&path("fields")),
            (None, None) => Vec::new(),
        };
        match entry.facet_of_a_field() {
            Some(facet) if fields.is_empty() => {
                let reason = format!("which field is to be checked is missing, for `{facet}`");
                Err(AnalysisError::parameter(path("field"), reason))
            }
            _ => Ok(fields),
        }
    }

    async fn field(&mut self, path: &str, field: &str, entry: &Entry) -> Result<()> {
        let is_required = entry.required || entry.nullable == Some(false);
        let Some(mut subject) = self.subject(path, field, is_required)? else { return Ok(()) };
        if is_required {
            let violated = subject.column.clone().is_null();
            self.check(&subject, "required", violated, "is missing");
        }
        if let Some(kind) = &entry.kind {
            self.kind(&mut subject, kind)?;
        }
        self.bounds(&subject, entry)?;
        self.texts(&subject, entry)?;
        self.lists(&subject, entry)?;
        // Fields in a list are unique together.
        if matches!(entry.unique, Some(Unique::Flag(true))) && entry.fields.is_none() {
            self.unique("field", &Names::One(field.to_owned()))?;
        }
        if let Some(reference) = &entry.references {
            self.reference(&subject, reference).await?;
        }
        if let Some(compare) = &entry.compare {
            self.compare(&subject, "compare", compare)?;
        }
        if let Some(equals) = &entry.equals {
            self.compare(&subject, "equals", &Compare::equal_to(equals))?;
        }
        if let Some(increasing) = entry.increasing {
            self.increasing(&subject, increasing).await?;
        }
        Ok(())
    }

    /// Returns the column of a field. A required column that does not exist counts as missing in every
    /// row; one that is not required is an error.
    fn subject(
        &mut self,
        path: &str,
        field: &str,
        is_required: bool,
    ) -> Result<Option<CheckedColumn>> {
        let names = self.plan.field_names();
        if names.iter().any(|name| name == field) {
            return Ok(Some(self.plan.subject(field)?));
        }
        let known = names.iter().map(String::as_str);
        if !is_required {
            return Err(AnalysisError::no_column(path, field, known));
        }
        self.plan.work.note(format!("there is no column {field:?}{}", nearest(field, known)));
        self.plan.checks.push(RuleCheck {
            field: Some(field.to_owned()),
            rule: "required",
            severity: self.severity,
            violated: lit(true),
            value: None,
            message: lit("is missing: there is no such column"),
        });
        Ok(None)
    }

    fn check(
        &mut self,
        subject: &CheckedColumn,
        rule: &'static str,
        violated: Expr,
        message: impl Into<String>,
    ) {
        self.told(subject, rule, violated, lit(message.into()));
    }

    fn told(&mut self, subject: &CheckedColumn, rule: &'static str, violated: Expr, message: Expr) {
        self.plan.checks.push(RuleCheck {
            field: Some(subject.field.clone()),
            rule,
            severity: self.severity,
            violated,
            value: subject.text(),
            message,
        });
    }

    fn kind(&mut self, subject: &mut CheckedColumn, kind: &str) -> Result<()> {
        let path = format!("{}.type", self.path);
        let (violated, message) = types::violated(&path, kind, subject, self.coerce)?;
        self.check(subject, "type", violated.clone(), message);
        subject.misfits = Some(violated);
        if subject.data_type.is_string()
            && self.coerce == Coerce::Written
            && let Some(content) = types::written_as(&path, kind)?
        {
            let field = &subject.field;
            self.plan.work.note(format!(
                "column {field:?} holds text, of which what reads as {content} counts as such; \
                 with \"coerce\": false it does not"
            ));
        }
        Ok(())
    }

    fn bounds(&mut self, subject: &CheckedColumn, entry: &Entry) -> Result<()> {
        let zero = Value::from(0);
        let bounds = [
            ("min", &entry.min, BoundOperator::AtLeast),
            ("max", &entry.max, BoundOperator::AtMost),
            ("positive", &entry.positive.then_some(zero), BoundOperator::Above),
        ];
        for (name, value, operator) in bounds {
            let Some(value) = value else { continue };
            let path = format!("{}.{name}", self.path);
            let bound = bound(&path, subject, operator, value, self.coerce)?;
            let message = match name {
                "min" => format!("is below {}", plain(value)),
                "max" => format!("is above {}", plain(value)),
                _ => "is not positive".to_owned(),
            };
            self.bound(subject, name, bound, message)?;
        }
        Ok(())
    }

    /// Adds the check of a comparison. A value that cannot be compared breaks the rule, and the message
    /// says so, unless another message already says that its type is wrong.
    fn bound(
        &mut self,
        subject: &CheckedColumn,
        rule: &'static str,
        bound: Bound,
        message: String,
    ) -> Result<()> {
        let Some((is_unread, wanted)) = bound.unread else {
            self.check(subject, rule, subject.unless(bound.holds)?, message);
            return Ok(());
        };
        let unread = lit(format!("is not {wanted}"));
        let message = when(is_unread.clone(), unread).otherwise(lit(message))?;
        let holds = match &subject.misfits {
            Some(misfits) => {
                when(is_unread.and(misfits.clone()), lit(true)).otherwise(bound.holds)?
            }
            None => bound.holds,
        };
        self.told(subject, rule, subject.unless(holds)?, message);
        Ok(())
    }

    fn texts(&mut self, subject: &CheckedColumn, entry: &Entry) -> Result<()> {
        let lengths = [("min_length", entry.min_length), ("max_length", entry.max_length)];
        for (name, length) in lengths {
            let Some(length) = length else { continue };
            let path = format!("{}.{name}", self.path);
            let (least, most) =
                if name == "min_length" { (length, usize::MAX) } else { (0, length) };
            let fits =
                text::predicate(name, move |text| (least..=most).contains(&text.chars().count()));
            let than = if name == "min_length" { "shorter" } else { "longer" };
            let violated = not(fits.call(vec![subject.as_text(&path)?]));
            self.check(subject, name, violated, format!("is {than} than {length} characters"));
        }
        if let Some(pattern) = &entry.pattern {
            let path = format!("{}.pattern", self.path);
            let regex = Regex::new(pattern)
                .map_err(|error| AnalysisError::parameter(&path, error.to_string()))?;
            let matches = text::predicate("matches", move |text| regex.is_match(text));
            let violated = not(matches.call(vec![subject.as_text(&path)?]));
            self.check(subject, "pattern", violated, format!("does not match {pattern}"));
        }
        Ok(())
    }

    fn lists(&mut self, subject: &CheckedColumn, entry: &Entry) -> Result<()> {
        if let Some(allowed) = &entry.allowed {
            let violated = subject.unless(list(subject, allowed, self.coerce)?)?;
            let message = format!("is not one of {}", shown(&allowed.values));
            self.check(subject, "allowed", violated, message);
        }
        if let Some(forbidden) = &entry.not_in {
            let message = format!("is one of {}", shown(&forbidden.values));
            self.check(subject, "not_in", list(subject, forbidden, self.coerce)?, message);
        }
        Ok(())
    }

    fn unique(&mut self, parameter: &str, fields: &Names) -> Result<()> {
        let mut subjects = Vec::new();
        for (path, name) in fields.with_paths(&format!("{}.{parameter}", self.path)) {
            self.plan.work.column(&self.plan.frame, &path, name)?;
            subjects.push(self.plan.subject(name)?);
        }
        if subjects.is_empty() {
            let path = format!("{}.{parameter}", self.path);
            return Err(AnalysisError::parameter(path, "which fields is missing"));
        }
        let violated = self.plan.occurs_again(&subjects);
        let value = plan::values(&subjects);
        self.plan.checks.push(RuleCheck {
            field: Some(fields.as_slice().join(", ")),
            rule: "unique",
            severity: self.severity,
            violated,
            value,
            message: lit("occurs more than once"),
        });
        Ok(())
    }

    async fn reference(&mut self, subject: &CheckedColumn, reference: &Reference) -> Result<()> {
        let path = format!("{}.references", self.path);
        let is_known = self.plan.is_in_table(&path, subject, reference).await?;
        let violated = subject.unless(is_known)?;
        let message = format!("is not in {}.{}", reference.table, reference.field);
        self.check(subject, "references", violated, message);
        Ok(())
    }

    fn compare(
        &mut self,
        subject: &CheckedColumn,
        rule: &'static str,
        compare: &Compare,
    ) -> Result<()> {
        let path = format!("{}.{rule}", self.path);
        let operator = BoundOperator::read(&format!("{path}.operator"), &compare.operator)?;
        let message = |other: &str| format!("is not {} {other}", operator.symbol());
        match (&compare.field, &compare.value) {
            (Some(field), None) => {
                self.plan.work.column(&self.plan.frame, &format!("{path}.field"), field)?;
                let other = self.plan.subject(field)?;
                let holds = bounds::compare(&path, subject, operator, &other, self.coerce)?;
                self.check(subject, rule, not(holds), message(field));
                Ok(())
            }
            (None, Some(value)) => {
                let path = format!("{path}.value");
                let bound = bound(&path, subject, operator, value, self.coerce)?;
                self.bound(subject, rule, bound, message(&plain(value)))
            }
            _ => {
                let reason = "what to compare with is missing: a `field` or a `value`";
                Err(AnalysisError::parameter(path, reason))
            }
        }
    }

    async fn increasing(&mut self, subject: &CheckedColumn, increasing: Increasing) -> Result<()> {
        let (broken, message) = match increasing {
            Increasing::Strictly => (BoundOperator::AtMost, "is not above the value before it"),
            Increasing::Weakly => (BoundOperator::Below, "is below the value before it"),
        };
        let column = subject.column.clone();
        let violated = if subject.data_type.is_string() && self.coerce != Coerce::Nothing {
            self.texts_in_order(subject, broken).await?
        } else {
            let before = self.plan.before(column.clone());
            broken.holds(column, before)
        };
        self.check(subject, "increasing", violated, message);
        Ok(())
    }

    /// Returns a condition for texts that break an order. Numbers are compared with the last number
    /// before, and so are times and words, so that one bad value among numbers does not hide their
    /// order.
    async fn texts_in_order(
        &mut self,
        subject: &CheckedColumn,
        broken: BoundOperator,
    ) -> Result<Expr> {
        let text = cast(subject.column.clone(), DataType::Utf8);
        let mut violated = lit(false);
        for content in self.plan.contents(subject).await? {
            let alike = content.only(text.clone())?;
            let before = self.plan.before(alike.clone());
            violated = violated.or(broken.holds(order(alike, before), lit(0_i64)));
        }
        Ok(violated)
    }

    fn expression(&mut self, text: &str) -> Result<()> {
        let path = format!("{}.expression", self.path);
        let frame = &self.plan.frame;
        let expression = sql::expression(self.plan.work, frame, &path, text)?;
        let data_type = expression.get_type(frame.schema());
        let data_type =
            data_type.map_err(|error| AnalysisError::parameter(&path, error.strip_backtrace()))?;
        if data_type != DataType::Boolean {
            let reason = format!("{text:?} is of type {data_type}, not true or false");
            return Err(AnalysisError::parameter(path, reason));
        }
        let mut names: Vec<String> =
            expression.column_refs().into_iter().map(|column| column.name.clone()).collect();
        names.sort_by_key(|name| text.find(name.as_str()));
        let subjects =
            names.iter().map(|name| self.plan.subject(name)).collect::<Result<Vec<_>>>()?;
        let holds = self.plan.take(expression, data_type);
        self.plan.checks.push(RuleCheck {
            field: Some(names.join(", ")),
            rule: "expression",
            severity: self.severity,
            violated: not(holds),
            value: plan::values(&subjects),
            message: lit(format!("{text} does not hold")),
        });
        Ok(())
    }
}

/// Writes a value, text without quotes.
fn plain(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

/// Writes some values of a list.
fn shown(values: &[Value]) -> String {
    const MAX_SHOWN: usize = 10;
    let shown: Vec<String> = values.iter().take(MAX_SHOWN).map(plain).collect();
    let rest = if values.len() > MAX_SHOWN { ", …" } else { "" };
    format!("{}{rest}", shown.join(", "))
}
