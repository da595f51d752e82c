//! Names of columns that have dots in them, as nested JSON has.

use std::ops::ControlFlow;

use datafusion::sql::sqlparser::ast::{Expr, Ident, VisitMut, VisitorMut};

/// Columns of which the name is several words with dots between them.
pub(super) struct Columns<'a> {
    dotted: Vec<&'a str>,
}

impl<'a> Columns<'a> {
    pub(super) fn new(names: impl Iterator<Item = &'a str>) -> Self {
        Self { dotted: names.filter(|name| name.contains('.')).collect() }
    }

    /// Makes one name of `address.city` and of the part after the table in `people.address.city`,
    /// if there is such a column.
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

struct Joining<'a>(&'a Columns<'a>);

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
