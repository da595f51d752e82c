//! Writes profiles as a table.

use std::sync::Arc;

use datafusion::arrow::{
    array::{ArrayRef, Float64Array, Int64Array, RecordBatch, StringArray},
    error::ArrowError,
};
use narrows_model::cut;
use serde_json::json;

use super::profile::Profile;
use crate::error::{AnalysisError, Result};

/// Makes a table with one row for each column. `min`, `max` and what follows are for numbers; `min_text`
/// and `max_text` for all others, and for integers that are too large to be exact as floats.
pub(super) fn of(profiles: &[Profile]) -> Result<RecordBatch> {
    let whole = |read: fn(&Profile) -> Option<i64>| {
        Arc::new(profiles.iter().map(read).collect::<Int64Array>()) as ArrayRef
    };
    let number = |read: fn(&Profile) -> Option<f64>| {
        Arc::new(profiles.iter().map(read).collect::<Float64Array>()) as ArrayRef
    };
    let text = |read: fn(&Profile) -> Option<String>| {
        Arc::new(profiles.iter().map(read).collect::<StringArray>()) as ArrayRef
    };
    let columns = [
        ("column", text(|profile| Some(profile.name.clone()))),
        ("type", text(|profile| Some(profile.kind.clone()))),
        ("count", whole(|profile| Some(profile.count))),
        ("nulls", whole(|profile| Some(profile.nulls))),
        ("null_share", number(null_share)),
        ("distinct", whole(|profile| profile.distinct)),
        ("min", number(|profile| profile.numbers.min)),
        ("max", number(|profile| profile.numbers.max)),
        ("mean", number(|profile| profile.numbers.mean)),
        ("std", number(|profile| profile.numbers.std)),
        ("p25", number(|profile| profile.numbers.quartiles[0])),
        ("p50", number(|profile| profile.numbers.quartiles[1])),
        ("p75", number(|profile| profile.numbers.quartiles[2])),
        ("min_text", text(|profile| profile.min_text.as_deref().map(shortened))),
        ("max_text", text(|profile| profile.max_text.as_deref().map(shortened))),
        ("shortest", whole(|profile| profile.shortest)),
        ("longest", whole(|profile| profile.longest)),
        ("top", text(|profile| profile.top.as_deref().map(shortened))),
        ("top_count", whole(|profile| profile.top_count)),
        ("samples", text(|profile| Some(json!(profile.samples).to_string()))),
    ];
    RecordBatch::try_from_iter_with_nullable(columns.map(|(name, column)| (name, column, true)))
        .map_err(|error: ArrowError| AnalysisError::Internal(error.to_string()))
}

fn null_share(profile: &Profile) -> Option<f64> {
    let rows = profile.count + profile.nulls;
    (rows > 0).then(|| profile.nulls as f64 / rows as f64)
}

/// Cuts a long text for a profile.
pub(super) fn shortened(text: &str) -> String {
    const MAX_COLUMNS: usize = 100;
    match text.char_indices().nth(MAX_COLUMNS) {
        Some((end, _)) => format!("{}…", cut::head(text, end)),
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_text_is_shown_without_half_of_an_address() {
        for letters in 80..100 {
            let shown = shortened(&format!("{} ada@example.com, and others", "x".repeat(letters)));
            let has_half = shown.contains("ada") && !shown.contains("ada@example.com");
            assert!(shown.contains("xxx") && !has_half, "{shown}");
        }
    }
}
