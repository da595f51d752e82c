//! Loads JSON text: whole documents, and files with one value in each line.

use std::{ops::Range, sync::Arc};

use serde_json::Value;

use super::{
    blocks::{
        Block, Blocks, REPLACED, Source, byte_order_mark, each_block, last_line_end, located,
        text_of,
    },
    columns::{
        names::Notes,
        nested::skip,
        rows::{Filled, Kept},
    },
    document::{self, Elements, Shape},
    json::JsonReader,
    memory_budget::Budget,
    task::{Made, MadeRows, Piece, Task, layout_of, made_of},
    value::ValueReader,
};
use crate::{
    flaw::{Flaw, Result},
    reader::Reader,
};

/// How much of a file is read to find out what it contains.
const GLANCE: u64 = 1 << 20;

const EMPTY: &str = "there is nothing in it";

pub(super) fn load_value(task: &Task, value: &Value) -> Result<Made> {
    task.in_memory(|kept| {
        let mut reader = ValueReader::new(value);
        document::read(&mut reader, || ValueReader::new(value), kept, task.budget())
    })
}

pub(super) fn load_text(task: &Task, text: &str) -> Result<Made> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    if text.trim_ascii().is_empty() {
        return Err(Flaw::data(EMPTY));
    }
    let read = |kept: &Arc<Kept>| {
        if is_lines(text, &mut task.budget()) {
            return read_lines(text, kept, task.budget(), None, true);
        }
        let mut reader = JsonReader::new(text);
        let pieces = document::read(&mut reader, || JsonReader::new(text), kept, task.budget())?;
        if reader.is_at_end() { Ok(pieces) } else { Err(reader.trailing()) }
    };
    task.in_memory(read).map_err(|flaw| flaw.located(text, 0))
}

/// Loads a JSON file: a whole document, or one value in each line, which some files have despite their
/// extension.
pub(super) fn load_file(task: &Task, source: &Source) -> Result<Made> {
    let beginning = source.read(0..source.length.min(GLANCE))?;
    let mark = byte_order_mark(&beginning)?;
    let text = String::from_utf8_lossy(&beginning[mark..]);
    if is_lines(&text, &mut task.budget()) {
        return load_lines(task, source);
    }
    // The whole text is in memory beside the table.
    let size = usize::try_from(source.length).unwrap_or(usize::MAX);
    let text_memory = task.allowance.beside();
    text_memory.take(size)?;
    let bytes = source.read(0..source.length)?;
    let (text, replaced) = text_of(bytes.get(mark..).unwrap_or_default());
    let mut made = load_text(task, &text)?;
    drop(text_memory);
    if replaced {
        made.notes.push(REPLACED.to_owned());
    }
    Ok(made)
}

/// Tells whether the first line is a complete value and more lines follow.
fn is_lines(text: &str, budget: &mut Budget) -> bool {
    let Some((line, _)) = text.trim_ascii().split_once('\n') else { return false };
    let mut reader = JsonReader::new(line);
    skip(&mut reader, budget, 0).is_ok() && reader.is_at_end()
}

/// Loads a file with one value in each line. A large file is only scanned here, and read again for each
/// query.
pub(super) fn load_lines(task: &Task, source: &Source) -> Result<Made> {
    let beginning = source.read(0..source.length.min(GLANCE))?;
    let start = byte_order_mark(&beginning)?;
    let shape = shape(&String::from_utf8_lossy(&beginning[start..]));
    if beginning[start..].trim_ascii().is_empty() && source.length <= GLANCE {
        return Err(Flaw::data(EMPTY));
    }
    let in_memory = source.length <= task.max_in_memory;
    task.retrying(|kept| {
        let read = |block: &Block| {
            let (text, replaced) = text_of(&block.bytes);
            let budget = if in_memory { task.budget() } else { task.brief_budget() };
            let filled = read_lines(&text, kept, budget, shape, block.is_first)
                .map_err(|flaw| located(flaw, &text, source, block.offset))?;
            let mut pieces: Vec<Piece> = filled.into_iter().map(Piece::new).collect();
            if !in_memory {
                pieces.iter_mut().for_each(|piece| piece.filled = None);
            }
            Ok((block.range(), pieces, replaced))
        };
        let blocks = Blocks::new(task, source, start as u64, (last_line_end, 0));
        let done = each_block(blocks, task.threads, read)?;
        let mut notes = Notes::default();
        if done.iter().any(|(_, _, replaced)| *replaced) {
            notes.general(REPLACED);
        }
        let ranges = done.iter().map(|(range, ..)| range.clone()).collect();
        let pieces = done.into_iter().flat_map(|(_, pieces, _)| pieces).collect();
        if in_memory {
            made_of(pieces, kept, notes)
        } else {
            streamed(source, ranges, pieces, kept, shape, notes)
        }
    })
}

fn streamed(
    source: &Source,
    ranges: Vec<Range<u64>>,
    mut pieces: Vec<Piece>,
    kept: &Arc<Kept>,
    shape: Option<Shape>,
    mut notes: Notes,
) -> Result<Made> {
    let counts: Vec<usize> = pieces.iter().map(|piece| piece.summary.rows).collect();
    let layout = layout_of(&mut pieces, kept, &mut notes)?;
    let count = counts.iter().skip(usize::from(layout.header)).sum();
    let schema = Arc::clone(&layout.schema);
    let start = ranges.first().map_or(0, |range| range.start);
    let kept = Arc::clone(kept);
    let parse = move |bytes: &[u8], range: Range<u64>, budget: Budget| {
        let first = range.start == start;
        let (text, _) = text_of(bytes);
        let filled =
            read_lines(&text, &kept, budget, shape, first).map_err(Flaw::on_second_look)?;
        let header = usize::from(first && layout.header);
        filled.into_iter().skip(header).map(|filled| filled.into_batch(&layout)).collect()
    };
    let rows =
        MadeRows::File { source: source.clone(), ranges, rows: count, parse: Arc::new(parse) };
    Ok(Made { schema, rows, notes: notes.finish() })
}

fn read_lines(
    text: &str,
    kept: &Arc<Kept>,
    budget: Budget,
    shape: Option<Shape>,
    first: bool,
) -> Result<Vec<Filled>> {
    let mut reader = JsonReader::of_lines(text);
    let mut elements = Elements::new(kept, budget, shape, first);
    while reader.next_line()? {
        elements.read(&mut reader)?;
    }
    elements.finish()
}

/// Returns the shape of the lines' values, by the first that is not null.
fn shape(text: &str) -> Option<Shape> {
    let mut reader = JsonReader::of_lines(text);
    while reader.next_line().ok()? {
        match Shape::of(reader.form().ok()?) {
            None => drop(reader.value().ok()?),
            shape => return shape,
        }
    }
    None
}
