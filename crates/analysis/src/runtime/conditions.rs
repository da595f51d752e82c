//! A physical optimizer rule for conditions that are joined by AND.
//!
//! Where one condition leaves few rows, the engine copies them out for the next condition and puts its
//! results back bit by bit. That pays off for conditions that are hard to compute. Comparing a column
//! with a constant is less work than the copying, and for the most usual types [`compare`] does it
//! faster than the engine.
//!
//! What may fail, such as a division, is only evaluated for rows for which all other conditions hold:
//! queries such as `b <> 0 AND a / b > 1` rely on it, and the engine does not promise it.

use std::{
    fmt,
    hash::{Hash, Hasher},
    sync::Arc,
};

use datafusion::{
    arrow::{
        array::{Array, BooleanArray, RecordBatch},
        buffer::BooleanBuffer,
        datatypes::{DataType, Schema},
    },
    common::{
        cast::as_boolean_array,
        config::ConfigOptions,
        tree_node::{Transformed, TreeNode, TreeNodeRecursion},
    },
    error::Result,
    logical_expr::{ColumnarValue, Operator},
    physical_expr::{
        PhysicalExpr, ScalarFunctionExpr, conjunction, conjunction_opt,
        expressions::{BinaryExpr, CastExpr, Column, IsNotNullExpr, IsNullExpr, Literal},
        split_conjunction,
    },
    physical_optimizer::PhysicalOptimizerRule,
    physical_plan::{
        ExecutionPlan,
        filter::{FilterExec, FilterExecBuilder},
    },
};
use narrows_tables::functions::compare;

use crate::guard::is_window;

/// The rule that has filters evaluate easy conditions first, and for every row, and conditions that may
/// fail last.
#[derive(Debug)]
pub(super) struct EasyFirst;

impl PhysicalOptimizerRule for EasyFirst {
    fn name(&self) -> &str {
        "EasyFirst"
    }

    fn optimize(
        &self,
        plan: Arc<dyn ExecutionPlan>,
        _: &ConfigOptions,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let changed = plan.transform_down(|node| {
            // Windows rely on the order of rows that filters below them report, as in `g = 1`.
            if is_window(&node) {
                let changed = node.transform_down(|node| with_filter(node, divided))?;
                return Ok(Transformed { tnr: TreeNodeRecursion::Jump, ..changed });
            }
            with_filter(node, rearranged)
        });
        changed.map(|changed| changed.data)
    }

    fn schema_check(&self) -> bool {
        true
    }
}

/// Replaces a node by a better filter, if it is a filter and `change` finds a better one.
fn with_filter(
    node: Arc<dyn ExecutionPlan>,
    change: fn(&FilterExec) -> Result<Option<FilterExec>>,
) -> Result<Transformed<Arc<dyn ExecutionPlan>>> {
    Ok(match node.downcast_ref::<FilterExec>().map(change).transpose()?.flatten() {
        Some(filter) => Transformed::yes(Arc::new(filter) as Arc<dyn ExecutionPlan>),
        None => Transformed::no(node),
    })
}

type Conditions = Vec<Arc<dyn PhysicalExpr>>;

/// Splits a filter into the conditions that may fail and the others.
fn risky_and_safe(filter: &FilterExec) -> (Conditions, Conditions) {
    let schema = filter.input().schema();
    let conditions = split_conjunction(filter.predicate()).into_iter().cloned();
    conditions.partition(|condition| may_fail(condition, &schema))
}

/// Splits a filter in two: one for conditions that may fail, and below it one with the other conditions,
/// which tells the engine as much about the order of rows as before.
fn divided(filter: &FilterExec) -> Result<Option<FilterExec>> {
    let (risky, safe) = risky_and_safe(filter);
    if risky.is_empty() || safe.is_empty() && risky.len() < 2 {
        return Ok(None);
    }
    let mut input = Arc::clone(filter.input());
    if let Some(safe) = conjunction_opt(safe) {
        input = Arc::new(FilterExec::try_new(safe, input)?);
    }
    let predicate = AllHold::expression(risky, true);
    FilterExecBuilder::from(filter).with_input(input).with_predicate(predicate).build().map(Some)
}

