//! Handles names of columns that SQL would read as something else: those with dots, as from nested JSON,
//! and numbers, as from pivoted tables.

use std::ops::ControlFlow;

use datafusion::{
    common::DFSchema,
    sql::sqlparser::ast::{Expr, Ident, Value, VisitMut, VisitorMut},
};
use narrows_model::nearest;

use crate::work::AnalysisContext;

/// Converts names in double quotes into texts, if no column has such a name: conditions of pandas write
/// texts so.
pub(super) fn quoted_texts(
    work: &AnalysisContext,
    expression: &mut impl VisitMut,
    schema: &DFSchema,
) {
    let _ = VisitMut::visit(expression, &mut Unquoting(schema, work));
}

/// The columns with such names.
pub(super) struct UnusualColumns<'a> {
    /// Names of several words with dots between them.
    dotted: Vec<&'a str>,
    /// Names that are numbers unless they are quoted.
    numbers: Vec<&'a str>,
}

impl<'a> UnusualColumns<'a> {
    pub(super) fn new(names: impl Iterator<Item = &'a str>) -> Self {
        let (mut dotted, mut numbers) = (Vec::new(), Vec::new());
        for name in names {
            if name.parse::<f64>().is_ok() {
                numbers.push(name);
            } else if name.contains('.') {
                dotted.push(name);
            }
        }
        Self { dotted, numbers }
    }

    /// Notes numbers in a query that are names of columns too: they are read as numbers.
    pub(super) fn note_numbers(&self, work: &AnalysisContext, query: &mut impl VisitMut) {
        if !self.numbers.is_empty() {
            let _ = VisitMut::visit(query, &mut NameNoter(self, work));
        }
    }

    /// Joins `address.city`, and the part after the table in `people.address.city`, into one name if
    /// there is such a column.
    pub(super) fn join(&self, query: &mut impl VisitMut) {
        if !self.dotted.is_empty() {
            let _ = VisitMut::visit(query, &mut Joining(self));
        }
    }

    fn joined(&self, parts: &[Ident]) -> Option<Ident> {
        let names: Vec<&str> = parts.iter().map(|part| part.value.as_str()).collect();
        let name = names.join(".");
        self.dotted.contains(&name.as_str()).then(|| Ident::with_quote('"', name))
    }
}

struct NameNoter<'a>(&'a UnusualColumns<'a>, &'a AnalysisContext);

impl VisitorMut for NameNoter<'_> {
    type Break = ();

    fn pre_visit_expr(&mut self, expression: &mut Expr) -> ControlFlow<()> {
        if let Expr::Value(value) = expression
            && let Value::Number(number, _) = &value.value
            && self.0.numbers.contains(&number.as_str())
        {
            self.1.note(format!(
                "{number} is a number here; the column of that name is \"{number}\", in double \
                 quotes"
            ));
        }
        ControlFlow::Continue(())
    }
}

struct Unquoting<'a>(&'a DFSchema, &'a AnalysisContext);

impl Unquoting<'_> {
    fn is_column(&self, name: &Ident) -> bool {
        self.0.fields().iter().any(|field| *field.name() == name.value)
    }

    /// Converts a quoted name that a column is compared with into a text, unless a column has this name
    /// or almost this name.
    fn unquote(&self, expression: &mut Expr) {
        let Expr::Identifier(name) = expression else { return };
        let known = self.0.fields().iter().map(|field| field.name().as_str());
        if name.quote_style != Some('"')
            || self.is_column(name)
            || !nearest(&name.value, known).0.is_empty()
        {
            return;
        }
        self.1.note(format!("{name} is no column and was taken for the text '{}'", name.value));
        let text = Value::SingleQuotedString(std::mem::take(&mut name.value));
        *expression = Expr::Value(text.into());
    }
}

impl VisitorMut for Unquoting<'_> {
    type Break = ();

    fn pre_visit_expr(&mut self, expression: &mut Expr) -> ControlFlow<()> {
        let is_column =
            |part: &Expr| matches!(part, Expr::Identifier(name) if self.is_column(name));
        match expression {
            Expr::BinaryOp { left, right, .. } if is_column(left) => self.unquote(right),
            Expr::InList { expr, list, .. } if is_column(expr) => {
                list.iter_mut().for_each(|item| self.unquote(item));
            }
            _ => {}
        }
        ControlFlow::Continue(())
    }
}

struct Joining<'a>(&'a UnusualColumns<'a>);

impl VisitorMut for Joining<'_> {
    type Break = ();

    fn pre_visit_expr(&mut self, expression: &mut Expr) -> ControlFlow<()> {
        if let Expr::CompoundIdentifier(parts) = expression {
            if let Some(name) = self.0.joined(parts) {
                *expression = Expr::Identifier(name);
            } else if parts.len() > 2
                && let Some(name) = self.0.joined(&parts[1..])
            {
                parts.truncate(1);
                parts.push(name);
            }
        }
        ControlFlow::Continue(())
    }
}
