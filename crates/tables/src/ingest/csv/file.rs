//! Loads a file of separated values in two passes: the first finds the types, the second reads the rows.

use std::{ops::Range, sync::Arc};

use datafusion::arrow::{
    array::{
        ArrayRef, BooleanBuilder, Float64Builder, Int64Builder, RecordBatch, RecordBatchOptions,
        StringBuilder,
    },
    datatypes::{Field, Schema, SchemaRef},
};

use super::{
    guess::Guess,
    header,
    records::{Records, last_record_end},
};
use crate::{
    flaw::{Flaw, Result},
    ingest::{
        blocks::{Block, Blocks, REPLACED, Source, byte_order_mark, each_block, located, text_of},
        columns::{
            column_stats::{Type, count},
            names::{self, Notes},
            number::{self, Number},
        },
        memory_budget::Budget,
        task::{Made, MadeRows, Task},
    },
};

/// The most columns. More than any real table has, so that a hostile header cannot fill memory.
const TOO_MANY_COLUMNS: usize = 10_000;

/// The statistics of a part of a file.
#[derive(Default)]
struct CsvFacts {
    rows: usize,
    guesses: Vec<Guess>,
    /// Rows with fewer cells than the header.
    short: usize,
    /// Rows with more cells than the header.
    long: usize,
    replaced: bool,
}

/// The format of a file, known after the first pass.
#[derive(Debug)]
struct Format {
    delimiter: u8,
    schema: SchemaRef,
    types: Vec<Type>,
}

pub(in crate::ingest) fn load(task: &Task, source: &Source, delimiter: Option<u8>) -> Result<Made> {
    let head = head(task, source, delimiter)?;
    let (delimiter, width) = (head.delimiter, head.names.len());
    let blocks = || Blocks::new(task, source, head.start, (last_record_end, delimiter));
    let look = |block: &Block| {
        let (text, replaced) = text_of(&block.bytes);
        let learned = learn(&text, delimiter, width, block.is_first)
            .map_err(|flaw| located(flaw, &text, source, block.offset))?;
        Ok((block.range(), CsvFacts { replaced, ..learned }))
    };
    let (ranges, learned): (Vec<_>, Vec<_>) =
        each_block(blocks(), task.threads, look)?.into_iter().unzip();
    let mut notes = Notes::default();
    let format = settle(&head, &learned, &mut notes);
    let (schema, notes) = (Arc::clone(&format.schema), notes.finish());
    let rows = if source.length <= task.max_in_memory {
        let read =
            |block: &Block| read(&text_of(&block.bytes).0, &format, block.is_first, task.budget());
        MadeRows::Memory(each_block(blocks(), task.threads, read)?)
    } else {
        let start = head.start;
        let parse = move |bytes: &[u8], range: Range<u64>, budget: Budget| {
            Ok(vec![read(&text_of(bytes).0, &format, range.start == start, budget)?])
        };
        let rows = learned.iter().map(|part| part.rows).sum();
        MadeRows::File { source: source.clone(), ranges, rows, parse: Arc::new(parse) }
    };
    Ok(Made { schema, rows, notes })
}

/// The beginning of a file.
struct Head {
    delimiter: u8,
    names: Vec<String>,
    /// The offset of the header.
    start: u64,
}

fn head(task: &Task, source: &Source, delimiter: Option<u8>) -> Result<Head> {
    let beginning = source.read(0..source.length.min(1 << 16))?;
    let start = byte_order_mark(&beginning)?;
    let delimiter = delimiter.unwrap_or_else(|| {
        let whole = beginning.len() as u64 == source.length;
        let end = if whole { None } else { last_record_end(&beginning, b',') };
        let end = end.unwrap_or(beginning.len()).max(start);
        header::delimiter(&text_of(&beginning[start..end]).0)
    });
    let start = start as u64;
    let mut blocks = Blocks::new(task, source, start, (last_record_end, delimiter));
    let first = blocks.next().transpose()?.map(|block| block.bytes).unwrap_or_default();
    let (text, _) = text_of(&first);
    let names = header::read(&text, delimiter).map_err(|flaw| flaw.located(&text, 0))?;
    if names.len() > TOO_MANY_COLUMNS {
        return Err(too_many_columns());
    }
    Ok(Head { delimiter, names, start })
}

fn too_many_columns() -> Flaw {
    Flaw::data(format!("there are more than {TOO_MANY_COLUMNS} columns"))
}

/// Collects statistics of every cell.
fn learn(text: &str, delimiter: u8, width: usize, header: bool) -> Result<CsvFacts> {
    let mut records = Records::new(text, delimiter);
    if header {
        records.next(|_, _| Ok(()))?;
    }
    let mut learned = CsvFacts { guesses: vec![Guess::default(); width], ..CsvFacts::default() };
    loop {
        let guesses = &mut learned.guesses;
        let mut long = false;
        let cells = records.next(|place, cell| {
            if let Some(guess) = guesses.get_mut(place) {
                guess.see(cell);
            } else if !cell.is_empty() {
                if place >= TOO_MANY_COLUMNS {
                    return Err(too_many_columns());
                }
                guesses.resize(place + 1, Guess::default());
                guesses[place].see(cell);
            }
            long |= place >= width && !cell.is_empty();
            Ok(())
        })?;
        let Some(cells) = cells else { return Ok(learned) };
        learned.rows += 1;
        learned.short += usize::from(cells < width);
        learned.long += usize::from(long);
    }
}

