//! Makes the objects of the snapshot immortal; see `guest/python/_narrows/roster.py`.
//!
//! The reference count is the first word of an object and its type the second. An object is
//! only touched where the roster's type stands in the second word and a count in the first, so
//! that an address which meanwhile belongs to something else is left alone. What is immortal
//! already stays as it is.

use std::{collections::BTreeMap, ops::Range};

use anyhow::{Context, Result, ensure};
use wasmparser::{DataKind, Operator, Parser, Payload};

/// CPython's `_Py_IMMORTAL_INITIAL_REFCNT` where words have 32 bits (3.14, `refcount.h`).
const IMMORTAL: u32 = 5 << 28;
/// No object is referred to more often. An object that was freed has the address of the next
/// free one in place of its count, and that is more.
const HIGHEST: u32 = 500_000;
/// Fewer than this part of the roster, and something is wrong with the way we look.
const LEAST_PART: f64 = 0.9;

/// The initial memory of one core module: where each address is in the file.
#[derive(Default)]
struct Memory {
    /// By the first address of the segment.
    segments: BTreeMap<u32, Range<usize>>,
}

pub(crate) fn make_all(component: &mut [u8], roster: &[u8]) -> Result<()> {
    let words: Vec<u32> =
        roster.as_chunks().0.iter().map(|word| u32::from_le_bytes(*word)).collect();
    let objects = words.as_chunks::<2>().0;
    ensure!(!objects.is_empty(), "the roster of objects is empty");
    let memories = memories(component)?;
    let found = |memory: &Memory| {
        let places = objects.iter().filter_map(|&[address, kind]| {
            let place = memory.place(address)?;
            (word(component, place + 4) == kind).then_some(place)
        });
        places.collect::<Vec<_>>()
    };
    let places = memories.iter().map(found).max_by_key(Vec::len).context("no memory")?;
    let part = places.len() as f64 / objects.len() as f64;
    ensure!(part >= LEAST_PART, "only {part:.2} of the objects are where they should be");
    for place in places {
        if (1..HIGHEST).contains(&word(component, place)) {
            component[place..place + 4].copy_from_slice(&IMMORTAL.to_le_bytes());
        }
    }
    Ok(())
}

fn word(bytes: &[u8], place: usize) -> u32 {
    bytes
        .get(place..place + 4)
        .map_or(0, |word| word.iter().rev().fold(0, |value, byte| value << 8 | u32::from(*byte)))
}

impl Memory {
    fn place(&self, address: u32) -> Option<usize> {
        let (start, bytes) = self.segments.range(..=address).next_back()?;
        let place = bytes.start + (address - start) as usize;
        (place + 8 <= bytes.end).then_some(place)
    }
}

/// The memories of all core modules in the component.
fn memories(component: &[u8]) -> Result<Vec<Memory>> {
    let mut memories = Vec::new();
    for payload in Parser::new(0).parse_all(component) {
        let Payload::DataSection(section) = payload? else { continue };
        let mut memory = Memory::default();
        for data in section {
            let data = data?;
            let DataKind::Active { offset_expr, .. } = data.kind else { continue };
            let Operator::I32Const { value } = offset_expr.get_operators_reader().read()? else {
                continue;
            };
            let end = data.range.end;
            memory.segments.insert(value as u32, end - data.data.len()..end);
        }
        memories.push(memory);
    }
    Ok(memories)
}
