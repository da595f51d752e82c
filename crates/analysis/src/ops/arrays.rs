//! Reservations for arrays that an operation itself holds in memory.

use datafusion::{
    arrow::{
        array::{Array, ArrayRef, AsArray, Float64Array},
        compute::cast,
        datatypes::{DataType, Float64Type},
    },
    execution::memory_pool::{MemoryConsumer, MemoryReservation},
};

use crate::{
    error::{AnalysisError, Result},
    work::AnalysisContext,
};

#[derive(Debug)]
pub(crate) struct HeldArrays(MemoryReservation);

impl HeldArrays {
    pub(crate) fn new(work: &AnalysisContext, name: &str) -> Self {
        let pool = &work.context().runtime_env().memory_pool;
        Self(MemoryConsumer::new(name).register(pool))
    }

    /// Reserves memory. Call it before the memory is allocated.
    pub(crate) fn add(&self, bytes: usize) -> Result<()> {
        Ok(self.0.try_grow(bytes)?)
    }
}

/// Converts a column into floats, where NaN stands for missing values.
pub(crate) fn floats(column: &ArrayRef) -> Result<Vec<f64>> {
    let column = cast(column, &DataType::Float64)
        .map_err(|error| AnalysisError::Internal(error.to_string()))?;
    let column: &Float64Array = column.as_primitive::<Float64Type>();
    if column.null_count() == 0 {
        return Ok(column.values().to_vec());
    }
    Ok(column.iter().map(|value| value.unwrap_or(f64::NAN)).collect())
}

/// Runs work that keeps a processor busy on a blocking thread, so that other tasks go on.
pub(crate) async fn busy<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T> {
    let done = tokio::task::spawn_blocking(work).await;
    done.map_err(|error| AnalysisError::Internal(error.to_string()))
}
