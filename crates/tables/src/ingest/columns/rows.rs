//! Splits rows of nested data into columns. Objects in objects become columns with dotted names; lists,
//! and objects that are not split, become JSON text.

use std::{
    collections::{HashMap, HashSet},
    sync::Arc,
};

use super::{
    column::{Cell, Column},
    names,
    nested::{key_text, list_json, object_json},
};
use crate::{
    flaw::{Flaw, Result},
    ingest::memory_budget::Budget,
    reader::{Mark, Reader, Token},
};

/// The most columns that objects are split into.
pub(in crate::ingest) const MAX_COLUMNS: usize = 1_000;

/// The most columns. More than any table has: then keys are data.
const TOO_MANY_COLUMNS: usize = 10_000;

/// How many levels of nested objects are split.
const MAX_LEVELS: usize = 16;

/// The objects that are not split but kept as JSON text, by their dotted names.
#[derive(Clone, Debug, Default)]
pub(in crate::ingest) struct Kept {
    pub(in crate::ingest) all: bool,
    /// Objects among which there are other values.
    pub(in crate::ingest) mixed: HashSet<String>,
    /// Objects with too many different keys.
    pub(in crate::ingest) wide: HashSet<String>,
}

impl Kept {
    fn contains(&self, name: &str) -> bool {
        self.all || self.mixed.contains(name) || self.wide.contains(name)
    }
}

pub(in crate::ingest) struct Rows {
    columns: Vec<(String, Column)>,
    /// The index of each column, by name.
    places: HashMap<String, usize>,
    /// The kinds of objects; the first are the rows themselves.
    objects: Vec<Object>,
    row: usize,
    bytes: usize,
    /// Whether objects were nested too deep to be split.
    deep: bool,
    kept: Arc<Kept>,
    budget: Budget,
    scratch: Vec<u8>,
}

/// A kind of object: the rows, or what a field of another object holds.
struct Object {
    name: String,
    level: usize,
    fields: Vec<Field>,
    by_key: HashMap<Box<[u8]>, usize>,
    /// The last row that had such an object.
    seen: Option<usize>,
}

struct Field {
    key: Box<[u8]>,
    /// The reader's mark of the key.
    mark: Option<Mark>,
    /// The dotted name, with those of the objects around it.
    name: String,
    column: Option<usize>,
    object: Option<usize>,
}

/// The object that stands for the rows themselves.
pub(in crate::ingest) const ROOT: usize = 0;

/// Columns that have been filled.
pub(in crate::ingest) struct Filled {
    pub(in crate::ingest) columns: Vec<(String, Column)>,
    pub(in crate::ingest) rows: usize,
    /// The names of objects that have been taken apart.
    pub(in crate::ingest) objects: Vec<String>,
    /// Whether objects were nested too deep to be split.
    pub(in crate::ingest) deep: bool,
    /// Whether this is the first row of a list of lists, which may be names of columns.
    pub(in crate::ingest) header: bool,
}

impl Rows {
    pub(in crate::ingest) fn new(kept: &Arc<Kept>, budget: Budget) -> Self {
        Self {
            columns: Vec::new(),
            places: HashMap::new(),
            objects: vec![Object::new(String::new(), 0)],
            row: 0,
            bytes: 0,
            deep: false,
            kept: Arc::clone(kept),
            budget,
            scratch: Vec::new(),
        }
    }

    /// Returns how many rows are complete.
    pub(in crate::ingest) fn len(&self) -> usize {
        self.row
    }

    /// Returns about how much memory the rows take.
    pub(in crate::ingest) fn bytes(&self) -> usize {
        self.bytes
    }

    pub(in crate::ingest) fn budget(&mut self) -> &mut Budget {
        &mut self.budget
    }

    pub(in crate::ingest) fn end_row(&mut self) -> Result<()> {
        self.go_to(self.row + 1);
        self.budget.spend(1)
    }

    pub(in crate::ingest) fn go_to(&mut self, row: usize) {
        self.row = row;
    }

    /// Reads the rest of an object into columns.
    pub(in crate::ingest) fn object<R: Reader>(
        &mut self,
        reader: &mut R,
        object: usize,
    ) -> Result<()> {
        self.budget.spend(1)?;
        if self.objects[object].seen.replace(self.row) == Some(self.row) {
            self.clear(object)?;
        }
        // Most objects have the same keys in the same order as the one before.
        let mut expected = 0;
        while let Some(field) = self.next_field(reader, object, expected)? {
            expected = field + 1;
            self.value(reader, object, field)?;
        }
        Ok(())
    }

