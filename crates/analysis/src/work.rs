//! The context of one analysis while it runs: its tables, and the notes that were made.

use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use datafusion::{
    arrow::array::RecordBatch,
    catalog::TableProvider,
    common::{TableReference, stats::Precision},
    error::DataFusionError,
    functions_aggregate::expr_fn::count,
    logical_expr::Expr,
    prelude::{DataFrame, SessionContext, ident},
};
use serde_json::{Map, Value};

use crate::error::{AnalysisError, Result, available, explain};

/// The name of the first table, which an analysis is about, whatever else it is called.
pub(crate) const MAIN: &str = "data";

/// How many expressions of the caller are kept to find one that failed: each is kept with its plan.
const MAX_EXPRESSIONS: usize = 100;

pub(crate) struct AnalysisContext {
    context: SessionContext,
    /// The names of the tables in the order in which they were given; the analysis is about the first.
    tables: Vec<String>,
    /// The rows of the first table that a `filter` parameter chose, if there is one.
    narrowed: OnceLock<DataFrame>,
    notes: Mutex<Vec<String>>,
    expressions: Mutex<Vec<RecordedExpression>>,
}

/// An expression of the caller, with its place in the parameters and the frame that it is computed from.
struct RecordedExpression {
    parameter: String,
    frame: DataFrame,
    value: Expr,
}

/// The result of an operation, whose frame has not been run yet.
#[derive(Default)]
pub(crate) struct OpOutput {
    pub(crate) facts: Map<String, Value>,
    pub(crate) frame: Option<DataFrame>,
    /// Facts that are known only after the frame was run.
    pub(crate) later: Option<DeferredFacts>,
}

pub(crate) type DeferredFacts = Box<dyn FnOnce() -> Map<String, Value> + Send>;

impl From<DataFrame> for OpOutput {
    fn from(frame: DataFrame) -> Self {
        Self { frame: Some(frame), ..Self::default() }
    }
}

impl AnalysisContext {
    /// Makes the context of an analysis of tables that are registered with `context` by these names.
    pub(crate) fn new(context: SessionContext, tables: Vec<String>, notes: Vec<String>) -> Self {
        Self {
            context,
            tables,
            narrowed: OnceLock::new(),
            notes: Mutex::new(notes),
            expressions: Mutex::default(),
        }
    }

    /// Returns a context for all rows of the same tables, without the notes and recorded expressions.
    pub(crate) fn fresh(&self) -> Self {
        Self::new(self.context.clone(), self.tables.clone(), Vec::new())
    }

    pub(crate) fn context(&self) -> &SessionContext {
        &self.context
    }

    /// Returns the names of the tables.
    pub(crate) fn tables(&self) -> &[String] {
        &self.tables
    }

    /// Restricts the analysis to these rows of its table.
    pub(crate) fn narrow(&self, rows: DataFrame) {
        let _ = self.narrowed.set(rows);
    }

    /// Returns the table that the analysis is about, or the chosen rows of it.
    pub(crate) async fn main(&self) -> Result<DataFrame> {
        if let Some(rows) = self.narrowed.get() {
            return Ok(rows.clone());
        }
        match self.tables.first() {
            Some(name) => self.frame(name).await,
            None => Err(AnalysisError::parameter("data", "there is nothing to analyse")),
        }
    }

    /// Finds another table by its name in a parameter.
    pub(crate) async fn table(&self, parameter: &str, name: &str) -> Result<DataFrame> {
        if !is_table(&self.tables, name) {
            let known = self.tables.iter().map(String::as_str);
            let reason = format!("no table {name:?}{}", available(known));
            return Err(AnalysisError::parameter(parameter, reason));
        }
        self.frame(name).await
    }

    /// Returns how many rows the table has that the analysis is about.
    pub(crate) async fn main_rows(&self) -> Result<usize> {
        if let Some(name) = self.tables.first() {
            let provider = self.context.table_provider(TableReference::bare(name.as_str())).await?;
            if let Some(rows) = known_rows(provider.as_ref()) {
                return Ok(rows);
            }
        }
        Ok(self.main().await?.count().await?)
    }

    async fn frame(&self, name: &str) -> Result<DataFrame> {
        Ok(self.context.table(TableReference::bare(name)).await?)
    }

    /// Finds a column of a frame by its name in a parameter.
    pub(crate) fn column(&self, frame: &DataFrame, parameter: &str, name: &str) -> Result<Expr> {
        let fields = frame.schema().fields();
        if fields.iter().any(|field| field.name() == name) {
            return Ok(ident(name));
        }
        let known = fields.iter().map(|field| field.name().as_str());
        Err(AnalysisError::no_column(parameter, name, known))
    }

    /// Records an expression of the caller, so that it can be named if it fails.
    pub(crate) fn record(&self, parameter: &str, frame: &DataFrame, value: &Expr) {
        let mut expressions = self.expressions.lock().unwrap_or_else(PoisonError::into_inner);
        if expressions.len() < MAX_EXPRESSIONS {
            let (parameter, frame) = (parameter.to_owned(), frame.clone());
            expressions.push(RecordedExpression { parameter, frame, value: value.clone() });
        }
    }

    /// Explains an error that occurred while rows were read. If an expression of the caller failed, it
    /// is found by computing each of them once more, because the error of the whole plan does not name
    /// it.
    pub(crate) async fn explained(&self, error: DataFusionError) -> AnalysisError {
        let told = AnalysisError::from(error);
        if !matches!(told, AnalysisError::Internal(_)) {
            return told;
        }
        let expressions =
            std::mem::take(&mut *self.expressions.lock().unwrap_or_else(PoisonError::into_inner));
        for RecordedExpression { parameter, frame, value } in expressions {
            let computed = match frame.aggregate(Vec::new(), vec![count(value)]) {
                Ok(computed) => computed.collect().await,
                Err(error) => Err(error),
            };
            if let Err(error) = computed {
                return explain(&error, |reason| AnalysisError::parameter(parameter, reason));
            }
        }
        told
    }

    /// Runs a frame whose rows are few, such as statistics.
    pub(crate) async fn collect(&self, frame: DataFrame) -> Result<Vec<RecordBatch>> {
        Ok(frame.collect().await?)
    }

    pub(crate) fn note(&self, note: impl Into<String>) {
        let mut notes = self.notes.lock().unwrap_or_else(PoisonError::into_inner);
        let note = note.into();
        if !notes.contains(&note) {
            notes.push(note);
        }
    }

    pub(crate) fn into_notes(self: Arc<Self>) -> Vec<String> {
        std::mem::take(&mut *self.notes.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// Tells whether this is the name of one of the tables; the first also has the name [`MAIN`].
pub(crate) fn is_table(tables: &[String], name: &str) -> bool {
    tables.iter().any(|known| known == name) || (name == MAIN && !tables.is_empty())
}

/// Returns how many rows a table has, if that is known without reading it.
pub(crate) fn known_rows(table: &dyn TableProvider) -> Option<usize> {
    match table.statistics()?.num_rows {
        Precision::Exact(rows) => Some(rows),
        _ => None,
    }
}
