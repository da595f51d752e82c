//! Limits the tables of analyses that wait for their turn, which are in memory already.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use narrows_model::Caller;
use narrows_tables::Input;
use serde_json::Value;

/// Filling the machine's memory with tables that wait: those of one caller, and of all.
const MAX_CALLER_BYTES: usize = 128 << 20;
const MAX_BYTES: usize = 512 << 20;

/// The memory of a value beside its text.
const VALUE_BYTES: usize = size_of::<Value>();
/// The memory of an object's entry beside its key and its value.
const ENTRY_BYTES: usize = 40;

/// The bytes of all waiting tables, by caller.
#[derive(Debug, Default)]
pub(super) struct WaitingTables(Mutex<HashMap<Caller, usize>>);

/// The tables of one waiting analysis, counted until dropped.
#[derive(Debug)]
pub(super) struct Waiting {
    tables: Arc<WaitingTables>,
    caller: Caller,
    bytes: usize,
}

impl WaitingTables {
    fn callers(&self) -> MutexGuard<'_, HashMap<Caller, usize>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Counts the tables of an analysis that has to wait. Returns none if they are too many bytes, but
    /// the only waiting analysis of a caller may have any size.
    pub(super) fn enter(
        self: &Arc<Self>,
        caller: &Caller,
        inputs: &[(String, Input)],
    ) -> Option<Waiting> {
        let bytes = inputs.iter().map(|(_, input)| input_bytes(input)).sum();
        let mut callers = self.callers();
        let all: usize = callers.values().sum();
        let own = callers.get(caller).copied().unwrap_or(0);
        if own > 0 && bytes > 0 && (own + bytes > MAX_CALLER_BYTES || all + bytes > MAX_BYTES) {
            return None;
        }
        callers.insert(Arc::clone(caller), own + bytes);
        Some(Waiting { tables: Arc::clone(self), caller: Arc::clone(caller), bytes })
    }
}

impl Drop for Waiting {
    fn drop(&mut self) {
        let mut callers = self.tables.callers();
        let left = callers.get(&self.caller).map_or(0, |bytes| bytes - self.bytes);
        if left == 0 {
            callers.remove(&self.caller);
        } else {
            callers.insert(Arc::clone(&self.caller), left);
        }
    }
}

/// Estimates how much memory the data of a request takes. Files are read later, and earlier results are
/// in memory anyway.
fn input_bytes(input: &Input) -> usize {
    match input {
        Input::Json(value) => value_bytes(value),
        Input::Text(text) => text.len(),
        Input::Marshal(parts) => parts.iter().map(|part| part.len()).sum(),
        Input::File { .. } | Input::Batches { .. } => 0,
    }
}

fn value_bytes(value: &Value) -> usize {
    VALUE_BYTES
        + match value {
            Value::Null | Value::Bool(_) | Value::Number(_) => 0,
            Value::String(text) => text.len(),
            Value::Array(items) => items.iter().map(value_bytes).sum(),
            Value::Object(entries) => entries
                .iter()
                .map(|(key, value)| key.len() + ENTRY_BYTES + value_bytes(value))
                .sum(),
        }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn table(bytes: usize) -> Vec<(String, Input)> {
        vec![("data".to_owned(), Input::Marshal(vec![vec![0; bytes].into()]))]
    }

    #[test]
    fn tables_that_wait_are_bounded_for_each_caller_and_those_of_others_still_wait() {
        let tables = Arc::<WaitingTables>::default();
        let (greedy, modest) = (Caller::from("greedy"), Caller::from("modest"));
        let half = table(MAX_CALLER_BYTES / 2);
        let first = tables.enter(&greedy, &half).unwrap();
        let second = tables.enter(&greedy, &half).unwrap();
        assert!(tables.enter(&greedy, &table(1)).is_none());
        // What has no tables in memory, and those of others.
        assert!(tables.enter(&greedy, &[]).is_some());
        assert!(tables.enter(&modest, &table(1)).is_some());
        drop(first);
        assert!(tables.enter(&greedy, &table(1)).is_some());
        drop(second);
        assert!(tables.callers().is_empty(), "nothing is kept of those who left");
    }

    #[test]
    fn small_json_counts_as_the_memory_that_it_takes() {
        let lists = Input::Json(Value::Array(vec![json!([]); 1_000]));
        assert!(input_bytes(&lists) >= 1_000 * size_of::<Value>());
        let objects = Input::Json(json!([{"a": "some text"}, {"b": {"c": 1}}]));
        assert!(input_bytes(&objects) > 6 * size_of::<Value>());
    }
}
