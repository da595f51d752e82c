//! The index of one server's tools. It does not change: when the server's tools do, another takes
//! its place, and those of other servers stay.

use std::collections::HashMap;

use crate::{
    document::{Document, FIELDS},
    table::Table,
    words::{Stems, words},
};

/// The tools of one server, ready to be searched.
#[derive(Debug, Default)]
pub struct Segment {
    pub(crate) postings: HashMap<Box<str>, Vec<Posting>>,
    pub(crate) lengths: Vec<[u16; FIELDS]>,
    /// The sum of the lengths, by field.
    pub(crate) total: [u64; FIELDS],
    /// How many documents have the field at all.
    pub(crate) filled: [u64; FIELDS],
    /// What each document means, one vector after the other.
    pub(crate) vectors: Vec<i16>,
}

/// How often a stem is in a document, by field.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Posting {
    pub(crate) document: u32,
    pub(crate) counts: [u8; FIELDS],
}

impl Segment {
    pub fn new<'a>(documents: impl IntoIterator<Item = &'a Document>) -> Self {
        let mut segment = Self::default();
        let mut stems = Stems::new();
        let table = Table::shared();
        for document in documents {
            segment.add(document, &mut stems, table);
        }
        segment
    }

    pub fn len(&self) -> usize {
        self.lengths.len()
    }

    pub fn is_empty(&self) -> bool {
        self.lengths.is_empty()
    }

    fn add(&mut self, document: &Document, stems: &mut Stems, table: &Table) {
        let number = u32::try_from(self.lengths.len()).unwrap_or(u32::MAX);
        let mut lengths = [0_u16; FIELDS];
        for (field, text) in document.texts() {
            let field = field as usize;
            for word in words(text) {
                let Some(stem) = stems.of(&word) else { continue };
                lengths[field] = lengths[field].saturating_add(1);
                if !self.postings.contains_key(stem) {
                    self.postings.insert(stem.into(), Vec::new());
                }
                let Some(list) = self.postings.get_mut(stem) else { continue };
                if list.last().is_none_or(|last| last.document != number) {
                    list.push(Posting { document: number, counts: [0; FIELDS] });
                }
                if let Some(last) = list.last_mut() {
                    last.counts[field] = last.counts[field].saturating_add(1);
                }
            }
        }
        for (field, length) in lengths.iter().enumerate() {
            self.total[field] += u64::from(*length);
            self.filled[field] += u64::from(*length > 0);
        }
        self.lengths.push(lengths);
        self.vectors.extend(table.vector_of(document));
    }
}
