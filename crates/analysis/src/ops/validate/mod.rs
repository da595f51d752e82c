//! The analysis `validate`: which rows break which rules.

mod bounds;
mod entry;
mod plan;
mod report;
mod text;
mod types;

use datafusion::logical_expr::{Expr, ExprSchemable, lit, not};
use narrows_model::nearest;
use regex::Regex;
use serde_json::{Map, Value};

use self::{
    bounds::{Operator, bound, list},
    entry::{Compare, Entry, Increasing, Reference, Unique},
    plan::{Check, Plan, Severity, Subject},
};
use super::{
    names::Names,
    reading::{Given, one_or_more},
};
use crate::{
    error::{AnalysisError, Result},
    work::{Outcome, Work},
};

pub(crate) async fn run(work: &Work, parameters: &Map<String, Value>) -> Result<Outcome> {
    let given = Given::parameters(parameters, &["validations", "rules", "coerce"])?;
    let coerce = given.flag(&["coerce"])?.unwrap_or_default();
    let (name, entries) = match (given.value(&["validations"]), given.value(&["rules"])) {
        (Some(_), Some(_)) => {
            return Err(AnalysisError::parameter("rules", "either `validations` or `rules`"));
        }
        (Some((name, value)), None) | (None, Some((name, value))) => {
            let entries = one_or_more(&name, value);
            (name, entries)
        }
        (None, None) => ("validations".to_owned(), Vec::new()),
    };
    if entries.is_empty() {
        let reason = "there is no rule; one is {\"field\": \"id\", \"type\": \"numeric\"}";
        return Err(AnalysisError::parameter(name, reason));
    }
    let mut plan = Plan::new(work, work.main().await?);
    for (path, entry) in entries {
        let entry = Entry::read(&path, entry)?;
        let coerce = entry.coerce.unwrap_or(coerce);
        Rules { plan: &mut plan, severity: entry.severity, path, coerce }.add(entry).await?;
    }
    report::outcome(work, plan).await
}

/// Makes checks of one entry.
struct Rules<'a, 'b> {
    plan: &'a mut Plan<'b>,
    severity: Severity,
    /// Of the entry, in the parameters.
    path: String,
    /// Whether text may stand for a number or a boolean.
    coerce: bool,
}

