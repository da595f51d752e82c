//! Counts what texts and data cost a model, in tokens of the o200k encoding.

use std::sync::Arc;

use datafusion::{
    arrow::array::RecordBatch,
    common::stats::Precision,
    error::DataFusionError,
    execution::TaskContext,
    physical_plan::{
        ExecutionPlan, ExecutionPlanProperties,
        statistics::{StatisticsArgs, StatisticsContext},
    },
    prelude::DataFrame,
};
use futures::StreamExt;
use narrows_model::grouped;
use serde_json::Value;

use super::{Cost, cells, token_table::count_tokens};

/// How much of a long text is counted; the rest is assumed to have as many tokens in each byte.
const MAX_COUNTED: usize = 256 << 10;
/// How many rows are counted to estimate all.
const SAMPLE: usize = 100;

/// Counts the tokens of a text. Long texts are estimated from their beginning.
pub(super) fn tokens(text: &str) -> usize {
    let beginning = &text[..text.floor_char_boundary(MAX_COUNTED)];
    scaled(count_tokens(beginning), beginning.len(), text.len())
}

/// Estimates what a table costs as JSON, from its first rows. `rows` is how many it has, if that is
/// known. Returns none if the plan does not know it either: rows are not counted for this.
pub(crate) async fn cost(frame: DataFrame, rows: Option<usize>) -> Option<Cost> {
    let context = Arc::new(frame.task_ctx());
    let plan = frame.create_physical_plan().await.ok()?;
    let rows = rows.or_else(|| exact_rows(plan.as_ref()));
    let names = cells::names(plan.schema().fields());
    let sample = first_rows(plan, context).await.ok()?;
    let shown: Vec<Value> = sample.iter().flat_map(|batch| cells::rows(&names, batch)).collect();
    let seen = shown.len();
    let rows = if seen < SAMPLE { seen } else { rows? };
    let text = Value::from(shown).to_string();
    Some(Cost { rows, data_tokens: scaled(tokens(&text), seen, rows) })
}

/// Returns the rows of a sample. The partitions of the plan are run one after the other, so that they
/// are the same rows each time; most plans need no more than the first partition.
async fn first_rows(
    plan: Arc<dyn ExecutionPlan>,
    context: Arc<TaskContext>,
) -> Result<Vec<RecordBatch>, DataFusionError> {
    let mut missing = SAMPLE;
    let mut sample = Vec::new();
    for part in 0..plan.output_partitioning().partition_count() {
        if missing == 0 {
            break;
        }
        let mut stream = plan.execute(part, Arc::clone(&context))?;
        while missing > 0
            && let Some(batch) = stream.next().await
        {
            let batch = batch?;
            let batch = batch.slice(0, batch.num_rows().min(missing));
            missing -= batch.num_rows();
            sample.push(batch);
        }
    }
    Ok(sample)
}

/// Returns how many rows a plan gives, if that is known without running it.
fn exact_rows(plan: &dyn ExecutionPlan) -> Option<usize> {
    let statistics = StatisticsContext::new().compute(plan, &StatisticsArgs::new()).ok()?;
    match statistics.num_rows {
        Precision::Exact(rows) => Some(rows),
        _ => None,
    }
}

/// Extrapolates a count from a part to the whole.
fn scaled(counted: usize, part: usize, whole: usize) -> usize {
    if part == whole || part == 0 {
        return counted;
    }
    (counted as f64 * (whole as f64 / part as f64)).round() as usize
}

impl Cost {
    /// Writes a line that compares the cost with that of an answer.
    pub(super) fn beside(self, answer: usize) -> String {
        let Self { rows, data_tokens } = self;
        let (shown, all) = (grouped(answer as u64), grouped(data_tokens as u64));
        let rows =
            if rows == 1 { "1 row".into() } else { format!("{} rows", grouped(rows as u64)) };
        if answer >= data_tokens {
            return format!("tokens: {shown}; the {rows} would be about {all}");
        }
        // Rounded down, so that it never says 100 %.
        let tenths = (1_000.0 * (1.0 - answer as f64 / data_tokens as f64)).floor();
        let percent = tenths / 10.0;
        format!("tokens: {shown} instead of about {all} for the {rows} ({percent:.1} % fewer)")
    }
}

