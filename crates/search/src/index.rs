//! The index of all segments together, and its search.

use std::{collections::HashSet, sync::Arc};

use crate::{
    document::FIELDS,
    parts::parts,
    segment::{Posting, Segment},
    table::{Table, cosine},
    words::Stems,
};

/// The weight of a word by where it stands, in the order of [`crate::document::Field`].
const WEIGHTS: [f32; FIELDS] = [3.0, 1.5, 1.0, 0.75, 0.3];
const K1: f32 = 0.9;
const B: f32 = 0.75;
/// Added to the best score by words before all are divided by it: the smaller the best score is, the
/// further it stays below 1.
const DAMPING: f32 = 10.0;
/// How much meaning counts beside words.
const MEANING: f32 = 0.5;

/// The floors: something was found if one of the [`FLOOR_TOP`] best reaches one of them. It has so much
/// of the query's words (by their rarity), or means nearly the same, or both together are enough.
const FLOOR_TOP: usize = 5;
const FLOOR_COVERAGE: f32 = 0.4;
const FLOOR_MEANING: f32 = 0.65;
const FLOOR_SUM: f32 = 1.8;
/// The least meaning that counts without a word of the query: less of the same is chance.
const MIN_MEANING: f32 = 0.3;

/// With more documents than this, only those are looked at closely that have the most of the
/// query's words: this many of them.
const ALL_LOOKED_AT: usize = 20_000;
const LOOKED_AT: usize = 1_000;
/// With so many documents, only those words count that fewer than one in this many documents have, or
/// that are the rarest of the query.
const TELLING_SHARE: usize = 5;

/// The tools of all servers, ready to be searched.
#[derive(Debug, Default)]
pub struct Index {
    segments: Vec<Arc<Segment>>,
    /// Where the documents of each segment begin among all.
    starts: Vec<usize>,
    documents: usize,
    average: [f32; FIELDS],
}

/// How tools are ranked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Method {
    #[default]
    Full,
    /// Only the words of the whole query, to compare with.
    Bm25,
}

/// The options of a search.
#[derive(Clone, Debug, Default)]
pub struct Selection {
    pub limit: usize,
    /// The segments to search; `None` means all.
    pub segments: Option<Vec<usize>>,
    /// Extra score for single documents: segment, document and gain.
    pub bonus: Vec<(u32, u32, f32)>,
    pub method: Method,
}

/// A document that fits.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Hit {
    pub segment: usize,
    pub document: usize,
    pub score: f32,
}

/// The scores of all documents for one text: the query, or a part of it.
struct Unit {
    /// The score of each document by words: fielded BM25.
    words: Vec<f32>,
    /// The share of the text's words that each has.
    coverage: Vec<f32>,
    /// How far each means the same.
    meaning: Vec<f32>,
    best_words: f32,
    /// Whether meaning is more than chance.
    is_meaningful: bool,
}

impl Unit {
    /// Tells whether anything at all speaks for a document.
    fn says_something(&self, document: usize) -> bool {
        self.words[document] > 0.0 || self.meaning[document] >= MIN_MEANING
    }

    fn score(&self, document: usize) -> f32 {
        self.words[document] / (self.best_words + DAMPING) + MEANING * self.meaning[document]
    }
}

impl Index {
    pub fn new(segments: Vec<Arc<Segment>>) -> Self {
        let mut starts = Vec::with_capacity(segments.len());
        let mut documents = 0;
        let (mut total, mut filled) = ([0_u64; FIELDS], [0_u64; FIELDS]);
        for segment in &segments {
            starts.push(documents);
            documents += segment.len();
            for field in 0..FIELDS {
                total[field] += segment.total[field];
                filled[field] += segment.filled[field];
            }
        }
        // The average over the documents that have the field at all.
        let average =
            std::array::from_fn(|field| total[field].max(1) as f32 / filled[field].max(1) as f32);
        Self { segments, starts, documents, average }
    }

