//! `x AT TIME ZONE 'zone'` as a call of the function that does it, and times that are written
//! without seconds, as PostgreSQL reads them.
//!
//! The query engine turns it into a cast, and merges two casts into one: `x AT TIME ZONE 'Europe/Berlin'
//! AT TIME ZONE 'UTC'` would read the local time as UTC.

use std::ops::ControlFlow;

use datafusion::sql::sqlparser::ast::{
    DataType, Expr, Function, FunctionArg, FunctionArgExpr, FunctionArgumentList,
    FunctionArguments, Ident, ObjectName, ObjectNamePart, Value, ValueWithSpan, VisitMut,
    VisitorMut,
};

use super::functions::TIMEZONE;

/// Puts calls in the place of the operator.
pub(super) fn replace(query: &mut impl VisitMut) {
    let _ = VisitMut::visit(query, &mut Replacing);
}

struct Replacing;

impl VisitorMut for Replacing {
    type Break = ();

    fn post_visit_expr(&mut self, expression: &mut Expr) -> ControlFlow<()> {
        if let Expr::AtTimeZone { timestamp, time_zone } = expression {
            *expression = call(time_zone.as_ref().clone(), timestamp.as_ref().clone());
        }
        match expression {
            Expr::TypedString(typed) if is_time(&typed.data_type) => add_seconds(&mut typed.value),
            Expr::Cast { expr, data_type, .. } if is_time(data_type) => {
                if let Expr::Value(value) = expr.as_mut() {
                    add_seconds(value);
                }
            }
            _ => {}
        }
        ControlFlow::Continue(())
    }
}

fn is_time(data_type: &DataType) -> bool {
    matches!(data_type, DataType::Timestamp(..) | DataType::Datetime(_))
}

/// Adds the seconds that the query engine requires: `2024-07-01 12:00` becomes `2024-07-01 12:00:00`.
fn add_seconds(value: &mut ValueWithSpan) {
    if let Value::SingleQuotedString(text) = &mut value.value
        && let Some(at) = end_of_minutes(text)
    {
        text.insert_str(at, ":00");
    }
}

/// Returns where the minutes end in a time without seconds.
fn end_of_minutes(text: &str) -> Option<usize> {
    let (date, time) = text.split_once([' ', 'T', 't'])?;
    let (hours, rest) = time.split_once(':')?;
    let (minutes, zone) = rest.split_at_checked(2)?;
    let is_number = |text: &str| text.bytes().all(|sign| sign.is_ascii_digit());
    let is_time = hours.len() == 2 && is_number(hours) && is_number(minutes);
    let has_end = zone.is_empty() || zone.trim_start().starts_with(['Z', 'z', '+', '-']);
    (is_time && has_end).then_some(date.len() + 1 + hours.len() + 1 + 2)
}

fn call(zone: Expr, time: Expr) -> Expr {
    let argument = |value| FunctionArg::Unnamed(FunctionArgExpr::Expr(value));
    Expr::Function(Function {
        name: ObjectName(vec![ObjectNamePart::Identifier(Ident::new(TIMEZONE))]),
        uses_odbc_syntax: false,
        parameters: FunctionArguments::None,
        args: FunctionArguments::List(FunctionArgumentList {
            duplicate_treatment: None,
            args: vec![argument(zone), argument(time)],
            clauses: Vec::new(),
        }),
        filter: None,
        null_treatment: None,
        over: None,
        within_group: Vec::new(),
    })
}
