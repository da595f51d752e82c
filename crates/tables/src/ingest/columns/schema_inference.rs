//! Infers the columns of a whole table from the pieces that it was read in.

use std::{
    collections::{HashMap, HashSet},
    sync::Arc,
};

use datafusion::arrow::{
    array::{RecordBatch, RecordBatchOptions, new_null_array},
    datatypes::{Field, Schema, SchemaRef},
};

use super::{
    column_stats::{Facts, Type},
    names::{self, Notes},
    rows::{Filled, Kept, MAX_COLUMNS, widest},
};
use crate::flaw::{Flaw, Result};

/// The summary of a piece, without its values.
#[derive(Default)]
pub(in crate::ingest) struct LayoutSummary {
    pub(in crate::ingest) rows: usize,
    columns: Vec<(String, Facts)>,
    objects: Vec<String>,
    deep: bool,
    /// The first row of a list of lists, if it has nothing but text.
    header: Option<Vec<String>>,
}

/// The columns of a table.
#[derive(Debug)]
pub(in crate::ingest) struct Layout {
    pub(in crate::ingest) schema: SchemaRef,
    /// The name that a column had in the pieces, and its type.
    columns: Vec<(String, Type)>,
    /// Whether the first piece has the names of the columns and not data.
    pub(in crate::ingest) header: bool,
}

impl Filled {
    pub(in crate::ingest) fn summary(&self) -> LayoutSummary {
        let columns = self.columns.iter().map(|(name, column)| (name.clone(), column.facts()));
        let texts = || self.columns.iter().map(|(_, column)| column.text(0)).collect();
        LayoutSummary {
            rows: self.rows,
            columns: columns.collect(),
            objects: self.objects.clone(),
            deep: self.deep,
            header: if self.header { texts() } else { None },
        }
    }

    pub(in crate::ingest) fn into_batch(self, layout: &Layout) -> Result<RecordBatch> {
        let rows = self.rows;
        let mut filled: HashMap<String, _> = self.columns.into_iter().collect();
        let arrays = layout.columns.iter().map(|(name, kind)| match filled.remove(name) {
            Some(column) => column.into_array(*kind),
            None => Ok(new_null_array(&kind.data_type(), rows)),
        });
        let arrays = arrays.collect::<Result<Vec<_>>>()?;
        if filled.values().any(|column| !column.facts().is_empty()) {
            return Err(Flaw::changed());
        }
        let options = RecordBatchOptions::new().with_row_count(Some(rows));
        Ok(RecordBatch::try_new_with_options(Arc::clone(&layout.schema), arrays, &options)?)
    }
}

/// Decides the columns of a table. Fails with the objects that cannot be split after all.
pub(in crate::ingest) fn settle(
    pieces: &[LayoutSummary],
    kept: &Kept,
    notes: &mut Notes,
) -> Result<Layout> {
    let header = header(pieces, notes);
    let mut columns = merged(pieces, header.is_some());
    let objects: HashSet<&str> =
        pieces.iter().flat_map(|piece| &piece.objects).map(String::as_str).collect();
    refuse_objects(&objects, &columns)?;
    // A column of nulls only, where other rows have an object: the object's columns replace it.
    columns.retain(|(name, facts)| !(facts.is_empty() && objects.contains(name.as_str())));

    if kept.all {
        notes.general("objects with too many different keys: all objects kept as JSON text");
    }
    if pieces.iter().any(|piece| piece.deep) {
        notes.general("objects nested more than 16 levels deep: kept as JSON text");
    }
    let header_names = header.as_deref().unwrap_or_default();
    let shown = columns.iter().map(|(name, _)| names::in_header(name, header_names)).collect();
    let shown = names::apart(shown, notes);
    let mut fields = Vec::with_capacity(columns.len());
    let mut types = Vec::with_capacity(columns.len());
    for ((name, facts), shown) in columns.into_iter().zip(shown) {
        let (kind, mut note) = facts.decide();
        if kept.wide.contains(&name) && kind == Type::Json && !kept.all {
            note = Some("objects with too many different keys: kept as JSON text".to_owned());
        }
        if let Some(note) = note {
            notes.column(&shown, note);
        }
        fields.push(Field::new(shown, kind.data_type(), true));
        types.push((name, kind));
    }
    let schema = Arc::new(Schema::new(fields));
    Ok(Layout { schema, columns: types, header: header.is_some() })
}

/// Merges the columns of all pieces, in the order in which they first appear. A header has columns but
/// no values.
fn merged(pieces: &[LayoutSummary], header: bool) -> Vec<(String, Facts)> {
    let mut columns: Vec<(String, Facts)> = Vec::new();
    let mut places: HashMap<&str, usize> = HashMap::new();
    for (index, piece) in pieces.iter().enumerate() {
        for (name, facts) in &piece.columns {
            let place = *places.entry(name).or_insert(columns.len());
            if place == columns.len() {
                columns.push((name.clone(), Facts::default()));
            }
            if !(header && index == 0) {
                columns[place].1.add(facts);
            }
        }
    }
    columns
}

fn refuse_objects(objects: &HashSet<&str>, columns: &[(String, Facts)]) -> Result<()> {
    let is_mixed =
        |(name, facts): &&(String, Facts)| !facts.is_empty() && objects.contains(name.as_str());
    let mixed: Vec<String> =
        columns.iter().filter(is_mixed).map(|(name, _)| name.clone()).collect();
    if !mixed.is_empty() {
        return Err(Flaw::Mixed(mixed));
    }
    if columns.len() > MAX_COLUMNS && !objects.is_empty() {
        let names = columns.iter().map(|(name, _)| name.as_str());
        return Err(Flaw::Wide(widest(objects.iter().copied(), names)));
    }
    Ok(())
}

/// Returns the names of the columns, if the first row of a list of lists has only text and other rows do
/// not.
fn header(pieces: &[LayoutSummary], notes: &mut Notes) -> Option<Vec<String>> {
    let (first, rest) = pieces.split_first()?;
    let texts = first.header.as_ref().filter(|texts| !texts.is_empty())?;
    let columns = rest.iter().flat_map(|piece| &piece.columns);
    let has_data = columns.map(|(_, facts)| facts).any(Facts::is_not_text);
    has_data.then(|| names::unique(texts.clone(), notes))
}
