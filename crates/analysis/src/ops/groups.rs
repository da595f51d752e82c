//! Groups rows by the values of some of their columns.

use std::collections::HashMap;

use datafusion::arrow::{
    array::ArrayRef,
    datatypes::DataType,
    row::{OwnedRow, RowConverter, SortField},
    util::display::{ArrayFormatter, FormatOptions},
};

use crate::error::{AnalysisError, Result};

/// The groups that were found so far, numbered in order. Without columns there is a single one.
pub(crate) struct Groups {
    converter: Option<RowConverter>,
    numbers: HashMap<Box<[u8]>, usize>,
    rows: Vec<OwnedRow>,
}

impl Groups {
    pub(crate) fn new(types: Vec<DataType>) -> Result<Self> {
        let fields: Vec<SortField> = types.into_iter().map(SortField::new).collect();
        let converter = if fields.is_empty() { None } else { Some(converter(fields)?) };
        Ok(Self { converter, numbers: HashMap::new(), rows: Vec::new() })
    }

    pub(crate) fn len(&self) -> usize {
        if self.converter.is_some() { self.rows.len() } else { 1 }
    }

    /// Returns the number of each row's group.
    pub(crate) fn of(&mut self, columns: &[ArrayRef], rows: usize) -> Result<Vec<usize>> {
        let Some(converter) = &self.converter else { return Ok(vec![0; rows]) };
        let encoded = converter.convert_columns(columns).map_err(internal)?;
        let mut numbers = Vec::with_capacity(rows);
        for row in encoded.iter() {
            let bytes: &[u8] = row.as_ref();
            let number = match self.numbers.get(bytes) {
                Some(number) => *number,
                None => {
                    self.numbers.insert(bytes.into(), self.rows.len());
                    self.rows.push(row.owned());
                    self.rows.len() - 1
                }
            };
            numbers.push(number);
        }
        Ok(numbers)
    }

    /// Returns the numbers of the groups in the order of their values.
    pub(crate) fn sorted(&self) -> Vec<usize> {
        let mut order: Vec<usize> = (0..self.len()).collect();
        if self.converter.is_some() {
            order.sort_by(|&a, &b| self.rows[a].cmp(&self.rows[b]));
        }
        order
    }

    /// Returns the columns that were grouped by, with a row for each of these groups.
    pub(crate) fn columns(&self, groups: &[usize]) -> Result<Vec<ArrayRef>> {
        let Some(converter) = &self.converter else { return Ok(Vec::new()) };
        converter.convert_rows(groups.iter().map(|&group| self.rows[group].row())).map_err(internal)
    }

    /// Returns the values of the first column as text, by group; none for null.
    pub(crate) fn labels(&self) -> Result<Vec<Option<String>>> {
        let groups: Vec<usize> = (0..self.len()).collect();
        match self.columns(&groups)?.first() {
            Some(column) => texts(column),
            None => Ok(vec![None; groups.len()]),
        }
    }
}

fn texts(column: &ArrayRef) -> Result<Vec<Option<String>>> {
    let options = FormatOptions::default();
    let formatter = ArrayFormatter::try_new(column, &options).map_err(internal)?;
    let text = |row| column.is_valid(row).then(|| formatter.value(row).to_string());
    Ok((0..column.len()).map(text).collect())
}

fn converter(fields: Vec<SortField>) -> Result<RowConverter> {
    RowConverter::new(fields).map_err(|error| AnalysisError::parameter("group_by", error))
}

fn internal(error: impl std::fmt::Display) -> AnalysisError {
    AnalysisError::Internal(error.to_string())
}