impl Rules<'_, '_> {
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
        if let Some(field) = &entry.field {
            self.field(field, &entry).await?;
        } else if let Some(facet) = entry.facet_of_a_field() {
            let reason = format!("which field is to be checked is missing, for `{facet}`");
            return Err(AnalysisError::parameter(format!("{}.field", self.path), reason));
        }
        if before == self.plan.checks.len() + self.plan.row_counts.len() {
            let reason = "nothing to check; say a `type`, `required`, `min`, …";
            return Err(AnalysisError::parameter(&self.path, reason));
        }
        Ok(())
    }

    async fn field(&mut self, field: &str, entry: &Entry) -> Result<()> {
        let is_required = entry.required || entry.nullable == Some(false);
        let Some(subject) = self.subject(field, is_required)? else { return Ok(()) };
        if is_required {
            let violated = subject.column.clone().is_null();
            self.check(&subject, "required", violated, "is missing");
        }
        if let Some(kind) = &entry.kind {
            let path = format!("{}.type", self.path);
            let (violated, message) = types::violated(&path, kind, &subject, self.coerce)?;
            self.check(&subject, "type", violated, message);
        }
        self.bounds(&subject, entry)?;
        self.texts(&subject, entry)?;
        self.lists(&subject, entry)?;
        if matches!(entry.unique, Some(Unique::Flag(true))) {
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
            self.increasing(&subject, increasing);
        }
        Ok(())
    }

    /// A column that is not there is missing in every row, if it has to be there at all.
    fn subject(&mut self, field: &str, is_required: bool) -> Result<Option<Subject>> {
        let names = self.plan.field_names();
        if names.iter().any(|name| name == field) {
            return Ok(Some(self.plan.subject(field)?));
        }
        let known = names.iter().map(String::as_str);
        if !is_required {
            let path = format!("{}.field", self.path);
            return Err(AnalysisError::no_column(path, field, known));
        }
        self.plan.work.note(format!("there is no column {field:?}{}", nearest(field, known)));
        self.plan.checks.push(Check {
            field: Some(field.to_owned()),
            rule: "required",
            severity: self.severity,
            violated: lit(true),
            value: None,
            message: "is missing: there is no such column".to_owned(),
        });
        Ok(None)
    }

    fn check(
        &mut self,
        subject: &Subject,
        rule: &'static str,
        violated: Expr,
        message: impl Into<String>,
    ) {
        self.plan.checks.push(Check {
            field: Some(subject.field.clone()),
            rule,
            severity: self.severity,
            violated,
            value: subject.text(),
            message: message.into(),
        });
    }

    fn bounds(&mut self, subject: &Subject, entry: &Entry) -> Result<()> {
        let zero = Value::from(0);
        let bounds = [
            ("min", &entry.min, Operator::AtLeast),
            ("max", &entry.max, Operator::AtMost),
            ("positive", &entry.positive.then_some(zero), Operator::Above),
        ];
        for (name, value, operator) in bounds {
            let Some(value) = value else { continue };
            let path = format!("{}.{name}", self.path);
            let holds = bound(&path, subject, operator, value, self.coerce)?;
            let message = match name {
                "min" => format!("is below {}", plain(value)),
                "max" => format!("is above {}", plain(value)),
                _ => "is not positive".to_owned(),
            };
            self.check(subject, name, subject.unless(holds)?, message);
        }
        Ok(())
    }

    fn texts(&mut self, subject: &Subject, entry: &Entry) -> Result<()> {
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

    fn lists(&mut self, subject: &Subject, entry: &Entry) -> Result<()> {
        if let Some(allowed) = &entry.allowed {
            let path = format!("{}.allowed", self.path);
            let is_in = list(&path, subject, allowed, self.coerce)?;
            let violated = subject.unless(is_in)?;
            self.check(subject, "allowed", violated, format!("is not one of {}", shown(allowed)));
        }
        if let Some(forbidden) = &entry.not_in {
            let path = format!("{}.not_in", self.path);
            let is_in = list(&path, subject, forbidden, self.coerce)?;
            self.check(subject, "not_in", is_in, format!("is one of {}", shown(forbidden)));
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
        self.plan.checks.push(Check {
            field: Some(fields.as_slice().join(", ")),
            rule: "unique",
            severity: self.severity,
            violated,
            value,
            message: "occurs more than once".to_owned(),
        });
        Ok(())
    }

    async fn reference(&mut self, subject: &Subject, reference: &Reference) -> Result<()> {
        let path = format!("{}.references", self.path);
        let is_known = self.plan.is_in_table(&path, subject, reference).await?;
        let violated = subject.unless(is_known)?;
        let message = format!("is not in {}.{}", reference.table, reference.field);
        self.check(subject, "references", violated, message);
        Ok(())
    }

    fn compare(&mut self, subject: &Subject, parameter: &str, compare: &Compare) -> Result<()> {
        let path = format!("{}.{parameter}", self.path);
        let operator = Operator::read(&format!("{path}.operator"), &compare.operator)?;
        let (holds, other) = match (&compare.field, &compare.value) {
            (Some(field), None) => {
                self.plan.work.column(&self.plan.frame, &format!("{path}.field"), field)?;
                let other = self.plan.subject(field)?;
                let holds = bounds::compare(&path, subject, operator, &other, self.coerce)?;
                (not(holds), field.clone())
            }
            (None, Some(value)) => {
                let holds = bound(&format!("{path}.value"), subject, operator, value, self.coerce)?;
                (subject.unless(holds)?, plain(value))
            }
            _ => {
                let reason = "what to compare with is missing: a `field` or a `value`";
                return Err(AnalysisError::parameter(path, reason));
            }
        };
        let message = format!("is not {} {other}", operator.symbol());
        self.check(
            subject,
            if parameter == "equals" { "equals" } else { "compare" },
            holds,
            message,
        );
        Ok(())
    }

    fn increasing(&mut self, subject: &Subject, increasing: Increasing) {
        let before = self.plan.before(subject);
        let column = subject.column.clone();
        let (violated, message) = match increasing {
            Increasing::Strictly => (column.lt_eq(before), "is not above the value before it"),
            Increasing::Weakly => (column.lt(before), "is below the value before it"),
        };
        self.check(subject, "increasing", violated, message);
    }

    fn expression(&mut self, text: &str) -> Result<()> {
        let path = format!("{}.expression", self.path);
        let frame = &self.plan.frame;
        let expression = self.plan.work.expression(frame, &path, text)?;
        let data_type = expression.get_type(frame.schema());
        let data_type =
            data_type.map_err(|error| AnalysisError::parameter(&path, error.strip_backtrace()))?;
        if data_type != datafusion::arrow::datatypes::DataType::Boolean {
            let reason = format!("{text:?} is of type {data_type}, not true or false");
            return Err(AnalysisError::parameter(path, reason));
        }
        let mut names: Vec<String> =
            expression.column_refs().into_iter().map(|column| column.name.clone()).collect();
        names.sort_by_key(|name| text.find(name.as_str()));
        let subjects =
            names.iter().map(|name| self.plan.subject(name)).collect::<Result<Vec<_>>>()?;
        let holds = self.plan.take(expression, data_type);
        self.plan.checks.push(Check {
            field: Some(names.join(", ")),
            rule: "expression",
            severity: self.severity,
            violated: not(holds),
            value: plan::values(&subjects),
            message: format!("{text} does not hold"),
        });
        Ok(())
    }
}

/// A value as it is written, text without quotes.
fn plain(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

/// Some values of a list.
fn shown(values: &[Value]) -> String {
    const MOST: usize = 10;
    let shown: Vec<String> = values.iter().take(MOST).map(plain).collect();
    let rest = if values.len() > MOST { ", …" } else { "" };
    format!("{}{rest}", shown.join(", "))
}

#[cfg(test)]
mod tests;
