//! Checks which parts a query may have.

mod size;

use std::ops::ControlFlow;

use datafusion::{
    execution::SessionState,
    sql::sqlparser::ast::{
        BinaryOperator, Expr, Function, FunctionArguments, Ident, ObjectName, ObjectNamePart,
        Query, Select, SelectFlavor, SelectItem, SetExpr, TableFactor, Value, VisitMut, VisitorMut,
        WildcardAdditionalOptions,
    },
};
use narrows_model::nearest;

use super::functions::may_be_windowed;
use crate::{error::available, work::is_table};
use size::QuerySize;

/// The reason why a query is refused.
pub(super) type Refused = String;

/// Functions that may be used as tables.
const TABLE_FUNCTIONS: [&str; 2] = ["generate_series", "range"];

/// Functions of other databases, and their replacements here.
const INSTEAD: [(&str, &str); 15] = [
    ("charindex", "strpos(text, part)"),
    ("datediff", "a::date - b::date"),
    ("day", "date_part('day', x)"),
    ("format", "to_char(x, '%Y-%m-%d') or concat(a, b)"),
    ("group_concat", "string_agg(x, ', ')"),
    ("hour", "date_part('hour', x)"),
    ("iif", "CASE WHEN a THEN b ELSE c END"),
    ("if", "CASE WHEN a THEN b ELSE c END"),
    ("isnull", "coalesce(a, b)"),
    ("julianday", "date_part('epoch', x)"),
    ("len", "length(x)"),
    ("month", "date_part('month', x)"),
    ("str_to_date", "to_timestamp(x, '%Y-%m-%d')"),
    ("strftime", "to_char(x::timestamp, '%Y-%m')"),
    ("year", "date_part('year', x)"),
];

/// The longest name that a column gets from its expression.
const MAX_NAME: usize = 80;

/// How many grouping sets a query may ask for.
const MAX_GROUPINGS: usize = 64;

/// The names that a query can use.
pub(super) struct KnownNames<'a> {
    tables: &'a [String],
    scalar: Vec<&'a str>,
    aggregate: Vec<&'a str>,
    window: Vec<&'a str>,
}

impl<'a> KnownNames<'a> {
    pub(super) fn new(state: &'a SessionState, tables: &'a [String]) -> Self {
        Self {
            tables,
            scalar: state.scalar_functions().keys().map(String::as_str).collect(),
            aggregate: state.aggregate_functions().keys().map(String::as_str).collect(),
            window: state.window_functions().keys().map(String::as_str).collect(),
        }
    }
}

impl KnownNames<'_> {
    fn no_function(&self, name: &str) -> Refused {
        if let Some((_, instead)) = INSTEAD.iter().find(|(missing, _)| *missing == name) {
            return format!("no function {name:?}; use {instead}");
        }
        let all = [&self.scalar, &self.aggregate, &self.window].into_iter().flatten();
        format!("no function {name:?}{}", nearest(name, all.copied()))
    }
}

/// A visitor that checks a query before it is planned.
pub(super) struct SqlCheck<'a> {
    known: &'a KnownNames<'a>,
    /// The names that a query gives to its own parts (`WITH`).
    given: Vec<String>,
    size: QuerySize,
    row_by_row: bool,
}

type Step = ControlFlow<Refused>;

const GO_ON: Step = ControlFlow::Continue(());

fn refuse(reason: impl Into<String>) -> Step {
    ControlFlow::Break(reason.into())
}

impl<'a> SqlCheck<'a> {
    pub(super) fn query(known: &'a KnownNames<'a>, query: &mut Query) -> Result<Self, Refused> {
        let check =
            Self { known, given: Vec::new(), size: QuerySize::default(), row_by_row: false };
        check.walked(query)
    }

    pub(super) fn expression(
        known: &'a KnownNames<'a>,
        expression: &mut Expr,
    ) -> Result<Self, Refused> {
        let check = Self { known, given: Vec::new(), size: QuerySize::default(), row_by_row: true };
        check.walked(expression)
    }

    fn walked(mut self, what: &mut impl VisitMut) -> Result<Self, Refused> {
        match VisitMut::visit(what, &mut self) {
            ControlFlow::Break(reason) => Err(reason),
            ControlFlow::Continue(()) => Ok(self),
        }
    }

    /// Returns how many calls of functions and operators a step of the query may make.
    pub(super) fn calls(&self) -> usize {
        self.size.calls()
    }