    #[inline]
    fn next_field<R: Reader>(
        &mut self,
        reader: &mut R,
        object: usize,
        expected: usize,
    ) -> Result<Option<usize>> {
        let mark = self.objects[object].fields.get(expected).and_then(|field| field.mark);
        if mark.is_some_and(|mark| reader.is_marked(mark)) {
            return Ok(Some(expected));
        }
        let Some(key) = reader.key()? else { return Ok(None) };
        let field = self.field(object, key, expected);
        self.objects[object].fields[field].mark = reader.mark();
        Ok(Some(field))
    }

    /// Returns the field of an object with this key, which is probably the `expected` one.
    #[inline]
    pub(in crate::ingest) fn field(&mut self, object: usize, key: &[u8], expected: usize) -> usize {
        match self.objects[object].fields.get(expected) {
            Some(field) if *field.key == *key => expected,
            _ => self.objects[object].find(key),
        }
    }

    /// Reads a value into a field of the current row.
    pub(in crate::ingest) fn value<R: Reader>(
        &mut self,
        reader: &mut R,
        object: usize,
        field: usize,
    ) -> Result<()> {
        let token = reader.value()?;
        match Cell::of(token) {
            Some(Cell::Null) => self.null(object, field),
            Some(cell) => {
                let column = match self.objects[object].fields[field].column {
                    Some(column) => column,
                    None => self.add_column(object, field)?,
                };
                self.bytes += cell.size();
                self.budget.spend(cell.size())?;
                set(&mut self.columns[column].1, self.row, cell, &mut self.budget)
            }
            None if token == Token::List => self.json(reader, object, field, false),
            None if self.is_taken_apart(object, field) => {
                let inner = self.inner(object, field);
                self.object(reader, inner)?;
                if self.objects[inner].fields.is_empty() {
                    self.null(object, field)
                } else {
                    Ok(())
                }
            }
            None => self.json(reader, object, field, true),
        }
    }

    /// Sets a field of the current row to null, and with it all columns of an object that the field may
    /// hold.
    pub(in crate::ingest) fn null(&mut self, object: usize, field: usize) -> Result<()> {
        self.budget.spend(1)?;
        let Field { column, object: inner, .. } = self.objects[object].fields[field];
        if let Some(inner) = inner
            && self.objects[inner].seen == Some(self.row)
        {
            self.clear(inner)?;
        }
        let column = match column {
            Some(column) => column,
            None => self.add_column(object, field)?,
        };
        // Rows without a value are filled up when the next value comes.
        let column = &mut self.columns[column].1;
        if column.len() > self.row {
            column.reach(self.row);
        }
        Ok(())
    }

    fn json<R: Reader>(
        &mut self,
        reader: &mut R,
        object: usize,
        field: usize,
        is_object: bool,
    ) -> Result<()> {
        let column = match self.objects[object].fields[field].column {
            Some(column) => column,
            None => self.add_column(object, field)?,
        };
        let mut json = std::mem::take(&mut self.scratch);
        json.clear();
        if is_object {
            object_json(reader, &mut self.budget, &mut json, 0)?;
        } else {
            list_json(reader, &mut self.budget, &mut json, 0)?;
        }
        self.bytes += json.len();
        set(&mut self.columns[column].1, self.row, Cell::Json(&json), &mut self.budget)?;
        self.scratch = json;
        Ok(())
    }

    fn is_taken_apart(&mut self, object: usize, field: usize) -> bool {
        let outer = &self.objects[object];
        if self.kept.contains(&outer.fields[field].name) {
            return false;
        }
        let shallow = outer.level < MAX_LEVELS;
        self.deep |= !shallow;
        shallow
    }

    /// Returns the kind of object that a field holds.
    fn inner(&mut self, object: usize, field: usize) -> usize {
        let next = self.objects.len();
        let outer = &mut self.objects[object];
        let field = &mut outer.fields[field];
        if let Some(inner) = field.object {
            return inner;
        }
        field.object = Some(next);
        let inner = Object::new(field.name.clone(), outer.level + 1);
        self.objects.push(inner);
        next
    }

