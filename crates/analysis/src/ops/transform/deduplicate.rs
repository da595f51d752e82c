//! Rows that are there more than once.

use datafusion::{
    functions_aggregate::expr_fn::{max, min},
    logical_expr::{Expr, JoinType},
    prelude::ident,
};
use serde_json::Value;

use crate::{
    aliases::parameters::DUPLICATES,
    error::Result,
    ops::{
        columns,
        params::{ParamName, Params, list_of_names},
        row_order::OrderedRows,
    },
    work::AnalysisContext,
};

/// Which rows are the same, and which of those stays.
pub(super) struct Duplicates {
    /// None means all.
    fields: Option<Vec<ParamName>>,
    keep: KeptRow,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum KeptRow {
    First,
    Last,
}

const KEEP: &[(&str, KeptRow)] = &[("first", KeptRow::First), ("last", KeptRow::Last)];

impl Duplicates {
    /// Reads `true`, fields, or `{"fields": […], "keep": "last"}`.
    pub(super) fn read(given: &Params<'_>) -> Result<Option<Self>> {
        let keep = given.choice("keep", KEEP)?;
        let (fields, own_keep) = match given.value("deduplicate") {
            None | Some((_, Value::Bool(false))) => return Ok(None),
            Some((_, Value::Bool(true))) => (None, None),
            Some((path, value @ Value::Object(_))) => {
                let given = Params::object(&path, value, &DUPLICATES)?;
                (given.names("fields")?, given.choice("keep", KEEP)?)
            }
            Some((path, value)) => (Some(list_of_names(&path, value)?), None),
        };
        let fields = fields.filter(|fields| !fields.is_empty());
        Ok(Some(Self { fields, keep: own_keep.or(keep).unwrap_or(KeptRow::First) }))
    }

    pub(super) fn has_fields(&self) -> bool {
        self.fields.is_some()
    }

    pub(super) fn remove(&self, work: &AnalysisContext, rows: OrderedRows) -> Result<OrderedRows> {
        let names = rows.names();
        let keys: Vec<Expr> = match &self.fields {
            None => names.iter().map(ident).collect(),
            Some(fields) => {
                columns::check(work, &rows.table()?, fields)?;
                fields.iter().map(|field| ident(&field.name)).collect()
            }
        };
        let (rows, row) = rows.numbered()?;
        let frame = rows.into_frame();
        let kept = columns::unused(&frame, "kept");
        let keep = match self.keep {
            KeptRow::First => min(ident(&row)),
            KeptRow::Last => max(ident(&row)),
        };
        let groups = frame.clone().aggregate(keys, vec![keep.alias(&kept)])?;
        if self.fields.is_none() {
            // The keys are all there is to a row.
            return Ok(OrderedRows::by(groups, [kept]));
        }
        let groups = groups.select(vec![ident(&kept)])?;
        let is_kept = ident(&row).eq(ident(&kept));
        Ok(OrderedRows::by(frame.join_on(groups, JoinType::LeftSemi, [is_kept])?, [row]))
    }
}