fn rearranged(filter: &FilterExec) -> Result<Option<FilterExec>> {
    let (risky, safe) = risky_and_safe(filter);
    let (easy, hard): (Vec<_>, Vec<_>) = safe.into_iter().partition(is_easy);
    let must_wait = risky.len() > 1 || !risky.is_empty() && !hard.is_empty();
    if easy.is_empty() && !must_wait {
        return Ok(None);
    }
    let easy = (!easy.is_empty()).then(|| AllHold::expression(easy, false));
    let safe = conjunction_opt(easy.into_iter().chain(hard));
    let predicate = match risky.is_empty() {
        true => conjunction(safe),
        false => AllHold::expression(safe.into_iter().chain(risky).collect(), true),
    };
    FilterExecBuilder::from(filter).with_predicate(predicate).build().map(Some)
}

/// Tells whether a condition fails for some values: a text that is not a number, a division by zero, a
/// sum that overflows.
fn may_fail(condition: &Arc<dyn PhysicalExpr>, schema: &Schema) -> bool {
    let is_risky = |part: &Arc<dyn PhysicalExpr>| {
        if let Some(cast) = part.downcast_ref::<CastExpr>() {
            let is_number = cast.expr().data_type(schema).is_ok_and(|given| given.is_numeric());
            return !(is_number && cast.cast_type().is_floating());
        }
        if let Some(call) = part.downcast_ref::<ScalarFunctionExpr>() {
            return !SAFE.contains(&call.fun().name());
        }
        part.downcast_ref::<BinaryExpr>().is_some_and(|binary| {
            binary.op().is_numerical_operators()
                && !part.data_type(schema).is_ok_and(|result| result.is_floating())
        })
    };
    condition.exists(|part| Ok(is_risky(part))).unwrap_or(true)
}

/// Functions that never fail. All others may.
const SAFE: [&str; 22] = [
    "btrim",
    "character_length",
    "coalesce",
    "contains",
    "date_part",
    "date_trunc",
    "ends_with",
    "ilike",
    "isnan",
    "left",
    "length",
    "like",
    "lower",
    "ltrim",
    "nullif",
    "regexp_like",
    "right",
    "rtrim",
    "starts_with",
    "strpos",
    "trim",
    "upper",
];

/// Tells whether a condition is quick for every row and never fails.
fn is_easy(condition: &Arc<dyn PhysicalExpr>) -> bool {
    let is_value = |value: &Arc<dyn PhysicalExpr>| value.is::<Column>() || value.is::<Literal>();
    if let Some(binary) = condition.downcast_ref::<BinaryExpr>() {
        return match binary.op() {
            Operator::And | Operator::Or => is_easy(binary.left()) && is_easy(binary.right()),
            Operator::Eq
            | Operator::NotEq
            | Operator::Lt
            | Operator::LtEq
            | Operator::Gt
            | Operator::GtEq => is_value(binary.left()) && is_value(binary.right()),
            _ => false,
        };
    }
    let asked = condition.downcast_ref::<IsNullExpr>().map(IsNullExpr::arg);
    let asked = asked.or_else(|| condition.downcast_ref::<IsNotNullExpr>().map(IsNotNullExpr::arg));
    asked.is_some_and(is_value)
}

/// A condition that is true if all its conditions are. Null counts as false: a filter leaves such rows
/// out too.
#[derive(Debug)]
struct AllHold {
    conditions: Vec<Arc<dyn PhysicalExpr>>,
    /// Whether each condition is evaluated only for rows for which those before it hold.
    in_turn: bool,
}

impl AllHold {
    fn expression(conditions: Vec<Arc<dyn PhysicalExpr>>, in_turn: bool) -> Arc<dyn PhysicalExpr> {
        Arc::new(Self { conditions, in_turn })
    }