/// Decides the columns of the whole file.
fn settle(head: &Head, learned: &[CsvFacts], notes: &mut Notes) -> Format {
    let width = learned.iter().map(|part| part.guesses.len()).max().unwrap_or_default();
    let mut names = head.names.clone();
    names.resize(width.max(names.len()), String::new());
    let names = names::unique(names, notes);
    note_rows(learned, notes);
    let mut types = Vec::with_capacity(names.len());
    let mut fields = Vec::with_capacity(names.len());
    for (place, name) in names.into_iter().enumerate() {
        let mut guess = Guess::default();
        learned.iter().filter_map(|part| part.guesses.get(place)).for_each(|part| guess.add(part));
        let (kind, note) = guess.decide();
        if let Some(note) = note {
            notes.column(&name, note);
        }
        fields.push(Field::new(name, kind.data_type(), true));
        types.push(kind);
    }
    Format { delimiter: head.delimiter, schema: Arc::new(Schema::new(fields)), types }
}

fn note_rows(learned: &[CsvFacts], notes: &mut Notes) {
    let short = learned.iter().map(|part| part.short).sum();
    if short > 0 {
        let rows = count(short, "row");
        notes.general(format!("{rows} with fewer cells than the header: the rest is missing"));
    }
    let long = learned.iter().map(|part| part.long).sum();
    if long > 0 {
        let rows = count(long, "row");
        notes.general(format!("{rows} with more cells than the header: in columns of their own"));
    }
    if learned.iter().any(|part| part.replaced) {
        notes.general(REPLACED);
    }
}

/// Reads rows whose types are known.
fn read(text: &str, format: &Format, header: bool, mut budget: Budget) -> Result<RecordBatch> {
    if i32::try_from(text.len()).is_err() {
        return Err(Flaw::data("a row has more than 2 GB of text"));
    }
    let mut records = Records::new(text, format.delimiter);
    if header {
        records.next(|_, _| Ok(())).map_err(Flaw::on_second_look)?;
    }
    let mut columns: Vec<Builder> = format.types.iter().map(|kind| Builder::new(*kind)).collect();
    let mut rows = 0;
    while let Some(cells) = records.next(|place, cell| match columns.get_mut(place) {
        Some(column) => column.append(cell),
        None if cell.is_empty() => Ok(()),
        None => Err(Flaw::changed()),
    })? {
        columns.iter_mut().skip(cells).try_for_each(|column| column.append(""))?;
        rows += 1;
        budget.spend(columns.len() * 8)?;
    }
    budget.spend(text.len())?;
    let arrays = columns.into_iter().map(Builder::finish).collect();
    let options = RecordBatchOptions::new().with_row_count(Some(rows));
    Ok(RecordBatch::try_new_with_options(Arc::clone(&format.schema), arrays, &options)?)
}

enum Builder {
    Bool(BooleanBuilder),
    Int(Int64Builder),
    Float(Float64Builder),
    Text(StringBuilder),
}

impl Builder {
    fn new(kind: Type) -> Self {
        match kind {
            Type::Bool => Self::Bool(BooleanBuilder::new()),
            Type::Int => Self::Int(Int64Builder::new()),
            Type::Float => Self::Float(Float64Builder::new()),
            Type::Text | Type::Json => Self::Text(StringBuilder::new()),
        }
    }

    #[inline]
    fn append(&mut self, cell: &str) -> Result<()> {
        match self {
            Self::Text(builder) if cell.trim_ascii().is_empty() => builder.append_null(),
            Self::Text(builder) => builder.append_value(cell),
            Self::Int(builder) => match number::parse(cell) {
                Some(Number::Int(value)) => builder.append_value(value),
                number => builder.append_option(missing(cell, number.is_none())?),
            },
            Self::Float(builder) => match number::parse(cell) {
                Some(Number::Float(value)) => builder.append_value(value),
                Some(Number::Int(value)) => builder.append_value(value as f64),
                number => builder.append_option(missing(cell, number.is_none())?),
            },
            Self::Bool(builder) => match number::parse_bool(cell) {
                Some(value) => builder.append_value(value),
                None => builder.append_option(missing(cell, true)?),
            },
        }
        Ok(())
    }

    fn finish(self) -> ArrayRef {
        match self {
            Self::Bool(mut builder) => Arc::new(builder.finish()),
            Self::Int(mut builder) => Arc::new(builder.finish()),
            Self::Float(mut builder) => Arc::new(builder.finish()),
            Self::Text(mut builder) => Arc::new(builder.finish()),
        }
    }
}

/// Returns none for a cell that means "missing". Any other cell that does not have the column's type
/// shows that the file has changed.
fn missing<T>(cell: &str, possible: bool) -> Result<Option<T>> {
    if possible && number::is_missing(cell) { Ok(None) } else { Err(Flaw::changed()) }
}