    #[cold]
    fn add_column(&mut self, object: usize, field: usize) -> Result<usize> {
        let next = self.columns.len();
        let name = &self.objects[object].fields[field].name;
        let column = *self.places.entry(name.clone()).or_insert(next);
        if column == next {
            self.budget.spend(256 + name.len())?;
            self.columns.push((name.clone(), Column::new()));
        }
        self.objects[object].fields[field].column = Some(column);
        if next > MAX_COLUMNS && self.objects.len() > 1 {
            let names = self.columns.iter().map(|(name, _)| name.as_str());
            return Err(Flaw::Wide(widest(self.object_names(), names)));
        }
        if next > TOO_MANY_COLUMNS {
            let reason = format!("there are more than {TOO_MANY_COLUMNS} different keys");
            return Err(Flaw::data(reason));
        }
        Ok(column)
    }

    /// Clears the values of an object in the current row, because the same key has come again.
    fn clear(&mut self, object: usize) -> Result<()> {
        self.budget.spend(self.objects[object].fields.len())?;
        for field in 0..self.objects[object].fields.len() {
            let Field { column, object: inner, .. } = self.objects[object].fields[field];
            if let Some(column) = column {
                let column = &mut self.columns[column].1;
                column.reach(self.row.min(column.len()));
            }
            if let Some(inner) = inner {
                self.clear(inner)?;
            }
        }
        Ok(())
    }

    fn object_names(&self) -> impl Iterator<Item = &str> {
        self.objects[1..].iter().map(|object| object.name.as_str())
    }

    /// Returns the columns that were read, each with a value for each row.
    pub(in crate::ingest) fn finish(mut self) -> Result<Filled> {
        for (_, column) in &mut self.columns {
            let missing = self.row.saturating_sub(column.len());
            self.budget.spend(missing.saturating_mul(8))?;
            column.reach(self.row);
        }
        let objects = self.objects.drain(1..).filter(|object| !object.fields.is_empty());
        let objects = objects.map(|object| object.name).collect();
        Ok(Filled {
            columns: self.columns,
            rows: self.row,
            objects,
            deep: self.deep,
            header: false,
        })
    }
}

/// Sets a value, and charges the budget for rows before it that become null.
#[inline]
fn set(column: &mut Column, row: usize, cell: Cell<'_>, budget: &mut Budget) -> Result<()> {
    if row > column.len() {
        budget.spend((row - column.len()).saturating_mul(8))?;
    }
    column.set(row, cell)
}

impl Object {
    fn new(name: String, level: usize) -> Self {
        Self { name, level, fields: Vec::new(), by_key: HashMap::new(), seen: None }
    }

    fn find(&mut self, key: &[u8]) -> usize {
        if let Some(field) = self.by_key.get(key) {
            return *field;
        }
        let text = names::of_key(key_text(key));
        let name = if self.level == 0 { text } else { format!("{}.{text}", self.name) };
        let field = self.fields.len();
        self.fields.push(Field { key: key.into(), mark: None, name, column: None, object: None });
        self.by_key.insert(key.into(), field);
        field
    }
}

/// Returns the objects with the most columns, as many as have to be kept as JSON to leave few enough
/// columns.
pub(in crate::ingest) fn widest<'a>(
    objects: impl Iterator<Item = &'a str>,
    columns: impl Iterator<Item = &'a str> + Clone,
) -> Vec<String> {
    let mut sizes: Vec<(usize, &str)> = objects
        .filter(|name| !name.contains('.'))
        .map(|name| (columns.clone().filter(|column| is_within(column, name)).count(), name))
        .collect();
    sizes.sort_by_key(|(size, name)| (std::cmp::Reverse(*size), *name));
    let mut left = columns.count();
    let mut chosen = Vec::new();
    for (size, name) in sizes {
        if left <= MAX_COLUMNS / 2 && !chosen.is_empty() {
            break;
        }
        left = left.saturating_sub(size);
        chosen.push(name.to_owned());
    }
    chosen
}

/// Tells whether a column belongs to an object.
pub(in crate::ingest) fn is_within(column: &str, object: &str) -> bool {
    column.strip_prefix(object).is_some_and(|rest| rest.starts_with('.'))
}
