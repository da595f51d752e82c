//! Ranks values, like pandas' `rank`.

use datafusion::{
    arrow::datatypes::DataType,
    functions_window::expr_fn::{dense_rank, rank, row_number},
    logical_expr::{
        Expr, ExprFunctionExt, SortExpr, WindowFunctionDefinition, cast, expr, lit, when,
    },
    prelude::ident,
};
use serde_json::Value;

use crate::{
    aliases::parameters::RANK,
    error::{AnalysisError, Result},
    ops::{
        columns,
        names::free_name,
        params::{ParamName, Params, list_of_names, one_or_more},
        row_order::OrderedRows,
        time_columns::sort_value,
    },
    work::AnalysisContext,
};

/// The rank that equal values get.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Ties {
    Average,
    Min,
    Max,
    First,
    Dense,
}

const TIES: &[(&str, Ties)] = &[
    ("average", Ties::Average),
    ("min", Ties::Min),
    ("max", Ties::Max),
    ("first", Ties::First),
    ("dense", Ties::Dense),
];

/// The parameters of ranks. Each field gets a column with the ranks of its values.
struct Ranks {
    fields: Vec<ParamName>,
    groups: Vec<ParamName>,
    ties: Ties,
    is_descending: bool,
    is_percent: bool,
    name: Option<String>,
}

impl Ranks {
    /// Reads `"roi"`, `["roi", "price"]` or `{"field": "roi", "group_by": "sector", "method": "min"}`.
    fn read(path: &str, value: &Value) -> Result<Self> {
        let Value::Object(_) = value else {
            let fields = list_of_names(path, value)?;
            let (groups, ties) = (Vec::new(), Ties::Average);
            return Ok(Self {
                fields,
                groups,
                ties,
                is_descending: false,
                is_percent: false,
                name: None,
            });
        };
        let given = Params::object(path, value, &RANK)?;
        let fields = given.names("field")?.ok_or_else(|| given.missing("field"))?;
        let descending = given.flag("descending")?;
        let ascending = given.flag("ascending")?;
        let ranks = Self {
            fields,
            groups: given.names("group_by")?.unwrap_or_default(),
            ties: given.choice("method", TIES)?.unwrap_or(Ties::Average),
            is_descending: descending.or(ascending.map(|it| !it)).unwrap_or(false),
            is_percent: given.flag("percent")?.unwrap_or(false),
            name: given.text("as")?.map(str::to_owned),
        };
        if ranks.name.is_some() && ranks.fields.len() > 1 {
            let reason = "names one column, and there are several fields";
            return Err(AnalysisError::parameter(given.path("as"), reason));
        }
        if ranks.is_percent && ranks.ties == Ties::Dense {
            let reason = "is not there for the method dense; take average or max";
            return Err(AnalysisError::parameter(given.path("percent"), reason));
        }
        Ok(ranks)
    }

    /// Returns the rank of a value within its group; null for a missing value.
    fn of(&self, value: &Expr, groups: &[Expr], row: &str) -> Result<Expr> {
        let by_value = value.clone().sort(!self.is_descending, false);
        let among = |function: Expr, groups: Vec<Expr>, by: Vec<SortExpr>| {
            function.partition_by(groups).order_by(by).build()
        };
        let counted = |groups: Vec<Expr>| {
            let count = WindowFunctionDefinition::AggregateUDF(
                datafusion::functions_aggregate::count::count_udaf(),
            );
            let count = expr::WindowFunction::new(count, vec![value.clone()]);
            let count = Expr::WindowFunction(Box::new(count)).partition_by(groups).build()?;
            Ok::<_, AnalysisError>(cast(count, DataType::Float64))
        };
        let same: Vec<Expr> = groups.iter().cloned().chain([value.clone()]).collect();
        let groups = groups.to_vec();
        let by_row = || vec![by_value.clone(), ident(row).sort(true, false)];
        let rank = match self.ties {
            Ties::Dense => among(dense_rank(), groups.clone(), vec![by_value.clone()])?,
            Ties::First => among(row_number(), groups.clone(), by_row())?,
            _ => among(rank(), groups.clone(), vec![by_value.clone()])?,
        };
        let rank = cast(rank, DataType::Float64);
        let rank = match self.ties {
            Ties::Average => rank + (counted(same)? - lit(1.0)) / lit(2.0),
            Ties::Max => rank + counted(same)? - lit(1.0),
            _ => rank,
        };
        let rank = match (self.is_percent, self.ties) {
            (true, _) => rank / counted(groups)?,
            (false, Ties::Average) => rank,
            (false, _) => cast(rank, DataType::Int64),
        };
        Ok(when(value.clone().is_not_null(), rank).end()?)
    }
}

pub(super) async fn apply(
    work: &AnalysisContext,
    mut rows: OrderedRows,
    path: &str,
    value: &Value,
) -> Result<OrderedRows> {
    let several = value.as_array().is_some_and(|all| all.iter().any(Value::is_object));
    let all = if several { one_or_more(path, value) } else { vec![(path.to_owned(), value)] };
    for (path, value) in all {
        rows = ranked(work, rows, &Ranks::read(&path, value)?).await?;
    }
    Ok(rows)
}

async fn ranked(work: &AnalysisContext, rows: OrderedRows, ranks: &Ranks) -> Result<OrderedRows> {
    let table = rows.table()?;
    columns::check(work, &table, &ranks.fields)?;
    columns::check(work, &table, &ranks.groups)?;
    let groups: Vec<Expr> =
        ranks.groups.iter().map(|group| columns::value(&table, &group.name)).collect();
    let mut taken = rows.names();
    let (rows, row) = rows.numbered()?;
    let mut added = Vec::new();
    for field in &ranks.fields {
        let value = sort_value(work, &table, &field.name).await?;
        let name = match &ranks.name {
            Some(name) => name.clone(),
            None => free_name(&format!("{}_rank", field.name), &taken),
        };
        added.push((name.clone(), ranks.of(&value, &groups, &row)?));
        taken.push(name);
    }
    rows.with(added)
}