    /// Returns the documents that fit a query, best first. Nothing rather than what does not fit.
    pub fn search(&self, query: &str, selection: &Selection) -> Vec<Hit> {
        let mut stems = Stems::new();
        if selection.method == Method::Bm25 {
            return self.best(&self.by_words(query, &mut stems).0, selection);
        }
        let (units, looked_at) = self.units(query, &mut stems);
        let mut scores = vec![0.0; self.documents];
        for document in looked_at {
            scores[document] = Self::fused(&units, document);
        }
        let mut gained = HashSet::new();
        for (segment, document, gain) in &selection.bonus {
            let start = self.starts.get(*segment as usize).copied().unwrap_or(usize::MAX);
            let at = start.saturating_add(*document as usize);
            if let Some(score) = scores.get_mut(at) {
                *score += gain;
                gained.insert(at);
            }
        }
        let mut hits = self.best(&scores, selection);
        hits.retain(|hit| {
            let at = self.starts[hit.segment] + hit.document;
            gained.contains(&at) || units.iter().any(|unit| unit.says_something(at))
        });
        let fits = hits.iter().take(FLOOR_TOP).any(|hit| {
            let at = self.starts[hit.segment] + hit.document;
            gained.contains(&at) || self.is_enough(&units, at)
        });
        if fits { hits } else { Vec::new() }
    }

    /// Scores the whole query, and its parts if there are several. Returns the documents to look at as
    /// well.
    fn units(&self, query: &str, stems: &mut Stems) -> (Vec<Unit>, Vec<usize>) {
        let mut texts = vec![query.to_owned()];
        let is_large = self.documents > ALL_LOOKED_AT;
        let parts = if is_large { Vec::new() } else { parts(query, stems) };
        if parts.len() > 1 {
            texts.extend(parts);
        }
        let mut units: Vec<Unit> = texts.iter().map(|text| self.unit(text, stems)).collect();
        let looked_at: Vec<usize> = match is_large {
            true => most(&units[0].words, LOOKED_AT),
            false => (0..self.documents).collect(),
        };
        let table = Table::shared();
        let wanted: Vec<Vec<i16>> = texts.iter().map(|text| table.vector(text)).collect();
        // All at once for each document: reading its vector from memory is half of the work.
        for document in &looked_at {
            let segment = self.starts.partition_point(|start| start <= document) - 1;
            let at = (document - self.starts[segment]) * table.columns;
            let vector = &self.segments[segment].vectors[at..at + table.columns];
            for (unit, wanted) in units.iter_mut().zip(&wanted) {
                unit.meaning[*document] = cosine(wanted, vector);
            }
        }
        (units, looked_at)
    }

    /// Returns a document's score: half by the whole query, half by the part that fits best.
    fn fused(units: &[Unit], document: usize) -> f32 {
        let [whole, parts @ ..] = units else { return 0.0 };
        let score = whole.score(document);
        let best = parts.iter().map(|part| part.score(document)).reduce(f32::max);
        best.map_or(score, |best| (score + best) / 2.0)
    }

    /// Tells whether a document has something to do with the query, as far as can be told.
    fn is_enough(&self, units: &[Unit], document: usize) -> bool {
        let most = |value: &dyn Fn(&Unit) -> f32| units.iter().map(value).fold(0.0, f32::max);
        let words = most(&|unit| unit.words[document]) / self.rarity(0);
        let coverage = most(&|unit| unit.coverage[document]);
        let meaning = most(&|unit| if unit.is_meaningful { unit.meaning[document] } else { 0.0 });
        coverage >= FLOOR_COVERAGE
            || meaning >= FLOOR_MEANING
            || words + coverage / 2.0 + meaning >= FLOOR_SUM
    }

    /// Scores a text by its words alone so far.
    fn unit(&self, text: &str, stems: &mut Stems) -> Unit {
        let (words, coverage) = self.by_words(text, stems);
        Unit {
            best_words: words.iter().copied().fold(0.0, f32::max),
            words,
            coverage,
            meaning: vec![0.0; self.documents],
            // Without a word that the table knows whole, the direction of a text is chance.
            is_meaningful: Table::shared().knows(text, stems),
        }
    }