    fn table(&self, name: &ObjectName) -> Step {
        let known = self.known.tables.iter().chain(&self.given).map(String::as_str);
        match name.0.as_slice() {
            [ObjectNamePart::Identifier(Ident { value, .. })] => {
                if is_table(self.known.tables, value) || self.given.contains(value) {
                    return GO_ON;
                }
                refuse(format!(
                    "no table {value:?}{}{}",
                    nearest(value, known.clone()),
                    available(known)
                ))
            }
            _ => refuse(format!(
                "tables are called by their names alone, and {name} has several parts{}",
                available(known)
            )),
        }
    }

    fn function(&mut self, function: &Function) -> Step {
        let name = match function.name.0.as_slice() {
            [ObjectNamePart::Identifier(name)] => name.value.to_lowercase(),
            _ => return refuse(format!("no function {}", function.name)),
        };
        let known = self.known;
        if name == "unnest" && !self.row_by_row {
            return GO_ON;
        }
        let aggregate = known.aggregate.contains(&name.as_str());
        let window = known.window.contains(&name.as_str());
        if !aggregate && !window && !known.scalar.contains(&name.as_str()) {
            return refuse(known.no_function(&name));
        }
        if self.row_by_row && (aggregate || function.over.is_some()) {
            return refuse(format!("{name} looks at several rows; an expression has only its own"));
        }
        if window && !aggregate && function.over.is_none() {
            return refuse(format!("{name} needs a window: {name}(…) OVER (ORDER BY …)"));
        }
        if function.over.is_some() {
            let distinct = match &function.args {
                FunctionArguments::List(list) => list.duplicate_treatment.is_some(),
                _ => false,
            };
            if distinct || aggregate && !may_be_windowed(&name) {
                return refuse(format!(
                    "{name} with DISTINCT or over many rows cannot be used with OVER"
                ));
            }
        }
        GO_ON
    }
}

