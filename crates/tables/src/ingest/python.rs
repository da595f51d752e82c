//! Loads Python's values as `marshal` writes them.

use bytes::Bytes;

use super::{
    document::{self, Elements, Shape},
    parallel::each,
    task::{Made, Task},
};
use crate::{
    flaw::Result,
    marshal::MarshalReader,
    reader::{Reader, Token},
};

pub(super) fn load(task: &Task, parts: &[Bytes]) -> Result<Made> {
    task.in_memory(|kept| {
        if let [whole] = parts {
            let open = || MarshalReader::new(whole);
            return document::read(&mut open(), open, kept, task.budget());
        }
        let shape = shape(parts)?;
        let read = |(index, part): (usize, &Bytes)| {
            let elements = Elements::new(kept, task.budget(), shape, index == 0);
            document::list(&mut MarshalReader::new(part), elements)
        };
        let read = each(parts.iter().enumerate().map(Ok), task.threads.min(parts.len()), read)?;
        Ok(read.into_iter().flatten().collect())
    })
}

/// Returns the shape of the elements of a list that comes in parts.
fn shape(parts: &[Bytes]) -> Result<Option<Shape>> {
    for part in parts {
        let mut reader = MarshalReader::new(part);
        if reader.value()? != Token::List {
            continue;
        }
        while reader.element()? {
            match Shape::of(reader.form()?) {
                None => drop(reader.value()?),
                shape => return Ok(shape),
            }
        }
    }
    Ok(None)
}
