//! One analysis while it runs: its tables, and what is noted on the way.

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

/// The name of the table that an analysis is about, unless it has several.
pub(crate) const MAIN: &str = "data";

/// Of how many expressions it can be said that they failed: each is kept with its plan.
const MAX_EXPRESSIONS: usize = 100;

pub(crate) struct AnalysisContext {
    context: SessionContext,
    /// In the order in which they were given; the first is what an analysis is about.
    tables: Vec<String>,
    /// The rows of the first table that the analysis is about, if not all of them are meant.
    narrowed: OnceLock<DataFrame>,
    notes: Mutex<Vec<String>>,
    expressions: Mutex<Vec<RecordedExpression>>,
}

/// An expression of a caller, where it stands in the parameters, and the rows that it is of.
struct RecordedExpression {
    parameter: String,
    frame: DataFrame,
    value: Expr,
}

/// What an analysis has found; its frame has not been run yet.
#[derive(Default)]
pub(crate) struct OpOutput {
    pub(crate) facts: Map<String, Value>,
    pub(crate) frame: Option<DataFrame>,
    /// More facts, once the frame has been run.
    pub(crate) later: Option<DeferredFacts>,
}

pub(crate) type DeferredFacts = Box<dyn FnOnce() -> Map<String, Value> + Send>;

impl From<DataFrame> for OpOutput {
    fn from(frame: DataFrame) -> Self {
        Self { frame: Some(frame), ..Self::default() }
    }
}

impl AnalysisContext {
    /// The tables are registered with the context by these names.
    pub(crate) fn new(context: SessionContext, tables: Vec<String>, notes: Vec<String>) -> Self {
        Self {
            context,
            tables,
            narrowed: OnceLock::new(),
            notes: Mutex::new(notes),
            expressions: Mutex::default(),
        }
    }

    /// All rows of the same tables, without what was noted.
    pub(crate) fn fresh(&self) -> Self {
        Self::new(self.context.clone(), self.tables.clone(), Vec::new())
    }

    pub(crate) fn context(&self) -> &SessionContext {
        &self.context
    }

    /// The names of the tables.
    pub(crate) fn tables(&self) -> &[String] {
        &self.tables
    }

    /// Has the analysis be about these rows of its table only.
    pub(crate) fn narrow(&self, rows: DataFrame) {
        let _ = self.narrowed.set(rows);
    }

    /// The table that the analysis is about.
    pub(crate) async fn main(&self) -> Result<DataFrame> {
        if let Some(rows) = self.narrowed.get() {
            return Ok(rows.clone());
        }
        match self.tables.first() {
            Some(name) => self.frame(name).await,
            None => Err(AnalysisError::parameter("data", "there is nothing to analyse")),
        }
    }

    /// Another table, by its name in a parameter.
    pub(crate) async fn table(&self, parameter: &str, name: &str) -> Result<DataFrame> {
        if !is_table(&self.tables, name) {
            let known = self.tables.iter().map(String::as_str);
            let reason = format!("no table {name:?}{}", available(known));
            return Err(AnalysisError::parameter(parameter, reason));
        }
        self.frame(name).await
    }

    /// How many rows that table has.
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

    /// A column of a frame, by its name in a parameter.
    pub(crate) fn column(&self, frame: &DataFrame, parameter: &str, name: &str) -> Result<Expr> {
        let fields = frame.schema().fields();
        if fields.iter().any(|field| field.name() == name) {
            return Ok(ident(name));
        }
        let known = fields.iter().map(|field| field.name().as_str());
        Err(AnalysisError::no_column(parameter, name, known))
    }

    /// Remembers an expression of the caller, so that it can be named if it fails.
    pub(crate) fn record(&self, parameter: &str, frame: &DataFrame, value: &Expr) {
        let mut expressions = self.expressions.lock().unwrap_or_else(PoisonError::into_inner);
        if expressions.len() < MAX_EXPRESSIONS {
            let (parameter, frame) = (parameter.to_owned(), frame.clone());
            expressions.push(RecordedExpression { parameter, frame, value: value.clone() });
        }
    }

    /// Says what went wrong while rows were read. Where an expression of the caller failed, it is
    /// found by computing each of them once more: the error of the whole does not say which.
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

    /// Runs a frame whose rows are few, as statistics are.
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

/// Whether this is the name of one of the tables; the first has two.
pub(crate) fn is_table(tables: &[String], name: &str) -> bool {
    tables.iter().any(|known| known == name) || (name == MAIN && !tables.is_empty())
}

/// How many rows a table has, if that is known without reading it.
pub(crate) fn known_rows(table: &dyn TableProvider) -> Option<usize> {
    match table.statistics()?.num_rows {
        Precision::Exact(rows) => Some(rows),
        _ => None,
    }
}
