//! Limits how large a query becomes when it is planned.
//!
//! A part that a query gives a name (`WITH a AS …`) is planned again wherever its name is used, so
//! that few words can stand for very much.

use std::{collections::HashMap, ops::ControlFlow};

use datafusion::sql::sqlparser::ast::{
    BinaryOperator, Expr, FunctionArg, FunctionArgExpr, Query, UnaryOperator,
};

use super::{super::functions::is_bounded, GO_ON, Step, refuse};

/// Tables that are joined, each as often as it is used.
const MAX_TABLES: usize = 32;
/// The most expressions, each counted as often as it is used, and the deepest nesting.
const MAX_EXPRESSIONS: usize = 64 << 10;
const MAX_DEPTH: usize = 600;
/// The largest sum of the squared depths of calculations and calls. Finding the types of nested
/// calculations takes the cube of their number: a second or two for this.
const MAX_WEIGHT: usize = 2_000_000;
/// How many levels of queries may be nested in expressions: each takes several times as long.
const MAX_LEVELS: usize = 4;
/// How many queries may build on one another, by name or nested.
const MAX_HEIGHT: usize = 64;
/// The most queries within a query, and the most levels of `WITH` in `WITH`, each of which takes twice
/// as long.
const MAX_QUERIES: usize = 12;
const MAX_NESTED_QUERIES: usize = 4;

#[derive(Default)]
pub(super) struct QuerySize {
    /// The queries that are being walked through, from the outermost to the innermost.
    open: Vec<Part>,
    /// The size of the whole query.
    total: Amount,
    depth: usize,
}

#[derive(Clone, Copy, Default)]
struct Amount {
    tables: usize,
    expressions: usize,
    calls: usize,
    weight: usize,
    /// How deeply queries are nested in expressions.
    levels: usize,
    /// How many queries stand on one another.
    height: usize,
}

impl Amount {
    fn add(&mut self, other: Self) {
        self.tables = self.tables.saturating_add(other.tables);
        self.expressions = self.expressions.saturating_add(other.expressions);
        self.calls = self.calls.saturating_add(other.calls);
        self.weight = self.weight.saturating_add(other.weight);
        self.levels = self.levels.max(other.levels);
        self.height = self.height.max(other.height);
    }
}

/// A query that is being visited: its named parts come first.
#[derive(Default)]
struct Part {
    own: Amount,
    names: Vec<String>,
    named: HashMap<String, Amount>,
    seen: usize,
    /// Its depth within an expression of the outer query.
    depth: usize,
}

impl QuerySize {
    pub(super) fn calls(&self) -> usize {
        self.total.calls
    }

    pub(super) fn open(&mut self, query: &Query) -> Step {
        let names = query.with.iter().flat_map(|with| &with.cte_tables);
        let names = names.map(|named| named.alias.name.value.clone()).collect();
        let depth = std::mem::take(&mut self.depth);
        self.open.push(Part { names, depth, ..Part::default() });
        let within = self.open.iter().filter(|part| !part.names.is_empty()).count();
        if self.open.len() > MAX_QUERIES || within > MAX_NESTED_QUERIES {
            return refuse("queries are nested too deeply");
        }
        GO_ON
    }

    pub(super) fn close(&mut self) -> Step {
        let Some(mut part) = self.open.pop() else { return GO_ON };
        self.depth = part.depth;
        part.own.levels += usize::from(part.depth > 0);
        part.own.height += 1;
        match self.open.last_mut() {
            Some(outer) => {
                if let Some(name) = outer.names.get(outer.seen) {
                    outer.named.insert(name.clone(), part.own);
                } else {
                    outer.own.add(part.own);
                }
                outer.seen += 1;
            }
            None => self.total = part.own,
        }
        self.check(part.own)
    }

    /// Counts a table or a named part.
    pub(super) fn table(&mut self, name: Option<&str>) -> Step {
        let named = |name: &str| self.open.iter().rev().find_map(|part| part.named.get(name));
        let amount = name.and_then(named).copied();
        let amount = amount.unwrap_or(Amount { tables: 1, ..Amount::default() });
        self.count(amount)
    }

    pub(super) fn enter(&mut self, expression: &Expr) -> Step {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return refuse("expressions are nested too deeply");
        }
        let call = match expression {
            Expr::Function(function) => is_bounded(&function.name.to_string().to_lowercase()),
            Expr::Array(_) | Expr::Overlay { .. } => true,
            Expr::BinaryOp { op, .. } => matches!(op, BinaryOperator::StringConcat),
            _ => false,
        };
        let weight = if is_computed(expression) { self.depth * self.depth } else { 0 };
        self.count(Amount { expressions: 1, calls: usize::from(call), weight, ..Amount::default() })
    }

    pub(super) fn leave(&mut self) {
        self.depth -= 1;
    }

    fn count(&mut self, amount: Amount) -> Step {
        let own = match self.open.last_mut() {
            Some(part) => &mut part.own,
            None => &mut self.total,
        };
        own.add(amount);
        let own = *own;
        self.check(own)
    }

    fn check(&self, amount: Amount) -> Step {
        if amount.tables > MAX_TABLES {
            return refuse(format!("it joins more than {MAX_TABLES} tables"));
        }
        if amount.levels > MAX_LEVELS || amount.height > MAX_HEIGHT {
            return refuse("too many queries build on one another");
        }
        if amount.weight > MAX_WEIGHT {
            return refuse("calculations and calls are nested too deeply, or there are too many");
        }
        if amount.expressions > MAX_EXPRESSIONS {
            return refuse(format!("it has more than {MAX_EXPRESSIONS} expressions"));
        }
        GO_ON
    }

    /// Checks that the arguments of a series are constants, because they are computed while the query is
    /// planned.
    pub(super) fn series(&self, args: &[FunctionArg]) -> Step {
        let plain = |arg: &FunctionArg| match arg {
            FunctionArg::Unnamed(FunctionArgExpr::Expr(expression)) => is_plain(expression),
            _ => false,
        };
        match args.iter().all(plain) {
            true => ControlFlow::Continue(()),
            false => refuse("a series of rows is made of constants: generate_series(1, 10)"),
        }
    }
}

/// Tells whether the type of an expression depends on those of its parts.
fn is_computed(expression: &Expr) -> bool {
    match expression {
        Expr::Function(_) => true,
        Expr::BinaryOp { op, .. } => matches!(
            op,
            BinaryOperator::Plus
                | BinaryOperator::Minus
                | BinaryOperator::Multiply
                | BinaryOperator::Divide
                | BinaryOperator::Modulo
                | BinaryOperator::StringConcat
        ),
        _ => false,
    }
}

fn is_plain(expression: &Expr) -> bool {
    match expression {
        Expr::Value(_) | Expr::TypedString(_) | Expr::Interval(_) => true,
        Expr::UnaryOp { op: UnaryOperator::Minus | UnaryOperator::Plus, expr } => is_plain(expr),
        Expr::Cast { expr, .. } | Expr::Nested(expr) => is_plain(expr),
        _ => false,
    }
}