    fn rows(&self, batch: &RecordBatch) -> Result<BooleanBuffer> {
        let mut all = BooleanBuffer::new_set(batch.num_rows());
        for condition in &self.conditions {
            let holds = match compared(condition, batch) {
                Some(holds) => holds,
                None => {
                    let holds = match self.in_turn {
                        true => {
                            let left = BooleanArray::new(all.clone(), None);
                            condition.evaluate_selection(batch, &left)?
                        }
                        false => condition.evaluate(batch)?,
                    };
                    as_boolean_array(&holds.into_array(batch.num_rows())?)?.clone()
                }
            };
            all = &all & holds.values();
            if let Some(nulls) = holds.nulls() {
                all = &all & nulls.inner();
            }
            if all.count_set_bits() == 0 {
                break;
            }
        }
        Ok(all)
    }
}

/// Compares a column with a constant, if that can be done faster than by the engine.
fn compared(condition: &Arc<dyn PhysicalExpr>, batch: &RecordBatch) -> Option<BooleanArray> {
    let binary = condition.downcast_ref::<BinaryExpr>()?;
    let column = binary.left().downcast_ref::<Column>()?;
    let constant = binary.right().downcast_ref::<Literal>()?;
    compare(batch.columns().get(column.index())?, *binary.op(), constant.value())
}

impl PartialEq for AllHold {
    fn eq(&self, other: &Self) -> bool {
        (&self.conditions, self.in_turn) == (&other.conditions, other.in_turn)
    }
}

impl Eq for AllHold {}

impl Hash for AllHold {
    fn hash<H: Hasher>(&self, state: &mut H) {
        (&self.conditions, self.in_turn).hash(state);
    }
}

impl fmt::Display for AllHold {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let conditions: Vec<String> = self.conditions.iter().map(ToString::to_string).collect();
        let name = if self.in_turn { "in_turn" } else { "all" };
        write!(f, "{name}({})", conditions.join(", "))
    }
}

impl PhysicalExpr for AllHold {
    fn data_type(&self, _: &Schema) -> Result<DataType> {
        Ok(DataType::Boolean)
    }

    fn nullable(&self, _: &Schema) -> Result<bool> {
        Ok(false)
    }

    fn evaluate(&self, batch: &RecordBatch) -> Result<ColumnarValue> {
        let rows = BooleanArray::new(self.rows(batch)?, None);
        Ok(ColumnarValue::Array(Arc::new(rows)))
    }

    fn children(&self) -> Vec<&Arc<dyn PhysicalExpr>> {
        self.conditions.iter().collect()
    }

    fn with_new_children(
        self: Arc<Self>,
        conditions: Vec<Arc<dyn PhysicalExpr>>,
    ) -> Result<Arc<dyn PhysicalExpr>> {
        Ok(Arc::new(Self { conditions, in_turn: self.in_turn }))
    }