#[cfg(test)]
mod tests {
    use datafusion::{
        arrow::array::{ArrayRef, Int64Array, StringArray},
        datasource::MemTable,
        logical_expr::{col, lit},
        prelude::SessionContext,
    };

    use super::*;

    #[test]
    fn a_long_text_is_estimated_from_its_beginning() {
        let line = "the quick brown fox jumps over the lazy dog\n";
        let exact = tokens(line) * 20_000;
        let estimated = tokens(&line.repeat(20_000));
        assert!(estimated.abs_diff(exact) * 100 < exact, "{estimated} is not about {exact}");
        assert_eq!((tokens(""), tokens("hello world")), (0, 2));
    }

    /// Rows that all cost about the same.
    fn table(rows: i64) -> DataFrame {
        let number: ArrayRef =
            Arc::new(Int64Array::from_iter_values((0..rows).map(|n| n % 900 + 100)));
        let name: ArrayRef =
            Arc::new(StringArray::from_iter_values((0..rows).map(|n| format!("name {}", n % 10))));
        let batch =
            RecordBatch::try_from_iter([("number", number), ("name", name)]).expect("a batch");
        let table = MemTable::try_new(batch.schema(), vec![vec![batch]]).expect("a table");
        SessionContext::new().read_table(Arc::new(table)).expect("a frame")
    }

    fn whole(rows: i64) -> usize {
        let rows: Vec<Value> = (0..rows)
            .map(|n| serde_json::json!({"number": n % 900 + 100, "name": format!("name {}", n % 10)}))
            .collect();
        tokens(&Value::from(rows).to_string())
    }

    #[tokio::test]
    async fn the_cost_of_a_table_is_that_of_its_rows_as_json() {
        let few = cost(table(7), None).await.expect("few rows are known");
        assert_eq!(few, Cost { rows: 7, data_tokens: whole(7) });
        let many = cost(table(2_000), None).await.expect("the rows of a table in memory are known");
        assert_eq!(many.rows, 2_000);
        let exact = whole(2_000);
        assert!(many.data_tokens.abs_diff(exact) * 50 < exact, "{many:?} is not about {exact}");
    }

    #[tokio::test]
    async fn rows_are_not_counted_for_the_cost() {
        let some = || table(2_000).filter(col("number").gt(lit(500))).expect("a filter");
        assert_eq!(cost(some(), None).await, None);
        assert_eq!(cost(some(), Some(1_100)).await.map(|cost| cost.rows), Some(1_100));
    }

    #[tokio::test]
    async fn the_first_rows_are_those_of_all_parts() {
        let rows = |count: i64| table(count).collect();
        let (few, many) = (rows(60).await.expect("rows"), rows(500).await.expect("rows"));
        let parts = vec![Vec::new(), few, many];
        let table = MemTable::try_new(parts[1][0].schema(), parts).expect("a table");
        let frame = SessionContext::new().read_table(Arc::new(table)).expect("a frame");
        let context = Arc::new(frame.task_ctx());
        let plan = frame.create_physical_plan().await.expect("a plan");
        let sample = first_rows(plan, context).await.expect("rows");
        let counts: Vec<usize> = sample.iter().map(RecordBatch::num_rows).collect();
        assert_eq!(counts, [60, 40]);
    }

    #[tokio::test]
    async fn nothing_costs_next_to_nothing() {
        let cost = cost(table(0), None).await;
        assert!(cost.is_none_or(|cost| cost.rows == 0 && cost.data_tokens < 3), "{cost:?}");
    }

    #[test]
    fn the_saving_is_rounded_down() {
        for (answer, rows, data_tokens, line) in [
            (
                84,
                1_000,
                41_230,
                "tokens: 84 instead of about 41,230 for the 1,000 rows (99.7 % fewer)",
            ),
            (1, 1, 1_000_000, "tokens: 1 instead of about 1,000,000 for the 1 row (99.9 % fewer)"),
            (50, 3, 40, "tokens: 50; the 3 rows would be about 40"),
            (0, 0, 0, "tokens: 0; the 0 rows would be about 0"),
        ] {
            assert_eq!(Cost { rows, data_tokens }.beside(answer), line);
        }
    }
}
