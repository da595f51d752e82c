//! Reads rows from the shapes of documents, whatever format they are written in: a list of objects, of
//! lists or of plain values; one object; an object of lists.

use std::sync::Arc;

use super::{
    columns::{
        nested::skip,
        rows::{Filled, Kept, ROOT, Rows},
    },
    memory_budget::Budget,
};
use crate::{
    flaw::{Flaw, Result},
    reader::{Form, Reader, Token},
};

/// The shape of the elements of a list, by the first that is not null.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Shape {
    Objects,
    Lists,
    Values,
}

impl Shape {
    pub(super) fn of(form: Form) -> Option<Self> {
        match form {
            Form::Null => None,
            Form::Plain => Some(Self::Values),
            Form::List => Some(Self::Lists),
            Form::Object => Some(Self::Objects),
        }
    }
}

/// The name of the column of plain values.
const VALUE: &[u8] = b"value";

/// When a piece is complete, in rows and in bytes.
const PIECE_ROWS: usize = 1 << 16;
const PIECE_BYTES: usize = 1 << 24;

/// The elements of a list while they become rows. Rows are collected in pieces, each with its own
/// columns.
pub(super) struct Elements {
    kept: Arc<Kept>,
    shape: Option<Shape>,
    rows: Rows,
    /// The field of each place in a list of lists.
    places: Vec<usize>,
    /// Whether the next row is the first of all: in a list of lists it may be names of columns,
    /// and is a piece of its own.
    first: bool,
    done: Vec<Filled>,
}

impl Elements {
    pub(super) fn new(kept: &Arc<Kept>, budget: Budget, shape: Option<Shape>, first: bool) -> Self {
        let rows = Rows::new(kept, budget);
        let (places, done) = (Vec::new(), Vec::new());
        Self { kept: Arc::clone(kept), shape, rows, places, first, done }
    }

    /// Reads the next element as a row.
    pub(super) fn read<R: Reader>(&mut self, reader: &mut R) -> Result<()> {
        let form = reader.form()?;
        self.shape = self.shape.or(Shape::of(form));
        match (form, self.shape) {
            (Form::Null, None | Some(Shape::Objects | Shape::Lists)) => {
                reader.value()?;
            }
            (Form::Object, Some(Shape::Objects | Shape::Lists)) => {
                reader.value()?;
                self.rows.object(reader, ROOT)?;
            }
            (Form::List, Some(Shape::Lists)) => {
                reader.value()?;
                self.list(reader)?;
            }
            _ => {
                let field = self.rows.field(ROOT, VALUE, 0);
                self.rows.value(reader, ROOT, field)?;
            }
        }
        self.rows.end_row()?;
        let header = std::mem::take(&mut self.first) && self.shape == Some(Shape::Lists);
        if header {
            self.end_piece()?;
            self.done.iter_mut().for_each(|piece| piece.header = true);
        } else if self.rows.len() >= PIECE_ROWS || self.rows.bytes() >= PIECE_BYTES {
            self.end_piece()?;
        }
        Ok(())
    }

    fn list<R: Reader>(&mut self, reader: &mut R) -> Result<()> {
        let mut place = 0;
        while reader.element()? {
            if place == self.places.len() {
                self.places.push(self.rows.field(ROOT, format!("c{place}").as_bytes(), place));
            }
            self.rows.value(reader, ROOT, self.places[place])?;
            place += 1;
        }
        Ok(())
    }

    fn end_piece(&mut self) -> Result<()> {
        let budget = Budget::new(self.rows.budget().allowance());
        let rows = std::mem::replace(&mut self.rows, Rows::new(&self.kept, budget));
        self.places.clear();
        self.done.push(rows.finish()?);
        Ok(())
    }

    pub(super) fn finish(mut self) -> Result<Vec<Filled>> {
        if self.rows.len() > 0 {
            if self.shape.is_none() {
                let field = self.rows.field(ROOT, VALUE, 0);
                self.rows.null(ROOT, field)?;
            }
            self.end_piece()?;
        }
        Ok(self.done)
    }
}

/// Reads the rows of a document. An object is read twice, first for its shape, so that `again` makes a
/// second reader.
pub(super) fn read<R: Reader>(
    reader: &mut R,
    again: impl FnOnce() -> R,
    kept: &Arc<Kept>,
    mut budget: Budget,
) -> Result<Vec<Filled>> {
    match reader.form()? {
        Form::List => list(reader, Elements::new(kept, budget, None, true)),
        Form::Object => match length_of_lists(&mut again(), &mut budget)? {
            Some(length) => columns(reader, Rows::new(kept, budget), length),
            None => {
                let mut elements = Elements::new(kept, budget, Some(Shape::Objects), false);
                elements.read(reader)?;
                elements.finish()
            }
        },
        Form::Null | Form::Plain => {
            reader.value()?;
            Err(Flaw::data(
                "this is a single value; rows are needed: a list of objects, an object of lists \
                 of the same length, a list of lists or a list of values",
            ))
        }
    }
}

/// Reads the rows of a list, or of a part of it.
pub(super) fn list<R: Reader>(reader: &mut R, mut elements: Elements) -> Result<Vec<Filled>> {
    if reader.value()? != Token::List {
        return Err(Flaw::data("a part of a list is none"));
    }
    while reader.element()? {
        elements.read(reader)?;
    }
    elements.finish()
}

/// Returns the length of the lists in an object, if it has nothing else and they are equally long. A
/// single empty list could be a row as well and gives none; several are columns without rows.
fn length_of_lists<R: Reader>(reader: &mut R, budget: &mut Budget) -> Result<Option<usize>> {
    let (mut common, mut lists) = (None, 0);
    reader.value()?;
    while reader.key()?.is_some() {
        lists += 1;
        if reader.form()? != Form::List {
            return Ok(None);
        }
        reader.value()?;
        let mut length = 0;
        while reader.element()? {
            skip(reader, budget, 0)?;
            length += 1;
        }
        if *common.get_or_insert(length) != length {
            return Ok(None);
        }
    }
    Ok(common.filter(|length| *length > 0 || lists > 1))
}

/// Reads an object of lists, each as a column.
fn columns<R: Reader>(reader: &mut R, mut rows: Rows, length: usize) -> Result<Vec<Filled>> {
    reader.value()?;
    let mut expected = 0;
    while let Some(key) = reader.key()? {
        let field = rows.field(ROOT, key, expected);
        expected = field + 1;
        if reader.value()? != Token::List {
            return Err(Flaw::changed());
        }
        rows.go_to(0);
        if length == 0 {
            rows.null(ROOT, field)?;
        }
        while reader.element()? {
            rows.value(reader, ROOT, field)?;
            rows.end_row()?;
        }
    }
    rows.go_to(length);
    Ok(vec![rows.finish()?])
}