    fn fmt_sql(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

#[cfg(test)]
mod tests {
    use datafusion::{
        arrow::util::pretty::pretty_format_batches,
        execution::SessionStateBuilder,
        physical_plan::displayable,
        prelude::{DataFrame, SessionContext},
    };

    use super::*;

    const ROWS: &str = "(VALUES (1, 'north', 1.5), (2, 'south', NULL), (3, NULL, 0.5), \
                        (NULL, 'north', 2.5), (5, 'north', 3.5), (6, 'northern', NULL)) \
                        AS rows (a, b, c)";

    async fn plan(rule: Option<EasyFirst>, holds: &str) -> DataFrame {
        let state = SessionStateBuilder::new().with_default_features();
        let state = match rule {
            Some(rule) => state.with_physical_optimizer_rule(Arc::new(rule)),
            None => state,
        };
        let context = SessionContext::new_with_state(state.build());
        context.sql(&format!("SELECT * FROM {ROWS} WHERE {holds} ORDER BY a")).await.unwrap()
    }

    async fn text(frame: &DataFrame) -> String {
        let plan = frame.clone().create_physical_plan().await.unwrap();
        let text = displayable(plan.as_ref()).indent(false).to_string();
        text.replace("column1", "a").replace("column2", "b").replace("column3", "c")
    }

    #[tokio::test]
    async fn easy_conditions_come_first_and_leave_the_same_rows() {
        for (holds, wanted) in [
            ("a > 1 AND b = 'north'", "FilterExec: all(a@0 > 1, b@1 = north)"),
            ("b LIKE 'n%' AND a > 1 AND c < 3.0", "all(a@0 > 1, c@2 < 3) AND b@1 LIKE n%"),
            ("c IS NULL AND b IS NOT NULL", "all(c@2 IS NULL, b@1 IS NOT NULL)"),
            ("(a = 2 OR c > 3.0) AND b <> 'east'", "all(a@0 = 2 OR c@2 > 3, b@1 != east)"),
            ("c > 0.0 AND a > 100", "all(c@2 > 0, a@0 > 100)"),
            ("b LIKE 'n%' AND a > 1", "FilterExec: all(a@0 > 1) AND b@1 LIKE n%"),
            ("c < 3.0", "FilterExec: all(c@2 < 3)"),
            ("a + 1 > 2 AND upper(b) = 'NORTH'", "in_turn(upper(b@1) = NORTH, a@0 + 1 > 2)"),
            ("c * 2.0 > 3.0 AND c > 1.0", "all(c@2 > 1) AND c@2 * 2 > 3"),
            // Nothing to change: none is easy, and none has to wait for another.
            ("upper(b) = 'NORTH' AND lower(b) = 'north'", "upper(b@1) = NORTH AND lower(b@1) ="),
        ] {
            let (plain, changed) = (plan(None, holds).await, plan(Some(EasyFirst), holds).await);
            let found = text(&changed).await;
            assert!(found.contains(wanted), "{holds}: {found}");
            let rows = |frame: DataFrame| async {
                pretty_format_batches(&frame.collect().await.unwrap()).unwrap().to_string()
            };
            assert_eq!(rows(changed).await, rows(plain).await, "{holds}");
        }
    }

    async fn rows_of(query: &str) -> Result<String> {
        let state = SessionStateBuilder::new().with_default_features();
        let state = state.with_physical_optimizer_rule(Arc::new(EasyFirst)).build();
        let frame = SessionContext::new_with_state(state).sql(query).await?;
        Ok(pretty_format_batches(&frame.collect().await?)?.to_string())
    }

    /// Most rows are left by the first condition: the engine alone looks at the others for all.
    #[tokio::test]
    async fn what_may_fail_is_only_looked_at_where_all_else_holds() {
        const TEXTS: &str = "(VALUES ('1'), ('2'), ('x'), ('4'), ('5'), ('6'), (NULL)) AS t (s)";
        for query in [
            format!("SELECT count(*) AS n FROM {ROWS} WHERE a <> 2 AND 12 / (a - 2) > 0"),
            format!("SELECT count(*) AS n FROM {ROWS} WHERE 12 / (a - 2) > 0 AND a <> 2"),
            format!("SELECT count(*) AS n FROM {TEXTS} WHERE s ~ '^[0-9]+$' AND s::int > 3"),
            format!(
                "SELECT count(*) AS n FROM {TEXTS} WHERE s LIKE '_' AND s <> 'x' AND s::int > 3"
            ),
        ] {
            let rows = rows_of(&query).await.unwrap_or_else(|error| panic!("{query}: {error}"));
            assert!(rows.contains("| 3 |"), "{query}: {rows}");
        }
        let query = format!("SELECT count(*) AS n FROM {TEXTS} WHERE s <> '1' AND s::int > 3");
        rows_of(&query).await.unwrap_err();
    }

    #[tokio::test]
    async fn windows_know_what_filters_say_of_the_order() {
        let guarded = format!(
            "SELECT a, sum(a) OVER (PARTITION BY b) AS s FROM {ROWS} \
             WHERE 12 / (a - 1) > 0 AND b = 'north' AND a <> 1"
        );
        let rows = rows_of(&guarded).await.unwrap();
        assert!(rows.contains("| 5 | 5 |"), "{rows}");
        for holds in ["b = 'north'", "b IN ('north')", "b BETWEEN 'north' AND 'north'"] {
            for window in ["PARTITION BY b", "PARTITION BY b ORDER BY a"] {
                let query =
                    format!("SELECT a, sum(a) OVER ({window}) AS s FROM {ROWS} WHERE {holds}");
                let rows = rows_of(&query).await.unwrap_or_else(|error| panic!("{query}: {error}"));
                assert!(rows.contains("| 5 | 6 |"), "{query}: {rows}");
            }
        }
    }
}