impl VisitorMut for SqlCheck<'_> {
    type Break = Refused;

    fn pre_visit_query(&mut self, query: &mut Query) -> Step {
        if self.row_by_row {
            return refuse("an expression has no queries in it");
        }
        let foreign = query.for_clause.is_some()
            || query.settings.is_some()
            || query.format_clause.is_some()
            || !query.pipe_operators.is_empty();
        if foreign || !query.locks.is_empty() {
            return refuse("FOR, SETTINGS, FORMAT and |> are not available");
        }
        if let Some(with) = &query.with {
            if with.recursive {
                return refuse(
                    "WITH RECURSIVE is not available; generate_series(1, 10) gives rows",
                );
            }
            self.given.extend(with.cte_tables.iter().map(|cte| cte.alias.name.value.clone()));
        }
        match query.body.as_ref() {
            SetExpr::Insert(_) | SetExpr::Update(_) | SetExpr::Delete(_) | SetExpr::Merge(_) => {
                refuse("only queries that read are allowed: SELECT, WITH or VALUES")
            }
            SetExpr::Table(_) => refuse("write SELECT * FROM instead of TABLE"),
            _ => self.size.open(query),
        }
    }

    fn post_visit_query(&mut self, _: &mut Query) -> Step {
        self.size.close()
    }

    fn pre_visit_select(&mut self, select: &mut Select) -> Step {
        if select.into.is_some() {
            return refuse("SELECT INTO is not available; the rows come back");
        }
        let foreign = !select.lateral_views.is_empty()
            || select.prewhere.is_some()
            || !select.connect_by.is_empty()
            || !select.cluster_by.is_empty()
            || !select.distribute_by.is_empty()
            || !select.sort_by.is_empty()
            || select.value_table_mode.is_some();
        if foreign {
            return refuse("LATERAL VIEW, PREWHERE, CONNECT BY and the like are not available");
        }
        if select.projection.is_empty() && select.flavor != SelectFlavor::FromFirstNoSelect {
            return refuse("SELECT needs at least one column");
        }
        if select.flavor == SelectFlavor::FromFirstNoSelect {
            select.projection = vec![SelectItem::Wildcard(WildcardAdditionalOptions::default())];
            select.flavor = SelectFlavor::FromFirst;
        }
        let items = select.projection.iter_mut().enumerate();
        items.for_each(|(index, item)| name_column(index, item));
        GO_ON
    }

    fn pre_visit_table_factor(&mut self, table: &mut TableFactor) -> Step {
        match table {
            TableFactor::Table { name, args: Some(args), .. } => {
                self.size.series(&args.args)?;
                table_function(name)?;
                self.size.table(None)
            }
            TableFactor::Function { name, args, .. } => {
                self.size.series(args)?;
                table_function(name)?;
                self.size.table(None)
            }
            TableFactor::Table {
                name, version, with_hints, partitions, json_path, sample, ..
            } => {
                let foreign = version.is_some()
                    || !with_hints.is_empty()
                    || !partitions.is_empty()
                    || json_path.is_some()
                    || sample.is_some();
                if foreign {
                    return refuse(format!("only the name of the table can be given for {name}"));
                }
                self.table(name)?;
                let name = name.0.first().and_then(ObjectNamePart::as_ident);
                self.size.table(name.map(|name| name.value.as_str()))
            }
            TableFactor::Derived { .. } | TableFactor::NestedJoin { .. } => GO_ON,
            TableFactor::UNNEST { .. } => self.size.table(None),
            _ => {
                refuse("PIVOT, TABLE(), JSON_TABLE, MATCH_RECOGNIZE and the like are not available")
            }
        }
    }

    fn pre_visit_expr(&mut self, expression: &mut Expr) -> Step {
        self.size.enter(expression)?;
        match expression {
            Expr::Function(function) => self.function(function),
            Expr::Value(value) => match &value.value {
                Value::Placeholder(name) => {
                    refuse(format!("{name} stands for nothing; write the value itself"))
                }
                _ => GO_ON,
            },
            Expr::Identifier(name) if name.quote_style.is_none() && name.value.starts_with('@') => {
                refuse(format!("no column {:?}", name.value))
            }
            Expr::BinaryOp { op, .. } => operator(op),
            Expr::Cube(sets) if sets.len() > MAX_GROUPINGS.ilog2() as usize => {
                refuse("CUBE is over too many columns")
            }
            Expr::Rollup(sets) | Expr::GroupingSets(sets) if sets.len() > MAX_GROUPINGS => {
                refuse("there are too many grouping sets")
            }
            Expr::SimilarTo { .. } | Expr::RLike { .. } => {
                refuse("SIMILAR TO and RLIKE are not available; use ~ or regexp_like")
            }
            Expr::Struct { .. }
            | Expr::Dictionary(_)
            | Expr::Map(_)
            | Expr::Lambda(_)
            | Expr::JsonAccess { .. }
            | Expr::MatchAgainst { .. }
            | Expr::Convert { .. } => refuse(format!("this is not available: {expression}")),
            _ => GO_ON,
        }
    }

    fn post_visit_expr(&mut self, _: &mut Expr) -> Step {
        self.size.leave();
        GO_ON
    }
}

/// Names a column without an alias by its text.
fn name_column(index: usize, item: &mut SelectItem) {
    let SelectItem::UnnamedExpr(expression) = item else { return };
    if matches!(expression, Expr::Identifier(_) | Expr::CompoundIdentifier(_)) {
        return;
    }
    let mut name = expression.to_string();
    if let Some((end, _)) = name.char_indices().nth(MAX_NAME) {
        name = format!("{}… ({})", &name[..end], index + 1);
    }
    let expr = expression.clone();
    *item = SelectItem::ExprWithAlias { expr, alias: Ident::with_quote('"', name) };
}

/// Checks a function that is used as a table, and writes its name in lower case.
fn table_function(name: &mut ObjectName) -> Step {
    if let [ObjectNamePart::Identifier(ident)] = name.0.as_mut_slice() {
        let lower = ident.value.to_lowercase();
        if TABLE_FUNCTIONS.contains(&lower.as_str()) {
            *ident = Ident::new(lower);
            return GO_ON;
        }
    }
    refuse(format!("{name} cannot be used as a table; {} can", TABLE_FUNCTIONS.join(" and ")))
}

fn operator(operator: &BinaryOperator) -> Step {
    match operator {
        BinaryOperator::AtArrow
        | BinaryOperator::ArrowAt
        | BinaryOperator::PGLikeMatch
        | BinaryOperator::PGILikeMatch
        | BinaryOperator::PGNotLikeMatch
        | BinaryOperator::PGNotILikeMatch => {
            refuse(format!("the operator {operator} is not available"))
        }
        BinaryOperator::BitwiseXor | BinaryOperator::PGExp => refuse("use power(a, b) for a ^ b"),
        _ => GO_ON,
    }
}
