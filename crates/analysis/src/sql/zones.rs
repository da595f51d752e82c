//! `x AT TIME ZONE 'zone'` as a call of the function that does it.
//!
//! The query engine makes a cast of it, and one cast of two: `x AT TIME ZONE 'Europe/Berlin' AT
//! TIME ZONE 'UTC'` would read the clock as one of UTC.

use std::ops::ControlFlow;

use datafusion::sql::sqlparser::ast::{
    Expr, Function, FunctionArg, FunctionArgExpr, FunctionArgumentList, FunctionArguments, Ident,
    ObjectName, ObjectNamePart, VisitMut, VisitorMut,
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
        ControlFlow::Continue(())
    }
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