    /// Scores by words alone: fielded BM25, and how much of the text's words each document has.
    fn by_words(&self, text: &str, stems: &mut Stems) -> (Vec<f32>, Vec<f32>) {
        let mut scores = vec![0.0; self.documents];
        let mut coverage = vec![0.0; self.documents];
        let mut total = 0.0;
        let mut all: Vec<(usize, Vec<Option<&Vec<Posting>>>)> = Vec::new();
        for stem in stems.distinct(text) {
            let lists = self.segments.iter().map(|segment| segment.postings.get(stem.as_str()));
            let lists: Vec<_> = lists.collect();
            all.push((lists.iter().flatten().map(|list| list.len()).sum(), lists));
        }
        if self.documents > ALL_LOOKED_AT {
            // A word that nearly all documents have tells nothing, and takes the most time.
            let fewest = all.iter().map(|(having, _)| *having).filter(|having| *having > 0).min();
            let most = fewest.unwrap_or(0).max(self.documents / TELLING_SHARE);
            all.retain(|(having, _)| *having <= most);
        }
        for (having, lists) in all {
            let rarity = self.rarity(having);
            total += rarity;
            for ((list, segment), start) in lists.iter().zip(&self.segments).zip(&self.starts) {
                for posting in list.iter().flat_map(|list| list.iter()) {
                    let document = posting.document as usize;
                    let weight = self.weight(&posting.counts, &segment.lengths[document]);
                    scores[start + document] += rarity * weight * (K1 + 1.0) / (weight + K1);
                    coverage[start + document] += rarity;
                }
            }
        }
        if total > 0.0 {
            coverage.iter_mut().for_each(|coverage| *coverage /= total);
        }
        (scores, coverage)
    }

    /// Returns how much a stem says that so many documents have.
    fn rarity(&self, having: usize) -> f32 {
        let (all, having) = (self.documents as f32, having as f32);
        (1.0 + (all - having + 0.5) / (having + 0.5)).ln()
    }

    /// Returns how much of a document a stem is, over all fields.
    fn weight(&self, counts: &[u8; FIELDS], lengths: &[u16; FIELDS]) -> f32 {
        let mut weight = 0.0;
        for field in 0..FIELDS {
            if counts[field] > 0 {
                let length = f32::from(lengths[field]) / self.average[field];
                weight += WEIGHTS[field] * f32::from(counts[field]) / (1.0 - B + B * length);
            }
        }
        weight
    }

    fn best(&self, scores: &[f32], selection: &Selection) -> Vec<Hit> {
        let mut hits = Vec::new();
        for (at, (segment, start)) in self.segments.iter().zip(&self.starts).enumerate() {
            if selection.segments.as_ref().is_some_and(|wanted| !wanted.contains(&at)) {
                continue;
            }
            let of_segment = &scores[*start..start + segment.len()];
            hits.extend(
                of_segment
                    .iter()
                    .enumerate()
                    .filter(|(_, score)| **score > 0.0)
                    .map(|(document, score)| Hit { segment: at, document, score: *score }),
            );
        }
        let order = |a: &Hit, b: &Hit| {
            b.score.total_cmp(&a.score).then((a.segment, a.document).cmp(&(b.segment, b.document)))
        };
        let limit = selection.limit.min(hits.len());
        if limit < hits.len() && limit > 0 {
            hits.select_nth_unstable_by(limit, order);
        }
        hits.truncate(limit);
        hits.sort_unstable_by(order);
        hits
    }
}

/// Returns the documents with the largest scores above zero, in the order of the documents.
fn most(scores: &[f32], count: usize) -> Vec<usize> {
    let mut having: Vec<usize> = (0..scores.len()).filter(|at| scores[*at] > 0.0).collect();
    if having.len() > count {
        having.select_nth_unstable_by(count, |a, b| scores[*b].total_cmp(&scores[*a]));
        having.truncate(count);
        having.sort_unstable();
    }
    having
}
